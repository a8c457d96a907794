package match

import (
	"github.com/ringmaster-project/ringmaster/offers"
)

// View is an immutable picture of the matcher's soft state for readers: the
// HTTP interface, the metrics and the web page. Slices are in the order of
// ids; whoever gets a View may keep it.
type View struct {
	Agents     []AgentView
	Frameworks map[offers.FrameworkID]FrameworkView
	Roles      []RoleView // every role that is in use or was set, by name
	Offers     []offers.Offer
	Rings      []RingSetView
	Waiting    int            // demands that something stops
	Pending    map[string]int // these by what stops them, each once for every kind that does
	Counters   Counters
	Searches   map[offers.Placement]uint64 // of Counters.Decisions, by strategy
}

// AgentView is the room of one agent.
type AgentView struct {
	ID      offers.AgentID
	Online  bool   // connected to this leader
	Closed  string // why it is offered to nobody for now, as it says; "": it can be
	Used    offers.Holding
	Offered offers.Holding
	Free    offers.Holding
	Devices []offers.ClassRoom        // use with offers in it
	Unwell  map[string]map[int]string // why devices can't be used, by class and index, as the agent reports
}

// FrameworkView is what fair share knows of one framework.
type FrameworkView struct {
	Used, Offered offers.Amounts
	Share         float64 // dominant share, offers counted
	Dominant      string  // its kind, "" with a share of 0
	Demands       int
	Suppressed    bool
}

// RoleView is what fair share knows of one role with its descendants.
type RoleView struct {
	Role       offers.Role
	Settings   offers.RoleSettings
	Share      float64 // dominant share, not yet divided by the weight
	Dominant   string
	Used       map[string]int64 // by fair-share kind, offers counted
	Frameworks int
}

// RingSetView is the rings of one kind.
type RingSetView struct {
	Name  string
	Lower int64
	Rings []RingView
}

// RingView is one ring, [From, To); To is -1 for the outermost.
type RingView struct {
	Index    int
	From, To int64
	Agents   []RingAgent
}

// RingAgent is an agent in a ring.
type RingAgent struct {
	ID   offers.AgentID
	Free int64
}

// Counters count since this leader's term began.
type Counters struct {
	Issued, Accepted, Declined, Rescinded, Expired uint64 // offers
	Decisions                                      uint64 // searches for an agent
	Prematched                                     uint64 // of them, those for which agents had been looked at beforehand
	Conflicts                                      uint64 // of these, those whose best agent had changed since
	Afar, AfarConflicts                            uint64 // of both, those by lists of followers
	AfarAsked, AfarUsed, AfarLate                  uint64 // lists of followers: that were asked for, that some search was made by, that came too late
	Mismatches                                     uint64 // times that an agent had bound, or used, other devices than it was counted on
}
