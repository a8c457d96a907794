package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/artifact"
	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/agent/inventory"
	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/mps"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/sandbox"
	"github.com/ringmaster-project/ringmaster/agent/seek"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/meter"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Agent is one agent. Open it, Run it once.
type Agent struct {
	// static after Open
	config     Config
	log        hclog.Logger
	meters     *meters
	listener   net.Listener
	lock       *os.File
	limits     *limits.Limits
	isolated   isolation.Parts // what processes are isolated by
	processes  *processes
	containers *containers
	refusals   tasks.Refusals
	artifacts  *artifact.Store
	sandboxes  *sandbox.Store
	declared   inventory.Declared
	own        map[string]string // what the agent says of itself but for what sources of devices find
	hidesGPUs  bool              // from tasks that hold none: GPUs are looked for
	shares     bool              // tasks may share GPUs through the driver
	sharing    *mps.Service      // nil where they can't
	adopted    []tasks.Known     // whose shims and containers are to be found again

	// shared
	inbox      chan func()     // what the loop is to do; senders wait for it
	stopped    chan struct{}   // closed when the loop takes nothing any more
	life       context.Context // ends then too
	end        context.CancelCauseFunc
	registered chan struct{} // closed at the first registration
	collect    chan struct{} // wakes the collector; one wake-up is enough
	checking   chan struct{} // one token for each health check
	attending  chan struct{} // one token for each command that somebody runs beside a task
	work       sync.WaitGroup
	keptWhole  sync.Once // the warning that logs are not kept short
	masters    *seek.Seeker

	// owned by the loop
	self      offers.Agent // without its id
	sources   []*source
	census    discovery.Census
	unwell    map[string]map[string]string // as census.Unwell last said
	store     *checkpoint.Store
	machine   *tasks.Machine
	running   map[offers.TaskRef]*supervisor
	preparing map[offers.TaskRef]context.CancelCauseFunc
	written   []chan struct{} // closed once what came before them is on the disk
	session   *session        // nil while no master listens
	attempt   wire.Attempt    // the last connection
	known     bool            // registered is closed
	held      chan struct{}   // not nil: the connector waits for its close

	mu    sync.Mutex
	id    offers.AgentID
	ended map[offers.TaskRef]chan struct{} // closed when the task has ended
	disks map[offers.TaskRef]int64         // bytes that living tasks asked for
}

// Open prepares an agent: it locks the data folder, reads the checkpoint,
// ends what runs and is not in it, and listens. Nothing is started before Run.
func Open(c Config) (*Agent, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	a := &Agent{
		config: c, log: c.Logger, meters: newMeters(new(meter.List)), attempt: wire.Attempt{Client: rand.Text()},
		inbox: make(chan func(), 1024), stopped: make(chan struct{}), registered: make(chan struct{}),
		collect: make(chan struct{}, 1), checking: make(chan struct{}, maxChecks), attending: make(chan struct{}, maxExecs), running: map[offers.TaskRef]*supervisor{},
		preparing: map[offers.TaskRef]context.CancelCauseFunc{}, ended: map[offers.TaskRef]chan struct{}{}, disks: map[offers.TaskRef]int64{},
		masters: &seek.Seeker{Masters: c.Masters, Door: c.Door, Logger: c.Logger, Called: make(chan string, 1)},
	}
	a.life, a.end = context.WithCancelCause(context.Background())
	if err := a.setUp(); err != nil {
		a.end(err)
		close(a.stopped)
		a.work.Wait()
		a.release()
		return nil, fmt.Errorf("agent: %w", err)
	}
	return a, nil
}

func (a *Agent) setUp() error {
	// Open to passage, so that tasks of other users get to their sandboxes.
	if err := os.MkdirAll(a.config.DataDir, 0o711); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	dir, err := filepath.Abs(a.config.DataDir)
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	a.config.DataDir = dir
	if err := a.lockFolder(); err != nil {
		return err
	}
	if a.declared, err = inventory.Parse(a.config.Resources); err != nil {
		return err
	}
	a.discover()
	total, err := a.declared.Complete(dir, a.census.Classes())
	if err != nil {
		return fmt.Errorf("resources: %w", err)
	}
	if a.config.Shim == "" {
		if a.config.Shim, err = process.Extract(filepath.Join(dir, "bin")); err != nil {
			return err
		}
	}
	if err := a.isolate(dir); err != nil {
		return err
	}
	if a.containers, err = newContainers(a); err != nil {
		return err
	}
	a.artifacts, err = artifact.Open(artifact.Config{Dir: filepath.Join(dir, "artifacts"), Roots: a.config.ArtifactRoots, Size: a.config.ArtifactCache})
	if err != nil {
		return err
	}
	if err := a.listen(); err != nil {
		return err
	}
	if err := a.introduce(total); err != nil {
		return err
	}
	if err := a.chooseExecutors(); err != nil {
		return err
	}
	a.own = maps.Clone(a.self.Attributes)
	a.self.Attributes = a.allAttributes()
	if err := a.self.Validate(); err != nil {
		return err
	}
	return a.recover(time.Now())
}

const lockPatience = time.Second

// lockFolder makes sure that no other agent uses the data folder; the lock
// goes with the process.
func (a *Agent) lockFolder() error {
	path := filepath.Join(a.config.DataDir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	a.lock = f
	// An agent that was killed while it started a shim has a child for a
	// moment, not yet turned into the shim, that still holds its lock.
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(lockPatience / 50) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("another agent or master uses %s: give this one a data_dir of its own", a.config.DataDir)
	}
	return fmt.Errorf("lock %s: %w", path, err)
}

// introduce fills in what the agent says about itself.
func (a *Agent) introduce(total offers.Inventory) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of the host: %w", err)
	}
	boot, err := record.BootID()
	if err != nil {
		return err
	}
	a.self = offers.Agent{
		Name: a.config.Name, Host: host, Address: a.Address(), Secure: a.config.Door.Secure(),
		Attributes: a.attributes(), Total: total, Policies: a.config.Policies,
		Version: a.config.Version, BootID: boot, Started: time.Now().UTC(),
	}
	return a.self.Validate()
}

// Address returns host:port of the agent's HTTP door, as others reach it.
func (a *Agent) Address() string {
	address := a.listener.Addr().String()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return address
	}
	// Listening everywhere: the address that leads to a master is one that
	// others can use. Nothing is sent.
	if conn, err := net.Dial("udp", a.config.Masters[0]); err == nil {
		defer conn.Close()
		if local, ok := conn.LocalAddr().(*net.UDPAddr); ok {
			return net.JoinHostPort(local.IP.String(), port)
		}
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// Registered is closed when a master has taken the agent for the first time.
func (a *Agent) Registered() <-chan struct{} { return a.registered }

// ID returns the id that the masters gave the agent, "" before the first
// registration.
func (a *Agent) ID() offers.AgentID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// Run runs the agent until ctx ends or the checkpoint can't be written.
func (a *Agent) Run(ctx context.Context) error {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	server := a.serve()
	a.work.Go(func() { a.connect(inner) })
	a.work.Go(a.collector)
	a.work.Go(a.watcher)
	a.work.Go(a.containers.tidy)
	if a.refusals.NoProcesses == "" {
		a.work.Go(func() { a.processes.KeepSpares(a.life) })
	}
	a.adopt()
	err := a.loop(ctx)
	cancel(errors.New("the agent ends"))
	close(a.stopped)
	a.end(errClosed)
	for _, s := range a.running {
		s.execution.Close()
	}
	if a.held != nil {
		close(a.held)
	}
	err = errors.Join(err, server.Close())
	a.work.Wait()
	if err == nil && a.config.KillTasksOnClose {
		err = a.store.Dismiss()
		a.store = nil
	}
	a.release()
	if err != nil {
		return fmt.Errorf("agent %s: %w", a.config.Name, err)
	}
	return nil
}

// release gives back what Open took.
func (a *Agent) release() {
	a.end(errClosed)
	if a.listener != nil {
		_ = a.listener.Close() // the server may have closed it
	}
	if a.store != nil {
		if err := a.store.Close(); err != nil {
			a.log.Error("close the checkpoint", "error", err)
		}
	}
	if a.artifacts != nil {
		a.artifacts.Close()
	}
	if a.limits != nil {
		a.limits.Close()
	}
	if a.lock != nil {
		_ = a.lock.Close() // gives up the lock
	}
}

// groupName keeps the cgroups of several agents on one host apart.
func groupName(dir string) string {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "agent"
	}
	return "agent-" + strconv.FormatUint(st.Dev, 36) + "-" + strconv.FormatUint(st.Ino, 36)
}
