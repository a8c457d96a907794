package lead

import (
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/master/events"
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

// Waiting returns demands that wait, see [match.Matcher.Waiting].
func (c *Core) Waiting(of match.WaitingOf) []match.Waiting { return c.match.Waiting(of) }

// ShowReasons returns what is against the agents of a trail as programs see it.
func ShowReasons(t *match.Trail) []events.Reason {
	out := []events.Reason{}
	for _, r := range t.Reasons {
		first := showLack(r.Lack)
		one := events.Reason{Against: events.Against{Code: r.Code, What: r.What}, Agents: r.Agents, Asked: first.Asked, Most: first.Most}
		for _, l := range r.Also {
			one.Also = append(one.Also, showLack(l))
		}
		out = append(out, one)
	}
	return out
}

func showLack(l match.Lack) events.Lack {
	out := events.Lack{What: l.Kind}
	if l.Asked > 0 {
		asked, most := json.Number(offers.FormatKind(l.Kind, l.Asked)), json.Number(offers.FormatKind(l.Kind, l.Most))
		out.Asked, out.Most = &asked, &most
	}
	return out
}
