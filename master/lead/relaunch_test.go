package lead_test

import (
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// of marks what an agent says with the launch that it is about.
func of(m *wire.Statuses, id offers.LaunchID) *wire.Statuses {
	m.Statuses[0].LaunchID = id
	return m
}

// wandered launches t1 on one agent, then on another, and then on the first
// again, which was never told that its first end is acknowledged.
func wandered(l *scene) (a *author, first *host, past, present offers.LaunchID) {
	l.Helper()
	a, first = l.author(""), l.host("first", "")
	other := l.host("other", "")
	use := func(here, away *host) offers.LaunchID {
		l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: away.self.ID, State: offers.AgentDraining}}, nil)
		l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: here.self.ID, State: offers.AgentActive}}, nil)
		l.commit()
		heard[wire.Message](here.listener)
		a.launch("t1")
		return only[*wire.Launch](here.listener).Tasks[0].LaunchID
	}
	past = use(first, other)
	first.say(of(status(a.ref("t1"), offers.Finished, "one.2"), past))
	a.acknowledge("t1", "one.2")
	between := use(other, first)
	other.say(of(status(a.ref("t1"), offers.Finished, "two.2"), between))
	a.acknowledge("t1", "two.2")
	present = use(first, other)
	if all := []offers.LaunchID{"", past, between, present}; len(slices.Compact(slices.Sorted(slices.Values(all)))) != 4 {
		l.Fatalf("the launches are named %q", all)
	}
	heard[wire.Message](a.listener)
	return a, first, past, present
}

// TestReportsOfAnotherLaunch: the agent resends what it knows of an earlier
// launch of the id, and has taken the present one for that.
func TestReportsOfAnotherLaunch(t *testing.T) {
	l := newScene(t)
	a, h, past, present := wandered(l)
	h.say(of(status(a.ref("t1"), offers.Running, "one.1"), past))
	if got := h.released(); !slices.Equal(got, []offers.UpdateID{"one.1"}) {
		t.Errorf("the agent is told %v of its first report", got)
	}
	h.say(of(status(a.ref("t1"), offers.Finished, "one.2"), past))
	if again := heard[*wire.Launch](&listener{TB: t, got: h.got}); len(again) != 1 || again[0].Tasks[0].LaunchID != present {
		t.Errorf("of the launch that it took for the past it hears %+v", again)
	}
	if got := h.released(); !slices.Equal(got, []offers.UpdateID{"one.2"}) {
		t.Errorf("the agent is told %v of its past end", got)
	}
	a.nothing("all that was said is of the past")
	h.say(of(status(a.ref("t1"), offers.Running, "three.1"), present))
	a.update(offers.Running, "three.1")
	a.acknowledge("t1", "three.1")
	h.say(of(status(a.ref("t1"), offers.Failed, "three.2"), present))
	a.update(offers.Failed, "three.2")
	h.say(of(status(a.ref("t1"), offers.Finished, "one.2"), past))
	if got := h.released(); !slices.Contains(got, "one.2") {
		t.Errorf("the agent is told %v of its past end, behind the present one", got)
	}
	if end := l.state.Task(a.ref("t1")).End; end.UpdateID != "three.2" {
		t.Errorf("it ends %+v", end)
	}
}

// TestReportsOfNamelessLaunches: an agent of a version that knows no names of
// launches speaks for the present one.
func TestReportsOfNamelessLaunches(t *testing.T) {
	l := newScene(t)
	a, h, _, _ := wandered(l)
	h.report(a.ref("t1"), offers.Failed, "three.2")
	a.update(offers.Failed, "three.2")
}

// TestListOfAnotherLaunch: the agent comes back with an earlier launch of the
// id. It is to forget that, and gets the present one, unless it may have run it.
func TestListOfAnotherLaunch(t *testing.T) {
	for _, doubt := range []bool{false, true} {
		l := newScene(t)
		a, h, past, present := wandered(l)
		h.leave()
		again := &host{listener: &listener{TB: t}, l: l, self: h.self}
		again.Agent = lead.NewAgent(again.listener)
		again.self.Started = l.now
		old := listed(a.ref("t1"), offers.Finished)
		old.LaunchID = past
		again.say(&wire.RegisterAgent{Agent: again.self, Doubt: doubt, Tasks: []wire.AgentTask{old}})
		if r := heard[*wire.AgentRegistered](&listener{TB: t, got: again.got}); !slices.Equal(r[0].Forget, []offers.TaskRef{a.ref("t1")}) {
			t.Errorf("doubt %v: it is to forget %v", doubt, r[0].Forget)
		}
		launches := heard[*wire.Launch](again.listener)
		switch end := l.state.Task(a.ref("t1")).End; {
		case doubt && (len(launches) != 0 || end == nil || end.State != offers.Gone):
			t.Errorf("in doubt it is launched again, %v, and ends %+v", launches, end)
		case !doubt && (len(launches) != 1 || launches[0].Tasks[0].LaunchID != present || end != nil):
			t.Errorf("it is launched %v, and ends %+v", launches, end)
		}
	}
}

// TestNoLaunchOfADoubtfulPresent: an agent in doubt says only after its
// registration that it knows another launch. What it does not know any more may
// have run.
func TestNoLaunchOfADoubtfulPresent(t *testing.T) {
	l := newScene(t)
	a, h, past, _ := wandered(l)
	h.leave()
	again := &host{listener: &listener{TB: t}, l: l, self: h.self}
	again.Agent = lead.NewAgent(again.listener)
	again.self.Started = l.now
	again.say(&wire.RegisterAgent{Agent: again.self, Doubt: true, Tasks: []wire.AgentTask{listed(a.ref("t1"), offers.Finished)}})
	again.say(of(status(a.ref("t1"), offers.Finished, "one.2"), past))
	if launches := heard[*wire.Launch](again.listener); len(launches) != 0 {
		t.Errorf("it is launched again: %+v", launches)
	}
	if end := l.state.Task(a.ref("t1")).End; end == nil || end.State != offers.Gone {
		t.Errorf("it has come to %+v, want gone", end)
	}
}

// TestKillNamesTheLaunch: an agent that does not know the task answers for that
// launch.
func TestKillNamesTheLaunch(t *testing.T) {
	l := newScene(t)
	a, h, _, present := wandered(l)
	a.say(&wire.Kill{TaskID: "t1"})
	if order := only[*wire.KillTask](h.listener); order.LaunchID != present {
		t.Errorf("the order is %+v, want launch %s", order, present)
	}
}

// TestNoNameIsGivenTwice leads twice in one term, and in the next one.
func TestNoNameIsGivenTwice(t *testing.T) {
	l, seen := newScene(t), map[offers.LaunchID]bool{}
	for _, next := range []func(){
		func() {},
		func() { l.config.Again, l.config.Master.Term = 1, l.config.Master.Term-1; l.succeed() },
		func() { l.config.Again = 0; l.succeed() },
	} {
		next()
		a, h := l.author(""), l.host("a", "")
		heard[wire.Message](h.listener)
		a.launch("t1", "t2")
		for _, m := range heard[*wire.Launch](h.listener) {
			if id := m.Tasks[0].LaunchID; seen[id] {
				t.Errorf("a second launch is named %s", id)
			} else {
				seen[id] = true
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d launches have names, want 6", len(seen))
	}
}
