package tasks

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// span tells of a part of a task's way, with the task's end where it is that.
func (m *Machine) span(t *task, name string, start, end time.Time, r *Report) {
	if !m.config.Traced || !t.Task.Traceparent.Sampled() {
		return
	}
	s := offers.Span{Name: name, Parent: t.Task.Traceparent, Start: start, End: end, Task: t.Ref(), Agent: m.meta.Agent}
	if r != nil {
		s.State = r.State
		if r.State != offers.Finished {
			s.Failed = (&offers.Status{State: r.State, Reason: r.Reason, Message: r.Message, ExitCode: r.ExitCode, Signal: r.Signal}).Why()
		}
	}
	m.ready.Spans = append(m.ready.Spans, s)
}

// traceEnd tells of a task's run, or of a launch that came to nothing.
func (m *Machine) traceEnd(t *task, r *Report) {
	if t.Started.IsZero() {
		m.span(t, "launch", t.Accepted, r.Time, r)
		return
	}
	m.span(t, "run", t.Started, r.Time, r)
}
