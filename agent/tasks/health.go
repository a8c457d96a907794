package tasks

import (
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Doom is why the agent itself ends a task that would go on. The task has
// failed then, however its process ends; the first reason counts.
type Doom struct {
	Reason  string
	Message string
}

// Doom ends a task for its own fault.
func (m *Machine) Doom(ref offers.TaskRef, d Doom, now time.Time) {
	if t, known := m.tasks[ref]; known {
		m.doom(t, d, now)
	}
}

func (m *Machine) doom(t *task, d Doom, now time.Time) {
	if t.ended() || t.leaving() {
		return
	}
	t.Doom = &d
	m.dirty[t.Ref()] = true
	if !t.Started.IsZero() {
		m.ask(t, now)
	}
}

// leaving reports whether the task is on its way to its end.
func (t *task) leaving() bool { return t.Kill != nil || t.Overran || t.Doom != nil }

// watch begins to check a task that runs, in this run of the agent. Failures
// of an earlier run don't count: nobody looked in between.
func (t *task) watch(now time.Time) {
	h := t.Task.Health
	if h == nil {
		return
	}
	t.check = t.Started.Add(h.Delay.Std())
	if t.check.Before(now) {
		t.check = now
	}
}

// checks asks for the check of a task that is due.
func (m *Machine) checks(t *task, now time.Time) {
	if !due(t.check, now) {
		return
	}
	t.check = time.Time{}
	if !t.leaving() {
		m.ready.Checks = append(m.ready.Checks, &t.Launch)
	}
}

// Checked takes the outcome of a health check: why it failed, or "". Checks of
// a task follow each other, so that a slow one delays the next.
func (m *Machine) Checked(ref offers.TaskRef, failure string, now time.Time) {
	t, known := m.tasks[ref]
	if !known || t.ended() || t.leaving() || t.Task.Health == nil {
		return
	}
	h := t.Task.Health
	t.check = now.Add(h.Every())
	if failure == "" {
		t.failures = 0
		m.healthy(t, true, "", now)
		return
	}
	if t.Healthy == nil && now.Before(t.Started.Add(h.Grace.Std())) {
		return
	}
	t.failures++
	m.healthy(t, false, failure, now)
	if t.failures >= h.Most() {
		m.doom(t, Doom{offers.ReasonHealth, fmt.Sprintf("%s, the last: %s", times(t.failures), failure)}, now)
	}
}

// Unchecked takes that a health check could not be made, for no fault of the
// task: nothing is known, and it is made again an interval later.
func (m *Machine) Unchecked(ref offers.TaskRef, now time.Time) {
	if t, known := m.tasks[ref]; known && !t.ended() && !t.leaving() && t.Task.Health != nil {
		t.check = now.Add(t.Task.Health.Every())
	}
}

func times(failures int) string {
	if failures == 1 {
		return "it failed a health check"
	}
	return fmt.Sprintf("it failed %d health checks in a row", failures)
}

// healthy reports how a task is when that has changed.
func (m *Machine) healthy(t *task, well bool, why string, now time.Time) {
	if t.State != offers.Running || t.Healthy != nil && *t.Healthy == well {
		return
	}
	t.Healthy = &well
	r := Report{State: offers.Running, Healthy: &well, Time: now}
	if !well {
		r.Reason, r.Message = offers.ReasonHealth, why
	}
	m.condition(t, r, now)
}
