package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// advance brings a run one step on: its end, or what it asks the masters for.
func (s *Scheduler) advance(now time.Time, r *run) {
	if r.State == Active {
		for skipped := true; skipped; {
			skipped = false
			for _, g := range r.groups {
				skipped = s.skip(g) || skipped
			}
		}
	}
	for _, g := range r.groups {
		g.wake = time.Time{}
		if r.State == Active {
			s.replaceAway(now, g)
			if g.gang() && s.settled {
				s.reunite(now, g)
			}
		}
	}
	if r.State == Active && r.service() && s.settled {
		s.roll(now, r)
	}
	if !r.State.Ended() && r.over() {
		s.finish(now, r)
	}
	for _, g := range r.groups {
		want := 0
		if s.settled && r.durable && r.State == Active {
			want = len(g.ready(now))
		}
		s.ask(now, g, want)
	}
}

func (r *run) over() bool {
	for _, g := range r.groups {
		for i := range g.instances {
			if !g.instances[i].Phase.ended() {
				return false
			}
		}
	}
	return true
}

// finish ends a run of which every instance has ended.
func (s *Scheduler) finish(now time.Time, r *run) {
	count := r.counts()
	switch {
	case count[Broken] > 0:
		r.State = Failed
	case count[Halted] > 0:
		r.State = Stopped
	default:
		r.State = Complete
	}
	r.Ended = now
	s.writeRun(r)
	s.note(now, r.job, Event{Run: r.Number, Text: fmt.Sprintf("run %d %s", r.Number, endings[r.State])})
}

var endings = map[RunState]string{Complete: "is complete", Failed: "has failed", Stopped: "has stopped"}

func (r *run) counts() map[Phase]int {
	out := map[Phase]int{}
	for _, g := range r.groups {
		for i := range g.instances {
			out[g.instances[i].Phase]++
		}
	}
	return out
}

// complete reports whether every instance ended well.
func (g *group) complete() bool {
	for i := range g.instances {
		if g.instances[i].Phase != Done {
			return false
		}
	}
	return true
}

// spoilt reports whether the step can't be complete any more.
func (g *group) spoilt() bool {
	for i := range g.instances {
		if p := g.instances[i].Phase; p.ended() && p != Done {
			return true
		}
	}
	return false
}

// blocked reports whether a step before has still to be complete.
func (g *group) blocked() bool {
	return slices.ContainsFunc(g.after, func(before *group) bool { return !before.complete() })
}

// skip ends the instances of a step that waits in vain, and reports whether
// there were any: steps after it may then wait in vain too.
func (s *Scheduler) skip(g *group) (any bool) {
	if !slices.ContainsFunc(g.after, (*group).spoilt) {
		return false
	}
	for i := range g.instances {
		if g.instances[i].Phase == Waiting {
			g.instances[i].Phase, any = Skipped, true
			s.writeInstance(g, i)
		}
	}
	return any
}

// ready returns the instances whose turn it is, and sets when the next pause
// ends.
func (g *group) ready(now time.Time) []int {
	if g.blocked() {
		return nil
	}
	if g.gang() {
		return g.gangReady(now)
	}
	places := len(g.instances)
	if g.work.Parallelism > 0 {
		places = g.work.Parallelism
	}
	for i := range g.instances {
		if g.instances[i].Phase == Launched {
			places--
		}
	}
	var out []int
	for i := range g.instances {
		in := &g.instances[i]
		switch {
		case in.Phase != Waiting:
		case in.After.After(now):
			g.wake = earliest(g.wake, in.After)
		case len(out) < places:
			out = append(out, i)
		}
	}
	return out
}

// ask states how many units the group wants, where the masters know another
// number. To state a demand anew takes back its offers, also those that are on
// their way here, out of which launches would be dropped: what is wanted beyond
// a demand waits until that is met, restatedAfter at most. A deadline counts
// from the beginning of the run; one that has passed is as near as can be.
func (s *Scheduler) ask(now time.Time, g *group, want int) {
	if want == g.asked {
		return
	}
	if due := g.stated.Add(restatedAfter); g.asked > 0 && want > g.asked && due.After(now) {
		g.wake = earliest(g.wake, due)
		return
	}
	if g.asked == 0 {
		g.began = now
	}
	g.asked, g.stated = want, now
	id := g.demandID()
	if want == 0 {
		delete(s.byDemand, id)
	} else {
		s.byDemand[id] = g
	}
	d := g.work.Wish(id, want)
	if d.Deadline > 0 {
		d.Deadline = max(d.Deadline-offers.Duration(now.Sub(g.run.Created)), offers.Duration(time.Millisecond))
	}
	s.out.Demands = append(s.out.Demands, d)
}

func (g *group) demandID() offers.DemandID {
	id := fmt.Sprintf("%s.%d", g.run.job.Name, g.run.Number)
	if g.run.service() { // an offer for another version's resources is no use
		id += fmt.Sprintf(".v%d", g.run.Version)
	}
	if g.step != "" {
		id += "." + g.step
	}
	return offers.DemandID(id)
}

// ref names the last launch of an instance.
func (g *group) ref(index int) ref {
	return ref{g.run.job.Name, g.run.Number, g.step, index, g.instances[index].Attempt}
}

// DemandWaits says that no agent there is could ever meet a demand, which the
// job tells.
func (s *Scheduler) DemandWaits(now time.Time, id offers.DemandID, why string) {
	if g := s.byDemand[id]; g != nil {
		s.note(now, g.run.job, Event{Run: g.run.Number, Text: "waits for an agent that is not there: " + why})
	}
}

// DemandRefused says that the masters refused a demand: its instances pause,
// and the job says why.
func (s *Scheduler) DemandRefused(now time.Time, id offers.DemandID, why string) {
	g := s.byDemand[id]
	if g == nil {
		return
	}
	g.asked = 0
	delete(s.byDemand, id)
	for _, i := range g.ready(now) {
		g.instances[i].After = now.Add(refusedPause)
	}
	s.touch(g.run)
	s.note(now, g.run.job, Event{Run: g.run.Number, Text: "the masters refuse the demand: " + why})
}

// restatedAfter is how long a demand stands before it may ask for more.
const restatedAfter = time.Second

// refusedPause is how long a demand rests that the masters refused.
const refusedPause = 30 * time.Second
