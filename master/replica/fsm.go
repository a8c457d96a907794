package replica

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// An entry of the log is the term it was meant for (big-endian uint64, 0 for
// any) and a batch of commands in package state's form, or a restore. One that
// was meant for an earlier term than it was written in changes nothing: its
// author had lost leadership in between, or the state had been restored, and
// with it went what the commands were based on.
const fenceSize = 8

func encodeEntry(term uint64, batch []state.Command) ([]byte, error) {
	return state.Append(binary.BigEndian.AppendUint64(nil, term), batch)
}

// fsm applies committed entries. Raft calls it from one goroutine; current is
// for everyone.
type fsm struct {
	current atomic.Pointer[state.State]
	watcher Watcher
	logger  hclog.Logger
	decoder state.Decoder // of the entry that is applied
	since   atomic.Int64  // commands since the state that the last snapshot is of
	bytes   atomic.Int64  // of the entries since then
	saved   atomic.Int64  // bytes of that snapshot
	long    chan struct{} // holds a value when there were so many that a snapshot is due
}

var _ raft.FSM = (*fsm)(nil)

func newFSM(watcher Watcher, logger hclog.Logger) *fsm {
	if watcher == nil {
		watcher = unwatched{}
	}
	f := &fsm{watcher: watcher, logger: logger, long: make(chan struct{}, 1)}
	f.current.Store(state.New())
	return f
}

// outcome is what Apply hands to the future of the entry's author.
type outcome struct {
	results []state.Result
	err     error
}

var errFenced = offers.Errorf(offers.NotLeader, "leadership was lost and won again in between; nothing was changed")

// Apply implements [raft.FSM]. An entry that can't be read ends the process:
// going on without it would make this master disagree with those that can.
func (f *fsm) Apply(log *raft.Log) any {
	if len(log.Data) < fenceSize {
		f.unreadable(log.Index, errors.New("it is cut short"))
	}
	current := f.current.Load()
	if term := binary.BigEndian.Uint64(log.Data); term != 0 && term != current.Terms()+log.Term {
		return outcome{err: errFenced}
	}
	f.bytes.Add(int64(len(log.Data)))
	if body := log.Data[fenceSize:]; len(body) > 0 && body[0] == restoreMark {
		return f.applyRestore(log.Index, log.Term, body)
	}
	batch, err := f.decoder.Decode(log.Data[fenceSize:])
	if err != nil {
		f.unreadable(log.Index, err)
	}
	next, results := current.Apply(batch)
	f.current.Store(next)
	f.watcher.Applied(current, next, batch, results)
	f.count(len(batch), next)
	return outcome{results: results}
}

// count notes that commands were applied, which a master that starts anew would
// have to read again. Raft counts entries, of which each may be thousands, or
// megabytes: a million tasks would have taken a minute to come back that fit in its
// bound, and stored values some ten gigabytes. A snapshot is due when reading them
// takes about as long as reading the state.
func (f *fsm) count(commands int, s *state.State) {
	f.since.Add(int64(commands))
	if !f.isLong(s) {
		return
	}
	select {
	case f.long <- struct{}{}:
	default:
	}
}

// isLong reports whether a snapshot of s is due.
func (f *fsm) isLong(s *state.State) bool {
	return f.since.Load() >= max(leastReplay, int64(s.Counts().Live/2)) || f.bytes.Load() >= max(leastLog, f.saved.Load()/2)
}

func (f *fsm) unreadable(index uint64, err error) {
	f.logger.Error("the log holds an entry that this version can't read: upgrade this master, or restore it from a snapshot", "index", index, "error", err)
	panic(fmt.Sprintf("replica: log entry %d can't be read: %v", index, err))
}

// Snapshot implements [raft.FSM]. It keeps a pointer, so that the loop never
// waits for the disk.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.since.Store(0)
	f.bytes.Store(0)
	return &snapshot{f.current.Load(), &f.saved}, nil
}

// Restore implements [raft.FSM].
func (f *fsm) Restore(in io.ReadCloser) error {
	defer in.Close()
	counted := &counter{of: in}
	s, err := state.Read(bufio.NewReaderSize(counted, 256<<10))
	if err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	f.current.Store(s)
	f.since.Store(0)
	f.bytes.Store(0)
	f.saved.Store(counted.bytes)
	f.watcher.Loaded(s)
	return nil
}

// counter counts what is read.
type counter struct {
	of    io.Reader
	bytes int64
}

func (c *counter) Read(to []byte) (int, error) {
	n, err := c.of.Read(to)
	c.bytes += int64(n)
	return n, err
}

type snapshot struct {
	state *state.State
	size  *atomic.Int64 // where its bytes are noted
}

var _ raft.FSMSnapshot = (*snapshot)(nil)

// Persist implements [raft.FSMSnapshot].
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	out := bufio.NewWriterSize(sink, 256<<10)
	n, err := s.state.WriteTo(out)
	if err == nil {
		s.size.Store(n)
		err = out.Flush()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the snapshot: %w", err), sink.Cancel())
	}
	return sink.Close()
}

// Release implements [raft.FSMSnapshot].
func (*snapshot) Release() {}
