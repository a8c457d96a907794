package master

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/rings"
)

// Config of a master. What is left at its zero value means the default that
// the field's comment names.
type Config struct {
	Name    string // unique in the cluster; the host's name
	DataDir string // required
	HTTP    string // host:port to listen on for clients and agents; required
	Raft    string // host:port to listen on for other masters; required

	// AdvertiseHTTP and AdvertiseRaft are how others reach HTTP and Raft. By
	// default that is where they listen, or the host's first address that is
	// not loopback where they listen on all.
	AdvertiseHTTP string
	AdvertiseRaft string

	BootstrapExpect int      // new masters that make a new cluster: 1, 3, 5; 0 only joins one
	Join            []string // Raft addresses of masters

	OfferTimeout   time.Duration           // life of an offer; 2 min
	OfferGrace     time.Duration           // for which nobody with a lower share gets it, see [match.Config]; 5 s
	AgentTimeout   time.Duration           // silence after which an agent is unreachable; 75 s
	RemovalEvery   time.Duration           // between two agents becoming unreachable; 10 s
	RemovalBurst   int                     // how many may do so at once; 3
	Exclude        []string                // fair-share kinds that don't count for the dominant share
	Placement      offers.Placement        // where neither demand nor role names one; rings
	Rings          map[string]rings.Layout // by kind; what is missing gets a default
	Prematchers    int                     // that read agents at the same time, see [match.Prematch]; one per core
	PrematchFollow bool                    // and for another master while that leads
	Balance        *match.Balance          // match.DefaultBalance
	Matching       *match.Matching         // match.DefaultMatching
	MatchWindow    time.Duration           // for which `match` gathers what comes; 50 ms

	Tracer  offers.Tracer // of tasks' ways; nil: none
	Version string        // of the program, for people
	Door    *door.Door
	Logger  hclog.Logger
}

// The defaults of INTERFACE section 5.
const (
	defaultOfferTimeout = 2 * time.Minute
	defaultOfferGrace   = 5 * time.Second
	defaultAgentTimeout = 75 * time.Second
	defaultRemovalEvery = 10 * time.Second
	defaultRemovalBurst = 3
	defaultMatchWindow  = 50 * time.Millisecond
)

// MaxPrematchers bounds Config.Prematchers.
const MaxPrematchers = 256

// validate fills in the defaults and names the first field that can't be. What
// concerns the replica is for it to say.
func (c *Config) validate() error {
	for _, d := range []struct {
		field string
		value *time.Duration
		def   time.Duration
	}{
		{"offer_timeout", &c.OfferTimeout, defaultOfferTimeout},
		{"offer_grace", &c.OfferGrace, defaultOfferGrace},
		{"agent_timeout", &c.AgentTimeout, defaultAgentTimeout},
		{"agent_removal rate", &c.RemovalEvery, defaultRemovalEvery},
		{"match window", &c.MatchWindow, defaultMatchWindow},
	} {
		if *d.value < 0 {
			return fmt.Errorf("%s is %v; it can't be negative", d.field, *d.value)
		}
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	if c.RemovalBurst < 0 {
		return fmt.Errorf("agent_removal burst is %d; it can't be negative", c.RemovalBurst)
	}
	if c.RemovalBurst == 0 {
		c.RemovalBurst = defaultRemovalBurst
	}
	if c.Prematchers < 0 || c.Prematchers > MaxPrematchers {
		return fmt.Errorf("prematch workers is %d; 0 to %d", c.Prematchers, MaxPrematchers)
	}
	if c.Prematchers == 0 {
		c.Prematchers = min(runtime.GOMAXPROCS(0), MaxPrematchers)
	}
	if err := c.Placement.Validate(); err != nil {
		return err
	}
	if c.Balance == nil {
		c.Balance = match.DefaultBalance()
	}
	if err := c.Balance.Validate(); err != nil {
		return fmt.Errorf("balance: %w", err)
	}
	if c.Matching == nil {
		c.Matching = match.DefaultMatching()
	}
	if err := c.Matching.Validate(); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	for kind, layout := range c.Rings {
		if err := layout.Validate(); err != nil {
			return fmt.Errorf("rings: %s: %w", kind, err)
		}
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	switch {
	case c.Door == nil:
		return errors.New("the master has no door")
	case c.HTTP == "":
		return errors.New("http is missing: give --http host:port")
	}
	return c.Door.MayServe(c.HTTP)
}

// apart is from how many units times agents on a batch of match is solved beside
// the loop: below, it keeps the loop for less than about 10 ms.
const apart = 200_000

// forLoop is what the loop needs of it; at is the advertised HTTP address.
func (c *Config) forLoop(name, at string, f *feed) loopConfig {
	return loopConfig{
		feed: f, tracer: c.Tracer,
		name: name, address: at, door: c.Door,
		match: match.Config{
			Rings: c.Rings, Placement: c.Placement, OfferTimeout: c.OfferTimeout, OfferGrace: c.OfferGrace, Exclude: c.Exclude,
			Balance: c.Balance, Matching: c.Matching, Window: c.MatchWindow, Apart: apart, Prematch: prematchers(c.Prematchers),
		},
		agentTimeout: c.AgentTimeout, removalEvery: c.RemovalEvery, removalBurst: c.RemovalBurst,
	}
}
