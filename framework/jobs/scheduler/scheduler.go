package scheduler

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Scheduler holds all jobs of one jobs framework. It is not safe for
// concurrent use.
//
// Invariants, see check: an instance that is launched has an attempt; a run
// that has ended has no instance that waits or is launched; a group asks for
// no more units than it has instances whose turn it is.
type Scheduler struct {
	root func() offers.Traceparent // nil: nothing is traced

	jobs     map[string]*job
	byDemand map[offers.DemandID]*group
	floor    int    // the highest run of any job that was forgotten: ids of tasks are never given twice
	settled  bool   // the masters have told what runs; nothing is launched before
	changes  uint64 // of anything that people see

	touched map[*run]bool
	out     Output
}

// Output is what the shell has to do.
type Output struct {
	Writes   map[string]json.RawMessage // by key, nil to delete
	Demands  []offers.Demand            // to state; a count of 0 withdraws
	Accepts  []Accept
	Declines []offers.OfferID
	Kills    []offers.TaskID
	Ask      []offers.TaskID // to reconcile
	Spans    []offers.Span   // of instances that ended
}

// Accept launches tasks in one offer.
type Accept struct {
	Offer offers.OfferID
	Tasks []offers.Task
}

// job is one with its runs, the newest last.
type job struct {
	Job
	runs    []*run
	due     time.Time // of a cron job: when it runs next; zero for never
	changed uint64
	events  []Event
}

// run is one under way or ended.
type run struct {
	Run
	job     *job
	groups  []*group
	durable bool // it is written: its number will not be given again
}

// group is the instances of one step of a run. They are alike to the masters:
// one demand asks for all of them.
type group struct {
	run       *run
	number    int
	step      string
	work      *spec.Work
	after     []*group // that have to be complete before
	instances []Instance
	asked     int       // units that the demand asks for, as the masters know
	stated    time.Time // when it was stated last
	began     time.Time // when it last began to ask for any
	wake      time.Time // when a pause ends; zero for never
}

// New returns a scheduler of the given records, as [Output.Writes] had them.
// It launches nothing before [Scheduler.Settled]. Changes are counted from the
// given number, which is higher than that of any scheduler before it. Where
// root is not nil it begins a trace for every instance, see [offers.Tracer].
func New(records map[string]json.RawMessage, changes uint64, root func() offers.Traceparent) (*Scheduler, error) {
	s := &Scheduler{root: root, jobs: map[string]*job{}, byDemand: map[offers.DemandID]*group{}, touched: map[*run]bool{}, changes: changes}
	if err := s.load(records); err != nil {
		return nil, err
	}
	return s, nil
}

// Take returns what there is to do at this time and forgets it.
func (s *Scheduler) Take(now time.Time) Output {
	for _, r := range s.turn() {
		s.advance(now, r)
	}
	clear(s.touched)
	out := s.out
	s.out = Output{}
	return out
}

// turn returns what was touched in the order of names and numbers, so that a
// story is always told the same.
func (s *Scheduler) turn() []*run {
	return slices.SortedFunc(maps.Keys(s.touched), func(a, b *run) int {
		if a.job != b.job {
			if a.job.Name < b.job.Name {
				return -1
			}
			return 1
		}
		return a.Number - b.Number
	})
}

// Wake returns when to call [Scheduler.Tick] next, zero for never.
func (s *Scheduler) Wake() time.Time {
	var first time.Time
	for _, j := range s.jobs {
		first = earliest(first, j.due)
		for _, r := range j.runs {
			for _, g := range r.groups {
				first = earliest(first, g.wake)
			}
		}
	}
	return first
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Tick lets time pass.
func (s *Scheduler) Tick(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(s.jobs)) {
		j := s.jobs[name]
		if !j.due.IsZero() && !j.due.After(now) {
			s.fire(now, j)
		}
		for _, r := range j.runs {
			for _, g := range r.groups {
				if !g.wake.IsZero() && !g.wake.After(now) {
					s.touch(r)
				}
			}
		}
	}
}

// Written says that records are on disk.
func (s *Scheduler) Written(keys []string) {
	for _, key := range keys {
		parts := strings.Split(key, "/")
		if parts[0] != "run" || s.jobs[parts[1]] == nil {
			continue
		}
		for _, r := range s.jobs[parts[1]].runs {
			if !r.durable && runKey(parts[1], r.Number) == key {
				r.durable = true
				s.touch(r)
			}
		}
	}
}

func (s *Scheduler) touch(r *run) { s.touched[r] = true }

// changed notes that people see another picture of a job.
func (s *Scheduler) changed(j *job) {
	s.changes++
	j.changed = s.changes
}

func (s *Scheduler) write(key string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("scheduler: a record can't be written as JSON: %v", err))
	}
	s.put(key, text)
}

func (s *Scheduler) put(key string, text json.RawMessage) {
	if s.out.Writes == nil {
		s.out.Writes = map[string]json.RawMessage{}
	}
	s.out.Writes[key] = text
}

func (s *Scheduler) writeRun(r *run) { s.write(runKey(r.job.Name, r.Number), r.Run) }

// writeInstance writes the record that an instance is in.
func (s *Scheduler) writeInstance(g *group, index int) {
	n := index / chunk
	s.write(chunkKey(g.run.job.Name, g.run.Number, g.number, n), g.instances[n*chunk:min((n+1)*chunk, len(g.instances))])
}
