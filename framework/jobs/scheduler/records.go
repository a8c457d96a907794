package scheduler

import (
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Job is what is stored of one job.
type Job struct {
	Name     string    `json:"name"`
	Versions []Version `json:"versions"`           // ascending; the last is what is wanted
	Runs     int       `json:"runs"`               // the number of the last run
	Fired    time.Time `json:"fired,omitzero"`     // of a cron job: until when its runs are dealt with
	Halted   bool      `json:"halted,omitempty"`   // of a cron job: it was stopped
	Launches int       `json:"launches,omitempty"` // of a service: the highest attempt of instances that it has no more; others go on counting
	Stable   int       `json:"stable,omitempty"`   // of a service: the last version that was well everywhere
}

// Version is the job's file at one time.
type Version struct {
	Number  int       `json:"number"`
	Job     spec.Job  `json:"job"`
	Created time.Time `json:"created"`
	Note    string    `json:"note"`               // why it is there: "run", "scaled to 5"
	GivenUp bool      `json:"given_up,omitempty"` // its instances failed, or were not well in time
}

// RunState says how far a run has come.
type RunState string

// The states of a run.
const (
	Active   RunState = "running"
	Stopping RunState = "stopping"
	Complete RunState = "complete" // every instance ended with exit code 0
	Failed   RunState = "failed"   // some did not, and won't run again
	Stopped  RunState = "stopped"  // somebody stopped it before

	Scheduled RunState = "scheduled" // of a cron job, not of a run: it waits for its time
)

// Ended reports whether nothing of the run goes on.
func (s RunState) Ended() bool { return s == Complete || s == Failed || s == Stopped }

// Run is what is stored of one run, beside its instances.
type Run struct {
	Number  int       `json:"number"`
	Version int       `json:"version"`
	State   RunState  `json:"state"`
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`
	Rollout *Rollout  `json:"rollout,omitempty"` // of a service
}

// Rollout is how a version of a service comes to be everywhere.
type Rollout struct {
	From     int          `json:"from,omitempty"` // what it falls back to; 0 for nothing
	To       int          `json:"to"`
	State    RolloutState `json:"state"`
	Began    time.Time    `json:"began"`
	Ended    time.Time    `json:"ended,omitzero"`
	Failures int          `json:"failures,omitempty"` // instances of the new version that failed
	Why      string       `json:"why,omitempty"`      // it was given up
	Auto     bool         `json:"auto,omitempty"`     // it is a roll-back that nobody asked for
	First    uint64       `json:"first"`              // number of the change before it: what is told later is of it
}

// RolloutState says how far a rollout has come.
type RolloutState string

// The states of a rollout.
const (
	Rolling RolloutState = "rolling"
	Rolled  RolloutState = "done"   // well everywhere
	GivenUp RolloutState = "failed" // and left as it is
)

// Phase is where an instance is, seen from the job.
type Phase string

// The phases of an instance. The zero value waits.
const (
	Waiting  Phase = ""         // for its turn, for room, or for the end of a pause
	Launched Phase = "launched" // there is a task
	Done     Phase = "done"     // it ended with exit code 0
	Broken   Phase = "failed"   // it won't run again
	Halted   Phase = "stopped"  // the run was stopped before it had ended
	Skipped  Phase = "skipped"  // a step before it failed
)

func (p Phase) ended() bool { return p == Done || p == Broken || p == Halted || p == Skipped }

// Instance is one of a run.
type Instance struct {
	Phase    Phase     `json:"phase,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`  // the last launch, from 1
	Failures int       `json:"failures,omitempty"` // in a row
	Drops    int       `json:"drops,omitempty"`    // launches in a row that reached no agent
	After    time.Time `json:"after,omitzero"`     // not launched before
	Version  int       `json:"version,omitempty"`  // of the last launch
	Replaced bool      `json:"replaced,omitempty"` // it is killed to make place for another version, or for good
	Last     Last      `json:"last,omitzero"`

	well time.Time // since when it runs well, by our clock; zero when it does not
	away time.Time // since when its agent is away
	told bool      // the masters have told of it since this scheduler began
}

// Last is what is known of an instance's last task.
type Last struct {
	State    offers.State   `json:"state,omitempty"`
	Agent    offers.AgentID `json:"agent,omitempty"`
	Host     string         `json:"host,omitempty"` // where people find it: the agent's name
	Ports    offers.Ports   `json:"ports,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Message  string         `json:"message,omitempty"`
	ExitCode *int           `json:"exit_code,omitempty"`
	Signal   string         `json:"signal,omitempty"`
	Healthy  *bool          `json:"healthy,omitempty"`
	Launched time.Time      `json:"launched,omitzero"`
	Started  time.Time      `json:"started,omitzero"`
	Ended    time.Time      `json:"ended,omitzero"`

	// Of a traced one: the span that is told when it ends, and its beginning.
	Traceparent offers.Traceparent `json:"traceparent,omitempty"`
	Wanted      time.Time          `json:"wanted,omitzero"`
}
