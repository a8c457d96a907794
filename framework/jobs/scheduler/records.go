package scheduler

import (
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Job is what is stored of one job.
type Job struct {
	Name     string    `json:"name"`
	Versions []Version `json:"versions"` // ascending; the last is what is wanted
	Runs     int       `json:"runs"`     // the number of the last run
}

// Version is the job's file at one time.
type Version struct {
	Number  int       `json:"number"`
	Job     spec.Job  `json:"job"`
	Created time.Time `json:"created"`
	Note    string    `json:"note"` // why it is there: "run", "scaled to 5"
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
}

// Phase is where an instance is, seen from the job.
type Phase string

// The phases of an instance. The zero value waits.
const (
	Waiting  Phase = ""         // for its turn, for room, or for the end of a pause
	Launched Phase = "launched" // there is a task
	Done     Phase = "done"     // it ended with exit code 0
	Broken   Phase = "failed"   // it won't run again
	Halted   Phase = "stopped"  // the run was stopped before it had ended
)

func (p Phase) ended() bool { return p == Done || p == Broken || p == Halted }

// Instance is one of a run.
type Instance struct {
	Phase    Phase     `json:"phase,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`  // the last launch, from 1
	Failures int       `json:"failures,omitempty"` // in a row
	Drops    int       `json:"drops,omitempty"`    // launches in a row that reached no agent
	After    time.Time `json:"after,omitzero"`     // not launched before
	Last     Last      `json:"last,omitzero"`

	told bool // the masters have told of it since this scheduler began
}

// Last is what is known of an instance's last task.
type Last struct {
	State    offers.State   `json:"state,omitempty"`
	Agent    offers.AgentID `json:"agent,omitempty"`
	Host     string         `json:"host,omitempty"` // where people find it: the agent's name
	Reason   string         `json:"reason,omitempty"`
	Message  string         `json:"message,omitempty"`
	ExitCode *int           `json:"exit_code,omitempty"`
	Signal   string         `json:"signal,omitempty"`
	Healthy  *bool          `json:"healthy,omitempty"`
	Launched time.Time      `json:"launched,omitzero"`
	Started  time.Time      `json:"started,omitzero"`
	Ended    time.Time      `json:"ended,omitzero"`
}
