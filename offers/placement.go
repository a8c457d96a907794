package offers

import (
	"fmt"
	"slices"
	"strings"
)

// Placement names a placement strategy; "" leaves the choice to whoever is
// asked next: the demand's role, the roles above it, then the master.
type Placement string

// The strategies. What each does stands with it in package master/match.
const (
	Rings          Placement = "rings"           // the closest fit; where nobody says anything else
	Waste          Placement = "waste"           // the least waste, learned from the demands
	LeastRequested Placement = "least-requested" // the agent that is left emptiest
	MostBalanced   Placement = "most-balanced"   // the agent whose kinds are used most evenly
	Balance        Placement = "balance"         // the agent that it evens out, kinds weighted by how scarce they are
	Match          Placement = "match"           // batches, matched as a whole, by deadline and price too
)

// Placements returns the known strategies by name, the default first.
func Placements() []Placement {
	return []Placement{Rings, Waste, LeastRequested, MostBalanced, Balance, Match}
}

// PlacementNames returns them as text, "a, b or c".
func PlacementNames() string {
	var names []string
	for _, p := range Placements() {
		names = append(names, string(p))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Validate refuses a placement that this version does not have and lists those
// that it has.
func (p Placement) Validate() error {
	if p == "" || slices.Contains(Placements(), p) {
		return nil
	}
	return fmt.Errorf("placement %q is unknown; it is %s", clip(string(p)), PlacementNames())
}
