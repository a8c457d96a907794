package tasks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

var start = time.Unix(5000, 0)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func fresh(t *testing.T) *Machine {
	t.Helper()
	m := New(Config{Total: total(), Host: "h"}, Meta{Agent: "a1", Term: 5})
	register(t, m, at(0))
	return m
}

func register(t *testing.T, m *Machine, now time.Time, forget ...offers.TaskRef) {
	t.Helper()
	answer := &wire.AgentRegistered{AgentID: "a1", Forget: forget}
	answer.Master.Term = 5
	if err := m.Registered(answer, now); err != nil {
		t.Fatal(err)
	}
}

func name(task offers.TaskID) offers.TaskRef { return offers.TaskRef{Framework: "f", Task: task} }

func launch(t *testing.T, m *Machine, now time.Time, task offers.Task) {
	t.Helper()
	if task.Command == nil {
		task.Command = &offers.Command{Shell: "true"}
	}
	if err := m.Launch(&wire.Launch{Term: 5, Tasks: []wire.LaunchTask{{Framework: "f", Task: task}}}, now); err != nil {
		t.Fatal(err)
	}
}

// tell writes what is to be done as a line a person can read.
func tell(r Ready) string {
	var out []string
	say := func(word string, n int, each func(i int) string) {
		for i := range n {
			out = append(out, word+" "+each(i))
		}
	}
	if r.Meta != nil {
		out = append(out, fmt.Sprintf("meta %s/%d", r.Meta.Agent, r.Meta.Term))
	}
	say("launched", len(r.Launched), func(i int) string { return string(r.Launched[i].Task.ID) })
	say("changed", len(r.Changed), func(i int) string { return string(r.Changed[i].Task) })
	say("removed", len(r.Removed), func(i int) string { return string(r.Removed[i].Task) })
	out = append(out, "|")
	say("cancel", len(r.Cancel), func(i int) string { return string(r.Cancel[i].Task) })
	say("check", len(r.Checks), func(i int) string { return string(r.Checks[i].Task.ID) })
	say("start", len(r.Start), func(i int) string { return string(r.Start[i].Task.ID) })
	say("release", len(r.Release), func(i int) string { return string(r.Release[i].Task) })
	say("abandon", len(r.Abandon), func(i int) string { return string(r.Abandon[i].Task) })
	say("signal", len(r.Signals), func(i int) string {
		return map[bool]string{true: "KILL ", false: "TERM "}[r.Signals[i].Force] + string(r.Signals[i].Ref.Task)
	})
	say("send", len(r.Send), func(i int) string {
		s := r.Send[i]
		return strings.TrimSpace(string(s.Task) + " " + string(s.State) + " " + s.Reason)
	})
	if r.Usage {
		out = append(out, "usage")
	}
	return strings.NewReplacer(", |, ", ", | ", "|, ", "| ").Replace(strings.Join(out, ", "))
}

type step struct {
	do   string
	want string
}

// play runs a story: "SECOND word task [argument]".
func play(t *testing.T, m *Machine, steps []step) {
	t.Helper()
	for _, s := range steps {
		var second int
		var word, task, argument string
		if n, err := fmt.Sscan(s.do, &second, &word, &task, &argument); n < 2 {
			t.Fatal(s.do, err)
		}
		ref, now := name(offers.TaskID(task)), at(second)
		switch word {
		case "launch":
			launch(t, m, now, offers.Task{ID: ref.Task, MaxRuntime: offers.Duration(len(argument)) * offers.Duration(time.Minute)})
		case "kill":
			k := &wire.KillTask{Term: 5, TaskRef: ref, Reason: "asked"}
			if argument != "" {
				grace, err := offers.ParseDuration(argument)
				if err != nil {
					t.Fatal(err)
				}
				k.Grace = &grace
			}
			if err := m.Kill(k, now); err != nil {
				t.Fatal(err)
			}
		case "fetch":
			launch(t, m, now, offers.Task{ID: ref.Task, Artifacts: []offers.Artifact{{URI: "https://h/a"}}})
		case "watched": // argument: interval 10 s; delay and grace 20 s where there is one
			h := &offers.Health{Command: &offers.Command{Shell: "true"}, Failures: 2}
			if argument != "" {
				h.Delay, h.Grace = offers.Duration(5*time.Second), offers.Duration(20*time.Second)
			}
			launch(t, m, now, offers.Task{ID: ref.Task, Health: h})
		case "well":
			m.Checked(ref, "", now)
		case "ill":
			m.Checked(ref, "refused", now)
		case "staged":
			m.Staged(ref, now)
		case "broken":
			m.Ended(ref, How{Failed: "404", Reason: offers.ReasonArtifact}, now)
		case "prepared":
			m.Prepared(ref, record.Identity{PID: 1}, now)
		case "started":
			m.Started(ref, now)
		case "never":
			m.Ended(ref, How{Exit: record.Exit{Never: true}}, now)
		case "exit":
			m.Ended(ref, How{Exit: record.Exit{Code: len(argument)}}, now)
		case "ack":
			p, _ := m.Progress(ref)
			at := slices.IndexFunc(p.Reports, func(r Report) bool { return string(r.State) == argument })
			m.Acknowledge([]wire.StatusRef{{TaskRef: ref, UpdateID: p.Reports[at].ID}}, now)
		case "tick":
			m.Tick(now)
		case "away":
			m.Disconnected()
		case "back":
			register(t, m, now)
		case "forgotten":
			register(t, m, now, ref)
		case "refused":
			m.Refused(now)
		case "close":
			m.Close("the agent ends", now)
		}
		if got := tell(m.Ready()); got != s.want {
			t.Fatalf("%s:\n got %s\nwant %s", s.do, got, s.want)
		}
		if err := m.check(); err != nil {
			t.Fatalf("%s: %v", s.do, err)
		}
	}
}

func TestStories(t *testing.T) {
	for name, steps := range map[string][]step{
		"a life": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 launch t", "|"},
			{"1 prepared t", "changed t, | release t"},
			{"1 started t", "changed t, | send t running"},
			{"1 started t", "|"},
			{"1 ack t running", "changed t, |"},
			{"9 exit t", "changed t, | send t finished"},
			{"9 launch t", "| send t finished"},
			{"9 ack t finished", "removed t, |"},
			{"9 launch t", "launched t, changed t, | start t"},
		},
		"reports are sent again, 30 s doubling to 60 s": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"29 tick", "|"},
			{"30 tick", "| send t running"},
			{"31 exit t x", "changed t, | send t failed"},
			{"89 tick", "|"},
			{"90 tick", "| send t running, send t failed"},
			{"150 tick", "| send t running, send t failed"},
			{"191 away", "|"},
			{"400 tick", "|"},
			{"400 back", "| send t running, send t failed, usage"},
			{"401 ack t running", "changed t, |"},
			{"431 tick", "| send t failed"},
			{"431 ack t failed", "removed t, |"},
			{"900 tick", "|"},
		},
		"a kill, then the force": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 prepared t", "changed t, | release t"},
			{"0 started t", "changed t, | send t running"},
			{"0 ack t running", "changed t, |"},
			{"10 kill t", "changed t, | signal TERM t, send t killing asked"},
			{"10 ack t killing", "changed t, |"},
			{"11 kill t 1h", "|"},
			{"14 tick", "|"},
			{"15 tick", "| signal KILL t"},
			{"16 exit t", "changed t, | send t killed asked"},
		},
		"a shorter grace replaces a longer one": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"0 ack t running", "changed t, |"},
			{"0 kill t 1h", "changed t, | signal TERM t, send t killing asked"},
			{"0 ack t killing", "changed t, |"},
			{"0 kill t 2s", "changed t, |"},
			{"2 tick", "| signal KILL t"},
		},
		"a kill before the shim is there": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 kill t", "changed t, | cancel t"},
			{"0 kill t 1s", "|"},
			{"0 prepared t", "| abandon t"},
			{"0 never t", "changed t, | send t killed asked"},
		},
		"health: well, ill, well, then ill for good": {
			{"0 watched t", "launched t, changed t, | start t"},
			{"0 prepared t", "changed t, | release t"},
			{"0 started t", "changed t, | send t running"},
			{"0 ack t running", "changed t, |"},
			{"0 tick", "| check t"},
			{"9 tick", "|"}, // one at a time
			{"10 well t", "changed t, | send t running"},
			{"10 ack t running", "changed t, |"},
			{"19 tick", "|"},
			{"20 tick", "| check t"},
			{"20 well t", "|"},
			{"30 tick", "| check t"},
			{"30 ill t", "changed t, | send t running health"},
			{"30 ack t running", "changed t, |"},
			{"40 tick", "| check t"},
			{"40 well t", "changed t, | send t running"},
			{"40 ack t running", "changed t, |"},
			{"50 tick", "| check t"},
			{"50 ill t", "changed t, | send t running health"},
			{"50 ack t running", "changed t, |"},
			{"60 tick", "| check t"},
			{"60 ill t", "changed t, | signal TERM t"},
			{"60 ill t", "|"},
			{"65 tick", "| signal KILL t"},
			{"100 tick", "|"},
			{"100 exit t", "changed t, | send t failed health"},
			{"100 ill t", "|"},
		},
		"health: delay and grace": {
			{"0 watched t x", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"0 ack t running", "changed t, |"},
			{"4 tick", "|"},
			{"5 tick", "| check t"},
			{"6 ill t", "|"},
			{"16 tick", "| check t"},
			{"19 ill t", "|"},
			{"29 tick", "| check t"},
			{"30 ill t", "changed t, | send t running health"},
			{"30 ack t running", "changed t, |"},
			{"40 tick", "| check t"},
			{"40 ill t", "changed t, | signal TERM t"},
		},
		"health: the first success ends the grace": {
			{"0 watched t x", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"0 ack t running", "changed t, |"},
			{"5 tick", "| check t"},
			{"5 well t", "changed t, | send t running"},
			{"5 ack t running", "changed t, |"},
			{"15 tick", "| check t"},
			{"15 ill t", "changed t, | send t running health"},
		},
		"health: a kill wins": {
			{"0 watched t", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"0 ack t running", "changed t, |"},
			{"0 tick", "| check t"},
			{"1 kill t", "changed t, | signal TERM t, send t killing asked"},
			{"1 ack t killing", "changed t, |"},
			{"1 ill t", "|"},
			{"2 tick", "|"},
			{"2 exit t x", "changed t, | send t killed asked"},
		},
		"artifacts": {
			{"0 fetch t", "launched t, changed t, | start t"},
			{"1 staged t", "changed t, | send t starting"},
			{"1 staged t", "|"},
			{"2 prepared t", "changed t, | release t"},
			{"2 started t", "changed t, | send t running"},
			{"2 staged t", "|"},
		},
		"artifacts that can't be fetched": {
			{"0 fetch t", "launched t, changed t, | start t"},
			{"1 broken t", "changed t, | send t failed artifact"},
			{"1 staged t", "|"},
		},
		"a kill while artifacts are fetched": {
			{"0 fetch t", "launched t, changed t, | start t"},
			{"1 kill t", "changed t, | cancel t"},
			{"1 staged t", "|"},
			{"1 broken t", "changed t, | send t killed asked"},
		},
		"a kill between gate and start": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 prepared t", "changed t, | release t"},
			{"0 kill t", "changed t, |"}, // nothing to cancel: it will start
			{"0 started t", "changed t, | signal TERM t, send t running, send t killing asked"},
		},
		"a kill before the launch": {
			{"0 kill t", "launched t, changed t, | send t dropped unknown_task"},
			{"0 launch t", "| send t dropped unknown_task"},
		},
		"too long": {
			{"0 launch t x", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"0 ack t running", "changed t, |"},
			{"59 tick", "|"},
			{"60 tick", "changed t, | signal TERM t"},
			{"65 tick", "| signal KILL t"},
			{"66 exit t x", "changed t, | send t failed max_runtime"},
		},
		"forgotten by the masters": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"1 forgotten t", "changed t, | signal TERM t, usage"},
			{"6 tick", "| signal KILL t"},
			{"7 exit t", "removed t, |"},
		},
		"refused by the masters": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"1 refused", "meta /0, changed t, | signal TERM t"},
			{"2 exit t", "removed t, |"},
		},
		"the agent ends": {
			{"0 launch t", "launched t, changed t, | start t"},
			{"0 started t", "changed t, | send t running"},
			{"0 ack t running", "changed t, |"},
			{"1 close", "changed t, | signal TERM t, send t killing the agent ends"},
			{"1 launch u", "launched u, changed u, | send u dropped agent_refused"},
			{"2 exit t", "changed t, | send t killed the agent ends"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := fresh(t)
			m.Ready()
			play(t, m, steps)
		})
	}
}

// Who sees only the end of a task still learns when it began.
func TestEveryReportSaysWhenTheTaskStarted(t *testing.T) {
	m := fresh(t)
	launch(t, m, at(0), offers.Task{ID: "t"})
	m.Ready()
	m.Started(name("t"), at(2))
	m.Ended(name("t"), How{Exit: record.Exit{Time: at(9)}}, at(9))
	launch(t, m, at(10), offers.Task{ID: "never"})
	m.Ended(name("never"), How{Failed: "no such program"}, at(11))
	sent := m.Ready().Send
	if len(sent) != 3 {
		t.Fatalf("%d reports, want running and two ends", len(sent))
	}
	for _, s := range sent {
		want := at(2)
		if s.Task == "never" {
			want = time.Time{}
		}
		if !s.Started.Equal(want) {
			t.Errorf("%s %s says it started at %v, want %v", s.Task, s.State, s.Started, want)
		}
	}
}

// The shim of a short task sees its end before the agent has seen its start.
func TestNoTaskEndsBeforeItStarts(t *testing.T) {
	m := fresh(t)
	launch(t, m, at(0), offers.Task{ID: "t"})
	m.Ready()
	m.Started(name("t"), at(2))
	m.Ended(name("t"), How{Exit: record.Exit{Time: at(1)}}, at(3))
	for _, s := range m.Ready().Send {
		if s.Time.Before(s.Started) {
			t.Errorf("%s at %v, and it started at %v", s.State, s.Time, s.Started)
		}
	}
}

func TestAcknowledgementsThatDoNotCount(t *testing.T) {
	m := fresh(t)
	launch(t, m, at(0), offers.Task{ID: "t"})
	m.Started(name("t"), at(0))
	p, _ := m.Progress(name("t"))
	id := p.Reports[0].ID
	for _, ref := range []wire.StatusRef{
		{TaskRef: name("t"), UpdateID: "other"},
		{TaskRef: name("t")},
		{TaskRef: offers.TaskRef{Framework: "g", Task: "t"}, UpdateID: id},
		{TaskRef: name("u"), UpdateID: id},
	} {
		m.Acknowledge([]wire.StatusRef{ref}, at(0))
		if p, _ := m.Progress(name("t")); len(p.Reports) != 1 {
			t.Errorf("%+v counts", ref)
		}
	}
}

func TestIDsThatNameNoFolder(t *testing.T) {
	m := fresh(t)
	m.Ready()
	for _, ref := range []offers.TaskRef{{Framework: "..", Task: "t"}, {Framework: "f", Task: "a/b"}, {Task: "t"}, {Framework: "f"}} {
		task := offers.Task{ID: ref.Task, Command: &offers.Command{Shell: "true"}}
		if err := m.Launch(&wire.Launch{Term: 5, Tasks: []wire.LaunchTask{{Framework: ref.Framework, Task: task}}}, at(0)); err == nil {
			t.Errorf("%s was launched", ref)
		}
		if err := m.Kill(&wire.KillTask{Term: 5, TaskRef: ref}, at(0)); err == nil {
			t.Errorf("%s was killed", ref)
		}
	}
	if r := m.Ready(); !r.Empty() {
		t.Errorf("something came of it: %s", tell(r))
	}
}

func TestOrdersOfAnOldTerm(t *testing.T) {
	m := fresh(t)
	answer := &wire.AgentRegistered{AgentID: "a1", Forget: []offers.TaskRef{name("t")}}
	answer.Master.Term = 4
	launch(t, m, at(0), offers.Task{ID: "t"})
	for order, err := range map[string]error{
		"launch":       m.Launch(&wire.Launch{Term: 4, Tasks: []wire.LaunchTask{{Framework: "f", Task: offers.Task{ID: "u"}}}}, at(0)),
		"kill":         m.Kill(&wire.KillTask{Term: 4, TaskRef: name("t")}, at(0)),
		"registration": m.Registered(answer, at(0)),
	} {
		if err == nil || !strings.Contains(err.Error(), order) || !strings.Contains(err.Error(), "term 4") {
			t.Errorf("%s: %v", order, err)
		}
	}
	if p, known := m.Progress(name("t")); !known || p.Kill != nil {
		t.Error("an order of an old term was obeyed")
	}
}

// TestAnswerInSeveralMessages: of the first ones only what they forget counts; the agent
// is registered by the last.
func TestAnswerInSeveralMessages(t *testing.T) {
	m := fresh(t)
	launch(t, m, at(0), offers.Task{ID: "t"})
	launch(t, m, at(0), offers.Task{ID: "u"})
	m.Ready()
	m.Disconnected()
	part := &wire.AgentRegistered{AgentID: "a1", Forget: []offers.TaskRef{name("t")}, More: true}
	part.Master.Term = 5
	if err := m.Registered(part, at(1)); err != nil {
		t.Fatal(err)
	}
	if got := tell(m.Ready()); got != "changed t, | cancel t" {
		t.Errorf("while more is to come: %q", got)
	}
	register(t, m, at(2), name("u"))
	if got := tell(m.Ready()); got != "changed u, | cancel u, usage" {
		t.Errorf("the last: %q", got)
	}
}

// TestBinding holds what the machine binds against what was asked: the
// master's choice where it is free and fits the task, the agent's otherwise.
func TestBinding(t *testing.T) {
	grant := func(id string, index int, memory int64) offers.Devices {
		return offers.OneDevice("gpu", offers.Grant{ID: id, Index: index, Memory: memory})
	}
	m := fresh(t)
	for i, c := range []struct {
		offered offers.Devices
		policy  offers.Policy
		want    int
	}{
		{grant("gpu-1", 1, 30), "", 1},            // as the master said
		{grant("gpu-1", 1, 31), "", 1},            // not what was asked: packed, on the used one
		{grant("gpu-9", 9, 30), "", 1},            // not there: packed
		{grant("gpu-1", 1, 30), "", 0},            // not free any more
		{nil, offers.Spread, 0},                   // nothing said
		{grant("gpu-0", 0, 30), offers.Spread, 0}, // as the master said
	} {
		task := offers.Task{ID: offers.TaskID(fmt.Sprintf("t%d", i)), Command: &offers.Command{Shell: "true"}}
		task.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: 30}}
		l := wire.LaunchTask{Framework: "f", Task: task, Policy: c.policy, Holding: offers.Holding{Devices: c.offered}}
		if err := m.Launch(&wire.Launch{Term: 5, Tasks: []wire.LaunchTask{l}}, at(0)); err != nil {
			t.Fatal(err)
		}
		r := m.Ready()
		if len(r.Start) != 1 || r.Start[0].Holding.Devices.Of("gpu")[0].Index != c.want || r.Start[0].Holding.Devices.Of("gpu")[0].Memory != 30 {
			t.Errorf("case %d: %s %+v", i, tell(r), r.Start)
		}
	}
}

// TestLoweredResources: what runs stays, and nothing is added to it.
func TestLoweredResources(t *testing.T) {
	known := Known{Launch: Launch{LaunchTask: wire.LaunchTask{Framework: "f", Task: offers.Task{ID: "big"}, Holding: offers.Holding{Amounts: offers.Amounts{9000}}}},
		Progress: Progress{State: offers.Running, Started: at(0), Process: &record.Identity{PID: 1}}}
	m := New(Config{Total: total()}, Meta{Agent: "a1", Term: 5})
	m.Restore([]Known{known}, at(0))
	m.Adopted(name("big"), at(0))
	register(t, m, at(0))
	m.Ready()
	play(t, m, []step{
		{"2 kill big", "changed big, | signal TERM big, send big killing asked"},
	})
	greedy := offers.Task{ID: "t"}
	greedy.Resources.Amounts = offers.Amounts{1}
	launch(t, m, at(3), greedy)
	if got, want := tell(m.Ready()), "launched t, changed t, | send t dropped agent_refused"; got != want {
		t.Errorf("beside a task that fills everything: %s", got)
	}
	m.Ended(name("big"), How{}, at(4))
	greedy.ID = "u"
	m.Ready()
	launch(t, m, at(5), greedy)
	if got, want := tell(m.Ready()), "launched u, changed u, | start u"; got != want {
		t.Errorf("after its end: %s", got)
	}
}

// TestWhatWasBroughtBack: of a task that was written down and not started,
// nothing may have run, or all of it where the record is an older copy.
func TestWhatWasBroughtBack(t *testing.T) {
	for _, c := range []struct {
		what, doubt, first string
		older              bool
		steps              []step
	}{
		{"the latest", "", "|", false, []step{
			{"1 back", "| start t, usage"},
		}},
		{"it is told to end before it starts", "", "|", false, []step{
			{"1 refused", "meta /0, removed t, |"},
		}},
		{"a doubt", "why", "changed t, |", false, []step{
			{"1 back", "meta a1/5, | send t gone agent_restarted, usage"},
			{"2 launch t", "| send t gone agent_restarted"},
			{"3 launch u", "launched u, changed u, | start u"},
		}},
		{"the masters know better", "", "|", true, []step{
			{"2 launch t", "| send t gone agent_restarted"},
			{"3 launch u", "launched u, changed u, | start u"},
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := New(Config{Total: total(), Host: "h"}, Meta{Agent: "a1", Term: 5, Doubt: c.doubt})
			m.Restore([]Known{{Launch: Launch{LaunchTask: wire.LaunchTask{Framework: "f", Task: offers.Task{ID: "t"}}}, Progress: Progress{State: offers.Starting}}}, at(0))
			if got := tell(m.Ready()); got != c.first {
				t.Errorf("at first: %q", got)
			}
			if c.older {
				answer := &wire.AgentRegistered{AgentID: "a1", Older: true}
				answer.Master.Term = 5
				if err := m.Registered(answer, at(1)); err != nil {
					t.Fatal(err)
				}
				if got := tell(m.Ready()); got != "meta a1/5, changed t, | send t gone agent_restarted, usage" {
					t.Errorf("the answer: %q", got)
				}
			}
			play(t, m, c.steps)
		})
	}
}

// TestNeverStartedInDoubt: a shim that left no trace tells nothing where the
// folder is an older copy.
func TestNeverStartedInDoubt(t *testing.T) {
	for doubt, want := range map[string]string{"": "| start t, usage", "why": "meta a1/5, changed t, | send t gone agent_restarted, usage"} {
		m := New(Config{Total: total()}, Meta{Agent: "a1", Term: 5, Doubt: doubt})
		m.Restore([]Known{{Launch: Launch{LaunchTask: wire.LaunchTask{Framework: "f", Task: offers.Task{ID: "t"}}},
			Progress: Progress{State: offers.Starting, Process: &record.Identity{PID: 1}}}}, at(0))
		m.Ended(name("t"), How{Exit: record.Exit{Never: true}}, at(0))
		if doubt == "" {
			m.Ready()
		}
		register(t, m, at(1))
		if got := tell(m.Ready()); got != want {
			t.Errorf("doubt %q: %s", doubt, got)
		}
	}
}

// TestLaunchedAgainInOneTurn: a task whose end is acknowledged and that is
// launched anew before anything was written down is a new task on disk.
func TestLaunchedAgainInOneTurn(t *testing.T) {
	m := fresh(t)
	m.Ready()
	launch(t, m, at(0), offers.Task{ID: "t"})
	m.Ended(name("t"), How{}, at(1))
	m.Ready()
	p, _ := m.Progress(name("t"))
	m.Acknowledge([]wire.StatusRef{{TaskRef: name("t"), UpdateID: p.Reports[0].ID}}, at(2))
	launch(t, m, at(2), offers.Task{ID: "t"})
	if got, want := tell(m.Ready()), "launched t, changed t, | start t"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNoTraceOfWhatRan: a task that is written down as started has run, though
// its shim's record is gone; it is not started a second time.
func TestNoTraceOfWhatRan(t *testing.T) {
	m := New(Config{Total: total()}, Meta{Agent: "a1", Term: 5})
	m.Restore([]Known{{Launch: Launch{LaunchTask: wire.LaunchTask{Framework: "f", Task: offers.Task{ID: "t"}}},
		Progress: Progress{State: offers.Running, Process: &record.Identity{PID: 1}, Started: at(0)}}}, at(1))
	m.Ended(name("t"), How{Exit: record.Exit{Never: true}}, at(1))
	register(t, m, at(1))
	if got, want := tell(m.Ready()), "changed t, | send t failed supervisor_lost, usage"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRefusals(t *testing.T) {
	inContainer := offers.Task{ID: "c", Container: &offers.Container{Image: "x"}}
	for _, c := range []struct {
		refusals Refusals
		task     offers.Task
		want     string
	}{
		{Refusals{}, inContainer, "launched c, changed c, | start c"},
		{Refusals{NoContainers: "why"}, offers.Task{ID: "p"}, "launched p, changed p, | start p"},
		{Refusals{NoContainers: "why"}, inContainer, "launched c, changed c, | send c rejected no_executor"},
		{Refusals{NoProcesses: "why"}, offers.Task{ID: "p"}, "launched p, changed p, | send p rejected no_executor"},
		{Refusals{NoProcesses: "why"}, inContainer, "launched c, changed c, | start c"},
	} {
		m := New(Config{Total: total(), Host: "h", Refusals: c.refusals}, Meta{Agent: "a1", Term: 5})
		register(t, m, at(0))
		m.Ready()
		launch(t, m, at(1), c.task)
		r := m.Ready()
		if got := tell(r); got != c.want {
			t.Errorf("%+v: %s, want %s", c.refusals, got, c.want)
		}
		if len(r.Send) > 0 && r.Send[0].Message != "why" {
			t.Errorf("the reason is not told: %+v", r.Send[0])
		}
		if err := m.check(); err != nil {
			t.Error(err)
		}
	}
}

// TestRefuse: what runs goes on when its kind is refused, and its kind is taken
// again when it is not.
func TestRefuse(t *testing.T) {
	m := fresh(t)
	register(t, m, at(0))
	inContainer := func(id offers.TaskID) offers.Task {
		return offers.Task{ID: id, Container: &offers.Container{Image: "x"}}
	}
	launch(t, m, at(1), inContainer("a"))
	m.Ready()
	for _, c := range []struct {
		refusals Refusals
		task     offers.TaskID
		want     string
	}{
		{Refusals{NoContainers: "why"}, "b", "launched b, changed b, | send b rejected no_executor"},
		{Refusals{}, "c", "launched c, changed c, | start c"},
	} {
		m.Refuse(c.refusals)
		launch(t, m, at(2), inContainer(c.task))
		if got := tell(m.Ready()); got != c.want {
			t.Errorf("%+v: %s, want %s", c.refusals, got, c.want)
		}
	}
	if living := m.Living(); len(living) != 2 {
		t.Errorf("living are %v", living)
	}
}

// TestWaiting: why a task does not run yet is told once, and only while that is
// so.
func TestWaiting(t *testing.T) {
	m := fresh(t)
	for _, id := range []offers.TaskID{"a", "b", "c"} {
		launch(t, m, at(1), offers.Task{ID: id})
	}
	m.Ready()
	m.Waiting(name("a"), "its image is fetched", at(2))
	m.Waiting(name("nobody"), "x", at(2))
	r := m.Ready()
	if got := tell(r); got != "changed a, | send a starting" || r.Send[0].Message != "its image is fetched" {
		t.Errorf("%s: %+v", got, r.Send)
	}
	m.Waiting(name("a"), "still", at(3))
	m.Prepared(name("b"), record.Identity{PID: 1}, at(3))
	m.Started(name("b"), at(3))
	m.Ready()
	m.Waiting(name("b"), "late", at(4))
	if err := m.Kill(&wire.KillTask{Term: 5, TaskRef: name("c")}, at(4)); err != nil {
		t.Fatal(err)
	}
	m.Ready()
	m.Waiting(name("c"), "late", at(4))
	if got := tell(m.Ready()); got != "|" {
		t.Errorf("told again or too late: %s", got)
	}
	launch(t, m, at(4), offers.Task{ID: "d", Artifacts: []offers.Artifact{{URI: "http://h/d"}}})
	m.Ready()
	m.Waiting(name("d"), "an artifact is fetched", at(5))
	if r := m.Ready(); tell(r) != "changed d, | send d staging" || r.Send[0].Message != "an artifact is fetched" {
		t.Errorf("%s: %+v", tell(r), r.Send)
	}
	m.Ended(name("a"), How{Failed: "there is none", Reason: offers.ReasonImage}, at(5))
	if r := m.Ready(); tell(r) != "changed a, | send a failed image" || r.Send[0].Message != "there is none" {
		t.Errorf("%s: %+v", tell(r), r.Send)
	}
	if err := m.check(); err != nil {
		t.Error(err)
	}
}

func TestHowItGotLost(t *testing.T) {
	m := fresh(t)
	launch(t, m, at(1), offers.Task{ID: "t"})
	m.Prepared(name("t"), record.Identity{Container: "c"}, at(1))
	m.Started(name("t"), at(1))
	m.Ready()
	m.Ended(name("t"), How{Lost: true, Failed: "somebody has removed it", Reason: offers.ReasonContainerLost}, at(2))
	if r := m.Ready(); tell(r) != "changed t, | send t failed container_lost" || r.Send[0].Message != "somebody has removed it" {
		t.Errorf("%s: %+v", tell(r), r.Send)
	}
}

// TestLongMessagesAreCut: what a task asked to run may be in the error, all of it, and
// goes nowhere in full.
func TestLongMessagesAreCut(t *testing.T) {
	m := fresh(t)
	launch(t, m, at(1), offers.Task{ID: "t1"})
	m.Ready()
	m.Ended(name("t1"), How{Failed: "there is no " + strings.Repeat("x", 200_000)}, at(2))
	sent := m.Ready().Send
	if len(sent) != 1 || len(sent[0].Message) > offers.MaxStatusMessage || !strings.HasPrefix(sent[0].Message, "there is no xxx") || !strings.HasSuffix(sent[0].Message, "…") {
		t.Errorf("%d statuses, the first of %d bytes", len(sent), len(sent[0].Message))
	}
}
