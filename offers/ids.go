package offers

import "strings"

// Identifiers. Those that the master gives out (agents, frameworks, offers)
// are opaque to everyone else; they order by the time they were given out,
// which is what makes ties by id deterministic and fair to the eldest.
type (
	// AgentID names one agent for as long as its data folder lives.
	AgentID string
	// FrameworkID names a framework over all its connections.
	FrameworkID string
	// OfferID names one outstanding offer of one term of one leader.
	OfferID string
	// DemandID is chosen by the framework and unique within it.
	DemandID string
	// TaskID is chosen by the framework and unique within it, see [TaskID.Validate].
	TaskID string
	// LaunchID names one launch of a task, since a task's id may be used again
	// once its end is acknowledged. "" is of a version that gave none: it may be
	// any of that task, see [LaunchID.Other].
	LaunchID string
	// UpdateID names one status update of one task, see [Status].
	UpdateID string
)

// TaskRef names a task in the whole cluster.
type TaskRef struct {
	Framework FrameworkID `json:"framework_id"`
	Task      TaskID      `json:"task_id"`
}

// String writes FRAMEWORK:TASK, the form the command line accepts.
func (r TaskRef) String() string { return string(r.Framework) + ":" + string(r.Task) }

// Other reports whether the two are surely of different launches of a task.
func (id LaunchID) Other(than LaunchID) bool { return id != "" && than != "" && id != than }

// Life returns the mark that an agent gives to all updates of one launch of a
// task: what is before the first dot, "" where a master made the update. A task
// of the same id that is launched later has another one.
func (id UpdateID) Life() string {
	life, _, marked := strings.Cut(string(id), ".")
	if !marked {
		return ""
	}
	return life
}
