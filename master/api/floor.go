package api

import (
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Floor is the room of the whole cluster as the accepted tasks leave it, and the
// event after which that changes: whoever adds up the launches and ends that
// follow knows what the masters know, without asking again.
type Floor struct {
	After  events.ID `json:"after"`
	Agents []Space   `json:"agents"` // that are not gone
	Rings  []Bounds  `json:"rings"`
}

// Space is the room of one agent.
type Space struct {
	ID      offers.AgentID     `json:"id"`
	Name    string             `json:"name"`
	State   offers.AgentState  `json:"state"`
	Online  bool               `json:"online"`           // connected to the leader
	Closed  string             `json:"closed,omitempty"` // why it is offered to nobody for now, as it says
	Tasks   int                `json:"tasks"`            // that live
	Total   events.Room        `json:"total"`
	Used    events.Room        `json:"used"`
	Devices map[string]Devices `json:"devices,omitempty"` // by class
}

// Devices is one class on an agent, by device.
type Devices struct {
	Capacity []int64       `json:"capacity"` // bytes
	Used     []int64       `json:"used"`     // bytes
	Shares   []json.Number `json:"shares"`   // of the compute, that are taken
}

// Bounds is where the rings of a kind begin, the innermost first, in its unit.
type Bounds struct {
	Name string        `json:"name"`
	From []json.Number `json:"from"`
}

// Held is what outstanding offers hold, in blocks `event: held` of GET
// /v1/events with status=true: all of it, whenever it changed.
type Held struct {
	Agents []HeldSpace `json:"agents"` // of which anything is offered, by id
}

// HeldSpace is what outstanding offers hold of one agent.
type HeldSpace struct {
	ID      offers.AgentID            `json:"id"`
	Room    events.Room               `json:"room"`
	Devices map[string][]offers.Grant `json:"devices,omitempty"` // by class
}
