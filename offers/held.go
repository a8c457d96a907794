package offers

import (
	"encoding/json"
	"slices"
	"strings"
)

// Devices are the devices that something holds, class by class. It is a list
// and no map because one is made, read and dropped with every decision, and
// nearly all hold one device. It is written as a map nevertheless: in JSON, in
// CBOR (see heldcbor.go) and in the binary form of messages.
//
// Invariant: ascending by class, no class twice.
type Devices []ClassGrants

// ClassGrants are the devices held of one class.
type ClassGrants struct {
	Class  string
	Grants []Grant
}

// OneDevice returns the holding of a single device, made in one piece.
func OneDevice(class string, g Grant) Devices {
	made := &struct {
		classes [1]ClassGrants
		grants  [1]Grant
	}{grants: [1]Grant{g}}
	made.classes[0] = ClassGrants{class, made.grants[:]}
	return made.classes[:]
}

// DevicesOf returns the devices of a map by class, whose lists it shares.
func DevicesOf(byClass map[string][]Grant) Devices {
	if byClass == nil {
		return nil
	}
	out := make(Devices, 0, len(byClass))
	for class, grants := range byClass {
		out = append(out, ClassGrants{class, grants})
	}
	slices.SortFunc(out, func(a, b ClassGrants) int { return strings.Compare(a.Class, b.Class) })
	return out
}

// Map returns the devices by class; nil where d is.
func (d Devices) Map() map[string][]Grant {
	if d == nil {
		return nil
	}
	out := make(map[string][]Grant, len(d))
	for i := range d {
		out[d[i].Class] = d[i].Grants
	}
	return out
}

// Of returns what is held of a class, or nil.
func (d Devices) Of(class string) []Grant {
	for i := range d {
		if d[i].Class == class {
			return d[i].Grants
		}
	}
	return nil
}

// With returns d and more devices of a class. It may share the memory of d, and
// never that of its lists.
func (d Devices) With(class string, grants ...Grant) Devices {
	at, there := slices.BinarySearchFunc(d, class, func(c ClassGrants, class string) int { return strings.Compare(c.Class, class) })
	if !there {
		return slices.Insert(d, at, ClassGrants{class, grants})
	}
	d[at].Grants = slices.Concat(d[at].Grants, grants)
	return d
}

// Plus returns the devices of both, and shares the memory of either only where
// the other has none.
func (d Devices) Plus(other Devices) Devices {
	switch {
	case len(other) == 0:
		return d
	case len(d) == 0:
		return other
	}
	out := slices.Clone(d)
	for i := range other {
		out = out.With(other[i].Class, other[i].Grants...)
	}
	return out
}

// IsZero reports whether nothing is held, so that it is left out where it is
// written.
func (d Devices) IsZero() bool { return len(d) == 0 }

// MarshalJSON writes an object of lists by class.
func (d Devices) MarshalJSON() ([]byte, error) { return json.Marshal(d.Map()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Devices) UnmarshalJSON(data []byte) error {
	var byClass map[string][]Grant
	if err := json.Unmarshal(data, &byClass); err != nil {
		return err
	}
	*d = DevicesOf(byClass)
	return nil
}
