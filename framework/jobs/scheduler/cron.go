package scheduler

import (
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
)

// late is how long after its time a run still counts as in time.
const late = time.Minute

func (j *job) timed() bool { return j.latest().Job.Kind() == spec.Cron }

// plan sets when a cron job runs next.
func (j *job) plan() {
	j.due = time.Time{}
	if j.timed() && !j.Halted {
		j.due = j.latest().Job.Cron.Next(j.Fired)
	}
}

// schedule makes the latest version of a cron job run when it is time from now
// on. A run of the version before goes on.
func (s *Scheduler) schedule(now time.Time, j *job) {
	j.Fired, j.Halted = now, false
	j.plan()
	s.write(jobKey(j.Name), j.Job)
	s.note(now, j, Event{Text: fmt.Sprintf("version %d runs next at %s", j.latest().Number, j.due.Format(time.RFC3339))})
}

// fire deals with every run that was due since the last look: at most one
// begins.
func (s *Scheduler) fire(now time.Time, j *job) {
	timer := j.latest().Job.Cron
	missed, last := 0, time.Time{}
	for at := j.due; !at.IsZero() && !at.After(now); at = timer.Next(at) {
		if !last.IsZero() {
			missed++
		}
		if last = at; missed > 10_000 {
			last = now // nobody counts further
			break
		}
	}
	inTime := !last.Add(late).Before(now)
	if !inTime {
		missed++
	}
	j.Fired = now
	j.plan()
	s.write(jobKey(j.Name), j.Job)
	if missed > 0 {
		s.note(now, j, Event{Text: fmt.Sprintf("missed runs: %d", missed)})
	}
	if inTime || timer.Missed == "one" {
		s.begin(now, j)
	}
}

// maxOverlap bounds the runs of one job that go on side by side.
const maxOverlap = 100

func (j *job) underWay() (n int) {
	for _, r := range j.runs {
		if !r.State.Ended() {
			n++
		}
	}
	return n
}

// begin starts a run unless another one stands against it.
func (s *Scheduler) begin(now time.Time, j *job) {
	if r := j.active(); r != nil {
		switch overlap := j.latest().Job.Cron.Overlap; {
		case overlap == "allow" && j.underWay() < maxOverlap:
		case overlap == "replace":
			for _, r := range j.runs {
				if r.State == Active {
					s.halt(now, r)
				}
			}
		default:
			s.note(now, j, Event{Run: r.Number, Text: fmt.Sprintf("it is time for another run, and run %d goes on: skipped", r.Number)})
			return
		}
	}
	s.start(now, j)
}
