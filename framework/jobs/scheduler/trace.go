package scheduler

import (
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// trace makes a launch part of a trace of its own. What is to be told at its end
// is in its record, for whoever works then.
func (s *Scheduler) trace(g *group, index int, t *offers.Task) {
	if s.root == nil {
		return
	}
	if t.Traceparent = s.root(); t.Traceparent == "" {
		return
	}
	last := &g.instances[index].Last
	last.Traceparent, last.Wanted = t.Traceparent, g.began
}

// traceEnd tells of an instance from when it was wanted to its end.
func (s *Scheduler) traceEnd(now time.Time, g *group, index int, st *offers.Status) {
	last := &g.instances[index].Last
	if s.root == nil || last.Traceparent == "" {
		return
	}
	span := offers.Span{
		Name: "instance", Self: last.Traceparent, Start: last.Wanted, End: now,
		Task: offers.TaskRef{Task: g.ref(index).taskID()}, Agent: last.Agent, Demand: g.demandID(), State: st.State,
		More: map[string]string{"job": g.run.job.Name, "run": fmt.Sprint(g.run.Number), "index": fmt.Sprint(index)},
	}
	if st.State != offers.Finished {
		span.Failed = st.Why()
	}
	s.out.Spans = append(s.out.Spans, span)
	last.Traceparent = ""
}
