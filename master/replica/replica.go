package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/master/state"
)

// Tuning of Raft. One entry carries a whole batch of commands, so entries are
// few and large; a follower that is further behind than trailingLogs, or
// trailingBytes, gets a snapshot.
const (
	// Entries of one message to a follower. Both sides have all of them in memory,
	// and a follower several times while it writes them; Raft makes room for as
	// many whenever it applies some or sends any.
	maxAppendEntries  = 16
	maxInFlight       = 8 // entries that Apply lets wait for their commit; below maxAppendEntries, see [Replica.Apply]
	trailingLogs      = 4096
	trailingBytes     = 64 << 20
	snapshotThreshold = 8192
	snapshotInterval  = 30 * time.Second // how often the threshold is looked at
	snapshotsKept     = 2
	leastReplay       = 200_000  // commands; with no more no snapshot is made for them alone
	leastLog          = 64 << 20 // bytes; the same
	barrierTimeout    = 10 * time.Second
)

// Replica is one master's copy of the replicated state.
type Replica struct {
	// static after Open
	config    Config
	self      Member
	logger    hclog.Logger
	lock      *os.File
	store     *disk
	fsm       *fsm
	port      *port
	raft      *raft.Raft
	transport *transport
	cancel    context.CancelFunc
	ctx       context.Context

	changes chan bool // holds one value, the last
	leaders bell      // rings when Leader may answer something else
	dead    atomic.Pointer[dead]
	gate    gate
	running sync.WaitGroup
	closing sync.Once
	closed  error

	joining sync.Mutex // one change of membership at a time
	roster  roster
	seeking seeking
}

// Open opens the data folder, listens on the port and takes part in the
// cluster; it does not wait for one to come together.
func Open(c Config) (_ *Replica, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	r := &Replica{config: c, logger: c.Logger, changes: make(chan bool, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			_ = r.release()
		}
	}()
	if r.lock, err = lockFolder(c.DataDir); err != nil {
		return nil, err
	}
	known, was, err := openIdentity(c.DataDir, c.Name, c.RuntimeDir)
	if err != nil {
		return nil, err
	}
	if r.port, err = openPort(c, known.ID); err != nil {
		return nil, err
	}
	r.self = Member{ID: known.ID, Name: known.Name, Raft: r.port.advertised, HTTP: c.HTTP}
	r.port.idAt, r.port.answer = r.idAt, r.answer
	r.fsm = newFSM(c.Watcher, c.Logger)
	if err := r.openRaft(was); err != nil {
		return nil, err
	}
	r.seeking.start(c.Join)
	r.port.serve()
	r.running.Go(r.watch)
	r.running.Go(r.gossip)
	r.running.Go(r.doubt)
	r.running.Go(r.seek)
	r.running.Go(r.shorten)
	return r, nil
}

// openRaft opens the log and the snapshots and starts Raft on them. A single
// master is made a cluster at once.
func (r *Replica) openRaft(was about) error {
	path := filepath.Join(r.config.DataDir, "raft.db")
	store, err := openStore(path, r.self.ID, was)
	if err != nil {
		return fmt.Errorf("data_dir: open %s: %w", path, err)
	}
	if err := store.attest(r.config.RuntimeDir, r.config.DataDir); err != nil {
		r.logger.Warn("an older copy of the data folder would not be noticed", "error", err)
	}
	r.store = newDisk(store, path)
	quiet := quietLogger{r.logger.Named("raft")}
	snapshots, err := openSnapshots(r.config.DataDir, r.self.ID, was, quiet)
	if err != nil {
		return err
	}
	r.transport = newTransport(r.port, r.config.Pace, quiet)
	conf := r.raftConfig(quiet)
	node, err := raft.NewRaft(conf, r.fsm, r.store, r.store, snapshots, r.transport)
	if err != nil {
		_ = r.transport.Close()
		return fmt.Errorf("data_dir: start from %s: %w", r.config.DataDir, err)
	}
	r.raft = node
	node.RegisterObserver(raft.NewObserver(nil, false, r.tell))
	if r.config.BootstrapExpect == 1 && !r.belongs() {
		return r.bootstrap([]Member{r.self})
	}
	return nil
}

func (r *Replica) raftConfig(logger hclog.Logger) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(r.self.ID)
	conf.HeartbeatTimeout = r.config.Pace
	conf.ElectionTimeout = r.config.Pace
	conf.LeaderLeaseTimeout = r.config.Pace / 2
	conf.CommitTimeout = min(50*time.Millisecond, r.config.Pace/10)
	conf.MaxAppendEntries = maxAppendEntries
	conf.BatchApplyCh = true
	conf.ShutdownOnRemove = false
	conf.TrailingLogs = 1 // the disk keeps more, see [disk.DeleteRange]
	conf.SnapshotThreshold = snapshotThreshold
	conf.SnapshotInterval = snapshotInterval
	conf.NoLegacyTelemetry = true
	conf.Logger = logger
	return conf
}

// Self returns what this master is to the others.
func (r *Replica) Self() Member { return r.self }

// State returns what the masters agree on, as far as it has come here. It is
// never nil.
func (r *Replica) State() *state.State { return r.fsm.current.Load() }

// Close hands leadership over where another voter can take it, stops, and
// waits for every goroutine.
func (r *Replica) Close() error {
	r.closing.Do(func() {
		if r.IsLeader() && len(r.voters()) > 1 {
			if err := r.TransferLeadership(); err != nil {
				r.logger.Warn("leaves without handing leadership over", "error", err)
			}
		}
		r.closed = r.release()
	})
	return r.closed
}

// release ends what Open started, in any state of it. Raft is stopped after
// everyone who waits for it, see gate.
func (r *Replica) release() error {
	r.cancel()
	var errs []error
	if r.port != nil {
		if err := r.port.stop(); err != nil {
			errs = append(errs, fmt.Errorf("close the masters' port: %w", err))
		}
	}
	r.running.Wait()
	if r.raft != nil {
		r.gate.close()
		if err := r.raft.Shutdown().Error(); err != nil {
			errs = append(errs, fmt.Errorf("stop raft: %w", err))
		}
	}
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the log: %w", err))
		}
	}
	if r.lock != nil {
		_ = r.lock.Close()
	}
	return errors.Join(errs...)
}

// quietLogger keeps Raft's story of normal operation for debugging: the
// changes of state that matter are logged here, once.
type quietLogger struct{ hclog.Logger }

// Warn keeps back what every master that waits for its cluster says.
func (q quietLogger) Warn(message string, args ...any) {
	if strings.HasPrefix(message, "no known peers") {
		q.Logger.Debug(message, args...)
		return
	}
	q.Logger.Warn(message, args...)
}

func (q quietLogger) Info(message string, args ...any) { q.Logger.Debug(message, args...) }
