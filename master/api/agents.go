package api

import (
	"encoding/json"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Agent is an agent, with what it has and what is taken of it.
type Agent struct {
	ID         offers.AgentID    `json:"id"`
	Name       string            `json:"name"`
	Host       string            `json:"host"`
	Address    string            `json:"address"` // HTTP, host:port
	State      offers.AgentState `json:"state"`
	Resume     offers.AgentState `json:"resume,omitempty"` // of an unreachable one: its state when it is back
	Online     bool              `json:"online"`           // connected to the leader
	Closed     string            `json:"closed,omitempty"` // why it is offered to nobody for now, as it says
	Attributes map[string]string `json:"attributes"`
	Total      Amounts           `json:"total"`
	Used       Amounts           `json:"used"`
	Offered    Amounts           `json:"offered"`
	Free       Amounts           `json:"free"`
	Devices    map[string]Class  `json:"devices"` // by class
	Version    string            `json:"version"`
	Started    *time.Time        `json:"started"`
	Registered *time.Time        `json:"registered"`
	Since      *time.Time        `json:"since"` // of state
}

// Class is a device class on one agent, in the order of its devices.
type Class struct {
	IDs        []string            `json:"ids"`
	Capacity   []int64             `json:"capacity"` // bytes
	Used       []int64             `json:"used"`     // bytes
	Shares     []json.Number       `json:"shares"`   // of the compute, that are taken
	Attributes []map[string]string `json:"attributes,omitempty"`

	Enforcement []string `json:"enforcement"` // what holds tasks to their parts of each device: hardware, driver, watch or none
	Health      []string `json:"health"`      // ok, or why the device can't be used

	Bits   int      `json:"bits"`   // of each device in packed
	Unit   int64    `json:"unit"`   // bytes that one step in packed stands for
	Packed []string `json:"packed"` // used, packed as agents report it
}

// Agents is a page of agents, the eldest first.
type Agents struct {
	Agents []Agent `json:"agents"`
	Next   string  `json:"next,omitempty"` // for the page after it; none: it is the last
}

// Page returns what is on the page, and what asks for the next one.
func (p Agents) Page() ([]Agent, string) { return p.Agents, p.Next }

// AgentAct is the answer to a change of an agent.
type AgentAct struct {
	ID    offers.AgentID    `json:"id"`
	State offers.AgentState `json:"state"` // that it has now; unreachable: the change counts when it is back
}

// Drain asks for an agent to be taken out of service.
type Drain struct {
	Deadline *offers.Duration `json:"deadline,omitempty"` // when tasks that still run are killed; none: when they end
}
