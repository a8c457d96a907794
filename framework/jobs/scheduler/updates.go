package scheduler

import (
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Updated takes a task's state. What ended is in the writes of the same
// [Scheduler.Take]: the update is acknowledged once these are done.
func (s *Scheduler) Updated(now time.Time, st offers.Status) {
	r, ok := parseTask(st.Task)
	g := s.group(r)
	if !ok || g == nil {
		s.stray(st)
		return
	}
	if r.index >= len(g.instances) { // the service has no such instance any more
		s.count(g.run.job, r.attempt)
		s.stray(st)
		return
	}
	in := &g.instances[r.index]
	switch {
	case r.attempt < in.Attempt || in.Phase.ended():
		s.stray(st)
		return
	case r.attempt > in.Attempt: // launched before this scheduler began
		if in.Phase == Launched {
			s.out.Kills = append(s.out.Kills, g.ref(r.index).taskID())
		}
		in.Attempt, in.Phase, in.Version, in.Replaced, in.Last = r.attempt, Launched, 0, false, Last{}
	case in.Phase == Waiting && !st.State.Terminal() && in.Last.State != "":
		s.stray(st) // late: it has ended
		return
	case in.Phase == Waiting && st.State.Terminal():
		return // it was dealt with
	}
	in.Phase, in.told = Launched, true
	g.tell(in, st)
	in.see(now, g.work)
	if st.State.Terminal() {
		s.ended(now, g, r.index, st)
		return
	}
	if (g.run.State == Stopping || in.Replaced) && st.State != offers.Killing {
		s.out.Kills = append(s.out.Kills, st.Task)
	}
	s.touch(g.run)
	s.note(now, g.run.job, Event{Run: g.run.Number, Task: st.Task, State: st.State, Text: where(in)})
}

// stray ends a task that no instance stands for.
func (s *Scheduler) stray(st offers.Status) {
	if !st.State.Terminal() && st.State != offers.Killing {
		s.out.Kills = append(s.out.Kills, st.Task)
	}
}

// tell keeps what a status says.
func (g *group) tell(in *Instance, st offers.Status) {
	l := &in.Last
	l.State, l.Reason, l.Message, l.ExitCode, l.Signal, l.Healthy = st.State, st.Reason, st.Message, st.ExitCode, st.Signal, st.Healthy
	if st.Agent != "" {
		l.Agent = st.Agent
	}
	if l.Host == "" {
		l.Host = st.Address
	}
	if !st.Started.IsZero() {
		l.Started = st.Started
	}
	if st.State.Terminal() {
		l.Ended, l.Healthy = st.Time, nil
	}
}

// ended decides what follows the end of an instance's task.
func (s *Scheduler) ended(now time.Time, g *group, index int, st offers.Status) {
	in := &g.instances[index]
	s.traceEnd(now, g, index, &st)
	stopping, replaced := g.run.State == Stopping, in.Replaced
	switch {
	case stopping && st.State != offers.Finished:
		in.Phase = Halted
	case st.State == offers.Dropped, st.Reason == offers.ReasonPortTaken && g.work.Resources.AnyPorts > 0:
		s.dropped(now, g, index, st)
		return
	case g.run.service():
		s.serviceEnded(now, g, in, st)
	case g.gang():
		s.gangEnded(now, g, in, st)
	case st.State == offers.Finished:
		in.Phase, in.Failures = Done, 0
	case st.State == offers.Gone:
		in.Phase, in.After = Waiting, now
	case st.State == offers.Failed && in.Failures < g.work.Retries:
		in.Failures++
		in.Phase, in.After = Waiting, now.Add(g.work.Backoff.Pause(in.Failures).Std())
	default:
		in.Phase = Broken
	}
	if index < len(g.instances) { // a version that is given up here gives way to one with other instances
		in = &g.instances[index]
		in.Drops = 0
		s.writeInstance(g, index)
	}
	s.touch(g.run)
	text := st.Why()
	switch {
	case g.gang():
		text = g.gangText(now, in, replaced, text)
	case replaced:
		text = "makes place"
	case in.Phase == Waiting:
		text += fmt.Sprintf("; runs again %s", in.after(now))
	}
	s.note(now, g.run.job, Event{Run: g.run.Number, Task: st.Task, State: st.State, Text: text})
}

func (in *Instance) after(now time.Time) string {
	if pause := in.After.Sub(now); pause > 0 {
		return "in " + pause.String()
	}
	return "elsewhere"
}

// dropped lets an instance run again that reached no agent, or got a port that
// a program of others on the host uses, after a pause that grows: it did
// nothing wrong, and somebody did.
func (s *Scheduler) dropped(now time.Time, g *group, index int, st offers.Status) {
	in := &g.instances[index]
	in.Drops++
	in.Phase = Waiting
	in.After = now.Add(min(50*time.Millisecond<<min(in.Drops, 8), 10*time.Second))
	if g.run.State == Stopping {
		in.Phase = Halted
	}
	s.writeInstance(g, index)
	s.touch(g.run)
	s.note(now, g.run.job, Event{Run: g.run.Number, Task: g.ref(index).taskID(), State: st.State, Text: st.Why()})
}

func where(in *Instance) string {
	if in.Last.Host == "" {
		return ""
	}
	text := "on " + in.Last.Host
	if h := in.Last.Healthy; h != nil && *h {
		text += ", healthy"
	} else if h != nil {
		text += ", not healthy"
	}
	return text
}
