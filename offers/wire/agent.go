package wire

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// FromAgent is what a master understands from an agent.
var FromAgent = Vocabulary{
	"register":  func() Message { return new(RegisterAgent) },
	"tasks":     func() Message { return new(AgentTasks) },
	"statuses":  func() Message { return new(Statuses) },
	"usage":     func() Message { return new(Usage) },
	"heartbeat": func() Message { return new(Heartbeat) },
}

// ToAgent is what an agent understands from a master.
var ToAgent = Vocabulary{
	"registered":  func() Message { return new(AgentRegistered) },
	"launch":      func() Message { return new(Launch) },
	"kill":        func() Message { return new(KillTask) },
	"acknowledge": func() Message { return new(AcknowledgeStatus) },
	"heartbeat":   func() Message { return new(Heartbeat) },
	"error":       func() Message { return new(ErrorMessage) },
}

type (
	// RegisterAgent must be the first message of an agent's connection, but for
	// an agent of too many tasks for one message, see AgentTasks. An
	// empty Agent.ID asks for a new id. Tasks are all tasks the agent knows
	// and whose end the framework has not acknowledged. After the answer the
	// agent sends every status that is not acknowledged, in order.
	//
	// Next is a random token that the agent has in its checkpoint before it
	// sends it, and sends again until an answer confirms it; Have is the last
	// that was confirmed. The masters know the Next of the last registration:
	// a run, told from others by Agent.Started, that brings it as neither runs
	// on an older copy of its checkpoint. With Doubt it says itself that more
	// may have run than it lists.
	RegisterAgent struct {
		Agent    offers.Agent `json:"agent"`
		Sequence uint64       `json:"sequence"` // of the use of devices
		Usage    *Usage       `json:"usage,omitempty"`
		Tasks    []AgentTask  `json:"tasks"`
		Have     string       `json:"have,omitempty"`
		Next     string       `json:"next,omitempty"`
		Doubt    bool         `json:"doubt,omitempty"`
		Attempt  *Attempt     `json:"attempt,omitempty"`
	}
	// AgentTasks lists some of the tasks of an agent that has too many for one
	// message, see [Registration]. It says several of them in the place of
	// RegisterAgent, and the last has that, without tasks, and how many All have
	// listed. Nothing follows for a task of any of them before that has come,
	// nor where they are not as many. A master that does not know the message
	// takes none of it for a registration.
	AgentTasks struct {
		Tasks    []AgentTask    `json:"tasks"`
		All      int            `json:"all,omitempty"`
		Register *RegisterAgent `json:"register,omitempty"`
	}
	// AgentTask is what an agent knows of one task.
	AgentTask struct {
		offers.TaskRef
		LaunchID offers.LaunchID `json:"launch_id,omitempty"`
		State    offers.State    `json:"state"`
		Holding  offers.Holding  `json:"holding"`
		Healthy  *bool           `json:"healthy,omitempty"` // as in offers.Status
		Started  time.Time       `json:"started,omitzero"`
	}
	// Statuses are reports of tasks, in order per task. They are resent until
	// an AcknowledgeStatus names them.
	Statuses struct {
		Statuses []TaskStatus `json:"statuses"`
	}
	// TaskStatus is one report of one framework's task, and of that launch.
	TaskStatus struct {
		Framework offers.FrameworkID `json:"framework_id"`
		LaunchID  offers.LaunchID    `json:"launch_id,omitempty"`
		offers.Status
	}
	// Usage is the packed use of every device class, sent after every change.
	// Handled is how many launches with devices the agent had taken on this
	// connection before it: what those hold is in it, if it is still held. Closed
	// says why the agent is to be offered to nobody for now, though its tasks go
	// on; "" while it can take more.
	Usage struct {
		Sequence uint64                 `json:"sequence"`
		Handled  uint64                 `json:"handled,omitempty"`
		Classes  map[string]PackedClass `json:"classes"`
		Closed   string                 `json:"closed,omitempty"`
	}
	// PackedClass is one class in packed form, see offers.Packed. Unwell says
	// which devices, by their index, can't be given to anyone for now, and why.
	PackedClass struct {
		Bits   int            `json:"bits"`
		Unit   int64          `json:"unit"`
		Used   []string       `json:"packed"` // "0x..." words
		Unwell map[int]string `json:"unwell,omitempty"`
	}
)

type (
	// AgentRegistered answers RegisterAgent. Forget names tasks of the
	// agent's list that the masters do not know or know to have ended, or whose
	// id is of another launch by now: the agent kills those that still run and
	// forgets all of them. Tasks that are accepted on this agent and were not in
	// its list follow as Launch, unless
	// more may have run than the agent lists: they end as gone then. Older
	// says that this run began from an older copy of its checkpoint, so that
	// the agent starts nothing of what it brought along. Who has listed its
	// tasks in several messages is told what to forget in several, too: it is
	// registered by the first that has not More.
	AgentRegistered struct {
		AgentID offers.AgentID   `json:"agent_id"`
		Master  MasterInfo       `json:"master"`
		Forget  []offers.TaskRef `json:"forget,omitempty"`
		Older   bool             `json:"older,omitempty"`
		More    bool             `json:"more,omitempty"`
	}
	// Launch starts tasks. A task the agent knows already is not started
	// again: its statuses are sent again.
	Launch struct {
		Term  uint64       `json:"term"`
		Tasks []LaunchTask `json:"tasks"`
	}
	// LaunchTask is one task and the room that the master counts for it. The
	// agent binds the devices named there if they are still free for it, and
	// by its own policy otherwise. The LaunchID is in all that it tells of it.
	LaunchTask struct {
		Framework offers.FrameworkID `json:"framework_id"`
		LaunchID  offers.LaunchID    `json:"launch_id,omitempty"`
		User      string             `json:"user,omitempty"` // the framework's, when the task names none
		Task      offers.Task        `json:"task"`
		Holding   offers.Holding     `json:"holding"`
		Policy    offers.Policy      `json:"device_policy,omitempty"`
	}
	// KillTask ends a task; nil Grace means the task's own.
	KillTask struct {
		Term uint64 `json:"term"`
		offers.TaskRef
		LaunchID offers.LaunchID  `json:"launch_id,omitempty"`
		Grace    *offers.Duration `json:"grace,omitempty"`
		Reason   string           `json:"reason,omitempty"`
	}
	// AcknowledgeStatus ends the resending of reports.
	AcknowledgeStatus struct {
		Acknowledged []StatusRef `json:"acknowledged"`
	}
	// StatusRef names one report.
	StatusRef struct {
		offers.TaskRef
		UpdateID offers.UpdateID `json:"update_id"`
	}
)

func (*RegisterAgent) Type() string     { return "register" }
func (*AgentTasks) Type() string        { return "tasks" }
func (*Statuses) Type() string          { return "statuses" }
func (*Usage) Type() string             { return "usage" }
func (*AgentRegistered) Type() string   { return "registered" }
func (*Launch) Type() string            { return "launch" }
func (*KillTask) Type() string          { return "kill" }
func (*AcknowledgeStatus) Type() string { return "acknowledge" }
