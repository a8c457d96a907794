package lead_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// An update that nobody acknowledges goes out again after exactly 1 s,
// doubling to 60 s, in the turns that the core asks for, and the one behind it
// begins with 1 s again.
func TestUpdatesAreResentUntilAcknowledged(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	h.report(a.ref("t1"), offers.Running, "u1")
	h.report(a.ref("t1"), offers.Killing, "u2")
	a.update(offers.Running, "u1")
	resent := func(n int, state offers.State, id offers.UpdateID, want ...time.Duration) {
		t.Helper()
		var gaps []time.Duration
		for range n {
			gaps = append(gaps, l.next.Sub(l.now))
			l.now = l.next.Add(-time.Millisecond)
			l.commit()
			a.nothing("it is not due yet")
			l.now = l.next
			l.commit()
			a.update(state, id)
		}
		if !slices.Equal(gaps, want) {
			t.Fatalf("resent after %v, want %v", gaps, want)
		}
	}
	resent(8, offers.Running, "u1", 1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 60e9, 60e9)
	a.acknowledge("t1", "u1")
	a.update(offers.Killing, "u2")
	resent(2, offers.Killing, "u2", 1e9, 2e9)
	a.acknowledge("t1", "u2")
	l.wait(3 * time.Minute)
	a.nothing("all is acknowledged")
}

// One update of a task is under way at a time, in the order in which its agent
// sent them, each once however often the agent repeats itself.
func TestUpdatesComeInOrderOneByOne(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	for range 2 {
		h.report(a.ref("t1"), offers.Running, "u1")
		h.report(a.ref("t1"), offers.Killing, "u2")
	}
	for range 2 {
		h.report(a.ref("t1"), offers.Killed, "u3")
	}
	h.report(a.ref("t1"), offers.Killing, "u4") // out of order: nothing comes after the end
	for i, state := range []offers.State{offers.Running, offers.Killing, offers.Killed} {
		id := offers.UpdateID([]string{"u1", "u2", "u3"}[i])
		a.update(state, id)
		a.acknowledge("t1", id)
	}
	a.nothing("all is acknowledged")
}

// The agent resends until the framework has acknowledged, and only then stops.
func TestAgentIsReleasedByTheFramework(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	h.released()
	for i, state := range []offers.State{offers.Running, offers.Failed} {
		id := offers.UpdateID([]string{"u1", "u2"}[i])
		h.report(a.ref("t1"), state, id)
		if got := h.released(); len(got) > 0 {
			t.Fatalf("the agent is released from %v before the framework has it", got)
		}
		a.acknowledge("t1", id)
		if got := h.released(); !slices.Equal(got, []offers.UpdateID{id}) {
			t.Fatalf("the agent is released from %v, want %s", got, id)
		}
	}
	if !l.state.Task(a.ref("t1")).Acknowledged {
		t.Error("the end is acknowledged, and that is not durable")
	}
}

// An acknowledgement counts from the task's framework, for the update that is
// under way.
func TestAcknowledgementCountsForItsUpdateOnly(t *testing.T) {
	l := newScene(t)
	h, a, other := l.host("a1", ""), l.author(""), l.author("")
	a.launch("t1")
	h.report(a.ref("t1"), offers.Running, "u1")
	h.report(a.ref("t1"), offers.Failed, "u2")
	heard[wire.Message](a.listener)
	h.released()
	other.acknowledge("t1", "u1") // another framework
	a.acknowledge("t1", "u2")     // not under way yet
	a.acknowledge("t1", "u0")     // of nobody
	a.acknowledge("t2", "u1")     // another task
	a.nothing("nothing was acknowledged")
	if got := h.released(); len(got) > 0 {
		t.Errorf("the agent is released from %v", got)
	}
	l.wait(2 * time.Second)
	a.update(offers.Running, "u1")
	if l.state.Task(a.ref("t1")).Acknowledged {
		t.Error("the end counts as acknowledged")
	}
}

// A framework that comes back gets what waited for it at once.
func TestWaitingUpdatesReachTheReturningFramework(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1", "t2")
	h.report(a.ref("t1"), offers.Running, "u1")
	a.leave()
	h.report(a.ref("t2"), offers.Failed, "u2")
	l.wait(5 * time.Second)
	back := l.author(a.id)
	updates := heard[*wire.Update](back.listener)
	if len(updates) != 2 || updates[0].Status.UpdateID != "u1" || updates[1].Status.UpdateID != "u2" {
		t.Fatalf("told %+v on return", updates)
	}
	l.wait(time.Second)
	if again := heard[*wire.Update](back.listener); len(again) != 2 {
		t.Errorf("%d updates a second later, want both again", len(again))
	}
}

// The first end wins: a later one of the agent is neither told nor recorded,
// and the agent need not repeat it.
func TestFirstEndWins(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	// Two ends in one turn: the second is judged before the first is durable.
	h.hand(status(a.ref("t1"), offers.Finished, "u1"))
	h.hand(status(a.ref("t1"), offers.Failed, "u2"))
	l.commit()
	a.update(offers.Finished, "u1")
	if got := h.released(); !slices.Equal(got, []offers.UpdateID{"u2"}) {
		t.Errorf("the agent is released from %v, want the end that does not count", got)
	}
	h.report(a.ref("t1"), offers.Killed, "u3")
	a.acknowledge("t1", "u1")
	if got := heard[*wire.Update](a.listener); len(got) > 0 {
		t.Errorf("told %+v after the end", got[0].Status)
	}
	if end := l.state.Task(a.ref("t1")).End; end.State != offers.Finished {
		t.Errorf("the end is %s", end.State)
	}
}

// The state's own end of a task, here the removal of its agent, and the
// agent's that came just too late: the framework hears of one.
func TestEndThatComesTooLateIsNotTold(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	l.agentIs(h, offers.AgentGone)
	h.hand(status(a.ref("t1"), offers.Finished, "u1"))
	l.commit()
	s := a.update(offers.Gone, "any")
	a.acknowledge("t1", s.UpdateID)
	a.nothing("the task is gone")
}

// An agent speaks for its own tasks, whatever it calls itself.
func TestAgentSpeaksForItsOwnTasksOnly(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	other := l.host("a2", "")
	other.released()
	for _, state := range []offers.State{offers.Running, offers.Failed} {
		forged := status(a.ref("t1"), state, "u1")
		forged.Statuses[0].Agent = h.self.ID
		other.say(forged)
		a.nothing("another agent speaks")
		if got := other.released(); !slices.Equal(got, []offers.UpdateID{"u1"}) {
			t.Errorf("the other agent is released from %v", got)
		}
	}
	if l.state.Task(a.ref("t1")).End != nil {
		t.Error("an agent has ended the task of another")
	}
	wrong := status(a.ref("t1"), offers.Running, "u2")
	wrong.Statuses[0].Agent = other.self.ID
	h.say(wrong)
	if s := a.update(offers.Running, "u2"); s.Agent != h.self.ID {
		t.Errorf("told that it runs on %s", s.Agent)
	}
}

// What was not acknowledged when a leader died is delivered by the next one:
// by the agent that repeats it, or by the master where the agent can't.
func TestEndsOutliveTheLeader(t *testing.T) {
	l := newScene(t)
	kept, forgot, gone, a := l.host("a1", ""), l.host("a2", ""), l.host("a3", ""), l.author("")
	on := map[offers.AgentID]offers.TaskID{}
	for _, id := range []offers.TaskID{"t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"} {
		a.launch(id)
		on[l.state.Task(a.ref(id)).Agent] = id
	}
	if len(on) != 3 {
		t.Fatalf("tasks are on %v", on)
	}
	a.leave()
	for i, h := range []*host{kept, forgot, gone} {
		h.report(a.ref(on[h.self.ID]), offers.Failed, offers.UpdateID([]string{"u1", "u2", "u3"}[i]))
	}
	l.agentIs(gone, offers.AgentGone)
	l.succeed()
	a = l.author(a.id)
	told := map[offers.UpdateID]bool{}
	hear := func() {
		for _, m := range heard[*wire.Update](a.listener) {
			if m.Status.State == offers.Failed {
				told[m.Status.UpdateID] = true
			}
		}
	}
	hear()
	if !told["u3"] || len(told) != 1 {
		t.Errorf("told at once %v, want u3 of the agent that is gone", told)
	}
	kept = kept.back(listed(a.ref(on[kept.self.ID]), offers.Failed))
	hear()
	if told["u1"] {
		t.Error("u1 is told before its agent has sent it again")
	}
	kept.report(a.ref(on[kept.self.ID]), offers.Failed, "u1")
	forgot.back() // its checkpoint was lost, or its id is all that is left
	hear()
	if !told["u1"] || !told["u2"] {
		t.Errorf("told %v in the end", told)
	}
}

// TestBadStatusesAreRefusedTogether, of however many a message is, and those beside
// them are handled.
func TestBadStatusesAreRefusedTogether(t *testing.T) {
	for bad, want := range map[int]string{
		0:                    "",
		1:                    "status of task bad-0 has no update_id, a longer one than 256 bytes or an unknown state",
		5000:                 "5000 statuses have no update_id, a longer one than 256 bytes or an unknown state; the first is of task bad-0",
		wire.MaxStatuses + 1: "10002 statuses; a message has at most 10000",
	} {
		l := newScene(t)
		h, a := l.host("a1", ""), l.author("")
		a.launch("t1")
		m := &wire.Statuses{}
		for i := range bad {
			m.Statuses = append(m.Statuses, wire.TaskStatus{Status: offers.Status{Task: offers.TaskID(fmt.Sprint("bad-", i)), State: offers.Running}})
		}
		m.Statuses = append(m.Statuses, status(a.ref("t1"), offers.Running, "u1").Statuses...)
		h.say(m)
		var got string
		for _, e := range heard[*wire.ErrorMessage](h.listener) {
			got += e.Message
		}
		if got != want {
			t.Errorf("%d bad ones are answered with %.200q; want %q", bad, got, want)
		}
		if bad < wire.MaxStatuses {
			a.update(offers.Running, "u1")
		}
	}
}

// TestUpdatesOfATaskAreBounded: an agent that reports ever new ones while the
// framework is away may forget what is beyond a bound, and the framework gets the
// first of them in order, the newest and the end.
func TestUpdatesOfATaskAreBounded(t *testing.T) {
	const reported, most = 500, 64
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	ref := a.ref("t1")
	a.leave()
	id := func(i int) offers.UpdateID { return offers.UpdateID(fmt.Sprint("u", i)) }
	for i := range reported {
		h.report(ref, offers.Running, id(i))
	}
	if n := len(h.released()); n != reported-most {
		t.Errorf("the agent may forget %d of %d reports; want all but %d", n, reported, most)
	}
	h.report(ref, offers.Finished, "end")
	a = l.author(a.id)
	var got []offers.UpdateID
	for more := true; more; {
		more = false
		for _, u := range heard[*wire.Update](a.listener) {
			got, more = append(got, u.Status.UpdateID), true
			a.acknowledge("t1", u.Status.UpdateID)
		}
	}
	var want []offers.UpdateID
	for i := range most - 1 {
		want = append(want, id(i))
	}
	if want = append(want, "end"); !slices.Equal(got, want) {
		t.Errorf("the framework got %v; want %v", got, want)
	}
	if n := len(h.released()); n != most+1 {
		t.Errorf("the agent may then forget %d; want the last %d and the end", n, most)
	}
}
