package simulated

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent/inventory"
	"github.com/ringmaster-project/ringmaster/agent/seek"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// MaxAgents is how many agents one process simulates at most; its open files
// are likely to end before.
const MaxAgents = 100_000

// Host is what every one of them says to run on.
const Host = "simulated"

// Config of a fleet.
type Config struct {
	Count     int           // of agents, 1 to MaxAgents
	Name      string        // the agents are Name-1, Name-2, ...
	Masters   []string      // host:port of the masters' HTTP doors, at least one
	Resources string        // of each agent, see agent/inventory; what is not named is none
	TaskTime  time.Duration // how long every task runs; more than 0
	Version   string        // of the program
	Door      *door.Door
	Logger    hclog.Logger
	Dial      wire.Dialer // nil: over the network
}

// Fleet is simulated agents. Open it, Run it once.
type Fleet struct {
	// static after Open
	config Config
	shards []*shard
	agents []*agent

	ready   chan struct{} // holds one value at most: every agent is registered
	missing atomic.Int64  // agents that are not
	counts  counts
}

// counts is what happened so far.
type counts struct{ started, ended atomic.Int64 }

// Open prepares a fleet; nothing is connected before Run.
func Open(c Config) (*Fleet, error) {
	switch {
	case c.Count < 1 || c.Count > MaxAgents:
		return nil, fmt.Errorf("count is %d; 1 to %d agents can be simulated", c.Count, MaxAgents)
	case c.Name == "":
		return nil, errors.New("name is empty; the agents have none then")
	case len(c.Masters) == 0:
		return nil, errors.New("masters: give at least one host:port")
	case c.TaskTime <= 0:
		return nil, fmt.Errorf("task-time is %v; it is more than 0", c.TaskTime)
	case c.Door == nil || c.Logger == nil:
		return nil, errors.New("door and logger are missing")
	}
	declared, err := inventory.Parse(c.Resources)
	if err != nil {
		return nil, err
	}
	f := &Fleet{config: c, ready: make(chan struct{}, 1)}
	f.missing.Store(int64(c.Count))
	for range min(c.Count, runtime.GOMAXPROCS(0)) {
		f.shards = append(f.shards, newShard())
	}
	self := offers.Agent{Host: Host, Total: declared.Only(), Version: c.Version, Started: time.Now().UTC()}
	for i := range c.Count {
		self.Name = c.Name + "-" + strconv.Itoa(i+1)
		f.agents = append(f.agents, newAgent(f, f.shards[i%len(f.shards)], self))
	}
	if err := self.Validate(); err != nil {
		return nil, err
	}
	return f, nil
}

// Registered receives a value each time that the masters have taken every
// agent, at first and when connections were lost.
func (f *Fleet) Registered() <-chan struct{} { return f.ready }

// Counts returns how many tasks have been started and how many have ended.
func (f *Fleet) Counts() (started, ended int64) {
	return f.counts.started.Load(), f.counts.ended.Load()
}

// Run keeps the agents connected and their tasks going until ctx ends.
func (f *Fleet) Run(ctx context.Context) error {
	var shards, connectors sync.WaitGroup
	for _, s := range f.shards {
		shards.Go(s.run)
	}
	for i, a := range f.agents {
		masters := seek.Seeker{Masters: f.config.Masters, Door: f.config.Door, Logger: hclog.NewNullLogger(), Dial: f.config.Dial}
		if i == 0 { // speaks for all, who meet the same
			masters.Logger = f.config.Logger
		}
		connectors.Go(func() {
			masters.Run(ctx, func(link wire.Link) bool { return a.converse(ctx, link) })
		})
	}
	connectors.Wait()
	for _, s := range f.shards {
		close(s.inbox)
	}
	shards.Wait()
	return nil
}

// arrived counts an agent that is registered.
func (f *Fleet) arrived() {
	if f.missing.Add(-1) > 0 {
		return
	}
	select {
	case f.ready <- struct{}{}:
	default: // nobody has looked since the last time
	}
}

// left counts an agent that was registered and lost its connection.
func (f *Fleet) left() { f.missing.Add(1) }
