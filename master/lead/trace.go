package lead

import (
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// way is the beginning of a traced task's way, to be told once it is durable.
// nil is that of a task that is not traced.
type way struct {
	begins                   bool // the trace begins with it
	stated, offered, arrived time.Time
}

// trace makes a launch part of a trace, its framework's or one of its own.
func (c *Core) trace(t *state.Task, from *offers.Offer) *way {
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
	return w
}

// accepted tells of the way to where the launch was committed, or refused.
func (w *way) accepted(c *Core, t *state.Task, err *offers.Error) {
	if w == nil {
		return
	}
	failed := ""
	if err != nil {
		failed = err.Message
	}
	if w.begins {
		whole := c.span("task", t, w.stated, c.now, failed)
		whole.Self, whole.Parent = whole.Parent, ""
		c.spans = append(c.spans, whole)
	}
	c.spans = append(c.spans,
		c.span("demand", t, w.stated, w.offered, ""),
		c.span("offer", t, w.offered, w.arrived, ""),
		c.span("accept", t, w.arrived, c.now, failed))
}

// traceEnds tells of tasks that ended: from when they did to when that was
// committed.
func (c *Core) traceEnds(ended []*state.Task) {
	if c.config.Root == nil {
		return
	}
	for _, t := range ended {
		if !t.Spec.Traceparent.Sampled() {
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
		s := c.span("end", t, at, c.now, failed)
		s.State = t.End.State
		c.spans = append(c.spans, s)
	}
}

func (c *Core) span(name string, t *state.Task, start, end time.Time, failed string) offers.Span {
	return offers.Span{
		Name: name, Parent: t.Spec.Traceparent, Start: start, End: end, Task: t.Ref(), Agent: t.Agent, Demand: t.Demand, Failed: failed,
	}
}
