package scheduler

import (
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// A gang is a batch, or a step of one, whose instances start at once or not at
// all, and stand and fall together:
//
//	all wait ─▶ one demand for all ─▶ all are launched ─▶ all are done
//	   ▲                                │ one fails, is lost, or never started
//	   └────── none is left ◀── killed ─┘ those that are done run again, too
//
// What the others exchanged with the one that is missing is gone with it, and
// while they waited for another they would hold what nobody can use: as with
// torchrun, JobSet and Volcano the gang begins anew. That one of them failed
// counts as one retry of the gang, however many fail over it; lost agents and
// launches that reached none count for nothing. After the last retry, and when
// somebody else killed one, the others are killed for good.
//
// How a gang stands is seen from its instances alone, so that it goes on the
// same whatever part of their records was written.

// gang reports whether the instances stand and fall together.
func (g *group) gang() bool { return g.work.Gang != 0 }

// gangState is how a gang stands.
type gangState int

// The states of a gang. The zero value is invalid.
const (
	waiting   gangState = iota + 1 // all of it, for the same launch
	launched                       // all of it, or done
	scattered                      // neither: it has to begin anew
	doomed                         // likewise, and it may not
)

func (g *group) stands() gangState {
	still, level := 0, true
	for i := range g.instances {
		in := &g.instances[i]
		if in.Phase == Broken {
			return doomed
		}
		if in.Phase == Waiting {
			still++
		}
		level = level && in.Attempt == g.instances[0].Attempt && !in.Replaced
	}
	switch {
	case still == 0:
		return launched
	case still == len(g.instances) && level:
		return waiting
	}
	return scattered
}

// reunite ends what runs of a gang that is not whole, and once nothing does has
// it wait as a whole again.
func (s *Scheduler) reunite(now time.Time, g *group) {
	state := g.stands()
	if state == waiting || state == launched {
		return
	}
	running := false
	for i := range g.instances {
		switch in := &g.instances[i]; {
		case in.Phase == Launched:
			running = true
			if !in.Replaced {
				s.replace(g, i)
			}
		case in.Phase == Waiting && state == doomed:
			in.Phase = Halted
			s.writeInstance(g, i)
		}
	}
	if state == scattered && !running {
		s.beginAnew(now, g)
	}
}

// beginAnew has all of a gang wait, for its longest pause.
func (s *Scheduler) beginAnew(now time.Time, g *group) {
	next := Instance{After: now, Failures: g.failures()}
	for i := range g.instances {
		next.Attempt = max(next.Attempt, g.instances[i].Attempt)
		if after := g.instances[i].After; after.After(next.After) {
			next.After = after
		}
	}
	for i := range g.instances {
		in := &g.instances[i]
		in.Phase, in.Replaced, in.After, in.Attempt, in.Failures = Waiting, false, next.After, next.Attempt, next.Failures
		s.writeInstance(g, i)
	}
	text := fmt.Sprintf("the gang of %d begins anew", len(g.instances))
	if pause := next.After.Sub(now); pause > 0 {
		text += " in " + pause.Round(10*time.Millisecond).String()
	}
	s.note(now, g.run.job, Event{Run: g.run.Number, Text: text})
}

// failures returns how often the gang has failed.
func (g *group) failures() (most int) {
	for i := range g.instances {
		most = max(most, g.instances[i].Failures)
	}
	return most
}

// gangEnded decides what follows the end of one of a gang.
func (s *Scheduler) gangEnded(now time.Time, g *group, in *Instance, st offers.Status) {
	failed, over := st.State == offers.Failed, g.stands() == scattered
	switch {
	case st.State == offers.Finished:
		in.Phase = Done
	case in.Replaced, st.State == offers.Gone, failed && over:
		in.Phase, in.After = Waiting, now
	case failed && g.failures() < g.work.Retries:
		in.Failures = g.failures() + 1
		in.Phase, in.After = Waiting, now.Add(g.work.Backoff.Pause(in.Failures).Std())
	default:
		in.Phase = Broken
	}
}

// gangReady returns all instances of a gang once none has to wait any longer.
func (g *group) gangReady(now time.Time) []int {
	for i := range g.instances {
		in := &g.instances[i]
		if in.Phase != Waiting {
			return nil
		}
		if in.After.After(now) {
			g.wake = earliest(g.wake, in.After)
			return nil
		}
	}
	return g.still()
}

// still returns the instances that wait.
func (g *group) still() (out []int) {
	for i := range g.instances {
		if g.instances[i].Phase == Waiting {
			out = append(out, i)
		}
	}
	return out
}

// gangText says how one of a gang ended and what follows.
func (g *group) gangText(now time.Time, in *Instance, killed bool, why string) string {
	switch {
	case killed && in.Phase != Done:
		return "ends with its gang"
	case in.Phase != Waiting:
		return why
	case in.After.After(now):
		return fmt.Sprintf("%s; the gang runs again in %s, retry %d of %d", why, in.After.Sub(now), in.Failures, g.work.Retries)
	}
	return why + "; the gang runs again"
}
