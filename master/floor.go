package master

import (
	"encoding/json"
	"net/http"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// shownFloor is the room of the whole cluster as the accepted tasks leave it,
// and the event after which that changes: whoever adds up the launches and ends
// that follow knows what the masters know, without asking again.
type shownFloor struct {
	After  events.ID     `json:"after"`
	Agents []shownSpace  `json:"agents"`
	Rings  []shownBounds `json:"rings"`
}

// shownSpace is the room of one agent.
type shownSpace struct {
	ID      offers.AgentID          `json:"id"`
	Name    string                  `json:"name"`
	State   offers.AgentState       `json:"state"`
	Online  bool                    `json:"online"`
	Tasks   int                     `json:"tasks"` // that live
	Total   events.Room             `json:"total"`
	Used    events.Room             `json:"used"`
	Devices map[string]shownDevices `json:"devices,omitempty"`
}

// shownDevices is one class on an agent, by device: bytes, and what is taken of
// the compute share.
type shownDevices struct {
	Capacity []int64       `json:"capacity"`
	Used     []int64       `json:"used"`
	Shares   []json.Number `json:"shares"`
}

// shownBounds is where the rings of a kind begin, the innermost first.
type shownBounds struct {
	Name string        `json:"name"`
	From []json.Number `json:"from"`
}

// floor leaves out agents that are gone, and what is only offered: both come
// and go without an event.
func (a *api) floor(_ *http.Request, p *picture) (any, error) {
	s, after := a.feed.standing()
	if s == nil {
		s = p.State
	}
	bare := picture{State: s, Match: &match.View{}}
	out := shownFloor{After: after, Agents: []shownSpace{}, Rings: []shownBounds{}}
	for ag := range s.Agents() {
		if ag.State != offers.AgentGone {
			out.Agents = append(out.Agents, bare.space(ag, p.AgentOnline[ag.ID]))
		}
	}
	for _, set := range p.Match.Rings {
		kind := shownBounds{Name: set.Name}
		for _, ring := range set.Rings {
			kind.From = append(kind.From, showKind(set.Name, ring.From))
		}
		out.Rings = append(out.Rings, kind)
	}
	return out, nil
}

func (p *picture) space(a *state.Agent, online bool) shownSpace {
	v := p.room(a)
	out := shownSpace{
		ID: a.ID, Name: a.Name, State: a.State, Online: online,
		Total: events.Room(a.Total.Amounts), Used: events.Room(v.Used.Amounts),
	}
	for range p.State.LiveTasksOn(a.ID) {
		out.Tasks++
	}
	for _, c := range v.Devices {
		if out.Devices == nil {
			out.Devices = map[string]shownDevices{}
		}
		d := shownDevices{Used: append([]int64{}, c.Used...)}
		for i := range c.Devices {
			d.Capacity = append(d.Capacity, c.Devices[i].Capacity)
			d.Shares = append(d.Shares, cores(c.Shares[i]))
		}
		out.Devices[c.Name] = d
	}
	return out
}
