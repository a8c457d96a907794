package state

import (
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

func (tx *tx) registerAgent(c *RegisterAgent) Result {
	if tx.cluster == "" {
		return refuse(offers.Unavailable, "the cluster has no id yet; try again once it has started")
	}
	if c.Agent.Name == "" {
		return refuse(offers.BadMessage, "agent name is empty")
	}
	if strings.IndexByte(c.Agent.Name, 0) >= 0 { // it can't be a part of a key
		return refuse(offers.BadMessage, "agent name %.60q has a zero byte", c.Agent.Name)
	}
	other := tx.named.Get(trie.Path{c.Agent.Name})
	if c.Agent.ID == "" {
		return tx.newAgent(c, other)
	}
	old := tx.agents.Get(agentPath(c.Agent.ID))
	if old == nil || old.State == offers.AgentGone {
		return refuse(offers.UnknownAgent, "agent %.60q is not known any more; it can register as a new one, without an id", c.Agent.ID)
	}
	if other != nil && other.ID != old.ID {
		return refuse(offers.Forbidden, "agent name %q belongs to agent %s; choose another name or remove that agent", c.Agent.Name, other.ID)
	}
	a := *old
	a.Agent = c.Agent
	a.Registrations++
	if old.State == offers.AgentUnreachable {
		a.State, a.Resume, a.Since = old.Resume, "", c.Time
	}
	if old.Name != a.Name {
		tx.named.Delete(trie.Path{old.Name})
	}
	tx.examine(&a, old, c)
	tx.enterAgent(&a)
	return Result{Value: &a}
}

// Continues reports whether a registration with these tokens is of a run that
// knows what the last registration knew.
func (a *Agent) Continues(have, next string) bool {
	return a.Token == "" || have == a.Token || next == a.Token && !a.Older
}

// examine finds out whether a registration is of a run that may not know all
// that ran on its host. Its Next alone speaks for it, since the answer to the
// last registration may have been lost, but not where that answer said that
// the agent runs on an older copy: it may not have heard so.
func (tx *tx) examine(a, old *Agent, c *RegisterAgent) {
	latest := old.Continues(c.Have, c.Next)
	a.Token = c.Next
	if c.Agent.Started.Equal(old.Started) {
		a.Older = old.Older && !latest
		return
	}
	a.Older = !latest
	if a.Older || c.Doubt {
		tx.doubt(a.ID)
	}
}

// doubt marks the living tasks of an agent that may not know all that ran.
func (tx *tx) doubt(id offers.AgentID) {
	for _, t := range collect(tx.living, id) {
		tx.replaceLiving(t.amended(func(r *Rare) { r.Doubtful = true }))
	}
}

// newAgent gives an id; other, when not nil, has the name and is gone for it.
func (tx *tx) newAgent(c *RegisterAgent, other *Agent) (r Result) {
	if other != nil {
		r.Gone, r.Ended = tx.loseAgent(other, c.Time)
	}
	tx.counters.Agents++
	a := &Agent{Agent: c.Agent, State: offers.AgentActive, Registered: c.Time, Registrations: 1, Since: c.Time, Token: c.Next}
	a.ID = offers.AgentID(mint(agentLetter, tx.counters.Agents, tx.cluster))
	tx.enterAgent(a)
	r.Value = a
	return r
}

// enterAgent enters what is known by now of an agent that is not gone.
func (tx *tx) enterAgent(a *Agent) {
	tx.agents.Put(a)
	tx.named.Put(a)
}

func (tx *tx) setAgentState(c *SetAgentState) Result {
	old := tx.agents.Get(agentPath(c.ID))
	if old == nil {
		return refuse(offers.UnknownAgent, "agent %.60q is not known", c.ID)
	}
	if c.State == offers.AgentGone && old.State != offers.AgentGone {
		gone, ended := tx.loseAgent(old, c.Time)
		return Result{Value: gone, Gone: gone, Ended: ended}
	}
	if c.State == old.State {
		return Result{Value: old}
	}
	a := *old
	if err := tx.move(&a, c.State); err != nil {
		return Result{Err: err}
	}
	if c.Of > 0 && c.Of != old.Registrations || a.State == old.State && a.Resume == old.Resume {
		return Result{Value: old}
	}
	if a.State != old.State {
		a.Since = c.Time
	}
	tx.enterAgent(&a)
	return Result{Value: &a}
}

// move sets the state that follows when an agent is told to be in state to.
//
//	active ──▶ draining ──▶ drained
//	   ◀──────────┴────────────┘       and each of them ◀─▶ unreachable ─▶ gone
func (tx *tx) move(a *Agent, to offers.AgentState) *offers.Error {
	// place is where a drain is noted: the state itself, or what the agent
	// returns to.
	place := &a.State
	if a.State == offers.AgentUnreachable {
		place = &a.Resume
	}
	switch {
	case a.State == offers.AgentGone:
		return offers.Errorf(offers.UnknownAgent, "agent %s is gone and stays gone", a.ID)
	case to == offers.AgentActive:
		*place = to // only the agent itself ends its being unreachable
	case to == offers.AgentUnreachable:
		a.State, a.Resume = to, a.State
		a.Absences++
	case to == offers.AgentDraining:
		if *place == offers.AgentActive {
			*place = to
		}
	case to == offers.AgentDrained && *place == offers.AgentActive:
		return offers.Errorf(offers.BadMessage, "agent %s is not draining", a.ID)
	case to == offers.AgentDrained && tx.occupied(a.ID):
		return offers.Errorf(offers.BadMessage, "agent %s still has living tasks", a.ID)
	case to == offers.AgentDrained:
		*place = to
	default:
		return offers.Errorf(offers.BadMessage, "agent state %.40q is unknown", string(to))
	}
	return nil
}

// occupied reports whether a task lives on the agent.
func (tx *tx) occupied(id offers.AgentID) bool {
	for range tx.living.Below(trie.Path{string(id)}) {
		return true
	}
	return false
}

// loseAgent makes an agent gone, with its living tasks.
func (tx *tx) loseAgent(old *Agent, at time.Time) (*Agent, []*Task) {
	var ended []*Task
	for _, t := range collect(tx.living, old.ID) {
		ended = append(ended, tx.end(t, offers.Status{
			Agent: old.ID, State: offers.Gone, Reason: offers.ReasonAgentLost,
			Message: "agent " + old.Name + " is gone", Time: at,
		}))
	}
	a := *old
	a.State, a.Resume, a.Since = offers.AgentGone, "", at
	a.Ended = tx.nextEnd()
	tx.agents.Put(&a)
	tx.named.Delete(trie.Path{a.Name})
	tx.gone.add(a.Ended, a.ID)
	return &a, ended
}
