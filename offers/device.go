package offers

import (
	"fmt"
	"path/filepath"
)

// Device is one unit of a device class on an agent: a GPU, an NPU, a card.
type Device struct {
	ID          string            `json:"id"`
	Capacity    int64             `json:"capacity"` // bytes (or another quota); positive
	Attributes  map[string]string `json:"attributes,omitempty"`
	Enforcement Tier              `json:"enforcement,omitempty"`
	Links       map[string]int    `json:"links,omitempty"` // how close other devices of the class are, by id; 0: no closer than any
	Nodes       []string          `json:"nodes,omitempty"` // absolute paths of the files through which it is used
	CDI         string            `json:"cdi,omitempty"`   // its name for containers, see tags.cncf.io/container-device-interface
}

// Tier says what keeps a task within its part of a device. Every device says
// it for itself, and none says more than is done.
type Tier string

// The tiers. The empty one is that of devices that were only declared: tasks
// are told what is theirs, and nothing looks after them.
const (
	TierNone     Tier = ""
	TierWatch    Tier = "watch"    // the memory of processes is looked at; who uses more is warned, then killed
	TierDriver   Tier = "driver"   // limits of the driver (MPS), and watched too
	TierHardware Tier = "hardware" // the device is a partition of its own (MIG); parts of it are watched
)

// String returns "none" for the tier that enforces nothing.
func (t Tier) String() string {
	if t == TierNone {
		return "none"
	}
	return string(t)
}

// Known reports whether t is one of the tiers above.
func (t Tier) Known() bool {
	return t == TierNone || t == TierWatch || t == TierDriver || t == TierHardware
}

// Bounds of what a device says of itself.
const (
	maxDeviceAttributes = 64
	maxDeviceNodes      = 64
	maxLink             = 1 << 20
)

// Validate refuses a device that can't be counted, named or shown.
func (d *Device) Validate() error {
	switch {
	case d.ID == "" || len(d.ID) > 256 || !Printable(d.ID):
		return fmt.Errorf("device id %q is empty, not printable or longer than 256 bytes", clip(d.ID))
	case d.Capacity <= 0 || d.Capacity > MaxAmount:
		return fmt.Errorf("device %q has the capacity %d", clip(d.ID), d.Capacity)
	case !d.Enforcement.Known():
		return fmt.Errorf("device %q: enforcement is %q; it is hardware, driver, watch or left out", clip(d.ID), clip(string(d.Enforcement)))
	case len(d.Attributes) > maxDeviceAttributes || len(d.Links) > MaxDevices || len(d.Nodes) > maxDeviceNodes:
		return fmt.Errorf("device %q has more than %d attributes, %d links or %d nodes", clip(d.ID), maxDeviceAttributes, MaxDevices, maxDeviceNodes)
	case len(d.CDI) > 256 || !Printable(d.CDI):
		return fmt.Errorf("device %q: cdi is not printable or longer than 256 bytes", clip(d.ID))
	}
	for k, v := range d.Attributes {
		if k == "" || len(k) > 256 || len(v) > 256 || !Printable(k) || !Printable(v) {
			return fmt.Errorf("device %q: attribute %q: name and value are printable and at most 256 bytes", clip(d.ID), clip(k))
		}
	}
	for id, near := range d.Links {
		if len(id) > 256 || near < 0 || near > maxLink {
			return fmt.Errorf("device %q: its link to %q is %d; 0 to %d", clip(d.ID), clip(id), near, maxLink)
		}
	}
	for _, path := range d.Nodes {
		if !filepath.IsAbs(path) || len(path) > 4096 || !Printable(path) {
			return fmt.Errorf("device %q: node %q is not an absolute path", clip(d.ID), clip(path))
		}
	}
	return nil
}
