package offers

import (
	"fmt"
	"slices"
)

// FullShare is the compute share of a whole device, in thousandths.
const FullShare = 1000

// MaxDevices bounds the devices of one class on one agent.
const MaxDevices = 1024

// maxClasses bounds the device classes of one agent.
const maxClasses = 256

// DeviceAsk is a wish for devices of one class. Memory and Share both zero
// mean Count whole devices; otherwise a slice of Memory bytes (or, with Share
// alone, that part of the device's memory) on each of Count devices.
type DeviceAsk struct {
	Count  int   // devices, at least 1
	Memory int64 // bytes on each device; 0 = not asked
	Share  int64 // thousandths of each device's compute; 0 = not asked
}

// Whole reports whether the ask is for undivided devices.
func (a DeviceAsk) Whole() bool { return a.Memory == 0 && a.Share == 0 }

// slice returns what the ask takes of one device of that capacity. A part of its
// memory is rounded down, or five shares of 0.2 would be a few bytes too large for
// it together; it is a byte at the least.
func (a DeviceAsk) slice(capacity int64) (memory, share int64) {
	switch {
	case a.Whole():
		return capacity, FullShare
	case a.Memory == 0:
		return max(1, mulDiv(capacity, a.Share, FullShare)), a.Share
	default:
		return a.Memory, a.Share
	}
}

// Bytes returns what the ask takes in all of devices of that capacity.
func (a DeviceAsk) Bytes(capacity int64) int64 {
	memory, _ := a.slice(capacity)
	return memory * int64(a.Count)
}

// mulDiv returns a*b/c rounded down without overflow for b <= c.
func mulDiv(a, b, c int64) int64 { return a/c*b + a%c*b/c }

// Grant is what one task or offer has of one device.
type Grant struct {
	ID     string `json:"id"`
	Index  int    `json:"index"`          // position in the agent's class, from 0
	Memory int64  `json:"memory"`         // bytes
	Share  int64  `json:"-" cbor:"share"` // thousandths; on the wire as a fraction, see json.go
}

// Policy says which of the fitting devices an agent binds.
type Policy string

// The binding policies of ALGORITHMS section 3. The empty policy leaves the
// choice to whoever is asked next (demand, then agent), and means Pack there.
const (
	Spread Policy = "spread" // the device with the least used bytes
	Pack   Policy = "pack"   // the device with the most used bytes that still fits
)

// Validate refuses anything but the known policies and the empty one.
func (p Policy) Validate() error {
	if p == "" || p == Spread || p == Pack {
		return nil
	}
	return fmt.Errorf("device_policy is %q; it is spread or pack", clip(string(p)))
}

// ClassRoom is the use of one device class on one agent. The slices run
// parallel, one entry a device. It is not safe for concurrent use.
type ClassRoom struct {
	Name    string
	Devices []Device
	Used    []int64 // bytes, at most the device's capacity
	Shares  []int64 // thousandths of compute given away, at most FullShare
	Away    []int64 // bytes that nobody gets for now although no task here holds them; nil: none

	left  []int64 // what Free returns, so that it is found without the devices; nil: not kept
	lanes Packed  // what is free, in units rounded up; empty: not kept
	unit  int64   // bytes
}

// Free returns the bytes of device i that can be given.
func (c *ClassRoom) Free(i int) int64 {
	if c.left != nil {
		return c.left[i]
	}
	return c.free(i)
}

func (c *ClassRoom) free(i int) int64 {
	free := c.Devices[i].Capacity - c.Used[i]
	if c.Away != nil {
		free -= c.Away[i]
	}
	return max(0, free)
}

// overdrawn reports whether more of device i is held and withheld than it has, of
// its memory or of its compute.
func (c *ClassRoom) overdrawn(i int) bool {
	used := c.Used[i]
	if c.Away != nil {
		used += c.Away[i]
	}
	return used > c.Devices[i].Capacity || c.Shares[i] > FullShare
}

// idle reports whether device i is wholly free.
func (c *ClassRoom) idle(i int) bool {
	return c.Used[i] == 0 && c.Shares[i] == 0 && (c.Away == nil || c.Away[i] == 0)
}

// Idle returns how many devices nobody uses at all.
func (c *ClassRoom) Idle() int64 {
	var n int64
	for i := range c.Used {
		if c.idle(i) {
			n++
		}
	}
	return n
}

// LargestSlice returns the most free bytes on any one device.
func (c *ClassRoom) LargestSlice() int64 {
	var most int64
	for i := range c.Devices {
		most = max(most, c.Free(i))
	}
	return most
}

// fits reports whether device i has room for ask.
func (c *ClassRoom) fits(i int, ask DeviceAsk) bool {
	if ask.Whole() {
		return c.idle(i)
	}
	memory, share := ask.Memory, ask.Share
	if memory == 0 {
		memory, share = ask.slice(c.Devices[i].Capacity)
	}
	return memory <= c.Free(i) && c.Shares[i]+share <= FullShare
}

// Fits reports whether Bind would succeed.
func (c *ClassRoom) Fits(ask DeviceAsk) bool {
	if ask.Memory > 0 && !c.mayFit(ask.Memory, ask.Count) {
		return false
	}
	n := ask.Count
	for i := range c.Devices {
		if n > 0 && c.fits(i, ask) {
			n--
		}
	}
	return n <= 0
}

// Bind chooses the devices for ask by policy without taking them: Spread
// prefers the least used bytes, Pack the most that still fits, ties go to the
// lowest index; of whole devices those that are linked to each other. It
// reports false when too few devices fit.
// Source: ALGORITHMS section 3, "Binding".
func (c *ClassRoom) Bind(ask DeviceAsk, policy Policy) ([]Grant, bool) {
	var chosen []int
	for i := range c.Devices {
		if c.fits(i, ask) {
			chosen = append(chosen, i)
		}
	}
	if len(chosen) < ask.Count {
		return nil, false
	}
	slices.SortStableFunc(chosen, func(a, b int) int {
		if policy == Spread {
			return compare(c.Used[a], c.Used[b])
		}
		return compare(c.Used[b], c.Used[a])
	})
	if ask.Whole() && ask.Count > 1 {
		chosen = c.linked(chosen, ask.Count)
	}
	chosen = chosen[:ask.Count]
	slices.Sort(chosen)
	grants := make([]Grant, ask.Count)
	for n, i := range chosen {
		memory, share := ask.slice(c.Devices[i].Capacity)
		grants[n] = Grant{ID: c.Devices[i].ID, Index: i, Memory: memory, Share: share}
	}
	return grants, true
}

// take adds (sign 1) or gives back (sign -1) grants.
func (c *ClassRoom) take(grants []Grant, sign int64) {
	for _, g := range grants {
		if i := c.Position(g); i >= 0 {
			c.Used[i] += sign * g.Memory
			c.Shares[i] += sign * g.Share
			c.mark(i)
		}
	}
}

// Position finds the granted device by its id, normally where its index says;
// -1 when the agent has it no more.
func (c *ClassRoom) Position(g Grant) int {
	if g.Index >= 0 && g.Index < len(c.Devices) && c.Devices[g.Index].ID == g.ID {
		return g.Index
	}
	return slices.IndexFunc(c.Devices, func(d Device) bool { return d.ID == g.ID })
}

// holds reports whether grants name devices of this class and fit in what is free.
func (c *ClassRoom) holds(grants []Grant) bool {
	for n, g := range grants {
		if g.Index < 0 || g.Index >= len(c.Devices) || c.Devices[g.Index].ID != g.ID {
			return false
		}
		memory, share := g.Memory, g.Share
		for _, other := range grants[:n] {
			if other.Index == g.Index {
				memory += other.Memory
				share += other.Share
			}
		}
		if memory > c.Free(g.Index) || c.Shares[g.Index]+share > FullShare {
			return false
		}
	}
	return true
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
