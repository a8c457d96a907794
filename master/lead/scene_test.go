package lead_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// listener keeps what it is told.
type listener struct {
	testing.TB
	got   []wire.Message
	ended string
}

func (p *listener) Send(m wire.Message, _ string) { p.got = append(p.got, m) }
func (p *listener) End(reason string)             { p.ended = reason }

// heard returns the messages of type M that came since it was last asked and
// forgets all others.
func heard[M wire.Message](p *listener) []M {
	var out []M
	for _, msg := range p.got {
		if m, ok := msg.(M); ok {
			out = append(out, m)
		}
	}
	p.got = nil
	return out
}

// only takes the only message of type M that came since the last time.
func only[M wire.Message](p *listener) M {
	p.Helper()
	all := p.got
	out := heard[M](p)
	if len(out) != 1 {
		p.Fatalf("%d messages of type %T, want one, among %s", len(out), *new(M), written(all))
	}
	return out[0]
}

// nothing fails when anything came since the last time.
func (p *listener) nothing(why string) {
	p.Helper()
	if len(p.got) > 0 {
		p.Fatalf("%s, and it is told %s", why, written(p.got))
	}
}

func written(list []wire.Message) string {
	var out []string
	for _, m := range list {
		text, _ := json.Marshal(m) // for the reader
		out = append(out, fmt.Sprintf("%s %s", m.Type(), text))
	}
	return fmt.Sprint(out)
}

// scene is a core with the state that it commits to, on a clock that only
// wait moves.
type scene struct {
	testing.TB
	*lead.Core
	config lead.Config
	state  *state.State
	now    time.Time
	next   time.Time // as the last turn said
	told   []events.Event
	spans  []offers.Span
	notes  []lead.Note
}

// window is that of the batches of `match`.
const window = 50 * time.Millisecond

// grace is for how long an offer is left to who does not answer.
const grace = time.Second

func newScene(t testing.TB) *scene {
	s, _ := state.New().Apply([]state.Command{{Init: &state.Init{ClusterID: "c0de"}}})
	l := &scene{TB: t, state: s, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), config: lead.Config{
		Match: match.Config{OfferTimeout: time.Hour, OfferGrace: grace, Window: window}, AgentTimeout: time.Minute, RemovalEvery: 10 * time.Second, RemovalBurst: 3,
	}}
	l.succeed()
	return l
}

// succeed begins the next term, with nothing but what is committed.
func (l *scene) succeed() {
	l.config.Master.Term++
	l.Core = lead.New(l.config, l.state, l.now)
}

// propose finishes a turn and returns what is to be made durable.
func (l *scene) propose() []lead.Step {
	l.At(l.now)
	t := l.Finish()
	l.next = t.Next
	l.told, l.spans, l.notes = append(l.told, t.Told...), append(l.spans, t.Spans...), append(l.notes, t.Notes...)
	return t.Steps
}

// agree commits what was proposed.
func (l *scene) agree(steps []lead.Step) {
	commands := make([]state.Command, len(steps))
	for i := range steps {
		commands[i] = steps[i].Command
	}
	var results []state.Result
	l.state, results = l.state.Apply(commands)
	l.At(l.now)
	l.Committed(steps, results, l.state)
}

// commit finishes turns until nothing is left to be made durable.
func (l *scene) commit() {
	for steps := l.propose(); len(steps) > 0; steps = l.propose() {
		l.agree(steps)
	}
}

// wait lets time pass, with a tick every second.
func (l *scene) wait(d time.Duration) {
	for end := l.now.Add(d); l.now.Before(end); {
		l.now = l.now.Add(min(time.Second, end.Sub(l.now)))
		l.At(l.now)
		l.Tick()
		l.commit()
	}
}

// author is a framework's connection.
type author struct {
	*listener
	*lead.Framework
	l  *scene
	id offers.FrameworkID
}

// connect brings a framework that has not registered.
func (l *scene) connect() *author {
	a := &author{listener: &listener{TB: l.TB}, l: l}
	a.Framework = lead.NewFramework(a.listener, 0, func() {})
	return a
}

// author brings a framework, with its id when it has one, and 10 s to return.
func (l *scene) author(id offers.FrameworkID) *author {
	l.Helper()
	a, patience := l.connect(), offers.Duration(10*time.Second)
	a.say(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f", User: "somebody", FailoverTimeout: &patience}})
	for _, m := range a.got {
		if r, ok := m.(*wire.Registered); ok {
			a.id = r.FrameworkID
			return a
		}
	}
	l.Fatalf("the framework %s is not registered but told %s", id, written(a.got))
	return nil
}

// hand says something, of which nothing is committed yet.
func (a *author) hand(m wire.Message) {
	a.l.At(a.l.now)
	a.l.Handle(a.Framework, a.Prepare(m, ""))
}

func (a *author) say(m wire.Message) {
	a.hand(m)
	a.l.commit()
}

// leave ends the connection.
func (a *author) leave() {
	a.l.At(a.l.now)
	a.l.FrameworkEnded(a.Framework)
	a.l.commit()
}

// wish demands one unit and returns its offer.
func (a *author) wish() wire.Offer {
	a.Helper()
	heard[wire.Message](a.listener)
	a.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","count":1,"resources":{"cpus":1}}`)}})
	return only[*wire.OffersMessage](a.listener).Offers[0]
}

func acceptance(o wire.Offer, ids ...offers.TaskID) *wire.Accept {
	m := &wire.Accept{OfferIDs: []offers.OfferID{o.ID}}
	for _, id := range ids {
		m.Tasks = append(m.Tasks, json.RawMessage(fmt.Sprintf(`{"id":%q,"resources":{"cpus":1},"command":{"shell":"x"}}`, id)))
	}
	return m
}

// launch brings tasks as far as the agent, one by one.
func (a *author) launch(ids ...offers.TaskID) {
	a.Helper()
	for _, id := range ids {
		a.say(acceptance(a.wish(), id))
		if m := only[*wire.Accepted](a.listener); !slices.Equal(m.TaskIDs, []offers.TaskID{id}) {
			a.Fatalf("accepted are %v, want %s", m.TaskIDs, id)
		}
	}
}

func (a *author) ref(id offers.TaskID) offers.TaskRef {
	return offers.TaskRef{Framework: a.id, Task: id}
}

// update takes the only update since the last time.
func (a *author) update(state offers.State, id offers.UpdateID) offers.Status {
	a.Helper()
	s := only[*wire.Update](a.listener).Status
	if s.State != state || id != "any" && s.UpdateID != id {
		a.Fatalf("told %s %q, want %s %q", s.State, s.UpdateID, state, id)
	}
	return s
}

func (a *author) acknowledge(task offers.TaskID, id offers.UpdateID) {
	a.say(&wire.Acknowledge{TaskID: task, UpdateID: id})
}

// host is an agent's connection.
type host struct {
	*listener
	*lead.Agent
	l    *scene
	self offers.Agent
}

// host brings an agent of 4 cpus, with what it knows of tasks.
func (l *scene) host(name string, id offers.AgentID, tasks ...wire.AgentTask) *host {
	l.Helper()
	h := &host{listener: &listener{TB: l.TB}, l: l}
	h.Agent = lead.NewAgent(h.listener)
	h.self = offers.Agent{ID: id, Name: name, Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 4000}}}
	h.say(&wire.RegisterAgent{Agent: h.self, Tasks: tasks})
	for _, m := range h.got {
		if r, ok := m.(*wire.AgentRegistered); ok {
			h.self.ID = r.AgentID
		}
	}
	return h
}

func (h *host) hand(m wire.Message) {
	h.l.At(h.l.now)
	h.l.HandleAgent(h.Agent, m, "")
}

func (h *host) say(m wire.Message) {
	h.hand(m)
	h.l.commit()
}

// back brings the agent again, with what it knows of tasks.
func (h *host) back(tasks ...wire.AgentTask) *host {
	h.Helper()
	return h.l.host(h.self.Name, h.self.ID, tasks...)
}

// leave ends the connection, on which something was heard until now.
func (h *host) leave() {
	h.l.At(h.l.now)
	h.l.AgentEnded(h.Agent, h.l.now)
	h.l.commit()
}

func status(ref offers.TaskRef, s offers.State, id offers.UpdateID) *wire.Statuses {
	return &wire.Statuses{Statuses: []wire.TaskStatus{{Framework: ref.Framework, Status: offers.Status{Task: ref.Task, State: s, UpdateID: id}}}}
}

func (h *host) report(ref offers.TaskRef, s offers.State, id offers.UpdateID) {
	h.say(status(ref, s, id))
}

// released takes what the agent need not send again.
func (h *host) released() []offers.UpdateID {
	out := []offers.UpdateID{}
	for _, m := range heard[*wire.AcknowledgeStatus](h.listener) {
		for _, ref := range m.Acknowledged {
			out = append(out, ref.UpdateID)
		}
	}
	return out
}

func listed(ref offers.TaskRef, s offers.State) wire.AgentTask {
	return wire.AgentTask{TaskRef: ref, State: s}
}

// free returns how much of an agent's cpu the leader counts free.
func (l *scene) free(id offers.AgentID) int64 {
	l.Helper()
	for _, v := range l.Observe().Match.Agents {
		if v.ID == id {
			return v.Free.Amounts[offers.CPUs]
		}
	}
	l.Fatalf("the leader knows no agent %s", id)
	return 0
}
