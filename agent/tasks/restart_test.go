package tasks

import (
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// restart gives what is written down of the machine's tasks to another one.
func restart(t *testing.T, m *Machine, second int) *Machine {
	t.Helper()
	var known []Known
	for _, task := range m.tasks {
		known = append(known, Known{Launch: task.Launch, Progress: task.Progress})
	}
	next := New(m.config, m.meta)
	next.Restore(known, at(second))
	if err := next.check(); err != nil {
		t.Fatal(err)
	}
	return next
}

// What happens while no master listens waits for the next one, in order.
func TestReportsWaitForAMaster(t *testing.T) {
	m := fresh(t)
	m.Ready()
	play(t, m, []step{
		{"0 launch t", "launched t, changed t, | start t"},
		{"0 away", "|"},
		{"1 started t", "changed t, |"},
		{"2 exit t", "changed t, |"},
	})
	m = restart(t, m, 3)
	play(t, m, []step{{"4 back", "| send t running, send t finished, usage"}})
}

// What the agent makes of a task whose process it does not find as it left it.
func TestEndsFoundAfterARestart(t *testing.T) {
	for what, c := range map[string]struct {
		how  How
		want string
	}{
		"ended meanwhile":   {How{Exit: record.Exit{Code: 3}}, "changed t, | send t failed"},
		"its shim was lost": {How{Lost: true}, "changed t, | send t failed supervisor_lost"},
		"the host restarted": {How{Rebooted: true},
			"changed t, | send t gone agent_restarted"},
		"it was never started": {How{Exit: record.Exit{Never: true}}, "changed t, | start t"},
	} {
		t.Run(what, func(t *testing.T) {
			m := fresh(t)
			m.Ready()
			play(t, m, []step{
				{"0 launch t", "launched t, changed t, | start t"},
				{"1 prepared t", "changed t, | release t"},
				{"1 away", "|"},
			})
			m = restart(t, m, 2)
			if r := m.Ready(); len(r.Start) > 0 {
				t.Fatal("it is started again before anybody has looked for its process")
			}
			register(t, m, at(2))
			if r := m.Ready(); len(r.Start) > 0 {
				t.Fatal("it is started again although its process was written down")
			}
			m.Ended(name("t"), c.how, at(3))
			r := m.Ready()
			if got := tell(r); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.how.Code != 0 && (r.Send[0].ExitCode == nil || *r.Send[0].ExitCode != c.how.Code) {
				t.Errorf("its exit code is %v, want %d", r.Send[0].ExitCode, c.how.Code)
			}
			if c.how.Never {
				play(t, m, []step{{"4 prepared t", "changed t, | release t"}})
			}
		})
	}
}

// A kill that was under way goes on, with its whole grace; what is held stays
// held while the task ends.
func TestKillGoesOnAfterARestart(t *testing.T) {
	m := fresh(t)
	m.Ready()
	full := offers.Task{ID: "t"}
	full.Resources.Amounts = total().Amounts
	launch(t, m, at(0), full)
	m.Ready()
	play(t, m, []step{
		{"1 prepared t", "changed t, | release t"},
		{"1 started t", "changed t, | send t running"},
		{"1 ack t running", "changed t, |"},
		{"2 kill t", "changed t, | signal TERM t, send t killing asked"},
		{"2 ack t killing", "changed t, |"},
	})
	greedy := offers.Task{ID: "u"}
	greedy.Resources.Amounts = offers.Amounts{1}
	launch(t, m, at(2), greedy)
	if got, want := tell(m.Ready()), "launched u, changed u, | send u dropped agent_refused"; got != want {
		t.Errorf("beside a task that is about to end: %s, want %s", got, want)
	}
	play(t, m, []step{{"2 ack u dropped", "removed u, |"}})
	m = restart(t, m, 3)
	m.Adopted(name("t"), at(3))
	register(t, m, at(3))
	if got, want := tell(m.Ready()), "| signal TERM t, usage"; got != want {
		t.Errorf("found again: %s, want %s", got, want)
	}
	greedy.ID = "v"
	launch(t, m, at(3), greedy)
	if got, want := tell(m.Ready()), "launched v, changed v, | send v dropped agent_refused"; got != want {
		t.Errorf("beside a task that was found again: %s, want %s", got, want)
	}
	play(t, m, []step{
		{"4 ack v dropped", "removed v, |"},
		{"7 tick", "|"},
		{"8 tick", "| signal KILL t"},
		{"9 exit t", "changed t, | send t killed asked"},
	})
}

// A task that is launched again under the same id is another one: what was
// said of the first, and comes late, is nothing to it.
func TestLaunchedAgainReportsUnderIDsOfItsOwn(t *testing.T) {
	m := fresh(t)
	m.Ready()
	play(t, m, []step{
		{"0 launch t", "launched t, changed t, | start t"},
		{"1 started t", "changed t, | send t running"},
	})
	p, _ := m.Progress(name("t"))
	late := []wire.StatusRef{{TaskRef: name("t"), UpdateID: p.Reports[0].ID}}
	play(t, m, []step{
		{"2 exit t", "changed t, | send t finished"},
		{"2 ack t finished", "removed t, |"},
		{"3 launch t", "launched t, changed t, | start t"},
		{"4 started t", "changed t, | send t running"},
	})
	m.Acknowledge(late, at(5))
	if p, _ := m.Progress(name("t")); len(p.Reports) != 1 {
		t.Error("a late acknowledgement of the first task counts for the second")
	}
}

// The highest term that was heard of outlives the agent's process.
func TestTermOutlivesARestart(t *testing.T) {
	m := fresh(t)
	m.Ready()
	if err := m.Launch(&wire.Launch{Term: 7}, at(0)); err != nil {
		t.Fatal(err)
	}
	r := m.Ready()
	if r.Meta == nil || r.Meta.Term != 7 {
		t.Fatalf("written down is %+v", r.Meta)
	}
	m = New(m.config, *r.Meta)
	if err := m.Launch(&wire.Launch{Term: 6}, at(1)); err == nil {
		t.Error("a restarted agent obeys an older term")
	}
}

// What was accepted and not begun when the agent died is begun, once a master
// listens; what was opened and not seen to start is found to run.
func TestTasksGoOnAfterARestart(t *testing.T) {
	m := fresh(t)
	m.Ready()
	play(t, m, []step{
		{"0 launch opened", "launched opened, changed opened, | start opened"},
		{"0 launch waits", "launched waits, changed waits, | start waits"},
		{"1 prepared opened", "changed opened, | release opened"},
	})
	m = restart(t, m, 2)
	if got, want := tell(m.Ready()), "|"; got != want {
		t.Errorf("restarted: %s, want %s", got, want)
	}
	m.Adopted(name("opened"), at(2))
	_, list := m.Register()
	if len(list) != 2 || list[0].Task != "opened" || list[0].State != offers.Running || list[1].Task != "waits" || list[1].State != offers.Starting {
		t.Errorf("it lists %+v", list)
	}
	play(t, m, []step{{"3 back", "changed opened, | start waits, send opened running, usage"}})
}

// All that is told of a task names the launch it is of, also after a restart
// and where the agent knows nothing but the order to end it.
func TestReportsNameTheirLaunch(t *testing.T) {
	m := fresh(t)
	l := wire.LaunchTask{Framework: "f", LaunchID: "5-1", Task: offers.Task{ID: "t", Command: &offers.Command{Shell: "true"}}}
	if err := m.Launch(&wire.Launch{Term: 5, Tasks: []wire.LaunchTask{l}}, at(0)); err != nil {
		t.Fatal(err)
	}
	if err := m.Kill(&wire.KillTask{Term: 5, TaskRef: name("unknown"), LaunchID: "5-2"}, at(0)); err != nil {
		t.Fatal(err)
	}
	m = restart(t, m, 1)
	m.Ended(name("t"), How{Rebooted: true}, at(1))
	_, list := m.Register()
	register(t, m, at(2))
	sent := m.Ready().Send
	if len(list) != 2 || list[0].LaunchID != "5-1" || list[1].LaunchID != "5-2" {
		t.Errorf("it lists %+v", list)
	}
	if len(sent) != 2 || sent[0].LaunchID != "5-1" || sent[1].LaunchID != "5-2" {
		t.Errorf("it sends %+v", sent)
	}
}

// A token is written down before it is sent, and stays the same until a master
// has confirmed it.
func TestTokens(t *testing.T) {
	m := New(Config{Total: total()}, Meta{})
	connect := func(token, have, next string, written bool) {
		t.Helper()
		m.Connected(token)
		r := m.Ready()
		if meta := m.Meta(); !r.Register || written != (r.Meta != nil) || written && *r.Meta != meta || meta.Have != have || meta.Next != next {
			t.Errorf("with %s: %+v, written down is %+v", token, meta, r.Meta)
		}
	}
	connect("k1", "", "k1", true)
	m.Disconnected()
	connect("k2", "", "k1", false)
	m = restart(t, m, 1)
	connect("k3", "", "k1", false)
	register(t, m, at(2))
	if r := m.Ready(); r.Meta == nil || r.Meta.Have != "k1" || r.Meta.Next != "" {
		t.Errorf("confirmed, written down is %+v", r.Meta)
	}
	m.Disconnected()
	connect("k4", "k1", "k4", true)
	m.Connected("k5")
	m.Disconnected()
	if r := m.Ready(); r.Register {
		t.Error("it introduces itself to nobody")
	}
	m.Refused(at(3))
	connect("k6", "", "k6", true)
}

// The machine wants to be woken for whatever is due next, and not before.
func TestNextIsWhatIsDueFirst(t *testing.T) {
	m := fresh(t)
	m.Ready()
	next := func(when string, second int) {
		t.Helper()
		want := at(second)
		if second == 0 {
			want = time.Time{}
		}
		if got := m.Next(); !got.Equal(want) {
			t.Errorf("%s: next is %v, want %v", when, got, want)
		}
	}
	next("nothing to do", 0)
	play(t, m, []step{
		{"0 launch t x", "launched t, changed t, | start t"},
		{"1 prepared t", "changed t, | release t"},
		{"1 started t", "changed t, | send t running"},
	})
	next("a report waits", 31)
	play(t, m, []step{{"31 tick", "| send t running"}})
	play(t, m, []step{{"31 ack t running", "changed t, |"}})
	next("it may run for a minute", 61)
	play(t, m, []step{
		{"40 kill t 3s", "changed t, | signal TERM t, send t killing asked"},
		{"40 ack t killing", "changed t, |"},
	})
	next("it is about to be killed", 43)
	play(t, m, []step{
		{"43 tick", "| signal KILL t"},
		{"44 tick", "|"},
	})
	next("it was killed", 61)
	play(t, m, []step{
		{"45 exit t", "changed t, | send t killed asked"},
		{"45 away", "|"},
	})
	next("no master listens", 0)
}

// A task that is told to end in the turn of its launch is never prepared.
func TestKillInTheTurnOfTheLaunch(t *testing.T) {
	m := fresh(t)
	m.Ready()
	launch(t, m, at(0), offers.Task{ID: "t"})
	if err := m.Kill(&wire.KillTask{Term: 5, TaskRef: name("t"), Reason: "asked"}, at(0)); err != nil {
		t.Fatal(err)
	}
	if got, want := tell(m.Ready()), "launched t, changed t, | send t killed asked"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	play(t, m, []step{{"1 launch t", "| send t killed asked"}})
}

// A task that breaks a rule is rejected and never prepared.
func TestBadTaskIsRejected(t *testing.T) {
	m := fresh(t)
	m.Ready()
	if err := m.Launch(&wire.Launch{Term: 5, Tasks: []wire.LaunchTask{{Framework: "f", Task: offers.Task{ID: "t"}}}}, at(0)); err != nil {
		t.Fatal(err)
	}
	if got, want := tell(m.Ready()), "launched t, changed t, | send t rejected bad_task"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The agent remembers who it is.
func TestIdentityIsWrittenDown(t *testing.T) {
	m := New(Config{Total: total()}, Meta{})
	register(t, m, at(0))
	if r := m.Ready(); r.Meta == nil || r.Meta.Agent != "a1" || r.Meta.Term != 5 {
		t.Errorf("written down is %+v", r.Meta)
	}
}

// A task that was not started after all, its shim having gone first, is begun
// once more, as often as that happens.
func TestNeverStartedIsBegunAgain(t *testing.T) {
	m := fresh(t)
	m.Ready()
	play(t, m, []step{{"0 launch t", "launched t, changed t, | start t"}})
	for range 2 {
		play(t, m, []step{
			{"1 prepared t", "changed t, | release t"},
			{"1 never t", "changed t, | start t"},
		})
	}
}

// Nothing happens to a task after its end but its acknowledgement, or that the
// masters have forgotten it.
func TestEndIsTheEnd(t *testing.T) {
	m := fresh(t)
	m.Ready()
	play(t, m, []step{
		{"0 launch t x", "launched t, changed t, | start t"},
		{"0 prepared t", "changed t, | release t"},
		{"0 started t", "changed t, | send t running"},
		{"1 exit t", "changed t, | send t finished"},
		{"1 ack t running", "changed t, |"},
		{"1 exit t x", "|"},
		{"1 started t", "|"},
		{"1 prepared t", "|"},
		{"1 kill t", "|"},
		{"1 never t", "|"},
	})
	m.Adopted(name("t"), at(1))
	m.Lost(name("t"), "it is known", at(1))
	if got := tell(m.Ready()); got != "|" {
		t.Errorf("after its end: %s", got)
	}
	play(t, m, []step{{"9 forgotten t", "removed t, | usage"}})
}

// A task that was lost with its record ends, and is not begun when it is
// launched.
func TestLostTaskEnds(t *testing.T) {
	m := fresh(t)
	m.Ready()
	m.Lost(name("t"), "its record is damaged", at(0))
	if got, want := tell(m.Ready()), "launched t, changed t, | send t failed supervisor_lost"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	play(t, m, []step{{"1 launch t", "| send t failed supervisor_lost"}})
}

// What was about to be sent when the connection ended is for the next master.
func TestNothingIsSentToNobody(t *testing.T) {
	m := fresh(t)
	m.Ready()
	play(t, m, []step{{"0 launch t", "launched t, changed t, | start t"}})
	m.Started(name("t"), at(1))
	m.Disconnected()
	if got, want := tell(m.Ready()), "changed t, |"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Two agents that begin with the same checkpoint, one of which has a copy, do
// not tell different ends under one id.
func TestEndsOfTwoRunsDiffer(t *testing.T) {
	m := fresh(t)
	m.Ready()
	play(t, m, []step{{"0 launch t", "launched t, changed t, | start t"}, {"0 prepared t", "changed t, | release t"}})
	var ids []offers.UpdateID
	for second := range 2 {
		run := restart(t, m, 1+second)
		run.Ended(name("t"), How{Exit: record.Exit{Code: second}}, at(5))
		p, _ := run.Progress(name("t"))
		ids = append(ids, p.Reports[0].ID)
	}
	if ids[0] == ids[1] {
		t.Errorf("both ends are %s", ids[0])
	}
}
