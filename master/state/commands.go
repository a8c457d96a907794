package state

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Command is one change of the state. A Raft entry holds a batch of them,
// applied in order, all or (on an entry that can't be read) none. Whatever
// depends on time carries it, so that every master computes the same.
//
// Exactly one field is set.
type Command struct {
	Init                *Init                `cbor:"1,keyasint,omitempty"`
	RegisterAgent       *RegisterAgent       `cbor:"2,keyasint,omitempty"`
	SetAgentState       *SetAgentState       `cbor:"3,keyasint,omitempty"`
	RegisterFramework   *RegisterFramework   `cbor:"4,keyasint,omitempty"`
	DisconnectFramework *DisconnectFramework `cbor:"5,keyasint,omitempty"`
	RemoveFramework     *RemoveFramework     `cbor:"6,keyasint,omitempty"`
	SetRole             *SetRole             `cbor:"7,keyasint,omitempty"`
	Launch              *Launch              `cbor:"8,keyasint,omitempty"`
	EndTask             *EndTask             `cbor:"9,keyasint,omitempty"`
	Acknowledge         *Acknowledge         `cbor:"10,keyasint,omitempty"`
	KillTask            *KillTask            `cbor:"11,keyasint,omitempty"`
	Put                 *Put                 `cbor:"12,keyasint,omitempty"`
	Delete              *Delete              `cbor:"13,keyasint,omitempty"`
}

type (
	// Init names the cluster; the first one wins.
	Init struct{ ClusterID string }

	// RegisterAgent enters an agent or replaces what is known of it. Without
	// an ID a new one is given, and an agent of the same name that was known
	// before is gone, with its tasks. With the ID of a gone or unknown agent
	// it fails with unknown agent. Result: the *Agent.
	RegisterAgent struct {
		Agent offers.Agent
		Time  time.Time
	}
	// SetAgentState moves an agent. Gone ends its tasks as gone. An agent that
	// is gone stays gone.
	SetAgentState struct {
		ID    offers.AgentID
		State offers.AgentState
		Time  time.Time
	}
	// RegisterFramework enters a framework, or brings a known one back (its
	// deadline is cleared, its details replaced, its role stays). Without an
	// ID a new one is given. Result: the *Framework.
	RegisterFramework struct {
		ID              offers.FrameworkID
		Name            string
		Role            offers.Role
		User            string
		Capabilities    []string
		Labels          map[string]string
		FailoverTimeout time.Duration
		Time            time.Time
	}
	// DisconnectFramework sets the deadline of a framework without connection.
	DisconnectFramework struct {
		ID       offers.FrameworkID
		Deadline time.Time
	}
	// RemoveFramework marks a framework removed, orders the kill of its living
	// tasks, and empties its store.
	RemoveFramework struct {
		ID   offers.FrameworkID
		Time time.Time
	}
	// SetRole sets or (with nil Settings) forgets what operators said of a role.
	SetRole struct {
		Role     offers.Role
		Settings *offers.RoleSettings
	}
	// Launch makes an accepted task durable. It fails with task_id_in_use when
	// the framework has a task of that id that lives or whose end it has not
	// acknowledged, and when framework or agent are not there any more.
	Launch struct{ Task Task }
	// EndTask records the end of a task. The first end wins; an unknown task
	// is no error.
	EndTask struct {
		Ref    offers.TaskRef
		Status offers.Status
	}
	// Acknowledge records that the framework knows the end of a task.
	Acknowledge struct{ Ref offers.TaskRef }
	// KillTask records a kill order; the first one stays, except that a
	// shorter grace replaces a longer one.
	KillTask struct {
		Ref   offers.TaskRef
		Order KillOrder
	}
	// Put writes a value of a framework's store. With Version set it fails
	// with version_conflict unless the key has that version (0: missing).
	// Result: the new version, uint64.
	Put struct {
		Framework offers.FrameworkID
		Key       string
		Value     []byte
		Version   *uint64
	}
	// Delete removes a key under the same condition as Put. Result: uint64 0.
	Delete struct {
		Framework offers.FrameworkID
		Key       string
		Version   *uint64
	}
)

// Result is what one command came to: Value as its comment says, or Err.
type Result struct {
	Value any
	Err   *offers.Error
}
