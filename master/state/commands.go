package state

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Command is one change of the state. A Raft entry holds a batch of them,
// applied in order, all or (on an entry that can't be read) none. Whatever
// depends on time carries it, so that every master computes the same.
//
// Exactly one field is set. What a command points to belongs to the state once
// it is applied, and is not changed any more.
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
	// Init names the cluster by a text that begins with four hexadecimal
	// digits, such as a UUID; the first one wins. Nothing can register before.
	// Result: the id in force, string.
	Init struct{ ClusterID string }

	// RegisterAgent enters an agent or replaces what is known of it; one that
	// was unreachable is back in the state it was in before. Without an ID a
	// new one is given, and an agent of the same name that was known before is
	// gone, with its tasks. With the ID of a gone or unknown agent it fails
	// with unknown_agent, with the name of another one with forbidden. Result:
	// the *Agent, and in Gone and Ended what it replaced.
	//
	// A new run of the agent (another Agent.Started) that says Doubt, or that
	// brings the known Token as neither Have nor Next, may not know all that
	// ran there: its living tasks are marked Doubtful.
	RegisterAgent struct {
		Agent offers.Agent
		Time  time.Time
		Have  string `cbor:"Have,omitempty"` // of its checkpoint, see wire.RegisterAgent
		Next  string `cbor:"Next,omitempty"`
		Doubt bool   `cbor:"Doubt,omitempty"`
	}
	// SetAgentState moves an agent. Gone ends its tasks as gone, and an agent
	// that is gone stays gone. Active ends a drain. Active, draining and
	// drained are remembered while the agent is unreachable; drained wants a
	// drain and no living task. A move to where the agent is already is no error.
	// With Of the silence after that registration alone makes it unreachable:
	// where a later one has come in, nothing changes. Result: the *Agent.
	SetAgentState struct {
		ID    offers.AgentID
		State offers.AgentState
		Time  time.Time
		Of    uint64 `cbor:"Of,omitempty"` // see Agent.Registrations
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
	// DisconnectFramework sets the deadline of a framework without connection;
	// an earlier deadline stays, so that a change of leader extends none. With Of
	// it ends that registration alone: where a later one has come in, nothing
	// changes. Result: the *Framework.
	DisconnectFramework struct {
		ID       offers.FrameworkID
		Deadline time.Time
		Of       uint64 `cbor:"Of,omitempty"` // see Framework.Registrations
	}
	// RemoveFramework marks a framework removed, orders the kill of its living
	// tasks, and empties its store. The ends of its tasks count as
	// acknowledged from then on. With Overdue it does so only if the framework
	// is away and its deadline has passed, since it may have come back while
	// this was on its way. Result: the *Framework.
	RemoveFramework struct {
		ID      offers.FrameworkID
		Time    time.Time
		Overdue bool `cbor:"Overdue,omitempty"`
	}
	// SetRole sets or (with nil Settings) forgets what operators said of a role.
	SetRole struct {
		Role     offers.Role
		Settings *offers.RoleSettings
	}
	// Launch makes an accepted task durable. It fails with task_id_in_use when
	// the framework has a task of that id that lives or whose end it has not
	// acknowledged, with the framework's code when that is not there any more,
	// and with offer_gone when the agent is not active. Of the task's life
	// (Kill, End, Acknowledged, Ended, Restored, Doubtful, Absences) nothing
	// is taken over. Result: the *Task.
	Launch struct{ Task TaskRecord }
	// EndTask records the end of a task. The first end wins; an unknown task
	// is no error. It fails with unknown_task when the status comes from
	// another agent than the task was launched on. A status without UpdateID
	// gets one. Result: in Ended the task, when this was the first end.
	EndTask struct {
		Ref    offers.TaskRef
		Status offers.Status
	}
	// Acknowledge records that the framework knows the end of a task. With an
	// UpdateID it counts only for that end, so that a late one can't touch a
	// later task of the same id. What it doesn't fit is no error.
	Acknowledge struct {
		Ref      offers.TaskRef
		UpdateID offers.UpdateID
	}
	// KillTask records a kill order; the first one stays, except that a
	// shorter grace replaces a longer one. An unknown or ended task is no
	// error. Result: the *Task when the order is new or shorter, else nil.
	KillTask struct {
		Ref   offers.TaskRef
		Order KillOrder
	}
	// Put writes a value of a framework's store. With Version set it fails
	// with version_conflict unless the key has that version (0: missing), and
	// with too_large past MaxKeys or MaxStoreBytes. Result: the new version, uint64.
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

// Result is what one command came to: Value as its comment says, or Err. A
// command that fails changes nothing.
type Result struct {
	Value any
	Err   *offers.Error
	// Gone is the agent that the command declared gone, or nil.
	Gone *Agent
	// Ended are the tasks that the command ended, with their statuses.
	Ended []*Task
	// Killed are the living tasks whose end was ordered because the command
	// removed their framework.
	Killed []*Task
}

// given counts the fields that are set.
func (c *Command) given() int {
	n := 0
	for _, set := range [...]bool{
		c.Init != nil, c.RegisterAgent != nil, c.SetAgentState != nil, c.RegisterFramework != nil,
		c.DisconnectFramework != nil, c.RemoveFramework != nil, c.SetRole != nil, c.Launch != nil,
		c.EndTask != nil, c.Acknowledge != nil, c.KillTask != nil, c.Put != nil, c.Delete != nil,
	} {
		if set {
			n++
		}
	}
	return n
}
