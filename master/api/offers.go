package api

import (
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Offer is an outstanding offer: what its framework sees, and whose it is.
type Offer struct {
	wire.Offer
	Framework offers.FrameworkID `json:"framework_id"`
	AgentID   offers.AgentID     `json:"agent_id"`
}

// Offers is a page of offers, the eldest first.
type Offers struct {
	Offers []Offer `json:"offers"`
	Next   string  `json:"next,omitempty"` // for the page after it; none: it is the last
}

// Page returns what is on the page, and what asks for the next one.
func (p Offers) Page() ([]Offer, string) { return p.Offers, p.Next }

// RingSets is the rings of every kind.
type RingSets struct {
	Resources []RingSet `json:"resources"`
	Away      int       `json:"away"` // active agents that are in none: they have no connection to the leader, for a moment after it was elected
}

// RingSet is the rings of one kind, in its unit: cpus in cores.
type RingSet struct {
	Name  string      `json:"name"`
	Lower json.Number `json:"lower"` // where the second ring begins
	Rings []Ring      `json:"rings"` // the innermost first
}

// Ring is one ring: the agents that have as much of the kind free.
type Ring struct {
	Index  int          `json:"index"` // from 1
	From   json.Number  `json:"from"`
	To     *json.Number `json:"to"` // not included; null for the outermost
	Agents []RingAgent  `json:"agents"`
}

// RingAgent is an agent in a ring.
type RingAgent struct {
	ID   offers.AgentID `json:"id"`
	Name string         `json:"name"`
	Free json.Number    `json:"free"`
}
