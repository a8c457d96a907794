package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// Config of one master's replica.
type Config struct {
	// Name is the master's, unique in the cluster: 1 to 64 of A-Z a-z 0-9 . _ -.
	// Empty means the host's name.
	Name string
	// DataDir holds the log, the snapshots and the master's identity. It is
	// created when missing and locked while the replica is open.
	DataDir string
	// Listen is the address of the port for other masters. Port 0 takes a free one.
	Listen string
	// Advertise is how other masters reach Listen; see [Advertised].
	Advertise string
	// HTTP is how clients reach this master over HTTP; the other masters
	// redirect to it.
	HTTP string
	// BootstrapExpect is how many new masters make a new cluster together: 1,
	// 3 or 5; 0 only ever joins a cluster that exists. It has no effect once
	// the data folder holds a cluster's state.
	BootstrapExpect int
	// Join are addresses of other masters' ports, our own among them or not.
	Join []string
	// Pace is how long followers do without a leader before they look for
	// another one; 0 means 700 ms. That outlasts the stalls of a busy disk
	// several times, and a killed leader is replaced in 1 to 2 s.
	Pace time.Duration

	// RuntimeDir holds what must not outlive the host's run: the witness that
	// tells an older copy of DataDir. Empty means /dev/shm.
	RuntimeDir string

	// Watcher, where there is one, is told what is applied here.
	Watcher Watcher

	Door   *door.Door
	Logger hclog.Logger
}

// Watcher is told of every change of the replicated state, in order and once
// State returns it. Raft's own goroutine calls it and everybody waits for
// that: it must not.
type Watcher interface {
	// Applied follows a batch of commands, whose memory is used again afterwards.
	Applied(before, after *state.State, batch []state.Command, results []state.Result)
	// Loaded follows a state that came from a snapshot of Raft: what led to
	// it is not known here.
	Loaded(now *state.State)
	// Restored follows the restore of a saved snapshot, see [Replica.Restore].
	Restored(now *state.State, at time.Time)
}

// unwatched is for where nobody watches.
type unwatched struct{}

var _ Watcher = unwatched{}

func (unwatched) Applied(_, _ *state.State, _ []state.Command, _ []state.Result) {}
func (unwatched) Loaded(*state.State)                                            {}
func (unwatched) Restored(*state.State, time.Time)                               {}

const defaultPace = 700 * time.Millisecond

func (c *Config) validate() error {
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("name: the host has none either (%w): give --name", err)
		}
		c.Name = host
	}
	switch {
	case !validName(c.Name):
		return fmt.Errorf("name %.70q: 1 to 64 of A-Z a-z 0-9 . _ -", c.Name)
	case c.DataDir == "":
		return errors.New("data_dir is missing: give --data-dir")
	case c.Listen == "":
		return errors.New("raft is missing: give --raft host:port")
	case c.Door == nil:
		return errors.New("the replica has no door")
	case c.BootstrapExpect != 0 && c.BootstrapExpect != 1 && c.BootstrapExpect != 3 && c.BootstrapExpect != 5:
		return fmt.Errorf("bootstrap_expect is %d; a cluster has 1, 3 or 5 masters", c.BootstrapExpect)
	case c.BootstrapExpect != 1 && len(c.Join) == 0:
		return errors.New("join is missing: give the Raft addresses of the other masters with --join, or --bootstrap-expect 1 for a single master")
	case c.Pace < 0:
		return fmt.Errorf("pace is %v; it can't be negative", c.Pace)
	}
	dir, err := filepath.Abs(c.DataDir) // under which the witness knows it
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	c.DataDir = dir
	if c.RuntimeDir == "" {
		c.RuntimeDir = witness.Memory
	}
	for _, address := range c.Join {
		if err := validAddress(address); err != nil {
			return fmt.Errorf("join: %w", err)
		}
	}
	if c.Pace == 0 {
		c.Pace = defaultPace
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	return c.Door.MayServe(c.Listen)
}

func validName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	return name != "" && len(name) <= 64 && strings.Trim(name, letters) == ""
}
