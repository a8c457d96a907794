package scheduler

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// service reports whether the run goes on until it is stopped.
func (r *run) service() bool {
	v := r.job.version(r.Version)
	return v != nil && v.Job.Kind() == spec.Service
}

// deploy makes the latest version that of a service's run under way.
func (s *Scheduler) deploy(now time.Time, r *run, auto bool) {
	g := r.groups[0]
	s.ask(now, g, 0)
	j := r.job
	from := j.Stable
	r.Version = j.latest().Number
	if j.version(from) == nil || from == r.Version {
		from = 0
	}
	r.Rollout = &Rollout{From: from, To: r.Version, State: Rolling, Began: now, Auto: auto, First: s.changes}
	g.work = &j.latest().Job.Work
	for i := range g.instances { // what another version did wrong is forgotten
		if in := &g.instances[i]; in.Phase == Waiting {
			in.After, in.Failures = now, 0
		}
	}
	for len(g.instances) < g.work.Instances() {
		g.instances = append(g.instances, Instance{Attempt: j.Launches})
	}
	s.write(jobKey(j.Name), j.Job)
	s.writeRun(r)
	s.touch(r)
	s.note(now, j, Event{Run: r.Number, Text: fmt.Sprintf("version %d: %s", r.Version, j.latest().Note)})
}

// roll brings a service one step nearer to its version: the instances that are
// too many go, and of those of another version as many as may be missing. A
// version that was given up replaces none any more, but may still come up.
func (s *Scheduler) roll(now time.Time, r *run) {
	g, o := r.groups[0], r.Rollout
	s.shrink(g)
	if o == nil {
		return
	}
	missing, outdated := 0, []int{}
	for i := range g.instances[:min(len(g.instances), g.work.Instances())] {
		in := &g.instances[i]
		old := in.Phase == Launched && !in.Replaced && !r.job.alike(in.Version, r.Version)
		switch {
		case in.Phase.ended():
		case old && !in.running() && o.State != GivenUp:
			s.replace(g, i) // it is missing already
			missing++
		case !g.available(now, in):
			missing++
		case old:
			outdated = append(outdated, i)
		}
	}
	if o.State != GivenUp {
		for _, i := range outdated[:min(len(outdated), max(0, g.work.Update.Unavailable()-missing))] {
			s.replace(g, i)
		}
	}
	s.judge(now, r, missing+len(outdated) == 0)
}

// judge ends a rollout that is everywhere, or takes too long.
func (s *Scheduler) judge(now time.Time, r *run, everywhere bool) {
	g, o := r.groups[0], r.Rollout
	deadline := o.Began.Add(g.work.Update.Patience())
	switch {
	case o.State == Rolled:
	case everywhere:
		s.rolled(now, r)
	case o.State == GivenUp:
	case deadline.After(now):
		g.wake = earliest(g.wake, deadline)
	default:
		s.giveUp(now, r, fmt.Sprintf("it was not everywhere within %s", g.work.Update.Patience()))
	}
}

// shrink ends instances that are too many and forgets those that ended.
func (s *Scheduler) shrink(g *group) {
	n := g.work.Instances()
	for i := n; i < len(g.instances); i++ {
		if in := &g.instances[i]; in.Phase == Launched && !in.Replaced {
			s.replace(g, i)
		}
	}
	j := g.run.job
	last, launches := len(g.instances), j.Launches
	for ; last > n && g.instances[last-1].Phase != Launched; last-- {
		launches = max(launches, g.instances[last-1].Attempt)
	}
	if last == len(g.instances) {
		return
	}
	s.count(j, launches)
	before := len(g.instances)
	g.instances = g.instances[:last]
	if last > 0 {
		s.writeInstance(g, last-1)
	}
	for c := (last + chunk - 1) / chunk; c*chunk < before; c++ {
		s.put(chunkKey(g.run.job.Name, g.run.Number, g.number, c), nil)
	}
}

// count remembers launches of instances that a service has no more.
func (s *Scheduler) count(j *job, launches int) {
	if launches > j.Launches {
		j.Launches = launches
		s.write(jobKey(j.Name), j.Job)
	}
}

// replace kills an instance to make place for another.
func (s *Scheduler) replace(g *group, index int) {
	g.instances[index].Replaced = true
	s.out.Kills = append(s.out.Kills, g.ref(index).taskID())
	s.writeInstance(g, index)
}

// alike reports whether the instances of two versions are the same: they
// differ in how many there are or how they are replaced at most. A version
// that was forgotten is like none.
func (j *Job) alike(a, b int) bool {
	if a == b {
		return true
	}
	x, y := j.version(a), j.version(b)
	return x != nil && y != nil && template(x.Job.Work) == template(y.Job.Work)
}

func template(w spec.Work) string {
	w.Count, w.Update, w.Restart, w.Backoff, w.ReplaceAfter = 0, spec.Update{}, "", spec.Backoff{}, 0
	text, err := json.Marshal(w)
	if err != nil {
		panic(fmt.Sprintf("scheduler: a job can't be written as JSON: %v", err))
	}
	return string(text)
}

func (in *Instance) running() bool {
	return in.Phase == Launched && in.Last.State == offers.Running
}

// available reports whether an instance does its work and has for long enough.
func (g *group) available(now time.Time, in *Instance) bool {
	if !in.running() || in.Replaced || in.well.IsZero() {
		return false
	}
	enough := in.well.Add(g.work.Update.Healthy())
	if enough.After(now) {
		g.wake = earliest(g.wake, enough)
		return false
	}
	return true
}

// see keeps since when an instance runs well, and since when its agent is away.
func (in *Instance) see(now time.Time, w *spec.Work) {
	l := &in.Last
	well := l.State == offers.Running && (w.Health == nil || l.Healthy != nil && *l.Healthy)
	switch {
	case !well:
		in.well = time.Time{}
	case in.well.IsZero():
		in.well = now
	}
	switch {
	case l.State != offers.Unreachable:
		in.away = time.Time{}
	case in.away.IsZero():
		in.away = now
	}
}

// rolled ends a rollout that was a success.
func (s *Scheduler) rolled(now time.Time, r *run) {
	r.Rollout.State, r.Rollout.Ended = Rolled, now
	r.job.Stable = r.Version
	if v := r.job.version(r.Version); v != nil {
		v.GivenUp = false // it came up all the same
	}
	s.write(jobKey(r.job.Name), r.job.Job)
	s.writeRun(r)
	s.note(now, r.job, Event{Run: r.Number, Text: fmt.Sprintf("version %d is well everywhere", r.Version)})
}

// giveUp ends a rollout that failed: back to the version that was well, where
// there is one and nothing else was asked for.
func (s *Scheduler) giveUp(now time.Time, r *run, why string) {
	o := r.Rollout
	o.State, o.Why, o.Ended = GivenUp, why, now
	if v := r.job.version(o.To); v != nil {
		v.GivenUp = true
		s.write(jobKey(r.job.Name), r.job.Job)
	}
	s.writeRun(r)
	s.note(now, r.job, Event{Run: r.Number, Text: fmt.Sprintf("version %d is given up: %s", o.To, why)})
	back := r.job.version(o.From)
	if back == nil || o.Auto || r.groups[0].work.Update.OnFailure == "pause" {
		return
	}
	note := fmt.Sprintf("%s, since version %d was given up: %s", again(o.From), o.To, why)
	if err := r.job.add(now, back.Job, note); err != nil {
		s.note(now, r.job, Event{Run: r.Number, Text: "it can't be rolled back: " + err.Error()})
		return
	}
	s.deploy(now, r, true)
	s.roll(now, r)
}

// serviceEnded decides what follows the end of an instance of a service.
func (s *Scheduler) serviceEnded(now time.Time, g *group, in *Instance, st offers.Status) {
	if in.Replaced {
		in.Replaced, in.Phase, in.After, in.Failures = false, Waiting, now, 0
		return
	}
	if st.State == offers.Gone {
		in.Phase, in.After = Waiting, now
		return
	}
	good := st.State == offers.Finished
	switch {
	case good && g.work.Restart != spec.Always && g.work.Restart != "":
		in.Phase, in.Failures = Done, 0
		return
	case g.work.Restart == spec.Never:
		in.Phase = Broken
		return
	}
	if !in.Last.Started.IsZero() && st.Time.Sub(in.Last.Started) >= forgiven {
		in.Failures = 0
	}
	in.Failures++
	in.Phase, in.After = Waiting, now.Add(g.work.Backoff.Pause(in.Failures).Std())
	o := g.run.Rollout
	if o == nil || o.State != Rolling || in.Version != o.To || st.State == offers.Killed {
		return
	}
	if o.Failures++; o.Failures > g.work.Update.Failures() {
		times := "once, with"
		if o.Failures > 1 {
			times = fmt.Sprintf("%d times, the last with", o.Failures)
		}
		s.giveUp(now, g.run, fmt.Sprintf("its instances failed %s: %s", times, st.Why()))
	}
}

// forgiven is how long an instance has to run for its failures to be forgotten.
const forgiven = time.Minute

// replaceAway lets instances run elsewhere whose agent has been away for too
// long. Should the agent come back, the old launch is killed.
func (s *Scheduler) replaceAway(now time.Time, g *group) {
	patience := g.work.ReplaceAfter.Std()
	if patience == 0 {
		return
	}
	for i := range g.instances {
		in := &g.instances[i]
		if in.Phase != Launched || in.away.IsZero() {
			continue
		}
		if at := in.away.Add(patience); at.After(now) {
			g.wake = earliest(g.wake, at)
			continue
		}
		id := g.ref(i).taskID()
		s.out.Kills = append(s.out.Kills, id)
		in.Phase, in.After, in.away, in.Replaced = Waiting, now, time.Time{}, false
		s.writeInstance(g, i)
		s.note(now, g.run.job, Event{Run: g.run.Number, Task: id, State: offers.Unreachable, Text: fmt.Sprintf("its agent has been away for %s; runs again elsewhere", patience)})
	}
}
