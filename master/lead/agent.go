package lead

import (
	"cmp"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Agent is one connection of one agent.
type Agent struct {
	peer  *parcel
	id    offers.AgentID // once registered
	asked bool           // it wants to be, or is
	ended bool

	// What it listed before it registers, and what that weighs, see [wire.AgentTasks].
	listed []wire.AgentTask
	weight int

	// What it said when it registered, until that is answered: its tasks but for
	// those that it is told to forget, and the use of its devices.
	known map[offers.TaskRef]wire.AgentTask
	usage *wire.Usage
	parts bool // it was said in several messages

	// Launches with devices that were sent, and not yet said to be handled;
	// handled counts those before them.
	sent    []offers.TaskRef
	handled uint64
}

// NewAgent returns a connection that has not registered yet.
func NewAgent(peer Peer) *Agent { return &Agent{peer: &parcel{peer: peer}} }

// HandleAgent runs one message of an agent.
func (c *Core) HandleAgent(s *Agent, msg wire.Message, request string) {
	if s.ended {
		s.peer.End("the agent connected anew")
		return
	}
	c.dirty = true
	switch m := msg.(type) {
	case *wire.RegisterAgent:
		s.register(c, m, request)
	case *wire.AgentTasks:
		s.list(c, m, request)
	case *wire.Statuses:
		if err := s.reports(c, m.Statuses); err != nil {
			refuse(s.peer, err, request)
		}
	case *wire.Usage:
		c.devicesReported(s, m)
	}
}

const (
	maxToken    = 256       // bytes of a token of a checkpoint
	maxListing  = 128 << 20 // bytes, as they are weighed, that an agent lists before it registers
	maxListings = 512 << 20 // bytes that all agents do so together
	mostForget  = 10_000    // tasks in one answer to who listed its own in several messages
)

// list takes some of the tasks of an agent that lists them in several messages, and
// with the last of them registers it. Of a list that is not whole nothing is believed:
// what was not listed would count as lost.
func (s *Agent) list(c *Core, m *wire.AgentTasks, request string) {
	if s.asked {
		refuse(s.peer, offers.Errorf(offers.BadMessage, "this connection is registered already"), request)
		return
	}
	weight := 0
	for i := range m.Tasks {
		weight += m.Tasks[i].Weigh()
	}
	s.weight, c.listing = s.weight+weight, c.listing+weight
	if s.weight > maxListing {
		s.unlisted(c, offers.Errorf(offers.TooLarge, "tasks: more are listed than a master takes of one agent, about %s", offers.FormatSize(maxListing)), request)
		return
	}
	if c.listing > maxListings {
		s.unlisted(c, offers.Errorf(offers.RateLimited, "tasks: very many are being listed by other agents: come again"), request)
		return
	}
	s.listed = append(s.listed, m.Tasks...)
	if m.Register == nil {
		return
	}
	if m.All != len(s.listed) {
		s.unlisted(c, offers.Errorf(offers.BadMessage, "tasks: %d were listed and %d came", m.All, len(s.listed)), request)
		return
	}
	whole := *m.Register
	whole.Tasks, s.parts = s.listed, true
	s.unlist(c)
	s.register(c, &whole, request)
}

// unlisted refuses a list, and what may follow of it.
func (s *Agent) unlisted(c *Core, err error, request string) {
	s.unlist(c)
	s.ended = true
	refuse(s.peer, err, request)
	s.peer.End("its list of tasks is refused")
}

// unlist forgets what was listed.
func (s *Agent) unlist(c *Core) {
	c.listing -= s.weight
	s.listed, s.weight = nil, 0
}

// register enters the agent.
func (s *Agent) register(c *Core, m *wire.RegisterAgent, request string) {
	if s.asked {
		refuse(s.peer, offers.Errorf(offers.BadMessage, "this connection is registered already"), request)
		return
	}
	if c.superseded(m.Attempt) {
		s.ended = true
		s.peer.End("a newer connection registered")
		return
	}
	if err := m.Agent.Validate(); err != nil {
		refuse(s.peer, offers.Errorf(offers.BadMessage, "register: %s", err), request)
		return
	}
	if len(m.Have) > maxToken || len(m.Next) > maxToken {
		refuse(s.peer, offers.Errorf(offers.BadMessage, "register: have or next is longer than %d bytes", maxToken), request)
		return
	}
	if err := cmp.Or(c.nameFree(&m.Agent), c.idFree(m)); err != nil {
		refuse(s.peer, err, request)
		return
	}
	s.asked, s.usage = true, m.Usage
	s.known = make(map[offers.TaskRef]wire.AgentTask, len(m.Tasks))
	for _, t := range m.Tasks {
		s.known[t.TaskRef] = t
	}
	c.Commit(state.Command{RegisterAgent: &state.RegisterAgent{Agent: m.Agent, Time: c.wall(), Have: m.Have, Next: m.Next, Doubt: m.Doubt}}, func(r state.Result) {
		if r.Err != nil {
			s.asked, s.known, s.usage = false, nil, nil
			refuse(s.peer, r.Err, request)
			return
		}
		s.admitted(c, r.Value.(*state.Agent), request)
	})
}

// Missing returns the agents that have not come since this master leads and that say
// where they are reached, ascending by id. They are to be read only.
func (c *Core) Missing() []*state.Agent {
	var out []*state.Agent
	for id, since := range c.silent {
		if a := c.state().Agent(id); since.Equal(c.began) && a != nil && a.Address != "" {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *state.Agent) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// nameFree refuses a new agent while another one of its name is connected: hosts
// that were cloned would take each other's place for ever, and end each other's
// tasks. One that was replaced for good has lost its connection, or is about to.
// The same process may be new twice, where the first answer did not reach it.
func (c *Core) nameFree(a *offers.Agent) error {
	if a.ID != "" {
		return nil
	}
	other := c.state().AgentNamed(a.Name)
	if other == nil || c.agents[other.ID] == nil || other.Started.Equal(a.Started) {
		return nil
	}
	return offers.Errorf(offers.Forbidden, "the name %s is taken by the agent %s on %s, which is connected: give one of them another --name", a.Name, other.ID, other.Host)
}

// idFree refuses an older copy of an agent's folder while that agent itself is
// connected: it would take the place of the one that is right, and end its tasks.
func (c *Core) idFree(m *wire.RegisterAgent) error {
	a := c.state().Agent(m.Agent.ID)
	if a == nil || c.agents[a.ID] == nil || a.Started.Equal(m.Agent.Started) || a.Continues(m.Have, m.Next) {
		return nil
	}
	return offers.Errorf(offers.Forbidden, "the agent %s is connected, on %s, and this one runs on an older copy of its data folder: give it a folder and a --name of its own", a.ID, a.Host)
}

// admitted begins the service once the registration is durable: the agent
// learns what it must forget, gets the launches and kills it missed, and is
// offered from now on.
func (s *Agent) admitted(c *Core, a *state.Agent, request string) {
	if s.ended { // it went away meanwhile, so nobody tells its silence later
		if c.agents[a.ID] == nil {
			c.silent[a.ID] = c.now
		}
		return
	}
	if old := c.agents[a.ID]; old != nil {
		old.ended = true
		old.peer.End("the agent connected anew")
	}
	s.id = a.ID
	c.agents[a.ID] = s
	delete(c.silent, a.ID)
	forget := s.forget(c)
	c.devicesKnown(s)
	c.match.AgentOnline(a.ID, true)
	c.note("agent registered", "agent", a.ID, "name", a.Name, "tasks", len(s.known))

	if a.Older {
		c.note("agent runs on an older copy of its checkpoint", "agent", a.ID, "name", a.Name)
	}
	answer := &wire.AgentRegistered{
		AgentID: a.ID, Master: c.config.Master, Older: a.Older, Forget: forget,
	}
	for s.parts && len(answer.Forget) > mostForget {
		some := *answer
		some.Forget, some.More = answer.Forget[:mostForget], true
		answer.Forget = answer.Forget[mostForget:]
		s.peer.Send(&some, "")
	}
	s.peer.Send(answer, request)
	for t := range c.state().LiveTasksOn(a.ID) {
		listed, has := s.known[t.Ref()]
		if !has && (t.Restored || t.Doubtful) {
			c.lost(t)
			continue
		}
		if !has {
			s.sendLaunch(c, t, 0)
		} else {
			c.returned(t, listed)
		}
		if t.Kill != nil {
			c.orderKill(t.Ref())
		}
	}
	for t := range c.state().UnacknowledgedOn(a.ID) {
		if _, has := s.known[t.Ref()]; !has && t.End != nil {
			c.deliverEnd(t)
		}
	}
	s.known, s.usage = nil, nil
}

// forget takes out of what the agent listed all that is none of its present
// tasks, and returns it in order.
func (s *Agent) forget(c *Core) []offers.TaskRef {
	var out []offers.TaskRef
	for ref, listed := range s.known {
		if t := c.state().Task(ref); t == nil || t.Agent != s.id || t.End != nil && t.Acknowledged || listed.LaunchID.Other(t.LaunchID) {
			out = append(out, ref)
			delete(s.known, ref)
		}
	}
	slices.SortFunc(out, compareRefs)
	return out
}

// AgentEnded follows the end of a connection that was last heard at heard.
func (c *Core) AgentEnded(s *Agent, heard time.Time) {
	if s.ended {
		return
	}
	s.ended = true
	s.unlist(c)
	if s.id == "" || c.agents[s.id] != s {
		return
	}
	delete(c.agents, s.id)
	c.match.AgentOnline(s.id, false)
	c.silent[s.id] = heard
	c.dirty = true
	c.note("agent disconnected", "agent", s.id)
	c.told = append(c.told, events.Event{Type: events.AgentDisconnected, Time: c.wall(), Agent: s.id})
}

// agentStateSet follows a change of an agent's state.
func (c *Core) agentStateSet(id offers.AgentID) {
	a := c.state().Agent(id)
	if a == nil {
		return
	}
	c.noteDrain(a)
	switch a.State {
	case offers.AgentGone:
		c.agentGone(id)
		return
	case offers.AgentUnreachable:
		c.agentUnreachable(id)
	case offers.AgentDraining:
		c.endTasks(id)
	}
	c.match.AgentChanged(a)
}

// agentGone ends everything of an agent that will not come back.
func (c *Core) agentGone(id offers.AgentID) {
	delete(c.silent, id)
	if s := c.agents[id]; s != nil {
		delete(c.agents, id)
		s.ended = true
		refuse(s.peer, offers.Errorf(offers.UnknownAgent, "agent %s was removed", id), "")
		s.peer.End("the agent was removed")
	}
	if a := c.state().Agent(id); a != nil {
		c.match.AgentChanged(a)
	}
	for t := range c.state().UnacknowledgedOn(id) {
		if t.End != nil {
			c.deliverEnd(t)
		}
	}
}

// agentUnreachable tells the frameworks that the agent's tasks are out of
// sight, and delivers the ends it can't deliver itself any more.
func (c *Core) agentUnreachable(id offers.AgentID) {
	for t := range c.state().LiveTasksOn(id) {
		c.update(t.Ref(), offers.Status{
			Task: t.ID, Agent: id, State: offers.Unreachable, UpdateID: c.delivery.makeID(),
			Reason: offers.ReasonAgentAway, Message: "the agent does not answer", Time: c.wall(),
		}, false)
	}
	for t := range c.state().UnacknowledgedOn(id) {
		if t.End != nil {
			c.deliverEnd(t)
		}
	}
}

// returned says that a task is back in sight after its agent was unreachable,
// or was asked about in vain, and remembers what the agent says of it.
func (c *Core) returned(t *state.Task, listed wire.AgentTask) {
	last, known := c.delivery.last.of(t.Ref())
	now := listed.State
	asked := c.unsure[t.Ref()] && now != offers.Staging // which was the answer
	delete(c.unsure, t.Ref())
	status := offers.Status{Task: t.ID, Agent: t.Agent, State: now, Healthy: listed.Healthy, Started: listed.Started, Time: c.wall()}
	killing := t.Kill != nil && (!known || last.State == offers.Unreachable)
	switch {
	case now.Terminal() && killing:
		// So its framework may have seen it, and the agent may have to tell still
		// what came before that, and that.
		status.State = offers.Killing
		c.delivery.last.set(t.Ref(), status)
	case now.Terminal() || !now.Known():
	case t.Kill != nil && now == offers.Running, t.Doubtful && (now == offers.Starting || now == offers.Staging):
		// Its framework may have seen it killing, or running, already: an older
		// copy of the checkpoint does not know, and an agent that was away may have
		// told less than a leader has of it. The order makes the agent say
		// killing itself, and what else is true it says once it has looked.
		if killing {
			status.State = offers.Killing
		}
		c.delivery.last.set(t.Ref(), status)
	case known && last.State == offers.Unreachable, !known && (asked || c.wasAway(t)):
		status.UpdateID = c.delivery.makeID()
		c.update(t.Ref(), status, false)
	case !known:
		c.delivery.last.set(t.Ref(), status)
	}
}

// wasAway reports whether the agent of a task has been unreachable since the
// launch, perhaps under a leader that did not come to tell of its return. It is
// counted, not timed: leaders' clocks differ.
func (c *Core) wasAway(t *state.Task) bool {
	a := c.state().Agent(t.Agent)
	return a != nil && a.Absences > t.Absences
}
