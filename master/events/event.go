package events

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Event is one change. It says how things are after it, not what to add to
// what was before, so that seeing it twice does no harm.
type Event struct {
	ID        ID                        `json:"id"`
	Type      Type                      `json:"type"`
	Time      time.Time                 `json:"time,omitzero"` // zero: nobody noted it
	Framework offers.FrameworkID        `json:"framework_id,omitempty"`
	Task      offers.TaskID             `json:"task_id,omitempty"`
	Agent     offers.AgentID            `json:"agent_id,omitempty"`
	Offer     offers.OfferID            `json:"offer_id,omitempty"`
	Demand    offers.DemandID           `json:"demand_id,omitempty"` // that waits, or of the offer
	Role      offers.Role               `json:"role,omitempty"`
	Name      string                    `json:"name,omitempty"` // of the task, agent, framework or master
	State     string                    `json:"state,omitempty"`
	Resume    offers.AgentState         `json:"resume,omitempty"` // what an unreachable agent returns to
	Reason    string                    `json:"reason,omitempty"`
	Message   string                    `json:"message,omitempty"`
	ExitCode  *int                      `json:"exit_code,omitempty"`
	Signal    string                    `json:"signal,omitempty"`
	Healthy   *bool                     `json:"healthy,omitempty"`
	Resources *Room                     `json:"resources,omitempty"` // what a launch took, an end gave back, or an offer holds
	Devices   map[string][]offers.Grant `json:"devices,omitempty"`
	Ring      *offers.RingRef           `json:"ring,omitempty"`    // in which the agent of an offer was found
	Count     *int                      `json:"count,omitempty"`   // units that wait; none: whole agents
	Stopped   []string                  `json:"stopped,omitempty"` // the kinds that a demand waits for, and what else it does
	Reasons   []Reason                  `json:"reasons,omitempty"` // what is against the agents
	Deadline  time.Time                 `json:"deadline,omitzero"` // of a framework that is away, or an offer
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

// UnmarshalJSON reads what MarshalJSON writes, and passes over what a newer
// master may add.
func (r *Room) UnmarshalJSON(data []byte) error {
	var in struct {
		CPUs      json.Number `json:"cpus"`
		Mem       int64       `json:"mem"`
		Disk      int64       `json:"disk"`
		Bandwidth int64       `json:"bandwidth"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("resources: %w", err)
	}
	cpus, err := offers.ParseScalar(offers.CPUs, cmp.Or(in.CPUs.String(), "0"))
	if err != nil {
		return fmt.Errorf("resources: cpus: %w", err)
	}
	*r = Room{offers.CPUs: cpus, offers.Mem: in.Mem, offers.Disk: in.Disk, offers.Bandwidth: in.Bandwidth}
	return nil
}

// Against is what speaks against an agent, by the codes of package match.
type Against struct {
	Code string `json:"code"`
	What string `json:"what,omitempty"` // the kind, constraint, class or state, as the code says
}

// Reason counts the agents that the same speaks against.
type Reason struct {
	Against
	Agents int          `json:"agents"`
	Asked  *json.Number `json:"asked,omitempty"` // of the kind
	Most   *json.Number `json:"most,omitempty"`  // that one of the agents has of it, in all or free as the code says
	Also   []Lack       `json:"also,omitempty"`  // other kinds of which the same agents have too little, in the same way
}

// Lack is a kind of which agents have too little.
type Lack struct {
	What  string       `json:"what"`            // the kind
	Asked *json.Number `json:"asked,omitempty"` // of it
	Most  *json.Number `json:"most,omitempty"`  // that one of the agents has
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
