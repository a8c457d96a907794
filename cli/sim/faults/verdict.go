package faults

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// last checks what has to be true once everything is healed and quiet.
func (j *judge) last() error {
	s := j.w.raft.state
	var errs []string
	complain := func(format string, args ...any) {
		if len(errs) < 8 {
			errs = append(errs, fmt.Sprintf(format, args...))
		}
	}
	for _, h := range j.order {
		j.settled(h, s.Task(h.ref), complain)
	}
	for _, a := range j.w.agents {
		if running := a.running(); len(running) > 0 {
			complain("%s still runs %v", a.name, running)
		}
		if a.machine == nil || a.link == nil || !a.link.registered {
			complain("%s has no master", a.name)
			continue
		}
		if known := s.Agent(a.machine.Meta().Agent); known == nil || known.State == offers.AgentUnreachable {
			complain("%s has a master and counts as %+v", a.name, known)
		}
		if _, list := a.machine.Register(); len(list) > 0 {
			complain("%s still knows %d tasks, such as %s %s", a.name, len(list), list[0].TaskRef, list[0].State)
		}
	}
	j.present(complain)
	j.quiet(complain)
	if len(errs) > 0 {
		return fmt.Errorf("after the healing: %s", strings.Join(errs, "; "))
	}
	return nil
}

// settled checks one task at the end.
func (j *judge) settled(h *history, t *state.Task, complain func(string, ...any)) {
	f := j.w.raft.state.Framework(h.ref.Framework)
	switch {
	case t == nil || t.End == nil:
		complain("%s has not ended", h.ref)
	case !t.Acknowledged:
		complain("the end %s of %s is not acknowledged", t.End.State, h.ref)
	case f == nil || f.Removed:
	default:
		if n := j.names[h.ref.Framework].tasks[h.ref.Task]; n.durable && n.end != t.End.State {
			complain("%s ended %s, its framework has seen %q", h.ref, t.End.State, n.end)
		}
	}
	if h.ends != h.rounds {
		complain("%s has %d ends for %d launches", h.ref, h.ends, h.rounds)
	}
}

// quiet checks the leader's books at the end: all room is back.
func (j *judge) quiet(complain func(string, ...any)) {
	l := j.w.raft.leader
	if l == nil || l.core == nil {
		complain("nobody leads")
		return
	}
	o := l.core.Observe()
	for _, v := range o.Match.Agents {
		a := o.State.Agent(v.ID)
		if a != nil && v.Free.Amounts != a.Total.Amounts {
			complain("agent %s has %v of %v free, offered %v", v.ID, v.Free.Amounts, a.Total.Amounts, v.Offered.Amounts)
		}
	}
	for _, f := range j.w.frameworks {
		if f.up && !f.over && !o.Connected[f.id] {
			complain("%s (%s) is not connected", f.name, f.id)
		}
	}
}

// present checks that whoever is there is known and was answered, and that
// nobody else is left: what came without its id has become no ghost.
func (j *judge) present(complain func(string, ...any)) {
	there := map[offers.FrameworkID]bool{}
	for _, f := range j.w.frameworks {
		if !f.up || f.over {
			continue
		}
		there[f.id] = true
		if f.asked > 0 {
			complain("%s waits for %d answers to reconcile", f.name, f.asked)
		}
		for _, id := range f.notes.order {
			if t := f.notes.tasks[id]; t.end == "" {
				complain("%s was never told what became of %s (committed %v)", f.name, id, t.durable)
			}
		}
		if len(f.calls) > 0 {
			complain("%s waits for %d answers of its store", f.name, len(f.calls))
		}
	}
	for f := range j.w.raft.state.Frameworks() {
		notes := j.names[f.ID]
		switch {
		case !f.Removed && !there[f.ID] && f.Deadline.Add(5*time.Second).Before(j.w.raft.leader.time()):
			complain("framework %s is still there, and nobody is left of it", f.ID)
		case f.Removed && notes != nil && !notes.ended:
			complain("framework %s was removed, and it is still there", f.ID)
		}
	}
}
