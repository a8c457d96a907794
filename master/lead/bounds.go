package lead

import (
	"github.com/ringmaster-project/ringmaster/offers"
)

// What one framework may have is bounded, and who may connect may connect as many as
// it likes: so what they have together is, too, or a master would run short of memory.
// It is the leader's to refuse, not the state's: masters of another version would take
// it. What is under way is counted where that costs nothing.

// letsIn refuses another framework where there are very many. Those that are known come
// back.
func (c *Core) letsIn(id offers.FrameworkID) error {
	known, _ := c.match.Standing()
	if n := known + len(c.entering); id == "" && n >= c.config.Frameworks {
		return offers.Errorf(offers.RateLimited, "there are %d frameworks, the most there can be: one that ends makes room", n)
	}
	return nil
}

// demandable refuses a demand that does not stand yet where there are very many.
func (c *Core) demandable(f offers.FrameworkID, d *offers.Demand) error {
	withdrawn := d.Count != nil && *d.Count == 0
	if _, n := c.match.Standing(); n >= c.config.Demands && !withdrawn && !c.match.HasDemand(f, d.ID) {
		return offers.Errorf(offers.RateLimited, "demand %s: all frameworks together have %d demands, the most there can be: one that is met or withdrawn makes room", d.ID, n)
	}
	return nil
}

// launchable refuses so many tasks where very many live.
func (c *Core) launchable(tasks int) error {
	if n := c.state().Counts().Live; tasks > 0 && n+tasks > c.config.Tasks {
		return offers.Errorf(offers.RateLimited, "%d tasks live and there can be %d: the offers are left, accept them when some have ended", n, c.config.Tasks)
	}
	return nil
}
