package lead

import (
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Observation is what readers see: replicated and soft state of one moment.
// Nothing in it ever changes.
type Observation struct {
	State       *state.State
	Match       *match.View
	AgentOnline map[offers.AgentID]bool
	Connected   map[offers.FrameworkID]bool
	Reports     Reports
}

// Changed reports whether anything changed since the last Observe.
func (c *Core) Changed() bool { return c.dirty }

// Observe takes an observation. It costs O(agents + offers + tasks) of
// counting; nothing that grows with the tasks is copied.
func (c *Core) Observe() Observation {
	c.dirty = false
	o := Observation{
		State: c.state(), Match: c.match.View(),
		AgentOnline: make(map[offers.AgentID]bool, len(c.agents)),
		Connected:   make(map[offers.FrameworkID]bool, len(c.frameworks)),
		Reports:     c.delivery.last.reports(),
	}
	for id := range c.agents {
		o.AgentOnline[id] = true
	}
	for id := range c.frameworks {
		o.Connected[id] = true
	}
	return o
}

// Held returns what outstanding offers hold, by agent; see [match.Matcher.Held].
func (c *Core) Held() map[offers.AgentID]offers.Holding { return c.match.Held() }
