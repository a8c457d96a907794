package offers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// inventoryClass is a device class as it travels: lists that run parallel. One
// in which every entry would be empty is left out.
type inventoryClass struct {
	IDs         []string            `json:"ids"`
	Capacity    []int64             `json:"capacity"`
	Attributes  []map[string]string `json:"attributes,omitempty"`
	Enforcement []Tier              `json:"enforcement,omitempty"`
	Links       []map[string]int    `json:"links,omitempty"`
	Nodes       [][]string          `json:"nodes,omitempty"`
	CDI         []string            `json:"cdi,omitempty"`
}

// MarshalJSON writes devices as {"gpu": {"ids": [...], "capacity": [...]}}.
func (v Inventory) MarshalJSON() ([]byte, error) {
	names := make([]string, len(v.Classes))
	for i, c := range v.Classes {
		names[i] = c.Name
	}
	return marshalKinds(Resources{Amounts: v.Amounts, Ports: v.Ports}, len(names), func(class string) any { return listDevices(v.Class(class)) }, names)
}

func listDevices(devices []Device) inventoryClass {
	return inventoryClass{
		IDs:         column(devices, func(d Device) string { return d.ID }, nil),
		Capacity:    column(devices, func(d Device) int64 { return d.Capacity }, nil),
		Attributes:  column(devices, func(d Device) map[string]string { return d.Attributes }, func(m map[string]string) bool { return len(m) == 0 }),
		Enforcement: column(devices, func(d Device) Tier { return d.Enforcement }, func(t Tier) bool { return t == TierNone }),
		Links:       column(devices, func(d Device) map[string]int { return d.Links }, func(m map[string]int) bool { return len(m) == 0 }),
		Nodes:       column(devices, func(d Device) []string { return d.Nodes }, func(list []string) bool { return len(list) == 0 }),
		CDI:         column(devices, func(d Device) string { return d.CDI }, func(s string) bool { return s == "" }),
	}
}

// column returns one field of every device, nil where all of them are empty.
func column[T any](devices []Device, field func(Device) T, empty func(T) bool) []T {
	out := make([]T, len(devices))
	full := empty == nil
	for i, d := range devices {
		out[i] = field(d)
		full = full || !empty(out[i])
	}
	if !full {
		return nil
	}
	return out
}

// UnmarshalJSON reads what MarshalJSON writes and validates it.
func (v *Inventory) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return errors.New("total: not an object of amounts")
	}
	var classes map[string]*inventoryClass
	if raw, ok := fields["devices"]; ok {
		if err := json.Unmarshal(raw, &classes); err != nil {
			return fmt.Errorf("devices: %w", err)
		}
		delete(fields, "devices")
	}
	plain, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	var r Resources
	if err := r.UnmarshalJSON(plain); err != nil {
		return err
	}
	*v = Inventory{Amounts: r.Amounts, Ports: r.Ports}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		devices, ok := classes[name].devices()
		if !ok {
			return fmt.Errorf("devices.%s: ids, capacity and the other lists differ in length", name)
		}
		v.Classes = append(v.Classes, DeviceClass{Name: name, Devices: devices})
	}
	return v.Validate()
}

// devices is the opposite of listDevices.
func (c *inventoryClass) devices() ([]Device, bool) {
	if c == nil {
		return nil, false
	}
	n := len(c.IDs)
	for _, length := range []int{len(c.Attributes), len(c.Enforcement), len(c.Links), len(c.Nodes), len(c.CDI)} {
		if length != 0 && length != n {
			return nil, false
		}
	}
	if len(c.Capacity) != n {
		return nil, false
	}
	out := make([]Device, n)
	for i := range out {
		out[i] = Device{
			ID: c.IDs[i], Capacity: c.Capacity[i], Attributes: entry(c.Attributes, i), Enforcement: entry(c.Enforcement, i),
			Links: entry(c.Links, i), Nodes: entry(c.Nodes, i), CDI: entry(c.CDI, i),
		}
	}
	return out, true
}

// entry returns list[i], or nothing where the list was left out.
func entry[T any](list []T, i int) (none T) {
	if i < len(list) {
		return list[i]
	}
	return none
}
