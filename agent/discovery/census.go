package discovery

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Census is what all sources together have found. The zero value has found
// nothing. Not safe for concurrent use.
//
// Invariant: a class and an id are there once.
type Census struct {
	known []entry // in the order in which they were found
}

type entry struct {
	Found
	source  int
	missing bool // not in the last report of its source
}

// Take takes the report of one source, told by its number. It reports whether
// there are devices that were not there before, or others in place of those
// that were; only then are devices that are gone forgotten, so that the others
// keep their places. A device that another source reports already is passed
// over.
func (c *Census) Take(source int, r Report) (changed bool) {
	for i := range c.known {
		if e := &c.known[i]; e.source == source {
			e.missing = true
		}
	}
	for _, f := range r.Devices {
		at := slices.IndexFunc(c.known, func(e entry) bool { return e.Class == f.Class && e.Device.ID == f.Device.ID })
		switch {
		case at < 0:
			c.known = append(c.known, entry{Found: f, source: source})
			changed = true
		case c.known[at].source != source && !c.known[at].missing:
		default:
			was := c.known[at].Device
			changed = changed || was.Capacity != f.Device.Capacity || was.Enforcement != f.Device.Enforcement
			c.known[at] = entry{Found: f, source: source}
		}
	}
	if changed {
		c.known = slices.DeleteFunc(c.known, func(e entry) bool { return e.missing })
	}
	return changed
}

// Classes returns the devices of every class, as many as one agent may have.
func (c *Census) Classes() []offers.DeviceClass {
	byName := map[string][]offers.Device{}
	for _, e := range c.known {
		if len(byName[e.Class]) < offers.MaxDevices {
			byName[e.Class] = append(byName[e.Class], e.Device)
		}
	}
	var out []offers.DeviceClass
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, offers.DeviceClass{Name: name, Devices: byName[name]})
	}
	return out
}

// Unwell returns why devices can't be used, by class and id.
func (c *Census) Unwell() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, e := range c.known {
		why := e.Unwell
		if e.missing {
			why = "it is not there any more"
		}
		if why == "" {
			continue
		}
		if out[e.Class] == nil {
			out[e.Class] = map[string]string{}
		}
		out[e.Class][e.Device.ID] = why
	}
	return out
}

// Watched returns the devices whose memory is looked at, with who uses it.
func (c *Census) Watched() []Found {
	var out []Found
	for _, e := range c.known {
		if e.Processes != nil && !e.missing {
			out = append(out, e.Found)
		}
	}
	return out
}

// Attributes sums up, for constraints, what all devices of a class say of
// themselves: their models and how they are enforced, each once, as
// gpu.model and gpu.enforcement.
func (c *Census) Attributes() map[string]string {
	lists := map[string][]string{}
	for _, e := range c.known {
		for name, value := range map[string]string{"model": e.Device.Attributes["model"], "enforcement": e.Device.Enforcement.String()} {
			if key := e.Class + "." + name; value != "" && !slices.Contains(lists[key], value) {
				lists[key] = append(lists[key], value)
			}
		}
	}
	out := map[string]string{}
	for key, list := range lists {
		slices.Sort(list)
		if text := strings.Join(list, ","); len(text) <= 256 {
			out[key] = text
		}
	}
	return out
}
