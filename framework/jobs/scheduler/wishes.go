package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Bounds that keep the framework's store within its own.
const (
	maxJobs     = 1000
	maxVersions = 10 // of one job
	maxRuns     = 5  // of one job that have ended and are remembered
	maxRecord   = 1 << 20
)

// Submit makes j what is wanted and returns what came of it. A batch of that
// name that still runs is not touched: if the file is another one, that is an
// error. j is valid.
func (s *Scheduler) Submit(now time.Time, j spec.Job) (*View, error) {
	return s.want(now, j, "run")
}

// want makes j what is wanted, for the reason in note.
func (s *Scheduler) want(now time.Time, j spec.Job, note string) (*View, error) {
	have := s.jobs[j.Name]
	if have == nil {
		if len(s.jobs) >= maxJobs {
			return nil, offers.Errorf(offers.TooLarge, "there are %d jobs, the most there can be: remove some with ringmaster job stop --purge", maxJobs)
		}
		have = &job{Job: Job{Name: j.Name, Runs: s.floor}}
	}
	if j.Kind() == spec.Cron && (len(have.Versions) == 0 || have.timed()) {
		return s.wantTimed(now, have, j, note)
	}
	if r := have.active(); r != nil {
		if r.State == Active && r.service() && j.Kind() == spec.Service {
			if !equal(have.latest().Job, j) {
				if err := have.add(now, j, note); err != nil {
					return nil, err
				}
			}
			if r.Version != have.latest().Number { // also one whose deployment was cut short
				s.deploy(now, r, false)
			}
			return s.view(have), nil
		}
		if !equal(have.latest().Job, j) {
			return nil, offers.Errorf(offers.JobRunning, "job %s is running from another file (run %d): stop it first with ringmaster job stop %s", j.Name, r.Number, j.Name)
		}
		return s.view(have), nil
	}
	if len(have.Versions) == 0 || !equal(have.latest().Job, j) {
		if err := have.add(now, j, note); err != nil {
			return nil, err
		}
	}
	s.jobs[j.Name] = have
	s.start(now, have)
	return s.view(have), nil
}

// wantTimed makes j what a cron job runs from now on.
func (s *Scheduler) wantTimed(now time.Time, have *job, j spec.Job, note string) (*View, error) {
	known := len(have.Versions) > 0 && equal(have.latest().Job, j)
	if known && !have.Halted {
		return s.view(have), nil
	}
	if !known {
		if err := have.add(now, j, note); err != nil {
			return nil, err
		}
	}
	s.jobs[j.Name] = have
	s.schedule(now, have)
	return s.view(have), nil
}

func equal(a, b spec.Job) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// add appends a version. The eldest are forgotten where the record would be
// too large, as long as no run needs them.
func (j *job) add(now time.Time, want spec.Job, note string) error {
	number := 1
	if len(j.Versions) > 0 {
		number = j.latest().Number + 1
	}
	versions := append(slices.Clone(j.Versions), Version{Number: number, Job: want, Created: now, Note: note})
	for {
		text, err := json.Marshal(versions)
		if err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
		if len(versions) <= maxVersions && len(text) < maxRecord-4096 {
			break
		}
		if len(versions) == 1 || j.needed(versions[0].Number) {
			return offers.Errorf(offers.TooLarge, "job %s with its versions takes %d bytes; at most %d: make it smaller, or stop and purge the old one", j.Name, len(text), maxRecord-4096)
		}
		versions = versions[1:]
	}
	j.Versions = versions
	return nil
}

func (j *job) needed(version int) bool {
	if version == j.Stable {
		return true
	}
	return slices.ContainsFunc(j.runs, func(r *run) bool { return !r.State.Ended() && r.Version == version })
}

// active is the run under way, nil where there is none.
func (j *job) active() *run {
	for _, r := range slices.Backward(j.runs) {
		if !r.State.Ended() {
			return r
		}
	}
	return nil
}

// start begins a run of the latest version.
func (s *Scheduler) start(now time.Time, j *job) *run {
	j.Runs++
	r := &run{job: j, Run: Run{Number: j.Runs, Version: j.latest().Number, State: Active, Created: now}}
	r.groups = newGroups(r, j.latest())
	j.runs = append(j.runs, r)
	if r.service() {
		r.Rollout = &Rollout{To: r.Version, State: Rolling, Began: now, First: s.changes}
		if j.version(j.Stable) != nil && j.Stable != r.Version {
			r.Rollout.From = j.Stable
		}
	}
	s.forget(j)
	s.write(jobKey(j.Name), j.Job)
	s.writeRun(r)
	s.touch(r)
	s.note(now, j, Event{Run: r.Number, Text: fmt.Sprintf("run %d begins, version %d", r.Number, r.Version)})
	return r
}

// forget drops the eldest runs that have ended, and those whose version is
// not known any more.
func (s *Scheduler) forget(j *job) {
	ended := 0
	for _, r := range slices.Backward(j.runs) {
		if r.State.Ended() {
			if ended++; ended > maxRuns || j.version(r.Version) == nil {
				s.erase(r)
			}
		}
	}
	j.runs = slices.DeleteFunc(j.runs, func(r *run) bool { return r.groups == nil })
}

func (s *Scheduler) erase(r *run) {
	s.put(runKey(r.job.Name, r.Number), nil)
	for _, g := range r.groups {
		for n := 0; n*chunk < len(g.instances); n++ {
			s.put(chunkKey(r.job.Name, r.Number, g.number, n), nil)
		}
	}
	r.groups = nil
}

// Scale sets how many instances a service has.
func (s *Scheduler) Scale(now time.Time, name string, count int) (*View, error) {
	j := s.jobs[name]
	if j == nil {
		return nil, noJob(name)
	}
	next := j.latest().Job
	before := next.Instances()
	next.Count = count
	if next.Kind() != spec.Service || next.Each != nil {
		return nil, offers.Errorf(offers.BadMessage, "job %s can't be scaled: only a service without each can", name)
	}
	if count < 1 {
		return nil, offers.Errorf(offers.BadMessage, "count is %d; at least 1, or stop the job", count)
	}
	if err := next.Validate(); err != nil {
		return nil, err
	}
	return s.want(now, next, fmt.Sprintf("scaled from %d to %d", before, count))
}

// Rollback makes an earlier version what is wanted again; 0 is the last before
// that was another one and was not given up.
func (s *Scheduler) Rollback(now time.Time, name string, version int) (*View, error) {
	j := s.jobs[name]
	if j == nil {
		return nil, noJob(name)
	}
	if version == 0 {
		version = j.before()
	}
	v := j.version(version)
	switch {
	case version == 0 && len(j.Versions) == 1:
		return nil, offers.Errorf(offers.BadMessage, "job %s has one version only", name)
	case version == 0:
		return nil, offers.Errorf(offers.BadMessage, "job %s has no other version that was not given up; name one of ringmaster job history %s", name, name)
	case v == nil:
		return nil, offers.Errorf(offers.BadMessage, "job %s has no version %d; see ringmaster job history %s", name, version, name)
	case v == j.latest():
		return nil, offers.Errorf(offers.BadMessage, "job %s is at version %d already", name, version)
	case equal(v.Job, j.latest().Job):
		return nil, offers.Errorf(offers.BadMessage, "job %s is at version %d, which is version %d again, already", name, j.latest().Number, version)
	}
	return s.want(now, v.Job, again(version))
}

// before returns the last version that is another than what is wanted and was
// not given up, 0 where there is none.
func (j *job) before() int {
	for _, v := range slices.Backward(j.Versions) {
		if !v.GivenUp && !equal(v.Job, j.latest().Job) {
			return v.Number
		}
	}
	return 0
}

// again is why there is a version that is the same as an earlier one.
func again(version int) string { return fmt.Sprintf("version %d again", version) }

// Stop ends what runs of a job: what waits is halted, what runs is killed.
func (s *Scheduler) Stop(now time.Time, name string) (*View, error) {
	j := s.jobs[name]
	if j == nil {
		return nil, noJob(name)
	}
	if j.timed() && !j.Halted {
		j.Halted = true
		j.plan()
		s.write(jobKey(j.Name), j.Job)
		s.note(now, j, Event{Text: "it runs no more"})
	}
	for _, r := range j.runs {
		if r.State == Active {
			s.halt(now, r)
		}
	}
	return s.view(j), nil
}

func (s *Scheduler) halt(now time.Time, r *run) {
	r.State = Stopping
	for _, g := range r.groups {
		for i := range g.instances {
			switch in := &g.instances[i]; in.Phase {
			case Waiting:
				in.Phase = Halted
				s.writeInstance(g, i)
			case Launched:
				s.out.Kills = append(s.out.Kills, g.ref(i).taskID())
			}
		}
	}
	s.writeRun(r)
	s.touch(r)
	s.note(now, r.job, Event{Run: r.Number, Text: fmt.Sprintf("run %d is stopped", r.Number)})
}

// Purge forgets a job that does not run.
func (s *Scheduler) Purge(name string) error {
	j := s.jobs[name]
	if j == nil {
		return noJob(name)
	}
	if j.timed() && !j.Halted {
		return offers.Errorf(offers.JobRunning, "job %s is scheduled: stop it first", name)
	}
	if r := j.active(); r != nil {
		return offers.Errorf(offers.JobRunning, "job %s is still running (run %d): stop it and wait for its end first", name, r.Number)
	}
	for _, r := range j.runs {
		s.erase(r)
		delete(s.touched, r)
	}
	s.drop(j)
	delete(s.jobs, name)
	s.changes++
	return nil
}

// drop forgets the record of a job, but not which numbers its runs had.
func (s *Scheduler) drop(j *job) {
	if j.Runs > s.floor {
		s.floor = j.Runs
		s.write(floorKey, s.floor)
	}
	s.put(jobKey(j.Name), nil)
}

func noJob(name string) error {
	return offers.Errorf(offers.UnknownJob, "there is no job %.80q; see ringmaster job list", name)
}
