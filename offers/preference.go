package offers

import "fmt"

// Preference is a condition on an agent's attributes that is wished for and not
// required: of the agents that suit, those with the largest sum of the weights
// of the conditions that they meet come first, and a negative weight is of what
// is to be avoided. Between equals the placement strategy decides. The zero
// value is invalid.
type Preference struct {
	Condition Constraint `json:"condition"`
	Weight    int        `json:"weight"`
}

// The bounds of preferences.
const (
	MaxPreferences = 16   // of one demand
	MaxPreference  = 1000 // weight of one, and as much below nothing
)

func (p *Preference) validate() error {
	switch {
	case p.Condition.String() == "":
		return fmt.Errorf("condition is missing")
	case p.Condition.Limit() > 0:
		return fmt.Errorf("condition: %q is a limit, and a preference is a condition", clip(p.Condition.String()))
	case p.Weight == 0 || p.Weight > MaxPreference || p.Weight < -MaxPreference:
		return fmt.Errorf("weight is %d; 1 to %d, or below nothing for what is to be avoided", p.Weight, MaxPreference)
	}
	return nil
}

// Preferred returns the sum of the weights of the conditions that an agent meets.
func (d *Demand) Preferred(a *Agent) int {
	sum := 0
	for i := range d.Preferences {
		if d.Preferences[i].Condition.Met(a) {
			sum += d.Preferences[i].Weight
		}
	}
	return sum
}

// MostPreferred returns the largest sum that any agent can have.
func (d *Demand) MostPreferred() int {
	sum := 0
	for i := range d.Preferences {
		sum += max(0, d.Preferences[i].Weight)
	}
	return sum
}
