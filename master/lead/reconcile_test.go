package lead_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// asks asks for tasks and returns the answers, which end with reconciled and
// want no acknowledgement.
func (a *author) asks(ids ...offers.TaskID) map[offers.TaskID]offers.Status {
	a.Helper()
	heard[wire.Message](a.listener)
	a.hand(&wire.Reconcile{TaskIDs: ids})
	if len(a.got) == 0 {
		a.Fatal("reconcile gets no answer")
	}
	last := slices.IndexFunc(a.got, func(m wire.Message) bool { _, ok := m.(*wire.Reconciled); return ok })
	if last < 0 {
		a.Fatalf("the answers do not end with reconciled: %s", written(a.got))
	}
	a.got = a.got[:last]
	out := map[offers.TaskID]offers.Status{}
	for _, m := range heard[*wire.Update](a.listener) {
		if m.Status.UpdateID != "" {
			a.Errorf("an answer wants an acknowledgement: %+v", m.Status)
		}
		out[m.Status.Task] = m.Status
	}
	return out
}

// Reconcile has an answer for every task in every situation.
func TestReconcileAlwaysAnswers(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	want := func(when string, id offers.TaskID, state offers.State, reason string) {
		t.Helper()
		if s, ok := a.asks(id)[id]; !ok || s.State != state || s.Reason != reason {
			t.Errorf("%s: %+v (answered %v), want %s %s", when, s, ok, state, reason)
		}
	}
	want("never heard of", "t1", offers.Dropped, offers.ReasonUnknownTask)
	o := a.wish()
	a.hand(acceptance(o, "t1"))
	steps := l.propose()
	want("on its way to a majority", "t1", offers.Staging, offers.ReasonReconciliation)
	l.agree(steps)
	want("launched", "t1", offers.Staging, offers.ReasonReconciliation)
	h.report(a.ref("t1"), offers.Running, "u1")
	a.acknowledge("t1", "u1")
	want("running", "t1", offers.Running, offers.ReasonReconciliation)
	h.leave()
	want("its agent is away for a moment", "t1", offers.Running, offers.ReasonPendingAgent)
	l.wait(2 * time.Minute)
	want("its agent does not answer", "t1", offers.Unreachable, offers.ReasonAgentAway)

	l.succeed()
	a = l.author(a.id)
	want("the next leader does not see its agent either", "t1", offers.Unreachable, offers.ReasonAgentAway)
	h = h.back(listed(a.ref("t1"), offers.Running))
	want("its agent is back", "t1", offers.Running, offers.ReasonReconciliation)
	l.succeed()
	a = l.author(a.id)
	want("a leader that has not heard of its agent", "t1", offers.Staging, offers.ReasonPendingAgent)
	h = h.back(listed(a.ref("t1"), offers.Running))
	h.report(a.ref("t1"), offers.Failed, "u2")
	want("ended", "t1", offers.Failed, "")
	a.acknowledge("t1", "u2")
	want("ended and acknowledged", "t1", offers.Failed, "")
}

// Without names it is about all tasks but those that are over and done with.
func TestReconcileOfAll(t *testing.T) {
	l := newScene(t)
	h, a, other := l.host("a1", ""), l.author(""), l.author("")
	if got := a.asks(); len(got) != 0 {
		t.Errorf("answered %v of no task", got)
	}
	a.launch("lives", "ended", "over")
	other.launch("foreign")
	h.report(a.ref("ended"), offers.Failed, "u1")
	h.report(a.ref("over"), offers.Failed, "u2")
	a.acknowledge("over", "u2")
	got := a.asks()
	if len(got) != 2 || got["lives"].State != offers.Staging || got["ended"].State != offers.Failed {
		t.Errorf("answered %+v", got)
	}
}

// The end of a task that is told as an answer is not taken back by updates from
// before it that were not acknowledged: the end is the next update.
func TestReconcileIsFollowedByNoOlderState(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	h.report(a.ref("t1"), offers.Running, "u1")
	a.update(offers.Running, "u1")
	h.report(a.ref("t1"), offers.Killing, "u2")
	h.report(a.ref("t1"), offers.Finished, "u3")
	a.nothing("the first update is not acknowledged")
	h.released()
	follows := func(when string) {
		t.Helper()
		a.hand(&wire.Reconcile{})
		l.wait(10 * time.Second)
		ends := 0
		for _, u := range heard[*wire.Update](a.listener) {
			if u.Status.State != offers.Finished || u.Status.UpdateID != "" && u.Status.UpdateID != "u3" {
				t.Errorf("%s it is told %s %q once it has heard of the end", when, u.Status.State, u.Status.UpdateID)
			}
			ends++
		}
		if ends < 3 {
			t.Errorf("%s it is told of the end %d times in 10 s", when, ends)
		}
	}
	follows("after an answer")
	if got := h.released(); !slices.Equal(got, []offers.UpdateID{"u1", "u2"}) {
		t.Errorf("the agent need not resend %v", got)
	}
	l.succeed()
	h = h.back(listed(a.ref("t1"), offers.Finished))
	a = l.author(a.id)
	heard[wire.Message](a.listener)
	a.hand(&wire.Reconcile{})
	h.report(a.ref("t1"), offers.Running, "u1")
	follows("by the next leader")
	h.report(a.ref("t1"), offers.Finished, "u3")
	heard[wire.Message](h.listener)
	a.acknowledge("t1", "u3")
	if got := h.released(); !slices.Equal(got, []offers.UpdateID{"u3"}) {
		t.Errorf("the agent need not resend %v", got)
	}
}

// A new leader knows of a task what its agent lists, also where the agent was
// never out of sight, so that nothing is told of its return.
func TestReconcileKnowsWhatAgentsList(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	l.succeed()
	sick, began := false, l.now.Add(-time.Minute)
	h.back(wire.AgentTask{TaskRef: a.ref("t1"), State: offers.Running, Healthy: &sick, Started: began})
	a = l.author(a.id)
	if s := a.asks("t1")["t1"]; s.State != offers.Running || s.Healthy == nil || *s.Healthy || !s.Started.Equal(began) {
		t.Errorf("the agent lists it as running since a minute and sick, reconcile answers %+v", s)
	}
}

// Who is answered that the agent is not back yet need not ask again: it is told
// what the agent says when it comes, and nothing of what it was right about.
func TestReconcileIsCompletedByTheAgent(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("asked", "unasked", "staging", "ends")
	h.report(a.ref("asked"), offers.Running, "u1")
	a.acknowledge("asked", "u1")
	l.succeed()
	a = l.author(a.id)
	a.asks("asked", "staging", "ends")
	h = h.back(listed(a.ref("asked"), offers.Running), listed(a.ref("unasked"), offers.Running), listed(a.ref("staging"), offers.Staging),
		listed(a.ref("ends"), offers.Failed))
	got := heard[*wire.Update](a.listener)
	if len(got) != 1 || got[0].Status.Task != "asked" || got[0].Status.State != offers.Running || got[0].Status.UpdateID == "" {
		t.Fatalf("the agent is back, and its framework is told %s", written(a.got))
	}
	a.acknowledge("asked", got[0].Status.UpdateID)
	l.succeed()
	a = l.author(a.id)
	h.back(listed(a.ref("asked"), offers.Running))
	if got := heard[*wire.Update](a.listener); len(got) != 0 {
		t.Errorf("nobody asked the next leader, which tells %+v", got[0].Status)
	}
}

// TestLongReconcileIsAnsweredInTurns: nobody waits for the answers about very
// many tasks, and who asked gets each once, in order.
func TestLongReconcileIsAnsweredInTurns(t *testing.T) {
	l := newScene(t)
	f := l.author("")
	var ids []offers.TaskID
	for i := range 1200 {
		ids = append(ids, offers.TaskID(fmt.Sprint("t", i)))
	}
	f.hand(&wire.Reconcile{TaskIDs: ids})
	var got []offers.TaskID
	ended := 0
	for turn := 1; ended == 0; turn++ {
		most, more := 0, l.Finish().More
		for _, m := range f.listener.got {
			switch m := m.(type) {
			case *wire.Update:
				got, most = append(got, m.Status.Task), most+1
			case *wire.Reconciled:
				ended++
			}
		}
		f.listener.got = nil
		if most > 1000 || more != (ended == 0) || turn > 10 {
			t.Fatalf("turn %d gave %d answers; there are more: %v", turn, most, more)
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("%d answers came, for %d tasks", len(got), len(ids))
	}

	f.hand(&wire.Reconcile{TaskIDs: ids})
	l.FrameworkEnded(f.Framework)
	f.listener.got = nil
	if l.Finish(); len(f.listener.got) > 0 {
		t.Errorf("who has gone was told %d things", len(f.listener.got))
	}
}

// TestManyReconcilesAreAnsweredInTurns: a turn gives few answers however many ask,
// nobody waits behind all of one that asks again and again, and that one is refused
// what it asks beyond a bound.
func TestManyReconcilesAreAnsweredInTurns(t *testing.T) {
	const asked, each = 1000, 600
	l := newScene(t)
	greedy, modest := l.author(""), l.author("")
	ids := make([]offers.TaskID, each)
	for i := range ids {
		ids[i] = offers.TaskID(fmt.Sprint("t", i))
	}
	for range asked {
		greedy.hand(&wire.Reconcile{TaskIDs: ids})
	}
	modest.hand(&wire.Reconcile{TaskIDs: ids[:1]})
	refused, reconciled, answers := 0, 0, 0
	heardOf := 0 // the turn of modest's answer
	for turn, more := 1, true; more; turn++ {
		more = l.Finish().More
		some := 0
		for _, m := range heard[wire.Message](greedy.listener) {
			switch m := m.(type) {
			case *wire.Update:
				some++
			case *wire.Reconciled:
				reconciled++
			case *wire.ErrorMessage:
				if refused++; m.Code != offers.RateLimited {
					t.Fatal(m)
				}
			}
		}
		if answers += some; some > 3000 {
			t.Fatalf("turn %d gave %d answers", turn, some)
		}
		if len(heard[*wire.Reconciled](modest.listener)) > 0 {
			heardOf = turn
		}
	}
	if refused == 0 || reconciled+refused != asked || answers != reconciled*each {
		t.Errorf("of %d reconciles %d were refused and %d answered, with %d answers", asked, refused, reconciled, answers)
	}
	if heardOf == 0 || heardOf > 2 {
		t.Errorf("the other was answered in turn %d", heardOf)
	}
	greedy.hand(&wire.Reconcile{TaskIDs: ids[:1]})
	if n := len(heard[*wire.Reconciled](greedy.listener)); n != 1 {
		t.Errorf("after that it is answered %d times; want once", n)
	}
}

// TestATurnAnswersFew however many frameworks ask, and goes on with the next ones.
func TestATurnAnswersFew(t *testing.T) {
	const asking, each = 20, 600
	l := newScene(t)
	ids := make([]offers.TaskID, each)
	for i := range ids {
		ids[i] = offers.TaskID(fmt.Sprint("t", i))
	}
	var all []*author
	for range asking {
		all = append(all, l.author(""))
	}
	for _, a := range all {
		a.hand(&wire.Reconcile{TaskIDs: ids})
	}
	answers := 0
	for turn, more := 1, true; more; turn++ {
		more = l.Finish().More
		some := 0
		for _, a := range all {
			some += len(heard[*wire.Update](a.listener))
		}
		if answers += some; some > 3000 {
			t.Errorf("turn %d gave %d answers", turn, some)
		}
	}
	if answers != asking*each {
		t.Errorf("%d answers; want %d", answers, asking*each)
	}
}
