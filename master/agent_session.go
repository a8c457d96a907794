package master

import (
	"sync/atomic"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// agentSession is one connection of one agent.
type agentSession struct {
	session
	heard atomic.Int64 // unix nanoseconds of the last message

	// Owned by the loop.
	id    offers.AgentID // once registered
	ended bool
	known map[offers.TaskRef]wire.AgentTask // what it listed, until it is registered
}

// serveAgent serves one agent's connection until it ends.
func (l *loop) serveAgent(link wire.Link, p door.Principal) {
	s := &agentSession{session: session{loop: l, link: link, principal: p, door: l.config.door, prefix: door.Agent}}
	s.heard.Store(time.Now().UnixNano())
	s.read(wire.FromAgent, func(msg wire.Message, request string) bool {
		s.heard.Store(time.Now().UnixNano())
		if _, beat := msg.(*wire.Heartbeat); beat {
			return true
		}
		return l.enter(func(lead *leadership) { s.handle(lead, msg, request) })
	})
	l.enter(func(lead *leadership) { s.end(lead) })
	link.Close("the connection ended")
}

// handle runs one message in the loop.
func (s *agentSession) handle(lead *leadership, msg wire.Message, request string) {
	if lead == nil || s.ended {
		s.cut("this master leads no more")
		return
	}
	lead.dirty = true
	switch m := msg.(type) {
	case *wire.RegisterAgent:
		s.register(lead, m, request)
	case *wire.Statuses:
		if s.id == "" {
			s.refuse(offers.Errorf(offers.NotRegistered, "the first message of a connection is register"), request)
			return
		}
		for i := range m.Statuses {
			lead.reported(s, &m.Statuses[i])
		}
	}
}

// register enters the agent.
func (s *agentSession) register(lead *leadership, m *wire.RegisterAgent, request string) {
	if s.known != nil {
		s.refuse(offers.Errorf(offers.BadMessage, "this connection is registered already"), request)
		return
	}
	if err := m.Agent.Validate(); err != nil {
		s.refuse(offers.Errorf(offers.BadMessage, "register: %s", err), request)
		return
	}
	s.known = make(map[offers.TaskRef]wire.AgentTask, len(m.Tasks))
	for _, t := range m.Tasks {
		s.known[t.TaskRef] = t
	}
	lead.commit(state.Command{RegisterAgent: &state.RegisterAgent{Agent: m.Agent, Time: time.Now().UTC()}}, func(r state.Result) {
		if r.Err != nil {
			s.known = nil
			s.refuse(r.Err, request)
			return
		}
		s.admitted(lead, r.Value.(*state.Agent), request)
	})
}

// admitted begins the service once the registration is durable: the agent
// learns what it must forget, gets the launches and kills it missed, and is
// offered from now on.
func (s *agentSession) admitted(lead *leadership, a *state.Agent, request string) {
	if s.ended {
		return
	}
	if old := lead.agents[a.ID]; old != nil {
		old.ended = true
		old.cut("the agent connected anew")
	}
	s.id = a.ID
	lead.agents[a.ID] = s
	delete(lead.silent, a.ID)
	lead.match.AgentOnline(a.ID, true)
	lead.loop.logger.Info("agent registered", "agent", a.ID, "name", a.Name, "tasks", len(s.known))

	answer := &wire.AgentRegistered{AgentID: a.ID, Master: lead.master, Heartbeat: offers.Duration(s.loop.config.agentHeartbeat())}
	for ref := range s.known {
		if t := lead.state().Task(ref); t == nil || t.Agent != a.ID || t.End != nil && t.Acknowledged {
			answer.Forget = append(answer.Forget, ref)
		}
	}
	s.send(answer, request)
	for t := range lead.state().LiveTasksOn(a.ID) {
		listed, has := s.known[t.Ref()]
		if !has && t.Restored {
			lead.lost(t)
			continue
		}
		if !has {
			s.sendLaunch(lead, t)
		} else {
			lead.returned(t, listed.State)
		}
		if t.Kill != nil {
			lead.orderKill(t.Ref())
		}
	}
	for t := range lead.state().UnacknowledgedOn(a.ID) {
		if _, has := s.known[t.Ref()]; !has && t.End != nil {
			lead.deliverEnd(t)
		}
	}
}

// end runs in the loop after the connection has ended.
func (s *agentSession) end(lead *leadership) {
	if s.ended {
		return
	}
	s.ended = true
	if lead == nil || s.id == "" || lead.agents[s.id] != s {
		return
	}
	delete(lead.agents, s.id)
	lead.match.AgentOnline(s.id, false)
	lead.silent[s.id] = time.Unix(0, s.heard.Load())
	lead.dirty = true
	lead.loop.logger.Info("agent disconnected", "agent", s.id)
}

// agentHeartbeat is how often agents are to send a heartbeat.
func (c *loopConfig) agentHeartbeat() time.Duration { return min(5*time.Second, c.agentTimeout/4) }

// agentStateSet follows a change of an agent's state.
func (lead *leadership) agentStateSet(id offers.AgentID) {
	a := lead.state().Agent(id)
	if a == nil {
		return
	}
	switch a.State {
	case offers.AgentGone:
		lead.agentGone(id)
		return
	case offers.AgentUnreachable:
		lead.agentUnreachable(id)
	case offers.AgentDraining:
		for t := range lead.state().LiveTasksOn(id) {
			if t.Kill == nil {
				lead.commit(state.Command{KillTask: &state.KillTask{Ref: t.Ref(), Order: state.KillOrder{Reason: "drain", Time: time.Now().UTC()}}}, nil)
			}
		}
	}
	lead.match.AgentChanged(a)
}

// agentGone ends everything of an agent that will not come back.
func (lead *leadership) agentGone(id offers.AgentID) {
	delete(lead.silent, id)
	if s := lead.agents[id]; s != nil {
		delete(lead.agents, id)
		s.ended = true
		s.refuse(offers.Errorf(offers.UnknownAgent, "agent %s was removed", id), "")
		s.cut("the agent was removed")
	}
	if a := lead.state().Agent(id); a != nil {
		lead.match.AgentChanged(a)
	}
	for t := range lead.state().UnacknowledgedOn(id) {
		if t.End != nil {
			lead.deliverEnd(t)
		}
	}
}

// agentUnreachable tells the frameworks that the agent's tasks are out of
// sight, and delivers the ends it can't deliver itself any more.
func (lead *leadership) agentUnreachable(id offers.AgentID) {
	for t := range lead.state().LiveTasksOn(id) {
		lead.update(t.Ref(), offers.Status{
			Task: t.Spec.ID, Agent: id, State: offers.Unreachable, UpdateID: lead.delivery.makeID(),
			Reason: offers.ReasonAgentAway, Message: "the agent does not answer", Time: time.Now().UTC(),
		}, false)
	}
	for t := range lead.state().UnacknowledgedOn(id) {
		if t.End != nil {
			lead.deliverEnd(t)
		}
	}
}

// returned says that a task is back in sight after its agent was unreachable,
// and remembers what the agent says of it.
func (lead *leadership) returned(t *state.Task, now offers.State) {
	last, known := lead.delivery.last[t.Ref()]
	status := offers.Status{Task: t.Spec.ID, Agent: t.Agent, State: now, Time: time.Now().UTC()}
	switch {
	case now.Terminal() || !now.Known():
	case known && last.State == offers.Unreachable:
		status.UpdateID = lead.delivery.makeID()
		lead.update(t.Ref(), status, false)
	case !known:
		lead.delivery.last[t.Ref()] = status
	}
}
