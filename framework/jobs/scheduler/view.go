package scheduler

import (
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Event is one thing that happened to a job, for people.
type Event struct {
	Number uint64        `json:"number"` // rising, until the daemon starts anew
	Time   time.Time     `json:"time"`
	Run    int           `json:"run"`
	Task   offers.TaskID `json:"task,omitempty"`
	State  offers.State  `json:"state,omitempty"`
	Text   string        `json:"text,omitempty"`
}

// maxEvents bounds what is remembered of one job, in memory alone.
const maxEvents = 500

func (s *Scheduler) note(now time.Time, j *job, e Event) {
	s.changed(j)
	e.Number, e.Time = s.changes, now
	if j.events = append(j.events, e); len(j.events) > maxEvents {
		j.events = slices.Delete(j.events, 0, len(j.events)-maxEvents)
	}
}

// View is a job as people see it.
type View struct {
	ID       string         `json:"id"` // its name
	Name     string         `json:"name"`
	Type     spec.Type      `json:"type"`
	State    RunState       `json:"state"` // of the last run
	Version  int            `json:"version"`
	Run      int            `json:"run"`
	Counts   map[string]int `json:"counts"` // instances: waiting, launched, running, done, failed, stopped
	Total    int            `json:"total"`
	Created  time.Time      `json:"created"`
	Ended    time.Time      `json:"ended,omitzero"`
	Changed  uint64         `json:"changed"`
	Demanded int            `json:"demanded"`       // instances that wait for room
	Step     string         `json:"step,omitempty"` // of the first of them
	Rollout  *Rollout       `json:"rollout,omitempty"`
	Next     time.Time      `json:"next,omitzero"` // when a cron job runs again
}

// VersionView is one version of a job's file.
type VersionView struct {
	Number  int       `json:"number"`
	Created time.Time `json:"created"`
	Note    string    `json:"note"`
	Stable  bool      `json:"stable,omitempty"` // the last that was well everywhere
	GivenUp bool      `json:"given_up,omitempty"`
}

// InstanceView is one instance.
type InstanceView struct {
	Step     string        `json:"step,omitempty"`
	Index    int           `json:"index"`
	Item     string        `json:"item,omitempty"`
	State    string        `json:"state"` // of the task, or waiting, done, failed, stopped
	Task     offers.TaskID `json:"task,omitempty"`
	Attempt  int           `json:"attempt"`
	Version  int           `json:"version,omitempty"`
	Failures int           `json:"failures,omitempty"`
	After    time.Time     `json:"after,omitzero"`
	Last     Last          `json:"last,omitzero"`
}

// Detail is all of a job: its last run with every instance, the file, and
// what happened lately.
type Detail struct {
	View
	Job       spec.Job       `json:"job"`
	Versions  []VersionView  `json:"versions"`
	Runs      []Run          `json:"runs"`
	Instances []InstanceView `json:"instances"`
	Events    []Event        `json:"events"`
}

// Jobs returns every job, by name.
func (s *Scheduler) Jobs() []*View {
	out := []*View{}
	for _, name := range slices.Sorted(maps.Keys(s.jobs)) {
		out = append(out, s.view(s.jobs[name]))
	}
	return out
}

// Changes counts everything that people see.
func (s *Scheduler) Changes() uint64 { return s.changes }

// Look returns one job.
func (s *Scheduler) Look(name string) (*View, error) {
	if j := s.jobs[name]; j != nil {
		return s.view(j), nil
	}
	return nil, noJob(name)
}

func (s *Scheduler) view(j *job) *View {
	v := &View{
		ID: j.Name, Name: j.Name, Type: j.latest().Job.Kind(), Version: j.latest().Number,
		Counts: map[string]int{}, Created: j.latest().Created, Changed: j.changed, Next: j.due,
	}
	switch {
	case j.timed() && j.Halted:
		v.State = Stopped
	case j.timed():
		v.State = Scheduled
	}
	if len(j.runs) == 0 {
		return v
	}
	r := j.runs[len(j.runs)-1]
	v.Run, v.Created, v.Ended, v.Rollout = r.Number, r.Created, r.Ended, r.rollout()
	if !j.timed() {
		v.Version = r.Version
	}
	if !j.timed() || !r.State.Ended() {
		v.State = r.State
	}
	for _, g := range r.groups {
		if g.asked > 0 && v.Demanded == 0 {
			v.Step = g.step
		}
		v.Demanded += g.asked
		v.Total += len(g.instances)
		for i := range g.instances {
			v.Counts[g.instances[i].word()]++
		}
	}
	return v
}

// rollout returns a copy of the run's, or nil where there is none, or where the
// end of the run cut it short: it does not go on, whatever it says.
func (r *Run) rollout() *Rollout {
	if r.Rollout == nil || r.State.Ended() && r.Rollout.State == Rolling {
		return nil
	}
	c := *r.Rollout
	return &c
}

// word is the state of an instance in one word.
func (in *Instance) word() string {
	switch in.Phase {
	case Waiting:
		return "waiting"
	case Launched:
		return string(in.Last.State)
	}
	return string(in.Phase)
}

// Detail returns all of one job, and of its events those after a number; brief
// leaves the instances out, of which there may be thousands.
func (s *Scheduler) Detail(name string, after uint64, brief bool) (Detail, error) {
	j := s.jobs[name]
	if j == nil {
		return Detail{}, noJob(name)
	}
	d := Detail{View: *s.view(j), Runs: []Run{}, Instances: []InstanceView{}, Events: []Event{}}
	for _, v := range j.Versions {
		d.Versions = append(d.Versions, VersionView{v.Number, v.Created, v.Note, v.Number == j.Stable, v.GivenUp})
	}
	for _, r := range j.runs {
		shown := r.Run
		shown.Rollout = r.rollout()
		d.Runs = append(d.Runs, shown)
	}
	d.Job = j.latest().Job
	if n := len(j.runs); n > 0 {
		if v := j.version(j.runs[n-1].Version); v != nil {
			d.Job = v.Job
		}
		for _, g := range j.runs[n-1].groups {
			for i := range g.instances {
				if brief {
					break
				}
				d.Instances = append(d.Instances, g.view(i))
			}
		}
	}
	for _, e := range j.events {
		if e.Number > after {
			d.Events = append(d.Events, e)
		}
	}
	return d, nil
}

func (g *group) view(i int) InstanceView {
	in := &g.instances[i]
	v := InstanceView{Step: g.step, Index: i, Item: g.work.Item(i), State: in.word(), Attempt: in.Attempt, Version: in.Version, Failures: in.Failures, Last: in.Last}
	if in.Phase == Waiting {
		v.After = in.After
	}
	if in.Last.State != "" {
		v.Task = g.ref(i).taskID()
	}
	return v
}
