package master

import (
	"net/http"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// floor leaves out agents that are gone, and what is only offered, which comes
// and goes without an event: see [api.tellHeld].
func (a *api) floor(_ *http.Request, p *picture) (any, error) {
	s, after := a.feed.standing()
	if s == nil {
		s = p.State
	}
	bare := picture{State: s, Match: &match.View{}}
	out := shown.Floor{After: after, Agents: []shown.Space{}, Rings: []shown.Bounds{}}
	for ag := range s.Agents() {
		if ag.State != offers.AgentGone {
			space := bare.space(ag, p.AgentOnline[ag.ID])
			v, _ := p.matched(ag.ID)
			space.Closed = v.Closed
			out.Agents = append(out.Agents, space)
		}
	}
	for _, set := range p.Match.Rings {
		kind := shown.Bounds{Name: set.Name}
		for _, ring := range set.Rings {
			kind.From = append(kind.From, showKind(set.Name, ring.From))
		}
		out.Rings = append(out.Rings, kind)
	}
	return out, nil
}

func (p *picture) space(a *state.Agent, online bool) shown.Space {
	v := p.room(a)
	out := shown.Space{
		ID: a.ID, Name: a.Name, State: a.State, Online: online,
		Total: events.Room(a.Total.Amounts), Used: events.Room(v.Used.Amounts),
	}
	for range p.State.LiveTasksOn(a.ID) {
		out.Tasks++
	}
	for _, c := range v.Devices {
		if out.Devices == nil {
			out.Devices = map[string]shown.Devices{}
		}
		d := shown.Devices{Used: append([]int64{}, c.Used...)}
		for i := range c.Devices {
			d.Capacity = append(d.Capacity, c.Devices[i].Capacity)
			d.Shares = append(d.Shares, cores(c.Shares[i]))
		}
		out.Devices[c.Name] = d
	}
	return out
}
