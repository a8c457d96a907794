package state

import (
	"bytes"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestLaunchAndEnd(t *testing.T) {
	l := newLab(t)
	f, a, b := l.framework("f"), l.agent("a"), l.agent("b")
	c := launch(f, "t", a.ID)
	c.Launch.Task.End, c.Launch.Task.Ended, c.Launch.Task.Acknowledged = &offers.Status{}, 7, true
	c.Launch.Task.Kill = &KillOrder{}
	task := l.do(c).Value.(*Task)
	equal(t, "record", l.s.Task(ref(f, "t")), task)
	equal(t, "no end", task.End == nil && task.Ended == 0 && !task.Acknowledged && task.Kill == nil, true)
	l.refused(offers.TaskIDInUse, launch(f, "t", b.ID))
	l.refused(offers.BadTask, launch(f, "..", a.ID))
	l.refused(offers.UnknownFramework, launch("nobody", "t", a.ID))
	l.refused(offers.OfferGone, launch(f, "t2", "nobody"))
	l.do(launch(l.framework("g"), "t", a.ID))

	l.refused(offers.BadMessage, end(f, "t", offers.Running))
	foreign := end(f, "t", offers.Finished)
	foreign.EndTask.Status.Agent = b.ID
	l.refused(offers.UnknownTask, foreign)
	equal(t, "unknown task", len(l.do(end(f, "nothing", offers.Failed)).Ended), 0)
	equalList(t, "first end", l.do(end(f, "t", offers.Failed)).Ended, l.s.Task(ref(f, "t")))
	equal(t, "second end", len(l.do(end(f, "t", offers.Finished)).Ended), 0)
	st := l.s.Task(ref(f, "t")).End
	equal(t, "state", st.State, offers.Failed)
	equal(t, "agent", st.Agent, a.ID)
	equal(t, "task", st.Task, "t")
	l.refused(offers.TaskIDInUse, launch(f, "t", a.ID))
}

func TestAcknowledge(t *testing.T) {
	l := newLab(t)
	f, a := l.framework("f"), l.agent("a")
	l.do(acknowledge(f, "t"))
	l.do(launch(f, "t", a.ID))
	l.do(acknowledge(f, "t"))
	equal(t, "lives", l.s.Task(ref(f, "t")).Acknowledged, false)
	l.do(end(f, "t", offers.Finished))
	equal(t, "unacknowledged", l.s.Counts().Unacknowledged, 1)
	l.do(Command{Acknowledge: &Acknowledge{ref(f, "t"), "u0"}})
	equal(t, "another update", l.s.Task(ref(f, "t")).Acknowledged, false)
	l.do(Command{Acknowledge: &Acknowledge{ref(f, "t"), "u1"}})
	equal(t, "this update", l.s.Task(ref(f, "t")).Acknowledged, true)
	l.do(acknowledge(f, "t"))
	equal(t, "counts", l.s.Counts(), Counts{Agents: 1, Frameworks: 1, Ended: 1})
	l.do(launch(f, "t", a.ID))
	equal(t, "id used again", l.s.Counts(), Counts{Agents: 1, Frameworks: 1, Live: 1})
}

func TestKillTask(t *testing.T) {
	grace := func(n time.Duration) *offers.Duration { d := offers.Duration(n); return &d }
	for _, c := range []struct {
		own         offers.Duration
		first, then *offers.Duration
		want        *offers.Duration
		changed     bool
	}{
		{0, nil, nil, nil, false},
		{0, nil, grace(5 * time.Second), nil, false},
		{0, nil, grace(4 * time.Second), grace(4 * time.Second), true},
		{offers.Duration(time.Minute), nil, grace(5 * time.Second), grace(5 * time.Second), true},
		{0, grace(time.Minute), nil, nil, true},
		{0, grace(time.Second), grace(0), grace(0), true},
		{0, grace(time.Second), grace(time.Minute), grace(time.Second), false},
	} {
		l := newLab(t)
		f, a := l.framework("f"), l.agent("a")
		task := launch(f, "t", a.ID)
		task.Launch.Task.Spec.KillGrace = c.own
		l.do(task)
		kill := func(g *offers.Duration, reason string) Result {
			return l.do(Command{KillTask: &KillTask{ref(f, "t"), KillOrder{Grace: g, Reason: reason, Time: l.now}}})
		}
		at := l.now
		equal(t, "first", kill(c.first, "first").Value, any(l.s.Task(ref(f, "t"))))
		equal(t, "changed", kill(c.then, "then").Value != nil, c.changed)
		order := l.s.Task(ref(f, "t")).Kill
		equal(t, "reason", order.Reason, "first")
		equal(t, "time", order.Time, at)
		equal(t, "same grace", fmt.Sprint(order.Grace == nil, c.want), fmt.Sprint(c.want == nil, order.Grace))
		l.refused(offers.BadMessage, Command{KillTask: &KillTask{ref(f, "t"), KillOrder{Grace: grace(-1)}}})
		l.do(end(f, "t", offers.Killed))
		equal(t, "ended", kill(grace(0), "late").Value, nil)
	}
}

func TestTaskHistoryIsBounded(t *testing.T) {
	l := newLab(t)
	f, a := l.framework("f"), l.agent("a")
	id := func(i int) offers.TaskID { return offers.TaskID(fmt.Sprintf("t%d", i)) }
	for i := range MaxHistory + 3 {
		batch := []Command{launch(f, id(i), a.ID), end(f, id(i), offers.Finished)}
		if i != 1 {
			batch = append(batch, acknowledge(f, id(i)))
		}
		l.s, _ = l.s.Apply(batch)
	}
	if err := l.s.check(); err != nil {
		t.Fatal(err)
	}
	for i, kept := range []bool{false, true, false, true} {
		equal(t, fmt.Sprintf("task %d is kept", i), l.s.Task(ref(f, id(i))) != nil, kept)
	}
	equal(t, "ended", l.s.Counts().Ended, MaxHistory+1)
	l.do(acknowledge(f, id(1)))
	equal(t, "the oldest end goes first", l.s.Task(ref(f, id(1))), nil)
	equal(t, "ended", l.s.Counts().Ended, MaxHistory)
}

func TestAgentsAndFrameworksAreForgotten(t *testing.T) {
	l := newLab(t)
	var batch []Command
	for range MaxGoneAgents + 2 {
		batch = append(batch, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "a"}}})
	}
	for i := range MaxRemovedFrameworks + 2 {
		batch = append(batch, Command{RegisterFramework: &RegisterFramework{Name: "f"}})
		id := offers.FrameworkID(mint("f", uint64(i+1), cluster))
		if i == 0 {
			batch = append(batch, launch(id, "t", offers.AgentID(mint("a", MaxGoneAgents+2, cluster))))
		}
		batch = append(batch, Command{RemoveFramework: &RemoveFramework{ID: id}})
	}
	l.s, _ = l.s.Apply(batch)
	if err := l.s.check(); err != nil {
		t.Fatal(err)
	}
	equal(t, "counts", l.s.Counts(), Counts{Agents: MaxGoneAgents + 1, Frameworks: MaxRemovedFrameworks + 1, Live: 1})
	equal(t, "first agent", l.s.ForgottenAgent("a00001-c0de"), true)
	equal(t, "second agent", l.s.ForgottenAgent("a00002-c0de"), false)
	equal(t, "agent to come", l.s.ForgottenAgent("a05000-c0de"), false)
	equal(t, "foreign agent", l.s.ForgottenAgent("a00001-beef"), false)
	equal(t, "framework with a task", l.s.Forgotten("f00001-c0de"), false)
	equal(t, "next framework", l.s.Forgotten("f00002-c0de"), true)
	l.refused(offers.FrameworkRemoved, Command{RegisterFramework: &RegisterFramework{ID: "f00002-c0de"}})
	l.refused(offers.FrameworkRemoved, Command{RemoveFramework: &RemoveFramework{ID: "f00002-c0de"}})
	l.do(end("f00001-c0de", "t", offers.Killed))
	equal(t, "its end came last", l.s.Forgotten("f00001-c0de"), false)
	equal(t, "the oldest goes", l.s.Forgotten("f00003-c0de"), true)
}

// TestTasksFromAnywhere: whoever goes on with any task, known or not, gets all
// from there and nothing else.
func TestTasksFromAnywhere(t *testing.T) {
	l := newLab(t)
	a, f, g := l.agent("a"), l.framework("f"), l.framework("g")
	for _, id := range []offers.TaskID{"b", "t1", "t10", "t2", "t2.x"} {
		l.do(launch(f, id, a.ID))
		l.do(launch(g, id, a.ID))
	}
	all := names(l.s.Tasks())
	for _, from := range []offers.TaskRef{{}, ref(f, ""), ref(f, "a"), ref(f, "t10"), ref(f, "t11"), ref(f, "z"), ref(g, ""), ref(g, "t2.y"), ref("zzz", "")} {
		var want []string
		for _, name := range all {
			if name >= from.String() || from == (offers.TaskRef{}) {
				want = append(want, name)
			}
		}
		equalList(t, "from "+from.String(), names(l.s.TasksFrom(from)), want...)
	}
}

// TestTasksShare: what the tasks of a job have in common is in memory once,
// also after a snapshot was read, and nothing else is.
func TestTasksShare(t *testing.T) {
	l := newLab(t)
	f := l.do(Command{RegisterFramework: &RegisterFramework{Name: "f", Role: "eng", User: "ada"}}).Value.(*Framework)
	a := l.do(Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "a"}}}).Value.(*Agent)
	of := func(id offers.TaskID, env string) Command {
		c := launch(f.ID, id, a.ID)
		c.Launch.Task.Role, c.Launch.Task.User, c.Launch.Task.Demand = "eng", "ada", "d1"
		c.Launch.Task.Spec.Command = &offers.Command{Argv: []string{"sleep", "1"}, Env: map[string]string{"A": env}}
		return c
	}
	entry, err := Encode([]Command{of("t1", "1"), of("t2", "1"), of("t3", "2")})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := Decode(entry)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := l.s.Apply(batch)
	read, err := Read(bytes.NewReader(snapshot(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*State{s, read} {
		t1, t2, t3 := s.Task(ref(f.ID, "t1")), s.Task(ref(f.ID, "t2")), s.Task(ref(f.ID, "t3"))
		if t1.Command != t2.Command || t1.Command == t3.Command || t3.Command.Env["A"] != "2" {
			t.Errorf("the commands are %p, %p and %p", t1.Command, t2.Command, t3.Command)
		}
		if t1.Terms != t2.Terms || t1.Terms != t3.Terms || t1.Holding != t3.Holding || t1.Rare != t3.Rare {
			t.Error("what they have in common is there more than once")
		}
		if unsafe.StringData(string(t1.Demand)) != unsafe.StringData(string(t3.Demand)) || unsafe.StringData(string(t1.Agent)) != unsafe.StringData(string(s.Agent(a.ID).ID)) {
			t.Error("equal texts are there more than once")
		}
	}
}
