package master

import (
	"iter"
	"net/http"
	"slices"
	"strings"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func (p *picture) showAgent(a *state.Agent) any {
	v := p.room(a)
	out := shown.Agent{
		ID: a.ID, Name: a.Name, Host: a.Host, Address: a.Address, State: a.State, Resume: a.Resume, Online: p.AgentOnline[a.ID], Closed: v.Closed,
		Attributes: a.Attributes, Version: a.Version,
		Total: showTotal(a.Total), Used: showHolding(v.Used), Offered: showHolding(v.Offered), Free: showHolding(v.Free),
		Devices: map[string]shown.Class{},
		Started: moment(a.Started), Registered: moment(a.Registered), Since: moment(a.Since),
	}
	if out.Attributes == nil {
		out.Attributes = map[string]string{}
	}
	for _, c := range v.Devices {
		out.Devices[c.Name] = showClass(c, v.Unwell[c.Name])
	}
	return out
}

// room returns what is taken on an agent: as the matcher has it, or counted
// from the replicated tasks where no matcher is at hand or it holds no longer
// to the agent. A gone agent has nothing free.
func (p *picture) room(a *state.Agent) match.AgentView {
	if v, found := p.matched(a.ID); found {
		return v
	}
	room := offers.NewRoom(a.Total)
	v := match.AgentView{ID: a.ID}
	for t := range p.State.LiveTasksOn(a.ID) {
		room.Claim(*t.Holding)
		v.Used = plus(v.Used, *t.Holding)
	}
	if v.Devices = room.Classes(); a.State != offers.AgentGone {
		v.Free = room.Rest()
	}
	for k, n := range v.Free.Amounts {
		v.Free.Amounts[k] = max(n, 0)
	}
	return v
}

// matched returns an agent as the matcher has it.
func (p *picture) matched(id offers.AgentID) (v match.AgentView, found bool) {
	i, found := slices.BinarySearchFunc(p.Match.Agents, id, func(v match.AgentView, id offers.AgentID) int {
		return strings.Compare(string(v.ID), string(id))
	})
	if found {
		v = p.Match.Agents[i]
	}
	return v, found
}

// plus returns both holdings in one.
func plus(a, b offers.Holding) offers.Holding {
	return offers.Holding{Amounts: a.Amounts.Plus(b.Amounts), Ports: a.Ports.Plus(b.Ports), Devices: a.Devices.Plus(b.Devices)}
}

func (a *api) listAgents(r *http.Request, p *picture) (any, error) {
	l, err := newLister(r, "agents")
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	if s := offers.AgentState(q.Get("state")); s != "" && !slices.Contains(agentStates, s) {
		return nil, offers.Errorf(offers.BadMessage, "state is %.60q; an agent is %s", s, oneOf(agentStates))
	}
	for ag := range p.State.Agents() {
		if given(q.Get("state"), string(ag.State)) || given(q.Get("agent"), string(ag.ID), ag.Name) {
			continue
		}
		if !l.add(string(ag.ID), func() any { return p.showAgent(ag) }) {
			break
		}
	}
	return l.page(), nil
}

var agentStates = []offers.AgentState{offers.AgentActive, offers.AgentDraining, offers.AgentDrained, offers.AgentUnreachable, offers.AgentGone}

// oneOf lists what something may be.
func oneOf[T ~string](all []T) string {
	var words []string
	for _, s := range all[:len(all)-1] {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ") + " or " + string(all[len(all)-1])
}

// given reports that a filter was given and none of values is what it names.
func given(filter string, values ...string) bool {
	return filter != "" && !slices.Contains(values, filter)
}

func (a *api) oneAgent(r *http.Request, p *picture) (any, error) {
	ag, err := p.findAgent(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return p.showAgent(ag), nil
}

// findAgent returns the agent of an id, a name, or a unique beginning of an id.
func (p *picture) findAgent(text string) (*state.Agent, error) {
	if a := p.State.Agent(offers.AgentID(text)); a != nil {
		return a, nil
	}
	return called(p.State.Agents(), "agent", text, offers.UnknownAgent, func(a *state.Agent) (id, name string, gone bool) {
		return string(a.ID), a.Name, a.State == offers.AgentGone
	})
}

// called returns the one of all that has a name, or of which a text is a unique
// beginning of the id. What has gone steps back for what has not. The errors
// say what to ask for instead.
func called[T any](all iter.Seq[T], what, text string, unknown offers.Code, who func(T) (id, name string, gone bool)) (T, error) {
	var none T
	var named, begun struct{ here, gone []T }
	for t := range all {
		id, name, gone := who(t)
		found := &begun
		if name == text {
			found = &named
		} else if !strings.HasPrefix(id, text) {
			continue
		}
		if gone {
			found.gone = append(found.gone, t)
		} else {
			found.here = append(found.here, t)
		}
	}
	id := func(t T) string {
		id, _, _ := who(t)
		return id
	}
	for _, found := range [][]T{named.here, named.gone} {
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return none, conflict("%.140q is the name of %d %ss (%s): give the id of one", text, len(found), what, few(found, id))
		}
	}
	if len(begun.here) == 0 {
		return only(begun.gone, what, text, unknown, id)
	}
	return only(begun.here, what, text, unknown, id)
}

// only returns the one thing found; the errors say what to ask for instead.
func only[T any](found []T, what, asked string, unknown offers.Code, id func(T) string) (T, error) {
	var none T
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return none, offers.Errorf(unknown, "there is no %s %.140q", what, asked)
	}
	return none, conflict("%.140q is the beginning of %d ids (%s): give more of the %s's", asked, len(found), few(found, id), what)
}

// few names the first two of several.
func few[T any](found []T, id func(T) string) string {
	text := id(found[0]) + ", " + id(found[1])
	if len(found) > 2 {
		text += ", ..."
	}
	return text
}
