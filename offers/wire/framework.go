package wire

import (
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/offers"
)

// FromFramework is what a master understands from a framework.
var FromFramework = Vocabulary{
	"register":    func() Message { return new(Register) },
	"demand":      func() Message { return new(DemandMessage) },
	"accept":      func() Message { return new(Accept) },
	"decline":     func() Message { return new(Decline) },
	"suppress":    func() Message { return new(Suppress) },
	"revive":      func() Message { return new(Revive) },
	"kill":        func() Message { return new(Kill) },
	"acknowledge": func() Message { return new(Acknowledge) },
	"reconcile":   func() Message { return new(Reconcile) },
	"message":     func() Message { return new(TaskMessage) },
	"state":       func() Message { return new(StateRequest) },
	"teardown":    func() Message { return new(Teardown) },
}

// ToFramework is what a framework understands from a master.
var ToFramework = Vocabulary{
	"registered": func() Message { return new(Registered) },
	"offers":     func() Message { return new(OffersMessage) },
	"rescind":    func() Message { return new(Rescind) },
	"waiting":    func() Message { return new(Waiting) },
	"accepted":   func() Message { return new(Accepted) },
	"update":     func() Message { return new(Update) },
	"reconciled": func() Message { return new(Reconciled) },
	"state":      func() Message { return new(StateAnswer) },
	"heartbeat":  func() Message { return new(Heartbeat) },
	"error":      func() Message { return new(ErrorMessage) },
}

type (
	// Register must be the first message of a connection.
	Register struct {
		Framework FrameworkInfo `json:"framework"`
		Attempt   *Attempt      `json:"attempt,omitempty"`
	}
	// Attempt tells the connections of one client apart. A register may arrive
	// late, from a connection that its client gave up for a newer one; it must
	// not take over from that. Clients that send none are taken as they come.
	Attempt struct {
		Client string `json:"client"` // random, new with every start; at most 64 bytes
		Number uint64 `json:"number"` // of the connection, rising
	}
	// FrameworkInfo is what a framework says about itself.
	FrameworkInfo struct {
		ID              offers.FrameworkID `json:"id,omitempty"`
		Name            string             `json:"name"`
		Role            offers.Role        `json:"role"`
		User            string             `json:"user,omitempty"`
		FailoverTimeout *offers.Duration   `json:"failover_timeout,omitempty"` // nil: DefaultFailoverTimeout
		Capabilities    []string           `json:"capabilities,omitempty"`
		Labels          map[string]string  `json:"labels,omitempty"`
	}
	// DemandMessage states, replaces or (count 0) withdraws demands. Each
	// demand is decoded on its own so that a bad one doesn't spoil the rest.
	DemandMessage struct {
		Demands []json.RawMessage `json:"demands"`
	}
	// Accept launches Tasks in offers of one agent. Each task is decoded on
	// its own so that a bad one is rejected alone.
	Accept struct {
		OfferIDs []offers.OfferID  `json:"offer_ids"`
		Tasks    []json.RawMessage `json:"tasks"`
		Refuse   *offers.Duration  `json:"refuse,omitempty"` // nil: nothing is hidden
	}
	// Decline gives offers back.
	Decline struct {
		OfferIDs []offers.OfferID `json:"offer_ids"`
		Refuse   *offers.Duration `json:"refuse,omitempty"` // nil: DefaultRefuse
	}
	// Suppress stops new offers until Revive.
	Suppress struct{}
	// Revive starts offers again and forgets refusals.
	Revive struct{}
	// Kill ends a task.
	Kill struct {
		TaskID offers.TaskID    `json:"task_id"`
		Grace  *offers.Duration `json:"grace,omitempty"` // nil: the task's own
	}
	// Acknowledge ends the resending of one update.
	Acknowledge struct {
		TaskID   offers.TaskID   `json:"task_id"`
		UpdateID offers.UpdateID `json:"update_id"`
	}
	// Reconcile asks for the states of tasks, all when none are named.
	Reconcile struct {
		TaskIDs []offers.TaskID `json:"task_ids,omitempty"`
	}
	// TaskMessage is for the task's executor, best effort.
	TaskMessage struct {
		TaskID offers.TaskID   `json:"task_id"`
		Data   json.RawMessage `json:"data"`
	}
	// StateRequest reads and writes the framework's durable store.
	StateRequest struct {
		Op      string          `json:"op"` // get put delete list
		Key     string          `json:"key,omitempty"`
		Value   json.RawMessage `json:"value,omitempty"`
		Version *uint64         `json:"version,omitempty"` // nil: whatever it is
	}
	// Teardown ends the framework and its tasks.
	Teardown struct{}
)

// ValueBytes is the size of the value as [MaxStateValue] counts it: its JSON
// text, without the quotes of a string.
func (m *StateRequest) ValueBytes() int {
	if len(m.Value) >= 2 && m.Value[0] == '"' {
		return len(m.Value) - 2
	}
	return len(m.Value)
}

// JobsLabel is the label of the jobs framework. Its value is the URL to which
// the masters pass /v1/jobs on.
const JobsLabel = "ringmaster.jobs"

// Defaults of fields a framework may leave out.
const (
	DefaultFailoverTimeout = offers.Duration(10 * 60e9)
	DefaultRefuse          = offers.Duration(5e9)
)

type (
	// Registered answers register.
	Registered struct {
		FrameworkID offers.FrameworkID `json:"framework_id"`
		Master      MasterInfo         `json:"master"`
		Heartbeat   offers.Duration    `json:"heartbeat"` // how often the master sends one
	}
	// MasterInfo names the leader and its term.
	MasterInfo struct {
		Name    string `json:"name"`
		Address string `json:"address"`
		Term    uint64 `json:"term"`
	}
	// OffersMessage brings new offers.
	OffersMessage struct {
		Offers []Offer `json:"offers"`
	}
	// Rescind takes offers back.
	Rescind struct {
		OfferIDs []offers.OfferID `json:"offer_ids"`
		Reason   string           `json:"reason"`
	}
	// Waiting says of a demand, once, that no agent that is known could ever meet
	// it, or all together, if it is a gang. It stands all the same, for agents that may come.
	Waiting struct {
		DemandID offers.DemandID `json:"demand_id"`
		Stopped  []string        `json:"stopped"` // the kinds that stop it
		Message  string          `json:"message"` // why, one sentence
	}
	// Accepted says that launches are durable on a majority.
	Accepted struct {
		OfferIDs []offers.OfferID `json:"offer_ids"`
		TaskIDs  []offers.TaskID  `json:"task_ids"`
	}
	// Update reports a task's state.
	Update struct {
		Status offers.Status `json:"status"`
	}
	// Reconciled ends the answers to one reconcile.
	Reconciled struct{}
	// StateAnswer answers a StateRequest.
	StateAnswer struct {
		Op      string          `json:"op"`
		Key     string          `json:"key,omitempty"`
		Value   json.RawMessage `json:"value,omitempty"`
		Version uint64          `json:"version"`
		Keys    []string        `json:"keys,omitempty"`
	}
	// Heartbeat says that the sender is alive. Agents say that by pings alone.
	Heartbeat struct{}
	// ErrorMessage is about one request unless Code is failed_over.
	ErrorMessage struct {
		Code     offers.Code     `json:"code"`
		Message  string          `json:"message"`
		DemandID offers.DemandID `json:"demand_id,omitempty"` // the one that is refused of a DemandMessage's
	}
)

func (*Register) Type() string      { return "register" }
func (*DemandMessage) Type() string { return "demand" }
func (*Accept) Type() string        { return "accept" }
func (*Decline) Type() string       { return "decline" }
func (*Suppress) Type() string      { return "suppress" }
func (*Revive) Type() string        { return "revive" }
func (*Kill) Type() string          { return "kill" }
func (*Acknowledge) Type() string   { return "acknowledge" }
func (*Reconcile) Type() string     { return "reconcile" }
func (*TaskMessage) Type() string   { return "message" }
func (*StateRequest) Type() string  { return "state" }
func (*Teardown) Type() string      { return "teardown" }
func (*Registered) Type() string    { return "registered" }
func (*OffersMessage) Type() string { return "offers" }
func (*Rescind) Type() string       { return "rescind" }
func (*Waiting) Type() string       { return "waiting" }
func (*Accepted) Type() string      { return "accepted" }
func (*Update) Type() string        { return "update" }
func (*Reconciled) Type() string    { return "reconciled" }
func (*StateAnswer) Type() string   { return "state" }
func (*Heartbeat) Type() string     { return "heartbeat" }
func (*ErrorMessage) Type() string  { return "error" }
