package state

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Agent is one agent as the masters agree on it. Records are immutable: a
// change replaces the record.
type Agent struct {
	offers.Agent
	State      offers.AgentState
	Registered time.Time // first
	Since      time.Time // of State
	// Resume is the state that an unreachable agent returns to; "" in every
	// other state.
	Resume offers.AgentState
	// Registrations counts them.
	Registrations uint64 `cbor:"Registrations,omitempty"`
	// Absences counts how often it became unreachable.
	Absences uint64 `cbor:"Absences,omitempty"`
	// Ended orders gone agents for the bounded history; 0 before.
	Ended uint64
	// Token is the Next of its last registration; "": there is none yet.
	Token string `cbor:"Token,omitempty"`
	// Older says that its present run began from a copy of its checkpoint that
	// did not know the Token, and has not shown that it heard so.
	Older bool `cbor:"Older,omitempty"`
}

// Framework is one framework as the masters agree on it.
type Framework struct {
	ID              offers.FrameworkID
	Name            string
	Role            offers.Role
	User            string
	Capabilities    []string
	Labels          map[string]string
	FailoverTimeout time.Duration
	Registered      time.Time
	// Registrations counts them.
	Registrations uint64 `cbor:"Registrations,omitempty"`
	// Deadline is when the framework is removed unless it came back before;
	// zero while it is connected. A deadline and not a timer, so that no
	// change of leader extends it.
	Deadline time.Time
	// Removed marks a framework that ended; its id is refused from then on.
	Removed bool
	// Ended orders removed frameworks for the bounded history; 0 until the
	// framework is removed and its last task has ended.
	Ended uint64
}

// KillOrder is the wish that a task ends, durable so that it outlives leaders
// and reaches agents that are away.
type KillOrder struct {
	Grace  *offers.Duration // nil: the task's own
	Reason string
	Time   time.Time
}

// Entry is one value of a framework's store.
type Entry struct {
	Value   []byte
	Version uint64 // from 1, above every version that the key ever had
}
