package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestRegisterAgent(t *testing.T) {
	l := newLab(t)
	a, b := l.agent("one"), l.agent("two")
	equal(t, "first id", a.ID, "a00001-c0de")
	equal(t, "second id", b.ID, "a00002-c0de")
	equal(t, "by name", l.s.AgentNamed("two"), b)

	again := l.do(Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: a.ID, Name: "one", Version: "v2"}, Time: l.now}}).Value.(*Agent)
	equal(t, "version", again.Version, "v2")
	equal(t, "first registered", again.Registered, a.Registered)
	equal(t, "since", again.Since, a.Since)

	l.do(Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: a.ID, Name: "uno"}}})
	equal(t, "old name", l.s.AgentNamed("one"), nil)
	equal(t, "new name", l.s.AgentNamed("uno").ID, a.ID)

	l.refused(offers.Forbidden, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: a.ID, Name: "two"}}})
	l.refused(offers.UnknownAgent, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: "a00009-c0de", Name: "x"}}})
	l.refused(offers.UnknownAgent, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: "a00001-beef", Name: "x"}}})
	l.refused(offers.BadMessage, Command{RegisterAgent: &RegisterAgent{}})
	l.refused(offers.BadMessage, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "x\x00"}}})
	l.move(b.ID, offers.AgentGone)
	l.refused(offers.UnknownAgent, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: b.ID, Name: "two"}}})
	l.do(Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: a.ID, Name: "two"}}})
}

func TestRegisterAgentWithNewDataFolder(t *testing.T) {
	l := newLab(t)
	f := l.framework("f")
	old := l.agent("one")
	l.do(launch(f, "t1", old.ID))
	l.do(launch(f, "t2", old.ID))
	l.do(end(f, "t2", offers.Finished))
	at := l.now
	r := l.do(Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "one"}, Time: at}})
	equal(t, "new id", r.Value.(*Agent).ID, "a00002-c0de")
	equal(t, "gone", r.Gone.ID, old.ID)
	equal(t, "its state", l.s.Agent(old.ID).State, offers.AgentGone)
	equalList(t, "ended", r.Ended, l.s.Task(ref(f, "t1")))
	st := *l.s.Task(ref(f, "t1")).End
	equal(t, "reason", st.Reason, offers.ReasonAgentLost)
	equal(t, "state", st.State, offers.Gone)
	equal(t, "time", st.Time, at)
	equal(t, "update id", st.UpdateID, "m-2")
	equal(t, "agent", st.Agent, old.ID)
	equal(t, "first end", l.s.Task(ref(f, "t2")).End.State, offers.Finished)
	equalList(t, "unacknowledged", names(l.s.UnacknowledgedOn(old.ID)), string(f)+":t1", string(f)+":t2")
	equalList(t, "alive", names(l.s.LiveTasksOn(old.ID)))
}

// TestOlderCheckpoint registers runs of an agent. What may have run and is not
// known to the agent must be marked, in every run that may not know it, until
// one shows that it has heard so.
func TestOlderCheckpoint(t *testing.T) {
	l := newLab(t)
	f := l.framework("f")
	a := l.agent("one")
	run := func(n int, have, next string, doubt bool) *Agent {
		t.Helper()
		in := offers.Agent{ID: a.ID, Name: "one", Started: start.Add(time.Duration(n) * time.Second)}
		return l.do(Command{RegisterAgent: &RegisterAgent{Agent: in, Have: have, Next: next, Doubt: doubt}}).Value.(*Agent)
	}
	next := 0
	marked := func() bool {
		t.Helper()
		id := offers.TaskID(fmt.Sprint("t", next))
		found := l.s.Task(ref(f, id)).Doubtful
		l.do(end(f, id, offers.Finished))
		next++
		l.do(launch(f, offers.TaskID(fmt.Sprint("t", next)), a.ID))
		return found
	}
	l.do(launch(f, "t0", a.ID))
	step := func(what string, got *Agent, older, doubtful bool) {
		t.Helper()
		equal(t, what+": older", got.Older, older)
		equal(t, what+": its tasks are doubtful", marked(), doubtful)
	}
	step("the first run", run(1, "", "k1", false), false, false)
	step("its answer is lost", run(1, "", "k1", false), false, false)
	step("it connects anew", run(1, "k1", "k2", false), false, false)
	step("the next run, that answer is lost too", run(2, "k1", "k2", false), false, false)
	step("it connects anew", run(2, "k2", "k3", false), false, false)
	step("a copy from before", run(3, "k1", "k2", false), true, true)
	step("it connects anew, since it did not hear of it", run(3, "k1", "k2", false), true, false)
	step("the copy is started again", run(4, "k1", "k2", false), true, true)
	step("it has heard", run(4, "k2", "k4", false), false, false)
	step("a run that knows, and did not hear the answer", run(5, "k2", "k4", false), false, false)
	step("one with a doubt of its own", run(6, "k4", "k5", true), false, true)
	step("it connects anew", run(6, "k5", "k6", false), false, false)
	step("a copy that was never the one of a master", run(7, "", "k7", false), true, true)
	step("the run after it, which heard", run(8, "k7", "k8", false), false, false)
	equal(t, "a launch takes no doubt over", l.do(Command{Launch: &Launch{TaskRecord{Framework: f, Agent: a.ID, Spec: offers.Task{ID: "new"}, Doubtful: true}}}).Value.(*Task).Doubtful, false)
}

func TestAgentStates(t *testing.T) {
	const (
		active      = offers.AgentActive
		draining    = offers.AgentDraining
		drained     = offers.AgentDrained
		unreachable = offers.AgentUnreachable
		gone        = offers.AgentGone
		back        = offers.AgentState("back") // registers again
	)
	for _, c := range []struct {
		steps []offers.AgentState
		want  offers.AgentState
		err   offers.Code // of the last step
	}{
		{steps: []offers.AgentState{draining}, want: draining},
		{steps: []offers.AgentState{drained}, want: active, err: offers.BadMessage},
		{steps: []offers.AgentState{draining, drained}, want: drained},
		{steps: []offers.AgentState{draining, drained, draining}, want: drained},
		{steps: []offers.AgentState{draining, drained, active}, want: active},
		{steps: []offers.AgentState{draining, back}, want: draining},
		{steps: []offers.AgentState{unreachable, back}, want: active},
		{steps: []offers.AgentState{unreachable, active}, want: unreachable},
		{steps: []offers.AgentState{draining, unreachable, unreachable, back}, want: draining},
		{steps: []offers.AgentState{unreachable, draining}, want: unreachable},
		{steps: []offers.AgentState{unreachable, drained}, want: unreachable, err: offers.BadMessage},
		{steps: []offers.AgentState{unreachable, draining, drained, back}, want: drained},
		{steps: []offers.AgentState{draining, unreachable, active}, want: unreachable},
		{steps: []offers.AgentState{draining, unreachable, active, back}, want: active},
		{steps: []offers.AgentState{unreachable, gone}, want: gone},
		{steps: []offers.AgentState{gone, gone}, want: gone},
		{steps: []offers.AgentState{gone, active}, want: gone, err: offers.UnknownAgent},
		{steps: []offers.AgentState{gone, unreachable}, want: gone, err: offers.UnknownAgent},
		{steps: []offers.AgentState{"odd"}, want: active, err: offers.BadMessage},
		{steps: []offers.AgentState{unreachable, ""}, want: unreachable, err: offers.BadMessage},
	} {
		l := newLab(t)
		a := l.agent("a")
		for i, step := range c.steps {
			cmd := Command{SetAgentState: &SetAgentState{ID: a.ID, State: step, Time: l.now}}
			if step == back {
				cmd = Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: a.ID, Name: "a"}, Time: l.now}}
			}
			before, at := l.s.Agent(a.ID), l.now
			if c.err != "" && i == len(c.steps)-1 {
				l.refused(c.err, cmd)
				continue
			}
			after := l.do(cmd).Value.(*Agent)
			if moved := before.State != after.State; moved != (after.Since == at) {
				t.Errorf("%v: moved %v, but since is %v", c.steps, moved, after.Since)
			}
		}
		if got := l.s.Agent(a.ID).State; got != c.want {
			t.Errorf("%v: got %s, want %s", c.steps, got, c.want)
		}
	}
}

func TestDrainedOnlyWithoutTasks(t *testing.T) {
	l := newLab(t)
	f, a := l.framework("f"), l.agent("a")
	l.do(launch(f, "t", a.ID))
	l.move(a.ID, offers.AgentDraining)
	l.refused(offers.BadMessage, Command{SetAgentState: &SetAgentState{ID: a.ID, State: offers.AgentDrained}})
	l.refused(offers.OfferGone, launch(f, "t2", a.ID))
	l.do(end(f, "t", offers.Killed))
	l.move(a.ID, offers.AgentDrained)
	l.refused(offers.OfferGone, launch(f, "t2", a.ID))
	l.refused(offers.UnknownAgent, Command{SetAgentState: &SetAgentState{ID: "nobody", State: offers.AgentDrained}})
}

// The tasks that an agent takes along end in the order of their names, so that
// every master numbers their ends alike.
func TestLossesAreNumberedInOrder(t *testing.T) {
	l := newLab(t)
	f, a := l.framework("f"), l.agent("a")
	var want []offers.TaskID
	for n := range 20 {
		id := offers.TaskID(fmt.Sprintf("t%02d", n))
		want = append(want, id)
		l.do(launch(f, id, a.ID))
	}
	r := l.do(Command{SetAgentState: &SetAgentState{ID: a.ID, State: offers.AgentGone, Time: l.now}})
	var got []offers.TaskID
	for n, task := range r.Ended {
		got = append(got, task.ID)
		if n > 0 && task.Ended != r.Ended[n-1].Ended+1 {
			t.Errorf("%s has the end %d after %d", task.ID, task.Ended, r.Ended[n-1].Ended)
		}
	}
	equalList(t, "ended", got, want...)
}
