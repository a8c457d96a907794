package master

import (
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// leadership is everything that exists only while this master leads, for one
// term. It is built from the replicated state and owned by the loop.
type leadership struct {
	loop       *loop
	term       uint64
	match      *match.Matcher
	frameworks map[offers.FrameworkID]*frameworkSession
	agents     map[offers.AgentID]*agentSession
	silent     map[offers.AgentID]time.Time // agents without session, since when
	deadlines  map[offers.FrameworkID]time.Time
	delivery   *delivery
	removals   *rate.Limiter
	turn       []step // commands collected in this turn
	dirty      bool   // something changed since picture was taken
	picture    *picture
	master     wire.MasterInfo
}

// newLeadership begins a term. Frameworks that were connected to the leader
// before get their deadline from now; agents are given the agent timeout to
// show up.
func newLeadership(l *loop, term uint64) *leadership {
	now := time.Now()
	s := l.replica.State()
	lead := &leadership{
		loop: l, term: term, dirty: true,
		match:      match.New(l.config.match, s, term),
		frameworks: map[offers.FrameworkID]*frameworkSession{},
		agents:     map[offers.AgentID]*agentSession{},
		silent:     map[offers.AgentID]time.Time{},
		deadlines:  map[offers.FrameworkID]time.Time{},
		delivery:   newDelivery(term),
		removals:   rate.NewLimiter(rate.Every(l.config.removalEvery), l.config.removalBurst),
		master:     wire.MasterInfo{Name: l.config.name, Address: l.config.address, Term: term},
	}
	for f := range s.Frameworks() {
		switch {
		case f.Removed:
		case f.Deadline.IsZero():
			lead.commit(state.Command{DisconnectFramework: &state.DisconnectFramework{ID: f.ID, Deadline: now.Add(f.FailoverTimeout)}}, nil)
		default:
			lead.deadlines[f.ID] = f.Deadline
		}
	}
	for a := range s.Agents() {
		if a.State == offers.AgentGone {
			for t := range s.UnacknowledgedOn(a.ID) {
				lead.deliverEnd(t)
			}
			continue
		}
		if a.State != offers.AgentUnreachable {
			lead.silent[a.ID] = now
		}
	}
	return lead
}

// close ends all sessions.
func (lead *leadership) close(reason string) {
	for _, s := range lead.frameworks {
		s.cut(reason)
	}
	for _, s := range lead.agents {
		s.cut(reason)
	}
}

// commit adds a command to the turn. Everybody's view of its effect is
// brought up to date by applied; then does what only the caller knows.
func (lead *leadership) commit(c state.Command, then func(state.Result)) {
	lead.turn = append(lead.turn, step{c, then})
}

// applied brings the soft state up to date with one committed command.
func (lead *leadership) applied(c *state.Command, r state.Result) {
	if r.Err != nil {
		if c.Launch != nil {
			lead.match.Ended(c.Launch.Task.Ref())
		}
		return
	}
	switch {
	case c.RegisterAgent != nil:
		if r.Gone != nil { // the agent that had the name before
			lead.agentGone(r.Gone.ID)
		}
		lead.match.AgentChanged(r.Value.(*state.Agent))
	case c.SetAgentState != nil:
		lead.agentStateSet(c.SetAgentState.ID)
	case c.RegisterFramework != nil:
		f := r.Value.(*state.Framework)
		lead.match.FrameworkKnown(f)
		delete(lead.deadlines, f.ID)
	case c.DisconnectFramework != nil:
		if lead.frameworks[c.DisconnectFramework.ID] == nil {
			lead.deadlines[c.DisconnectFramework.ID] = c.DisconnectFramework.Deadline
		}
	case c.RemoveFramework != nil:
		lead.frameworkRemoved(c.RemoveFramework.ID)
	case c.SetRole != nil:
		lead.match.RoleChanged(c.SetRole.Role, c.SetRole.Settings)
	case c.EndTask != nil:
		lead.taskEnded(c.EndTask.Ref)
	case c.KillTask != nil:
		lead.orderKill(c.KillTask.Ref)
	}
}

// tick does what is overdue.
func (lead *leadership) tick(now time.Time) {
	for _, s := range lead.delivery.due(now) {
		lead.sendUpdate(s, now)
	}
	for id, at := range lead.deadlines {
		if !at.After(now) {
			delete(lead.deadlines, id)
			lead.commit(state.Command{RemoveFramework: &state.RemoveFramework{ID: id, Time: now}}, nil)
		}
	}
	lead.markUnreachable(now)
	lead.finishDrains(now)
}

// markUnreachable gives up on agents that were silent for too long, eldest
// silence first and no faster than the removal rate, so that a fault of the
// network does not empty the cluster.
func (lead *leadership) markUnreachable(now time.Time) {
	var late []offers.AgentID
	for id, since := range lead.silent {
		if now.Sub(since) >= lead.loop.config.agentTimeout {
			late = append(late, id)
		}
	}
	slices.SortFunc(late, func(a, b offers.AgentID) int {
		return lead.silent[a].Compare(lead.silent[b])
	})
	for _, id := range late {
		if !lead.removals.AllowN(now, 1) {
			return
		}
		delete(lead.silent, id)
		lead.loop.logger.Warn("agent is unreachable", "agent", id)
		lead.commit(state.Command{SetAgentState: &state.SetAgentState{ID: id, State: offers.AgentUnreachable, Time: now}}, nil)
	}
}

// finishDrains marks draining agents drained once nothing runs on them.
func (lead *leadership) finishDrains(now time.Time) {
	s := lead.state()
	for id := range lead.agents {
		if a := s.Agent(id); a == nil || a.State != offers.AgentDraining {
			continue
		}
		live := false
		for range s.LiveTasksOn(id) {
			live = true
			break
		}
		if !live {
			lead.commit(state.Command{SetAgentState: &state.SetAgentState{ID: id, State: offers.AgentDrained, Time: now}}, nil)
		}
	}
}

func (lead *leadership) state() *state.State { return lead.loop.replica.State() }

// sendReady sends what the matcher decided, one message a framework.
func (lead *leadership) sendReady(r match.Ready) {
	if len(r.Offers)+len(r.Rescinds) > 0 {
		lead.dirty = true
	}
	for _, rescind := range r.Rescinds {
		if s := lead.frameworks[rescind.Framework]; s != nil {
			s.send(&wire.Rescind{OfferIDs: rescind.Offers, Reason: rescind.Reason}, "")
		}
	}
	byFramework := map[offers.FrameworkID]*wire.OffersMessage{}
	var order []offers.FrameworkID
	for _, o := range r.Offers {
		m := byFramework[o.Framework]
		if m == nil {
			m = &wire.OffersMessage{}
			byFramework[o.Framework] = m
			order = append(order, o.Framework)
		}
		m.Offers = append(m.Offers, lead.wireOffer(o))
	}
	for _, id := range order {
		if s := lead.frameworks[id]; s != nil {
			s.send(byFramework[id], "")
		}
	}
}

// wireOffer returns an offer as its framework sees it.
func (lead *leadership) wireOffer(o *offers.Offer) wire.Offer {
	ring := o.Ring
	out := wire.Offer{ID: o.ID, Resources: wire.MakeOffered(o), DemandID: o.Demand, Ring: &ring, Expires: o.Expires.UTC()}
	if a := lead.state().Agent(o.Agent); a != nil {
		out.Agent = wire.OfferAgent{ID: a.ID, Name: a.Name, Host: a.Host, Address: a.Address, Attributes: a.Attributes}
	}
	return out
}
