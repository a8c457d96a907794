package offers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Resources is what a demand, a task or a quota asks for. Kinds that are left
// out are asked nothing of.
type Resources struct {
	Amounts  Amounts
	Ports    Ports                // these and no others
	AnyPorts int                  // so many of the agent's, whichever are free; only where Ports is empty, and of a demand: a task names its own
	Devices  map[string]DeviceAsk // by class
}

// Equal reports whether both ask for the same.
func (r *Resources) Equal(other *Resources) bool {
	return r.Amounts == other.Amounts && r.AnyPorts == other.AnyPorts && slices.Equal(r.Ports, other.Ports) && maps.Equal(r.Devices, other.Devices)
}

// MaxAnyPorts bounds the ports that a demand leaves to the master.
const MaxAnyPorts = 1000

// Zero reports whether nothing is asked.
func (r Resources) Zero() bool {
	return r.Amounts == Amounts{} && len(r.Ports) == 0 && r.AnyPorts == 0 && len(r.Devices) == 0
}

// Validate refuses negative, oversized and malformed amounts and names the field.
func (r Resources) Validate() error {
	for k, n := range r.Amounts {
		if n < 0 || n > MaxAmount {
			return fmt.Errorf("%s: %d is out of range", Scalar(k), n)
		}
	}
	switch {
	case r.AnyPorts < 0 || r.AnyPorts > MaxAnyPorts:
		return fmt.Errorf("ports: %d is not from 1 to %d", r.AnyPorts, MaxAnyPorts)
	case r.AnyPorts > 0 && len(r.Ports) > 0:
		return fmt.Errorf("ports: some are named, and %d more are asked for; one or the other", r.AnyPorts)
	}
	for _, class := range slices.Sorted(maps.Keys(r.Devices)) {
		if err := validClass(class); err != nil {
			return err
		}
		if err := r.Devices[class].validate(); err != nil {
			return fmt.Errorf("devices.%s: %w", class, err)
		}
	}
	return nil
}

func (a DeviceAsk) validate() error {
	switch {
	case a.Count < 1 || a.Count > MaxDevices:
		return fmt.Errorf("count is %d; 1 to %d devices can be asked", a.Count, MaxDevices)
	case a.Memory < 0 || a.Memory > MaxAmount/int64(a.Count):
		return fmt.Errorf("memory %d is out of range", a.Memory)
	case a.Share < 0 || a.Share > FullShare:
		return fmt.Errorf("share is %s; it is more than 0 and at most 1", FormatCPUs(a.Share))
	}
	return nil
}

// Role is a place in the tree of those who share the cluster: "eng/ml" is a
// child of "eng".
type Role string

// Validate refuses anything but 1 to 8 parts of [A-Za-z0-9._-]{1,64} joined
// by slashes, none of them "." or "..".
func (r Role) Validate() error {
	parts := r.Parts()
	if len(parts) > 8 {
		return fmt.Errorf("role %q has %d parts; at most 8", clip(string(r)), len(parts))
	}
	for _, p := range parts {
		if !wordy(p, 64) || p == "." || p == ".." {
			return fmt.Errorf("role %q: each part is 1 to 64 of A-Z a-z 0-9 . _ -, and neither . nor .. alone", clip(string(r)))
		}
	}
	return nil
}

// Parts returns the role's path, the root first.
func (r Role) Parts() []string {
	var parts []string
	start := 0
	for i := range len(r) {
		if r[i] == '/' {
			parts = append(parts, string(r[start:i]))
			start = i + 1
		}
	}
	return append(parts, string(r[start:]))
}

// Parent returns the role above r, "" for one at the root.
func (r Role) Parent() Role { return r[:max(strings.LastIndexByte(string(r), '/'), 0)] }

// MaxWeight bounds a role's weight.
const MaxWeight = 1e6

// RoleSettings is what operators say about one role.
type RoleSettings struct {
	Weight    float64   `json:"weight"` // above 0, at most MaxWeight; 1 where nothing was said
	Quota     Quota     `json:"quota"`
	Placement Placement `json:"placement,omitempty"` // of its demands and those below it
}

// Quota bounds a role with all its descendants. A kind that is not named is
// not bounded. Limits count what runs and what is offered.
type Quota struct {
	Limit     QuotaAmounts `json:"limit,omitempty"`
	Guarantee QuotaAmounts `json:"guarantee,omitempty"`
}

// QuotaAmounts maps a fair-share kind (scalar kind or device class; a class
// counts in bytes, a whole device as its capacity) to an amount.
type QuotaAmounts map[string]int64

// Validate refuses weights out of range, guarantees above their limit and
// unknown placements.
func (s RoleSettings) Validate() error {
	if err := s.Placement.Validate(); err != nil {
		return err
	}
	if !(s.Weight > 0 && s.Weight <= MaxWeight) || math.IsNaN(s.Weight) {
		return fmt.Errorf("weight is %v; it is above 0 and at most %d", s.Weight, int(MaxWeight))
	}
	for kind, n := range s.Quota.Guarantee {
		if limit, ok := s.Quota.Limit[kind]; ok && n > limit {
			return fmt.Errorf("quota.guarantee.%s passes quota.limit.%s", kind, kind)
		}
	}
	for _, q := range []QuotaAmounts{s.Quota.Limit, s.Quota.Guarantee} {
		for kind, n := range q {
			if n < 0 || n > MaxAmount {
				return fmt.Errorf("quota: %s %d is out of range", kind, n)
			}
		}
	}
	return nil
}

// wordy reports whether s is 1 to limit characters of A-Z a-z 0-9 . _ -.
func wordy(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// Under reports whether r is ancestor or a descendant of it.
func (r Role) Under(ancestor Role) bool {
	return r == ancestor || len(r) > len(ancestor) && r[len(ancestor)] == '/' && r[:len(ancestor)] == ancestor
}
