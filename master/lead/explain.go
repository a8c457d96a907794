package lead

import (
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Explain explains a demand that nobody has stated, see [match.Matcher.Explain].
func (c *Core) Explain(id offers.FrameworkID, role offers.Role, wish offers.Demand, most int) match.Explanation {
	return c.match.Explain(id, role, wish, most)
}

// ExplainStated explains a demand that stands, see [match.Matcher.ExplainStated].
func (c *Core) ExplainStated(id offers.FrameworkID, demand offers.DemandID, most int) (match.Explanation, bool) {
	return c.match.ExplainStated(id, demand, most)
}

// Waiting returns the demands that wait, see [match.Matcher.Waiting].
func (c *Core) Waiting() []match.Waiting { return c.match.Waiting() }
