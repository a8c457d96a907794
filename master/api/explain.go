package api

import (
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Waiting is a demand that waits.
type Waiting struct {
	Framework   offers.FrameworkID  `json:"framework_id"`
	Demand      offers.DemandID     `json:"demand_id"`
	Role        offers.Role         `json:"role"`
	Resources   offers.Resources    `json:"resources"`
	Count       *int                `json:"count,omitempty"` // units that are neither launched nor offered; none: whole agents
	Constraints []offers.Constraint `json:"constraints,omitempty"`
	Stopped     []string            `json:"stopped"` // the kinds that stop it, and what else does
}

// WaitingDemands is a page of the demands that wait, by framework and id.
type WaitingDemands struct {
	Demands []Waiting `json:"demands"`
	Next    string    `json:"next,omitempty"` // for the page after it; none: it is the last
}

// Page returns what is on the page, and what asks for the next one.
func (p WaitingDemands) Page() ([]Waiting, string) { return p.Demands, p.Next }

// Explanation says where the next units of a demand would go if it were its
// turn now, and why.
type Explanation struct {
	Framework  offers.FrameworkID `json:"framework_id,omitempty"`
	Demand     offers.DemandID    `json:"demand_id"`
	Role       offers.Role        `json:"role"`
	Placement  offers.Placement   `json:"placement"`
	Prefers    string             `json:"prefers"`              // what the strategy looks for
	Kind       string             `json:"kind,omitempty"`       // in the rings of which it is looked up
	Gang       bool               `json:"gang,omitempty"`       // nothing is offered unless all units have a place
	Suppressed bool               `json:"suppressed,omitempty"` // nothing is offered until the framework sends revive, wherever there is a place
	Units      int                `json:"units"`                // that are explained
	Places     []Place            `json:"places"`               // in the order of the units
	Missing    int                `json:"missing"`              // units without a place
	Untried    int                `json:"untried,omitempty"`    // units that were too many to be tried
	Found      *Trail             `json:"found,omitempty"`      // how the first unit got its place
	Missed     *Trail             `json:"missed,omitempty"`     // why the first unit without a place has none
}

// AgentRef names an agent.
type AgentRef struct {
	ID   offers.AgentID `json:"id"`
	Name string         `json:"name"`
	Host string         `json:"host"`
}

// Place is an agent that units would go to, one after the other.
type Place struct {
	Agent AgentRef       `json:"agent"`
	Units int            `json:"units"`
	Ring  offers.RingRef `json:"ring"`
}

// Trail is one search. Every agent stands in it once: it won, or it could have
// been taken, or a reason is against it.
type Trail struct {
	Agents   int             `json:"agents"`    // that are known
	LookedAt int             `json:"looked_at"` // one by one; the others were passed over by what they have free
	Suited   int             `json:"suited"`    // of those looked at, the winner included
	Looked   []Look          `json:"looked"`    // the first that were looked at, in that order
	Reasons  []events.Reason `json:"reasons"`   // against the others
	Winner   *Look           `json:"winner,omitempty"`
	Next     []Look          `json:"next,omitempty"`    // who would win without the winner, then without both, and so on
	Stopped  []string        `json:"stopped,omitempty"` // the kinds that stopped it, and what else did
	Never    string          `json:"never,omitempty"`   // why nobody who is known could ever be taken
}

// Look is one agent as a search saw it.
type Look struct {
	Agent   AgentRef        `json:"agent"`
	Ring    int             `json:"ring"`
	Free    json.Number     `json:"free"`                // of the kind, in its unit
	Sum     int             `json:"preferred,omitempty"` // of the weights of the preferences that it meets
	Score   *float64        `json:"score,omitempty"`     // the strategy's, smallest wins
	Against *events.Against `json:"against,omitempty"`   // none: it suits
}
