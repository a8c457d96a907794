package api

import (
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Role is a role that is in use or was set.
type Role struct {
	Name       offers.Role            `json:"name"`
	Weight     float64                `json:"weight"`
	Quota      Quota                  `json:"quota"`
	Placement  offers.Placement       `json:"placement,omitempty"` // none: left to the role above it or the master
	Share      float64                `json:"share"`               // offers counted, not divided by the weight
	Dominant   string                 `json:"dominant"`            // the kind of which it has the largest part
	Used       map[string]json.Number `json:"used"`                // by fair-share kind, offers counted
	Frameworks int                    `json:"frameworks"`
	Warning    string                 `json:"warning,omitempty"` // about what was set just now, for people
}

// Quota is amounts by fair-share kind: cpus in cores, all else in bytes or bits
// per second.
type Quota struct {
	Limit     map[string]json.Number `json:"limit"`
	Guarantee map[string]json.Number `json:"guarantee"`
}

// Roles is a page of roles, by name.
type Roles struct {
	Roles []Role `json:"roles"`
	Next  string `json:"next,omitempty"` // for the page after it; none: it is the last
}

// Page returns what is on the page, and what asks for the next one.
func (p Roles) Page() ([]Role, string) { return p.Roles, p.Next }

// RoleSettings replaces what is said of a role. What it leaves out is as if
// nothing had ever been said of it.
type RoleSettings struct {
	Weight    *float64         `json:"weight,omitempty"`
	Placement offers.Placement `json:"placement,omitempty"`
	Quota     QuotaSettings    `json:"quota,omitzero"`
}

// QuotaSettings is amounts by fair-share kind: cpus in cores, mem and disk in
// bytes or with a unit, bandwidth in bits per second, a device class in the
// memory of its devices (a size such as "48GiB"; numbers below 1 MiB need a
// unit, since they would be meant as a number of devices).
type QuotaSettings struct {
	Limit     map[string]json.RawMessage `json:"limit,omitempty"`
	Guarantee map[string]json.RawMessage `json:"guarantee,omitempty"`
}
