package tasks

import (
	"cmp"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Staged takes that everything a task wants in its sandbox is there.
func (m *Machine) Staged(ref offers.TaskRef, now time.Time) {
	t, known := m.tasks[ref]
	if known && t.State == offers.Staging && t.Kill == nil {
		m.report(t, Report{State: offers.Starting, Time: now}, now)
	}
}

// Reserved takes the identity of the shim that a task in Starting will have, so
// that it is written down with the launch. If the agent dies before it has
// opened that one's gate, the next finds that the task has never run.
func (m *Machine) Reserved(ref offers.TaskRef, id record.Identity) {
	if t, known := m.tasks[ref]; known && !t.ended() && !t.prepared {
		m.record(t, id)
	}
}

// record sets the identity of a task's shim, which is written down if it is
// another one.
func (m *Machine) record(t *task, id record.Identity) {
	if t.Process == nil || *t.Process != id {
		t.Process = &id
		m.dirty[t.Ref()] = true
	}
}

// Prepared takes the identity of a task's shim, which waits at its gate. The
// gate is opened once the identity is written down; a task that was told to
// end meanwhile never starts.
func (m *Machine) Prepared(ref offers.TaskRef, id record.Identity, now time.Time) {
	t, known := m.tasks[ref]
	if !known || t.ended() || t.prepared {
		return
	}
	t.prepared = true
	if t.Kill != nil {
		m.ready.Abandon = append(m.ready.Abandon, ref)
		return
	}
	m.record(t, id)
	m.ready.Release = append(m.ready.Release, ref)
}

// Waiting takes why a task does not run yet, which is reported once.
func (m *Machine) Waiting(ref offers.TaskRef, why string, now time.Time) {
	t, known := m.tasks[ref]
	if known && (t.State == offers.Staging || t.State == offers.Starting) && t.Serial == 0 && t.Kill == nil {
		m.report(t, Report{State: t.State, Message: why, Time: now}, now)
	}
}

// Started takes that a task runs.
func (m *Machine) Started(ref offers.TaskRef, now time.Time) {
	t, known := m.tasks[ref]
	if !known || t.ended() || !t.Started.IsZero() {
		return
	}
	t.Started = now
	m.dirty[ref] = true
	m.span(t, "launch", t.Accepted, now, nil)
	if t.State == offers.Starting || t.State == offers.Staging {
		m.report(t, Report{State: offers.Running, Time: now}, now)
	}
	m.tellDevices(t, now)
	t.watch(now)
	if t.Kill != nil { // before it ran; the next order of the same says nothing any more
		m.report(t, Report{State: offers.Killing, Reason: t.Kill.Reason, Time: now}, now)
	}
	if t.Kill != nil || t.Doom != nil {
		m.ask(t, now)
	}
}

// Adopted takes that a task of an earlier run of the agent still runs.
func (m *Machine) Adopted(ref offers.TaskRef, now time.Time) {
	t, known := m.tasks[ref]
	if !known || t.ended() {
		return
	}
	t.prepared = true
	if t.Started.IsZero() {
		m.Started(ref, now)
		return
	}
	m.tellDevices(t, now)
	t.watch(now)
	if t.leaving() {
		m.ask(t, now)
	}
}

// How says what became of a task's process.
type How struct {
	record.Exit
	Lost     bool   // its shim died without a record
	Rebooted bool   // the host has restarted since
	Failed   string // it could not be prepared; beside Lost, how it got lost
	Reason   string // of Failed; "" means the usual one
}

// Ended takes the end of a task's process.
func (m *Machine) Ended(ref offers.TaskRef, how How, now time.Time) {
	t, known := m.tasks[ref]
	if !known || t.ended() {
		return
	}
	if how.Never && !t.Started.IsZero() { // it has run, and its record is gone
		how.Never, how.Lost = false, true
	}
	if how.Never && !m.closing {
		t.Process, t.prepared, t.Started = nil, false, time.Time{}
		m.dirty[ref] = true
		m.begin(t, now)
		return
	}
	m.finish(t, t.verdict(how, now), now)
}

// verdict says how a task ended, from how its process did.
func (t *task) verdict(how How, now time.Time) Report {
	r := Report{Time: how.Time, Signal: how.Signal}
	if r.Time.IsZero() {
		r.Time = now
	}
	ran := how.Failed == "" && how.Error == "" && !how.Lost && !how.Rebooted && !how.Never
	if ran && how.Signal == "" {
		r.ExitCode = exited(how.Code)
	}
	switch {
	case t.Kill != nil:
		r.State, r.Reason = offers.Killed, t.Kill.Reason
	case how.Rebooted:
		r.State, r.Reason, r.Message = offers.Gone, offers.ReasonAgentRestarted, "its host has restarted"
	case t.Overran:
		r.State, r.Reason, r.Message = offers.Failed, offers.ReasonMaxRuntime, "it ran for more than "+t.Task.MaxRuntime.String()
	case t.Doom != nil:
		r.State, r.Reason, r.Message = offers.Failed, t.Doom.Reason, t.Doom.Message
	case how.Lost:
		r.State, r.Reason, r.Message = offers.Failed, cmp.Or(how.Reason, offers.ReasonShimLost), cmp.Or(how.Failed, "the process that supervised it died; what was left of it is killed")
	case how.Never:
		r.State, r.Reason, r.Message = offers.Failed, offers.ReasonStart, "it was not started before the agent ended"
	case !ran:
		r.State, r.Reason, r.Message = offers.Failed, cmp.Or(how.Reason, offers.ReasonStart), how.Failed+how.Error
	case how.OOM && (how.Signal != "" || how.Code != 0):
		r.State, r.Reason, r.Message = offers.Failed, offers.ReasonMemoryLimit, "it used more memory than it asked for"
	case how.Signal != "" || how.Code != 0:
		r.State = offers.Failed
	default:
		r.State = offers.Finished
	}
	return r
}

// end tells a task to end. The first order stays, except that a shorter
// deadline replaces a longer one.
func (m *Machine) end(t *task, grace time.Duration, reason string, now time.Time) {
	if t.ended() {
		return
	}
	ref := t.Ref()
	if t.Kill != nil {
		if kill := now.Add(grace); !t.deadline.IsZero() && kill.Before(t.deadline) {
			t.Kill = &KillOrder{Grace: grace, Reason: t.Kill.Reason, Since: now}
			t.deadline = kill
			m.dirty[ref] = true
		}
		return
	}
	t.Kill = &KillOrder{Grace: grace, Reason: reason, Since: now}
	m.dirty[ref] = true
	if at := slices.IndexFunc(m.ready.Start, func(l *Launch) bool { return l.Ref() == ref }); at >= 0 {
		m.ready.Start = slices.Delete(m.ready.Start, at, at+1)
		m.begin(t, now)
		return
	}
	if t.waiting {
		m.begin(t, now)
		return
	}
	if t.State == offers.Running {
		m.report(t, Report{State: offers.Killing, Reason: reason, Time: now}, now)
	}
	switch {
	case !t.Started.IsZero():
		m.ask(t, now)
	case !t.prepared: // nor is one that is still looked for, which nobody prepares
		m.ready.Cancel = append(m.ready.Cancel, ref)
	}
}

// ask sends the polite signal and sets the deadline of the other.
func (m *Machine) ask(t *task, now time.Time) {
	t.deadline = now.Add(t.grace())
	m.ready.Signals = append(m.ready.Signals, Signal{Ref: t.Ref()})
}

// Next returns when Tick has something to do, zero for never.
func (m *Machine) Next() time.Time {
	var next time.Time
	for _, t := range m.tasks {
		if at := t.next(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// next returns when Tick has something to do for a task, zero for never.
func (t *task) next() (next time.Time) {
	for _, at := range [...]time.Time{t.deadline, t.resend, t.overrun(), t.check} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// Tick does what has become due.
func (m *Machine) Tick(now time.Time) {
	var late []offers.TaskRef
	for ref, t := range m.tasks {
		if due(t.next(), now) {
			late = append(late, ref)
		}
	}
	slices.SortFunc(late, compareRefs)
	for _, ref := range late {
		t := m.tasks[ref]
		if due(t.overrun(), now) {
			t.Overran = true
			m.dirty[ref] = true
			if t.Kill == nil {
				m.ask(t, now)
			}
		}
		m.checks(t, now)
		if due(t.deadline, now) {
			t.deadline = time.Time{}
			m.ready.Signals = append(m.ready.Signals, Signal{Ref: ref, Force: true})
		}
		if due(t.resend, now) {
			pause := min(2*t.pause, lastResend)
			m.sendAll(t, now)
			t.pause, t.resend = pause, now.Add(pause)
		}
	}
}

func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// report appends a report and sends it, behind those that were sent before it.
func (m *Machine) report(t *task, r Report, now time.Time) {
	t.report(r)
	m.dirty[t.Ref()] = true
	if m.registered && !t.Orphan {
		m.send(t, t.Reports[len(t.Reports)-1:])
		if t.resend.IsZero() {
			t.pause, t.resend = firstResend, now.Add(firstResend)
		}
	}
}

// sendAll sends all reports of a task that wait, oldest first, and begins its
// schedule anew.
func (m *Machine) sendAll(t *task, now time.Time) {
	if !m.registered || t.Orphan || len(t.Reports) == 0 {
		return
	}
	m.send(t, t.Reports)
	t.pause, t.resend = firstResend, now.Add(firstResend)
}

func (m *Machine) send(t *task, reports []Report) {
	for _, r := range reports {
		m.ready.Send = append(m.ready.Send, t.status(r, m.meta.Agent, m.config.Host))
	}
}
