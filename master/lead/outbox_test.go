package lead_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// post is a leader between an agent that reports and a framework that
// acknowledges, beside a model of what it owes either of them.
type post struct {
	*rig
	agent         *lead.Agent
	agentBox, box *mailbox
	framework     *lead.Framework // nil while it is away
	stranger      *lead.Framework
	id            offers.FrameworkID
	made          int
	tasks         map[offers.TaskID]*owed
	sent          int       // updates, to this connection or the ones before
	seen          int       // the last of them that the framework has surely come to
	moved         time.Time // when it acknowledged last
	wantUpdates   []string  // of this step, in any order
	wantAgentAcks []string
}

// owed is what one task's updates have come to.
type owed struct {
	queue   []offers.Status // not acknowledged; the first is under way
	backoff time.Duration
	due     time.Time
	first   int             // sending of the first of queue, of all that there were
	last    int             // and its last
	all     []offers.Status // ever reported
	end     offers.UpdateID // the first end that was reported
	over    bool            // and acknowledged
	killed  bool            // it was reported killing
}

func newPost(t *rapid.T) *post {
	p := &post{rig: newRig(), agentBox: &mailbox{}, box: &mailbox{}, tasks: map[offers.TaskID]*owed{}}
	p.agent = lead.NewAgent(p.agentBox)
	p.turn(func() {
		p.HandleAgent(p.agent, &wire.RegisterAgent{Agent: offers.Agent{Name: "a", Total: offers.Inventory{Amounts: offers.Amounts{4000}}}}, "")
	})
	p.connect()
	p.id = take[*wire.Registered](p.box)[0].FrameworkID
	p.stranger = lead.NewFramework(&mailbox{}, 0, func() {})
	p.say(p.stranger, &wire.Register{Framework: wire.FrameworkInfo{Name: "g"}})
	p.say(p.framework, &wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","resources":{"cpus":4}}`)}})
	accept := &wire.Accept{OfferIDs: []offers.OfferID{take[*wire.OffersMessage](p.box)[0].Offers[0].ID}}
	for n := range 3 {
		id := offers.TaskID(fmt.Sprint("t", n))
		p.tasks[id] = &owed{}
		accept.Tasks = append(accept.Tasks, fmt.Appendf(nil, `{"id":"%s","resources":{"cpus":1},"command":{"shell":"x"}}`, id))
	}
	p.say(p.framework, accept)
	p.say(p.framework, &wire.Suppress{})
	p.box.got, p.agentBox.got = nil, nil
	return p
}

func (p *post) say(f *lead.Framework, m wire.Message) {
	p.turn(func() { p.Handle(f, f.Prepare(m, "")) })
}

func (p *post) connect() {
	p.framework = lead.NewFramework(p.box, 0, func() {})
	p.say(p.framework, &wire.Register{Framework: wire.FrameworkInfo{ID: p.id, Name: "f"}})
	for _, o := range p.tasks {
		p.send(o)
	}
}

// send expects the first update of a task at the framework.
func (p *post) send(o *owed) {
	if p.framework == nil || len(o.queue) == 0 {
		return
	}
	p.wantUpdates = append(p.wantUpdates, fmt.Sprint(o.queue[0].Task, " ", o.queue[0].UpdateID))
	o.backoff = min(max(2*o.backoff, time.Second), time.Minute)
	o.due = p.now.Add(o.backoff)
}

// again returns when the first update of a task is to be sent again: what the
// framework has yet to come to waits while it goes on.
func (p *post) again(o *owed) time.Time {
	if pause := p.moved.Add(time.Second); o.last > p.seen && pause.After(o.due) {
		return pause
	}
	return o.due
}

func (p *post) task(t *rapid.T) (offers.TaskID, *owed) {
	id := offers.TaskID(fmt.Sprint("t", rapid.IntRange(0, 2).Draw(t, "task")))
	return id, p.tasks[id]
}

// report is the agent's: something new of a task, or something once more.
func (p *post) report(t *rapid.T) {
	id, o := p.task(t)
	states := []offers.State{offers.Running, offers.Killing, offers.Running, offers.Finished, offers.Failed}
	p.made++
	s := offers.Status{Task: id, State: rapid.SampledFrom(states).Draw(t, "state"), UpdateID: offers.UpdateID(fmt.Sprint("u", p.made)), Time: p.now}
	if len(o.all) > 0 && rapid.Bool().Draw(t, "again") {
		s = rapid.SampledFrom(o.all).Draw(t, "which")
	}
	o.all = append(o.all, s)
	p.turn(func() {
		p.HandleAgent(p.agent, &wire.Statuses{Statuses: []wire.TaskStatus{{Framework: p.id, Status: s}}}, "")
	})
	ended := o.end != ""
	passed := s.State == offers.Running && o.killed || !s.State.Terminal() && ended
	o.killed = o.killed || s.State == offers.Killing
	switch {
	case o.over, passed, ended && s.State.Terminal() && s.UpdateID != o.end: // nobody is to hear of it
		p.wantAgentAcks = append(p.wantAgentAcks, fmt.Sprint(id, " ", s.UpdateID))
	case slices.ContainsFunc(o.queue, func(q offers.Status) bool { return q.UpdateID == s.UpdateID || q.State.Terminal() }):
	default:
		if s.State.Terminal() {
			o.end = s.UpdateID
		}
		if o.queue = append(o.queue, s); len(o.queue) == 1 {
			o.backoff = 0
			p.send(o)
		}
	}
}

// acknowledge is the framework's, of anything that was ever reported, and now
// and then somebody else's.
func (p *post) acknowledge(t *rapid.T) {
	id, o := p.task(t)
	if len(o.all) == 0 {
		return
	}
	update := rapid.SampledFrom(o.all).Draw(t, "which").UpdateID
	if len(o.queue) > 0 && rapid.IntRange(0, 3).Draw(t, "right") > 0 {
		update = o.queue[0].UpdateID
	}
	if rapid.IntRange(0, 5).Draw(t, "stranger") == 5 {
		p.say(p.stranger, &wire.Acknowledge{TaskID: id, UpdateID: update})
		return
	}
	if p.framework == nil {
		return
	}
	p.say(p.framework, &wire.Acknowledge{TaskID: id, UpdateID: update})
	if len(o.queue) == 0 || o.queue[0].UpdateID != update {
		return
	}
	p.wantAgentAcks = append(p.wantAgentAcks, fmt.Sprint(id, " ", update))
	o.over = o.queue[0].State.Terminal()
	p.moved, p.seen = p.now, max(p.seen, o.first)
	o.queue, o.backoff = o.queue[1:], 0
	p.send(o)
	p.resend() // what was passed over
}

// reconcile is the framework's: what waited before an end that it is told is
// skipped.
func (p *post) reconcile(*rapid.T) {
	if p.framework == nil {
		return
	}
	p.say(p.framework, &wire.Reconcile{})
	for id, o := range p.tasks {
		if o.end == "" || o.over || len(o.queue) == 1 {
			continue
		}
		last := len(o.queue) - 1
		for _, q := range o.queue[:last] {
			p.wantAgentAcks = append(p.wantAgentAcks, fmt.Sprint(id, " ", q.UpdateID))
		}
		o.queue, o.backoff = o.queue[last:], 0
		p.send(o)
	}
}

func (p *post) away(*rapid.T) {
	if p.framework != nil {
		p.turn(func() { p.FrameworkEnded(p.framework) })
		p.framework = nil
		for _, o := range p.tasks {
			o.backoff = 0
		}
	}
}

// wait lets time pass, often exactly until the core asks for a turn.
func (p *post) wait(t *rapid.T) {
	later := p.now.Add(time.Duration(rapid.IntRange(1, 90_000).Draw(t, "milliseconds")) * time.Millisecond)
	if p.next.After(p.now) && p.next.Sub(p.now) < 2*time.Minute && rapid.Bool().Draw(t, "when it asks") {
		later = p.next
	}
	p.now = later
	p.turn()
	p.resend()
}

// resend expects again what is due.
func (p *post) resend() {
	for _, o := range p.tasks {
		if p.framework != nil && len(o.queue) > 0 && !p.again(o).After(p.now) {
			p.send(o)
		}
	}
}

// count numbers what was sent in this step, in that order.
func (p *post) count(u *wire.Update) {
	o := p.tasks[u.Status.Task]
	if p.sent++; o.backoff == time.Second {
		o.first = p.sent
	}
	o.last = p.sent
}

// check holds what both were told in this step against what they were owed.
func (p *post) check(t *rapid.T) {
	var updates, acks []string
	for _, m := range p.box.got {
		if u, ok := m.(*wire.Update); ok && u.Status.UpdateID != "" {
			updates = append(updates, fmt.Sprint(u.Status.Task, " ", u.Status.UpdateID))
			p.count(u)
		}
	}
	for _, m := range take[*wire.AcknowledgeStatus](p.agentBox) {
		for _, a := range m.Acknowledged {
			acks = append(acks, fmt.Sprint(a.Task, " ", a.UpdateID))
		}
	}
	for what, pair := range map[string][2][]string{"framework": {updates, p.wantUpdates}, "agent": {acks, p.wantAgentAcks}} {
		slices.Sort(pair[0])
		slices.Sort(pair[1])
		if !slices.Equal(pair[0], pair[1]) {
			t.Fatalf("the %s was told %v, it was owed %v", what, pair[0], pair[1])
		}
	}
	p.box.got, p.wantUpdates, p.wantAgentAcks = nil, nil, nil
	for id, o := range p.tasks {
		k := p.state.Task(offers.TaskRef{Framework: p.id, Task: id})
		if (k.End != nil) != (o.end != "") || k.End != nil && k.End.UpdateID != o.end || k.Acknowledged != o.over {
			t.Fatalf("the masters have of %s the end %+v (acknowledged: %v), want %s (%v)", id, k.End, k.Acknowledged, o.end, o.over)
		}
		if p.framework != nil && len(o.queue) > 0 && (p.next.IsZero() || p.next.After(p.again(o))) {
			t.Fatalf("%s is due at %v, the core asks for %v", id, p.again(o), p.next)
		}
	}
}

// TestDeliveryAgainstModel: of each task one update is under way at a time, in
// order, resent after 1 s doubling to 60 s; only the framework's own
// acknowledgement of that very update counts, and the first end wins. What an
// answer to reconcile told the end of has nothing else to come.
func TestDeliveryAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPost(t)
		actions := map[string]func(*rapid.T){
			"report": p.report, "acknowledge": p.acknowledge, "reconcile": p.reconcile, "wait": p.wait, "away": p.away,
			"come back": func(*rapid.T) {
				if p.framework == nil {
					p.connect()
				}
			},
			"": p.check,
		}
		for range 2 {
			t.Repeat(actions)
		}
	})
}
