package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Policy is the name of who is tried out: a placement strategy of the master or
// one of the yardsticks.
type Policy string

// PolicyNames lists all policies as one reads them in a sentence.
func PolicyNames() string {
	return offers.PlacementNames() + ", and as yardsticks " + strings.Join(yardsticks, ", ")
}

// ParsePolicies reads names of policies.
func ParsePolicies(names []string) ([]Policy, error) {
	var out []Policy
	for _, name := range names {
		p := Policy(name)
		switch {
		case name == "" || !p.isYardstick() && offers.Placement(name).Validate() != nil:
			return nil, fmt.Errorf("strategy %q is unknown; it is %s", name, PolicyNames())
		case slices.Contains(out, p):
			return nil, fmt.Errorf("strategy %s is named twice", name)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no strategy is named; give some of %s", PolicyNames())
	}
	return out, nil
}

func (p Policy) isYardstick() bool { return slices.Contains(yardsticks, string(p)) }

// allocator returns a fresh one on an empty cluster.
func (p Policy) allocator(w *Workload, order *Order, config match.Config) allocator {
	if p.isYardstick() {
		return newYard(string(p), w, order)
	}
	config.Placement = offers.Placement(p)
	return newBed(config, w, order)
}
