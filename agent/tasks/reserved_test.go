package tasks

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// reserve launches a task and gives a shim to what starts.
func reserve(t *testing.T, m *Machine, task offers.Task, shim record.Identity) {
	t.Helper()
	launch(t, m, at(1), task)
	for _, l := range m.Starting() {
		m.Reserved(l.Ref(), shim)
	}
}

func killed(t *testing.T, m *Machine, id offers.TaskID) {
	t.Helper()
	if err := m.Kill(&wire.KillTask{Term: 5, TaskRef: name(id)}, at(2)); err != nil {
		t.Fatal(err)
	}
}

// TestReserved: a task whose shim is known from the beginning is written down
// with it, and opened without another write.
func TestReserved(t *testing.T) {
	m, shim := fresh(t), record.Identity{PID: 1}
	m.Ready()
	reserve(t, m, offers.Task{ID: "t"}, shim)
	if got := tell(m.Ready()); got != "launched t, changed t, | start t" {
		t.Fatalf("launched: %s", got)
	}
	if p, _ := m.Progress(name("t")); p.Process == nil || *p.Process != shim {
		t.Fatalf("written down is %+v", p.Process)
	}
	m.Prepared(name("t"), shim, at(2))
	if got := tell(m.Ready()); got != "| release t" {
		t.Errorf("prepared: %s", got)
	}
	if err := m.check(); err != nil {
		t.Error(err)
	}
}

// TestReservedByAnother: the shim that a task gets in the end is written down
// before it is opened, whichever it was promised.
func TestReservedByAnother(t *testing.T) {
	m := fresh(t)
	reserve(t, m, offers.Task{ID: "t"}, record.Identity{PID: 1})
	m.Ready()
	m.Prepared(name("t"), record.Identity{PID: 2}, at(2))
	if got := tell(m.Ready()); got != "changed t, | release t" {
		t.Errorf("prepared: %s", got)
	}
	if p, _ := m.Progress(name("t")); p.Process == nil || p.Process.PID != 2 {
		t.Errorf("written down is %+v", p.Process)
	}
}

// TestReservedForNobody: shims are for what starts now. One that is given to a
// task which has ended, runs or is not there changes nothing.
func TestReservedForNobody(t *testing.T) {
	m := fresh(t)
	reserve(t, m, offers.Task{ID: "fetched", Artifacts: []offers.Artifact{{URI: "https://h/a"}}}, record.Identity{PID: 1})
	if p, _ := m.Progress(name("fetched")); p.Process != nil {
		t.Error("a task whose artifacts are fetched first holds a shim meanwhile")
	}
	reserve(t, m, offers.Task{ID: "runs"}, record.Identity{PID: 2})
	m.Ready()
	m.Prepared(name("runs"), record.Identity{PID: 2}, at(2))
	m.Ready()
	m.Ended(name("fetched"), How{Failed: "404"}, at(2))
	m.Ready()
	for _, ref := range []string{"fetched", "runs", "absent"} {
		m.Reserved(name(offers.TaskID(ref)), record.Identity{PID: 3})
	}
	if got := tell(m.Ready()); got != "|" {
		t.Errorf("changed: %s", got)
	}
}

// TestKilledWhileReserved: a task that is told to end before its shim is opened
// never starts, at whichever step it is.
func TestKilledWhileReserved(t *testing.T) {
	m := fresh(t)
	reserve(t, m, offers.Task{ID: "t"}, record.Identity{PID: 1})
	m.Ready()
	killed(t, m, "t")
	if got := tell(m.Ready()); got != "changed t, | cancel t" {
		t.Errorf("killed: %s", got)
	}
	m.Prepared(name("t"), record.Identity{PID: 1}, at(3)) // it was too late for that
	if got := tell(m.Ready()); got != "| abandon t" {
		t.Errorf("prepared: %s", got)
	}
	m.Ended(name("t"), How{Exit: record.Exit{Never: true}}, at(4))
	if got := tell(m.Ready()); got != "changed t, | send t killed" {
		t.Errorf("ended: %s", got)
	}
	reserve(t, m, offers.Task{ID: "early"}, record.Identity{PID: 2})
	killed(t, m, "early")
	if got := tell(m.Ready()); got != "launched early, changed early, | send early killed" {
		t.Errorf("killed at once: %s", got)
	}
}

// TestDiedWhileReserved: of a task whose shim was never opened the next run of
// the agent finds that nothing has run, and starts it.
func TestDiedWhileReserved(t *testing.T) {
	m := fresh(t)
	reserve(t, m, offers.Task{ID: "t"}, record.Identity{PID: 1})
	l := m.Ready().Launched[0]
	p, _ := m.Progress(name("t"))
	m = New(Config{Total: total()}, m.Meta())
	m.Restore([]Known{{Launch: *l, Progress: p}}, at(2))
	if got := tell(m.Ready()); got != "|" {
		t.Errorf("restored: %s", got)
	}
	m.Ended(name("t"), How{Exit: record.Exit{Never: true}}, at(3))
	m.Ready()
	register(t, m, at(4))
	if got := m.Starting(); len(got) != 1 || got[0].Task.ID != "t" {
		t.Errorf("starting are %+v", got)
	}
}
