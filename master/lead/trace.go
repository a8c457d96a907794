package lead

import (
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// way is the beginning of a traced task's way, to be told once it is durable.
// nil is that of a task that is not traced.
type way struct {
	of                       offers.Span // what its spans have in common
	begins                   bool        // the trace begins with it
	stated, offered, arrived time.Time
}

// trace makes a launch part of a trace, its framework's or one of its own.
func (c *Core) trace(t *state.TaskRecord, from *offers.Offer) *way {
	if c.config.Root == nil {
		return nil
	}
	w := &way{stated: from.Stated, offered: from.Issued, arrived: c.now}
	if t.Spec.Traceparent == "" {
		t.Spec.Traceparent, w.begins = c.config.Root(), true
	}
	if !t.Spec.Traceparent.Sampled() {
		return nil
	}
	w.of = offers.Span{Parent: t.Spec.Traceparent, Task: t.Ref(), Agent: t.Agent, Demand: t.Demand}
	return w
}

// accepted tells of the way to where the launch was committed, or refused.
func (w *way) accepted(c *Core, err *offers.Error) {
	if w == nil {
		return
	}
	failed := ""
	if err != nil {
		failed = err.Message
	}
	if w.begins {
		whole := spanned("task", w.of, w.stated, c.now, failed)
		whole.Self, whole.Parent = whole.Parent, ""
		c.spans = append(c.spans, whole)
	}
	c.spans = append(c.spans,
		spanned("demand", w.of, w.stated, w.offered, ""),
		spanned("offer", w.of, w.offered, w.arrived, ""),
		spanned("accept", w.of, w.arrived, c.now, failed))
}

// traceEnds tells of tasks that ended: from when they did to when that was
// committed.
func (c *Core) traceEnds(ended []*state.Task) {
	if c.config.Root == nil {
		return
	}
	for _, t := range ended {
		if !t.Traceparent.Sampled() {
			continue
		}
		at := t.End.Time // by the agent's clock
		if at.Before(t.End.Started) {
			at = t.End.Started
		}
		if at.IsZero() || at.After(c.now) {
			at = c.now
		}
		failed := ""
		if t.End.State != offers.Finished {
			failed = t.End.Why()
		}
		of := offers.Span{Parent: t.Traceparent, Task: t.Ref(), Agent: t.Agent, Demand: t.Demand}
		s := spanned("end", of, at, c.now, failed)
		s.State = t.End.State
		c.spans = append(c.spans, s)
	}
}

// spanned returns one part of a way.
func spanned(name string, of offers.Span, start, end time.Time, failed string) offers.Span {
	of.Name, of.Start, of.End, of.Failed = name, start, end, failed
	return of
}
