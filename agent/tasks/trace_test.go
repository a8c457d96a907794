package tasks

import (
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
)

const parent offers.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// spansOf writes what was told of ways since the last time, in seconds.
func spansOf(m *Machine) string {
	out := ""
	for _, s := range m.Ready().Spans {
		out += fmt.Sprintf("%s %s %v-%v", s.Name, s.Task.Task, s.Start.Sub(start).Seconds(), s.End.Sub(start).Seconds())
		if s.Parent != parent || s.Agent != "a1" {
			out += fmt.Sprintf(" of %q on %q", s.Parent, s.Agent)
		}
		if s.State != "" {
			out += " " + string(s.State)
		}
		if s.Failed != "" {
			out += " failed: " + s.Failed
		}
		out += "; "
	}
	return out
}

// TestTracedTasks: a launch is told when the task runs, a run when it ended,
// whichever run of the agent sees it.
func TestTracedTasks(t *testing.T) {
	m := fresh(t)
	m.config.Traced = true
	want := func(what, spans string) {
		t.Helper()
		if got := spansOf(m); got != spans {
			t.Errorf("%s: told is %q, want %q", what, got, spans)
		}
	}
	launch(t, m, at(1), offers.Task{ID: "t", Traceparent: parent})
	launch(t, m, at(1), offers.Task{ID: "never", Traceparent: parent})
	launch(t, m, at(1), offers.Task{ID: "silent", Traceparent: parent[:53] + "00"})
	launch(t, m, at(1), offers.Task{ID: "bare"})
	begun := m.Ready().Launched[0]
	for _, id := range []offers.TaskID{"t", "silent", "bare"} {
		m.Prepared(name(id), record.Identity{PID: 1}, at(2))
		m.Started(name(id), at(3))
		m.Started(name(id), at(4))
	}
	want("they run", "launch t 1-3; ")
	m.Ended(name("never"), How{Failed: "no such program"}, at(4))
	m.Ended(name("silent"), How{}, at(4))
	m.Ended(name("bare"), How{}, at(4))
	want("others ended", "launch never 1-4 failed failed: no such program; ")

	p, _ := m.Progress(name("t"))
	m = New(Config{Total: total(), Host: "h", Traced: true}, Meta{Agent: "a1", Term: 5})
	m.Restore([]Known{{*begun, p}}, at(10))
	m.Adopted(name("t"), at(10))
	want("it is adopted", "")
	how := How{Exit: record.Exit{Code: 3}}
	how.Time = at(2) // before the agent saw that it ran
	m.Ended(name("t"), how, at(11))
	m.Ended(name("t"), how, at(12))
	want("it ended", "run t 3-3 failed failed: exit code 3; ")
}
