package lead_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// mailbox is a peer that keeps what it is sent.
type mailbox struct{ got []wire.Message }

func (m *mailbox) Send(msg wire.Message, _ string) { m.got = append(m.got, msg) }
func (m *mailbox) End(string)                      {}

// take returns the messages of type M that came since the last take and
// forgets all others.
func take[M wire.Message](box *mailbox) []M {
	var out []M
	for _, msg := range box.got {
		if m, ok := msg.(M); ok {
			out = append(out, m)
		}
	}
	box.got = nil
	return out
}

// rig is a core whose turns are committed at once.
type rig struct {
	*lead.Core
	state *state.State
	now   time.Time
	next  time.Time // as the last turn said
}

func newRig() *rig {
	r := &rig{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	r.state, _ = state.New().Apply([]state.Command{{Init: &state.Init{ClusterID: "0123456789abcdef0123456789abcdef"}}})
	r.Core = lead.New(lead.Config{Match: match.Config{OfferTimeout: time.Hour}, AgentTimeout: time.Hour, RemovalEvery: time.Second, RemovalBurst: 1}, r.state, r.now)
	return r
}

// turn runs inputs until nothing is left to commit.
func (r *rig) turn(inputs ...func()) {
	r.At(r.now)
	for _, in := range inputs {
		in()
	}
	for {
		t := r.Finish()
		r.next = t.Next
		if len(t.Steps) == 0 {
			return
		}
		commands := make([]state.Command, len(t.Steps))
		for i := range t.Steps {
			commands[i] = t.Steps[i].Command
		}
		var results []state.Result
		r.state, results = r.state.Apply(commands)
		r.Committed(t.Steps, results, r.state)
	}
}

// running brings one task to the state running on an agent.
func (r *rig) running(t *testing.T) (framework *mailbox) {
	t.Helper()
	agent, box := &mailbox{}, &mailbox{}
	a, f := lead.NewAgent(agent), lead.NewFramework(box, 0, func() {})
	say := func(m wire.Message) { r.turn(func() { r.Handle(f, f.Prepare(m, "")) }) }
	r.turn(func() {
		r.HandleAgent(a, &wire.RegisterAgent{Agent: offers.Agent{Name: "a1", Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{4000}}}}, "")
	})
	say(&wire.Register{Framework: wire.FrameworkInfo{Name: "f", Role: "r"}})
	id := take[*wire.Registered](box)[0].FrameworkID
	say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","count":1,"resources":{"cpus":1}}`)}})
	offer := take[*wire.OffersMessage](box)[0].Offers[0]
	if offer.Agent.Attributes == nil {
		t.Error("an agent without attributes is offered with null in their place")
	}
	say(&wire.Accept{OfferIDs: []offers.OfferID{offer.ID}, Tasks: []json.RawMessage{[]byte(`{"id":"t","resources":{"cpus":1},"command":{"shell":"x"}}`)}})
	box.got = nil
	r.turn(func() {
		r.HandleAgent(a, &wire.Statuses{Statuses: []wire.TaskStatus{{Framework: id, Status: offers.Status{
			Task: "t", State: offers.Running, UpdateID: "u1", Time: r.now}}}}, "")
	})
	return box
}

// An update that nobody acknowledges goes out again after exactly 1 s,
// doubling to 60 s, in the turns that the core asks for.
func TestUpdatesAreResentOnTime(t *testing.T) {
	r := newRig()
	box := r.running(t)
	if n := len(take[*wire.Update](box)); n != 1 {
		t.Fatalf("%d updates at first, want 1", n)
	}
	var gaps []time.Duration
	for range 8 {
		gap := r.next.Sub(r.now)
		gaps = append(gaps, gap)
		r.now = r.next.Add(-time.Millisecond)
		if r.turn(); len(take[*wire.Update](box)) != 0 {
			t.Fatalf("resent before its time, after %v", gaps)
		}
		r.now = r.next
		if r.turn(); len(take[*wire.Update](box)) != 1 {
			t.Fatalf("not resent when it was due, after %v", gaps)
		}
	}
	want := []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 60e9, 60e9}
	if !slices.Equal(gaps, want) {
		t.Fatalf("resent after %v, want %v", gaps, want)
	}
}

// Who takes over begins with the shortest pause, however long the instance
// before it has said nothing.
func TestTheNextInstanceIsResentSoon(t *testing.T) {
	r := newRig()
	r.running(t)
	for range 4 {
		r.now = r.next
		r.turn()
	}
	box := &mailbox{}
	f := lead.NewFramework(box, 0, func() {})
	for one := range r.state.Frameworks() {
		r.turn(func() {
			r.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{ID: one.ID, Name: "f", Role: "r"}}, ""))
		})
	}
	if n := len(take[*wire.Update](box)); n != 1 {
		t.Fatalf("%d updates at first, want 1", n)
	}
	if pause := r.next.Sub(r.now); pause != time.Second {
		t.Fatalf("it is resent after %s, want 1s", pause)
	}
}

// While inputs wait, the acknowledgement may be among them: nothing is sent
// again, but for so long only.
func TestNothingIsResentWhileInputsWait(t *testing.T) {
	r := newRig()
	box := r.running(t)
	box.got = nil
	for range 9 {
		r.now = r.now.Add(time.Second)
		if r.turn(r.Behind); len(take[*wire.Update](box)) != 0 {
			t.Fatalf("resent at %v, though inputs wait", r.now)
		}
	}
	r.now = r.now.Add(2 * time.Second)
	if r.turn(r.Behind); len(take[*wire.Update](box)) != 1 {
		t.Error("not resent after 11 s in which inputs waited")
	}
	r.now = r.now.Add(2 * time.Second)
	if r.turn(); len(take[*wire.Update](box)) != 1 {
		t.Error("not resent when it was due and nothing waited")
	}
}
