package tasks

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestHealthReportsDoNotPileUp: of a task whose health changes all the time,
// while no master listens, there is one report of it and not thousands.
func TestHealthReportsDoNotPileUp(t *testing.T) {
	m := fresh(t)
	launch(t, m, at(0), offers.Task{ID: "t", Health: &offers.Health{TCP: &offers.TCPPing{Port: 1}, Failures: 2}})
	m.Started(name("t"), at(0))
	m.Disconnected()
	for n := range 1000 {
		m.Checked(name("t"), []string{"", "refused"}[n%2], at(n))
	}
	p, _ := m.Progress(name("t"))
	if len(p.Reports) != 2 || p.Reports[0].Healthy != nil || *p.Reports[1].Healthy || p.Reports[1].Message != "refused" {
		t.Errorf("%d reports wait: %+v", len(p.Reports), p.Reports)
	}
	if _, list := m.Register(); list[0].Healthy == nil || *list[0].Healthy || !list[0].Started.Equal(at(0)) {
		t.Errorf("to the next master it lists %+v", list)
	}
}

// TestHealthOverARestart: checks go on, and failures of before don't count; a
// task that was doomed is ended.
func TestHealthOverARestart(t *testing.T) {
	m := fresh(t)
	for _, id := range []offers.TaskID{"ill", "doomed"} {
		launch(t, m, at(0), offers.Task{ID: id, Health: &offers.Health{TCP: &offers.TCPPing{Port: 1}, Failures: 2}})
		m.Prepared(name(id), record.Identity{PID: 1}, at(0))
		m.Started(name(id), at(0))
		m.Checked(name(id), "refused", at(1))
	}
	m.Checked(name("doomed"), "refused", at(2))
	var known []Known
	for _, l := range m.Ready().Launched {
		p, _ := m.Progress(l.Ref())
		known = append(known, Known{*l, p})
	}
	m = New(Config{Total: total()}, Meta{Agent: "a1", Term: 5})
	m.Restore(known, at(10))
	m.Adopted(name("ill"), at(10))
	m.Adopted(name("doomed"), at(10))
	if r := m.Ready(); len(r.Signals) != 1 || r.Signals[0].Ref != name("doomed") {
		t.Errorf("ended are %v", r.Signals)
	}
	m.Tick(at(10))
	if r := m.Ready(); len(r.Checks) != 1 || r.Checks[0].Task.ID != "ill" {
		t.Errorf("checked are %v", r.Checks)
	}
	m.Checked(name("ill"), "refused", at(10))
	if r := m.Ready(); len(r.Signals) != 0 {
		t.Error("a failure of before the restart counts")
	}
	m.Ended(name("doomed"), How{}, at(11))
	if p, _ := m.Progress(name("doomed")); p.State != offers.Failed || p.Reports[len(p.Reports)-1].Reason != offers.ReasonHealth {
		t.Errorf("the doomed one ended as %+v", p)
	}
}

// TestUnchecked: a check that could not be made counts neither way, and is made
// again.
func TestUnchecked(t *testing.T) {
	m := fresh(t)
	launch(t, m, at(0), offers.Task{ID: "t", Health: &offers.Health{TCP: &offers.TCPPing{Port: 1}, Failures: 2}})
	m.Prepared(name("t"), record.Identity{PID: 1}, at(0))
	m.Started(name("t"), at(0))
	m.Checked(name("t"), "refused", at(1))
	m.Ready()
	m.Unchecked(name("t"), at(11))
	m.Unchecked(name("nobody"), at(11))
	if r := m.Ready(); !r.Empty() {
		t.Errorf("something follows from a check that was not made: %+v", r)
	}
	m.Tick(at(20))
	if r := m.Ready(); len(r.Checks) != 0 {
		t.Error("it is made again too early")
	}
	m.Tick(at(21))
	if r := m.Ready(); len(r.Checks) != 1 {
		t.Error("it is not made again")
	}
	m.Checked(name("t"), "refused", at(22))
	if r := m.Ready(); len(r.Signals) != 1 {
		t.Error("the failure before it is forgotten")
	}
}
