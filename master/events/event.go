package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Type is what happened.
type Type string

// What happens. Durable events are derived from what the masters agreed on, so
// every master has them; the others are what a leader saw, and go with it.
const (
	TaskLaunched          Type = "task_launched"          // durable: accepted and on its way
	TaskUpdated           Type = "task_updated"           // its agent said that it starts, runs, is killed or is (not) healthy, or is away
	TaskKillOrdered       Type = "task_kill_ordered"      // durable: somebody wants it to end
	TaskEnded             Type = "task_ended"             // durable
	AgentRegistered       Type = "agent_registered"       // durable: new, or back
	AgentUpdated          Type = "agent_updated"          // durable: in another state
	AgentDisconnected     Type = "agent_disconnected"     // its connection ended; it may be back at once
	FrameworkRegistered   Type = "framework_registered"   // durable: new, or back
	FrameworkDisconnected Type = "framework_disconnected" // durable: removed at the deadline unless it comes back
	FrameworkRemoved      Type = "framework_removed"      // durable: with all its tasks
	RoleSet               Type = "role_set"               // durable: weight or quota changed
	LeaderElected         Type = "leader_elected"         // a master began to lead

	// Restored, durable, says that the whole state was replaced: read it anew.
	Restored Type = "restored"
	// Begin is the first of every stream and says where it begins; what is
	// read after it holds everything up to there.
	Begin Type = "begin"
	// Gap says that events were left out: read the state anew.
	Gap Type = "gap"
)

// Types are those that can be asked for.
var Types = []Type{
	TaskLaunched, TaskUpdated, TaskKillOrdered, TaskEnded, AgentRegistered, AgentUpdated, AgentDisconnected,
	FrameworkRegistered, FrameworkDisconnected, FrameworkRemoved, RoleSet, LeaderElected,
}

// kind is what a type is about.
func (t Type) kind() string {
	kind, _, _ := strings.Cut(string(t), "_")
	return kind
}

// Event is one change. It says how things are after it, not what to add to
// what was before, so that seeing it twice does no harm.
type Event struct {
	ID        ID                        `json:"id"`
	Type      Type                      `json:"type"`
	Time      time.Time                 `json:"time,omitzero"` // zero: nobody noted it
	Framework offers.FrameworkID        `json:"framework_id,omitempty"`
	Task      offers.TaskID             `json:"task_id,omitempty"`
	Agent     offers.AgentID            `json:"agent_id,omitempty"`
	Role      offers.Role               `json:"role,omitempty"`
	Name      string                    `json:"name,omitempty"` // of the task, agent, framework or master
	State     string                    `json:"state,omitempty"`
	Resume    offers.AgentState         `json:"resume,omitempty"` // what an unreachable agent returns to
	Reason    string                    `json:"reason,omitempty"`
	Message   string                    `json:"message,omitempty"`
	ExitCode  *int                      `json:"exit_code,omitempty"`
	Signal    string                    `json:"signal,omitempty"`
	Healthy   *bool                     `json:"healthy,omitempty"`
	Resources *Room                     `json:"resources,omitempty"` // what a launch took, or an end gave back
	Devices   map[string][]offers.Grant `json:"devices,omitempty"`
	Deadline  time.Time                 `json:"deadline,omitzero"` // of a framework that is away
	Address   string                    `json:"address,omitempty"` // HTTP, of a master
	Term      uint64                    `json:"term,omitempty"`
	Lost      uint64                    `json:"lost,omitempty"` // of a gap, where that is known
}

// Ref names the task that the event is about.
func (e *Event) Ref() offers.TaskRef { return offers.TaskRef{Framework: e.Framework, Task: e.Task} }

// Room is an amount of every scalar kind.
type Room offers.Amounts

// MarshalJSON writes cpus in cores, all else as integers.
func (r Room) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"cpus":%s,"mem":%d,"disk":%d,"bandwidth":%d}`,
		offers.FormatCPUs(r[offers.CPUs]), r[offers.Mem], r[offers.Disk], r[offers.Bandwidth]), nil
}

// Frame returns the event as one block of a stream of server-sent events.
func (e *Event) Frame() []byte {
	data, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("events: %+v can't be written: %v", e, err))
	}
	return slices.Concat([]byte("id: "), []byte(e.ID.String()), []byte("\ndata: "), data, []byte("\n\n"))
}

// Position returns a block that only tells where the stream is.
func Position(id ID) []byte { return fmt.Appendf(nil, "id: %s\n\n", id) }
