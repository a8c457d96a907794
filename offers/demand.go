package offers

import (
	"encoding/json"
	"fmt"
	"time"
)

// Demand is a standing wish of a framework. With a Count it asks for that
// many units of Resources; without one it wants whole agents that have at
// least Resources free.
type Demand struct {
	ID           DemandID     `json:"id"`
	Resources    Resources    `json:"resources"`
	Count        *int         `json:"count,omitempty"` // nil: whole agents; 0 withdraws the demand
	Constraints  []Constraint `json:"constraints,omitempty"`
	Preferences  []Preference `json:"preferences,omitempty"`
	Placement    Placement    `json:"placement,omitempty"`
	DevicePolicy Policy       `json:"device_policy,omitempty"`
	Deadline     Duration     `json:"deadline,omitempty"` // from arrival, for a unit to be done; 0: none
	Runtime      Duration     `json:"runtime,omitempty"`  // that a unit is expected to take; 0: unknown
	Price        float64      `json:"price,omitempty"`    // that is paid for a unit, in any unit of money
	Gang         Duration     `json:"gang,omitempty"`     // all units are offered at once or none is, to be accepted within it; 0: each for itself
}

// MaxCount bounds the units of one demand, MaxPrice what is paid for one.
const (
	MaxCount = 1_000_000
	MaxPrice = 1e12
)

// MaxGang bounds the units of a gang, all of which are placed in one turn of the
// master; MinGang is the shortest time for them to be accepted.
const (
	MaxGang = 1000
	MinGang = Duration(time.Second)
)

// UnmarshalJSON reads a demand and validates it; the error names the field.
func (d *Demand) UnmarshalJSON(data []byte) error {
	type plain Demand
	var in plain
	if err := json.Unmarshal(data, &in); err != nil {
		err = Explain(data, func() any { return new(plain) }, err)
		var named struct{ ID DemandID }
		if json.Unmarshal(data, &named) == nil && named.ID != "" {
			d.ID = named.ID
			return fmt.Errorf("demand %q: %w", clip(string(named.ID)), err)
		}
		return err
	}
	*d = Demand(in)
	return d.Validate()
}

// Validate refuses ids that can't be told.
func (id DemandID) Validate() error {
	if id == "" || len(id) > 256 || !Printable(string(id)) {
		return fmt.Errorf("demand id %q is empty, not printable or longer than 256 bytes", clip(string(id)))
	}
	return nil
}

// Validate refuses a demand that can't be served by anyone.
func (d *Demand) Validate() error {
	wrap := func(err error) error { return fmt.Errorf("demand %q: %w", clip(string(d.ID)), err) }
	if err := d.ID.Validate(); err != nil {
		return err
	}
	if d.Count != nil && *d.Count == 0 {
		return nil
	}
	if d.Count != nil && (*d.Count < 0 || *d.Count > MaxCount) {
		return wrap(fmt.Errorf("count is %d; 0 to %d", *d.Count, MaxCount))
	}
	if d.Count != nil && d.Resources.Zero() {
		return wrap(fmt.Errorf("resources: a counted demand names at least one kind"))
	}
	if len(d.Constraints) > 64 {
		return wrap(fmt.Errorf("constraints: %d of them; at most 64", len(d.Constraints)))
	}
	if len(d.Preferences) > MaxPreferences {
		return wrap(fmt.Errorf("preferences: %d of them; at most %d", len(d.Preferences), MaxPreferences))
	}
	for i := range d.Preferences {
		if err := d.Preferences[i].validate(); err != nil {
			return wrap(fmt.Errorf("preferences: %w", err))
		}
	}
	for _, c := range d.Constraints {
		if c.Limit() > 0 && d.Count == nil {
			return wrap(fmt.Errorf("constraints: %q counts units, and a demand without a count has none", c.String()))
		}
	}
	if err := d.Resources.Validate(); err != nil {
		return wrap(fmt.Errorf("resources: %w", err))
	}
	if err := d.Placement.Validate(); err != nil {
		return wrap(err)
	}
	if err := d.DevicePolicy.Validate(); err != nil {
		return wrap(err)
	}
	if d.Deadline < 0 || d.Runtime < 0 {
		return wrap(fmt.Errorf("deadline and runtime are %v and %v; they can't be negative", d.Deadline, d.Runtime))
	}
	if err := d.validateGang(); err != nil {
		return wrap(err)
	}
	if !(d.Price >= 0 && d.Price <= MaxPrice) {
		return wrap(fmt.Errorf("price is %v; 0 to %v", d.Price, MaxPrice))
	}
	return nil
}

func (d *Demand) validateGang() error {
	switch {
	case d.Gang == 0:
		return nil
	case d.Count == nil:
		return fmt.Errorf("gang: a demand without a count has no units that could be a gang")
	case *d.Count > MaxGang:
		return fmt.Errorf("gang: %d units; at most %d", *d.Count, MaxGang)
	case d.Gang < MinGang:
		return fmt.Errorf("gang is %v; %v at the least", d.Gang, MinGang)
	}
	return nil
}
