package offers

import (
	"fmt"
	"slices"
	"strings"
)

// Inventory is what an agent has in all.
type Inventory struct {
	Amounts Amounts
	Ports   Ports
	Classes []DeviceClass // ascending by name
}

// DeviceClass is every device of one kind on one agent.
type DeviceClass struct {
	Name    string   `json:"name"`
	Devices []Device `json:"devices"`
}

// Bytes returns the capacity of all devices of the class.
func (c DeviceClass) Bytes() int64 {
	var sum int64
	for _, d := range c.Devices {
		sum += d.Capacity
	}
	return sum
}

// Class returns the devices of a class, or nil.
func (v Inventory) Class(name string) []Device {
	for _, c := range v.Classes {
		if c.Name == name {
			return c.Devices
		}
	}
	return nil
}

// Validate refuses amounts outside [0, MaxAmount], classes and device ids
// that repeat, and devices without capacity.
func (v Inventory) Validate() error {
	for k, n := range v.Amounts {
		if n < 0 || n > MaxAmount {
			return fmt.Errorf("%s: %d is out of range", Scalar(k), n)
		}
	}
	if len(v.Classes) > maxClasses {
		return fmt.Errorf("%d device classes; at most %d", len(v.Classes), maxClasses)
	}
	for i, c := range v.Classes {
		if err := validClass(c.Name); err != nil {
			return err
		}
		if i > 0 && v.Classes[i-1].Name >= c.Name {
			return fmt.Errorf("device class %s is named twice or out of order", c.Name)
		}
		if len(c.Devices) > MaxDevices {
			return fmt.Errorf("%s: %d devices; at most %d of a class", c.Name, len(c.Devices), MaxDevices)
		}
		seen := map[string]bool{}
		for _, d := range c.Devices {
			if err := d.Validate(); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			if seen[d.ID] {
				return fmt.Errorf("%s: device id %q is there twice", c.Name, clip(d.ID))
			}
			seen[d.ID] = true
		}
	}
	return nil
}

// validClass keeps class names apart from the scalar kinds and ring kinds.
func validClass(name string) error {
	if _, scalar := ScalarNamed(name); scalar || name == "ports" || name == "devices" || !wordy(name, 64) || strings.Contains(name, ".") {
		return fmt.Errorf("%q can't name a device class; letters, digits, _ and -, at most 64", clip(name))
	}
	return nil
}

// Holding is an exact claim on one agent, by an offer or by a task.
type Holding struct {
	Amounts Amounts `json:"amounts"`
	Ports   Ports   `json:"ports,omitempty"`
	Devices Devices `json:"devices,omitempty" cbor:"devices,omitzero"`
}

// Zero reports whether the holding claims nothing.
func (h Holding) Zero() bool {
	return h.Amounts == Amounts{} && len(h.Ports) == 0 && len(h.Devices) == 0
}

// DeviceBytes returns the bytes held of a class.
func (h Holding) DeviceBytes(class string) int64 {
	var sum int64
	for _, g := range h.Devices.Of(class) {
		sum += g.Memory
	}
	return sum
}

// Room is what one agent has, and how much of it is taken. Both sides keep
// one: the master with its offers in it, the agent with its tasks, so both
// count by the same rule. Not safe for concurrent use.
//
// Invariant: what is taken never passes the inventory, in any kind.
type Room struct {
	total   Inventory
	used    Amounts
	ports   Ports  // taken
	last    uint16 // of the ports that were taken last; those behind it are next
	classes []ClassRoom
}

// NewRoom returns the empty room of an agent with that inventory.
func NewRoom(total Inventory) *Room {
	if len(total.Classes) == 0 {
		return &Room{total: total}
	}
	made := new(oneClassRoom)
	r := &made.Room
	r.total, r.classes = total, made.class[:]
	if n := len(total.Classes); n > len(made.class) {
		r.classes = make([]ClassRoom, n)
	}
	for i, c := range total.Classes {
		if i == 0 {
			r.classes[i].fit(c, made.amounts[:], made.words[:])
		} else {
			r.classes[i].fit(c, nil, nil)
		}
	}
	return r
}

// oneClassRoom is the room of an agent with up to eight devices of one class in
// one piece: most have no more, and on a large cluster each piece elsewhere is
// waited for.
type oneClassRoom struct {
	Room
	class   [1]ClassRoom
	amounts [3 * 8]int64
	words   [4]uint64
}

// Inside returns a room in which only what h holds of total is free: the room
// that the tasks of an accept are planned in.
func Inside(total Inventory, h Holding) *Room {
	r := NewRoom(total)
	r.used = total.Amounts.Minus(h.Amounts)
	r.ports = total.Ports.Minus(h.Ports)
	for i := range r.classes {
		c := &r.classes[i]
		for d := range c.Devices {
			c.Used[d], c.Shares[d] = c.Devices[d].Capacity, FullShare
			c.mark(d)
		}
		c.take(h.Devices.Of(c.Name), -1)
	}
	return r
}

// Total returns what the agent has in all.
func (r *Room) Total() Inventory { return r.total }

// Used returns the scalar amounts taken.
func (r *Room) Used() Amounts { return r.used }

// Free returns the scalar amounts left.
func (r *Room) Free() Amounts { return r.total.Amounts.Minus(r.used) }

// FreePorts returns the ports left.
func (r *Room) FreePorts() Ports { return r.total.Ports.Minus(r.ports) }

// PortsFor returns the ports that ask would take: those that it names, or so
// many of the free ones. The latter go round, so that a port that was given
// back, or that a program of others turned out to use, is not the next again.
// It returns false where there are not enough.
func (r *Room) PortsFor(ask *Resources) (Ports, bool) {
	switch {
	case ask.AnyPorts > 0:
		p := r.FreePorts().Next(r.last, ask.AnyPorts)
		return p, p.Count() == ask.AnyPorts
	case len(ask.Ports) > 0:
		return ask.Ports, ask.Ports.Within(r.FreePorts())
	}
	return nil, true
}

// TakenPorts returns the ports that are taken.
func (r *Room) TakenPorts() Ports { return r.ports }

// Refill makes h all that is taken, even where it passes the inventory; what is
// withheld stays.
func (r *Room) Refill(h Holding) {
	r.used, r.ports = Amounts{}, nil
	for i := range r.classes {
		c := &r.classes[i]
		clear(c.Used)
		clear(c.Shares)
		for d := range c.Devices {
			c.mark(d)
		}
	}
	r.Claim(h)
}

// Classes returns the agent's device classes with their use, ascending by
// name. The caller must not change them.
func (r *Room) Classes() []ClassRoom { return r.classes }

// Class returns the class of that name, or nil.
func (r *Room) Class(name string) *ClassRoom {
	for i := range r.classes {
		if r.classes[i].Name == name {
			return &r.classes[i]
		}
	}
	return nil
}

// Clone returns an independent copy.
func (r *Room) Clone() *Room {
	c := *r
	c.classes = slices.Clone(r.classes)
	for i := range c.classes {
		of := &r.classes[i]
		c.classes[i].alongside(slices.Concat(of.Used, of.Shares, of.left))
		c.classes[i].Away = slices.Clone(c.classes[i].Away)
		c.classes[i].lanes.Words = slices.Clone(c.classes[i].lanes.Words)
	}
	return &c
}

// Short returns the first kind, in the fixed order, in which ask does not fit
// in what is free, or "" when it fits.
func (r *Room) Short(ask Resources) string {
	free := r.Free()
	for k, n := range ask.Amounts {
		if n > 0 && n > free[k] {
			return Scalar(k).String()
		}
	}
	if _, ok := r.PortsFor(&ask); !ok {
		return "ports"
	}
	first := "" // of the classes, in their order, without sorting them for each question
	for name, want := range ask.Devices {
		if c := r.Class(name); (first == "" || name < first) && (c == nil || !c.Fits(want)) {
			first = name
		}
	}
	if first == "" {
		return ""
	}
	return KindOf(first, ask.Devices[first])
}

// KindOf returns the ring kind that a device ask is looked up in: the class
// for whole devices, "class.slice" for a slice.
func KindOf(class string, ask DeviceAsk) string {
	if ask.Whole() {
		return class
	}
	return class + SliceSuffix
}

// SliceSuffix marks the ring kind of the largest free slice of a class.
const SliceSuffix = ".slice"

// Plan returns the holding that ask would take here, with the devices of each
// class bound by its policy, without taking it; short names the kind that is
// missing.
func (r *Room) Plan(ask Resources, policy func(class string) Policy) (h Holding, short string) {
	if short = r.Short(ask); short != "" {
		return Holding{}, short
	}
	h = Holding{Amounts: ask.Amounts}
	h.Ports, _ = r.PortsFor(&ask)
	for name, want := range ask.Devices {
		grants, ok := r.Class(name).Bind(want, policy(name))
		if !ok {
			return Holding{}, KindOf(name, want)
		}
		h.Devices = h.Devices.With(name, grants...)
	}
	return h, ""
}

// Rest returns a holding of everything that is free. Memory of a device whose
// compute is all given away is still in it: a slice that asks for memory
// alone fits there.
func (r *Room) Rest() Holding {
	h := Holding{Amounts: r.Free(), Ports: r.FreePorts()}
	for k := range h.Amounts {
		h.Amounts[k] = max(0, h.Amounts[k]) // below nothing after a Claim
	}
	for i := range r.classes {
		c := &r.classes[i]
		var grants []Grant
		for d, dev := range c.Devices {
			free, share := c.Free(d), max(0, FullShare-c.Shares[d])
			if free <= 0 {
				continue
			}
			grants = append(grants, Grant{ID: dev.ID, Index: d, Memory: free, Share: share})
		}
		if len(grants) > 0 {
			h.Devices = append(h.Devices, ClassGrants{c.Name, grants})
		}
	}
	return h
}

// Withhold says how many bytes of each device of a class nobody gets for now,
// in the order of the class, whatever was said before: all of a device that is
// unwell, or what is used there and held by no task of this room. It reports
// whether that has changed anything. What is held stays held; see Overdrawn.
func (r *Room) Withhold(class string, away []int64) bool {
	c := r.Class(class)
	if c == nil || len(away) == 0 || len(away) != len(c.Devices) || slices.Equal(c.Away, away) {
		return false
	}
	changed := c.Away != nil || slices.Max(away) > 0
	c.Away = slices.Clone(away)
	for i := range c.Devices {
		c.mark(i)
	}
	return changed
}

// Overdrawn reports whether h holds part of a device of which more is held and
// withheld than there is.
func (r *Room) Overdrawn(h Holding) bool {
	for _, held := range h.Devices {
		c := r.Class(held.Class)
		if c == nil {
			continue
		}
		for _, g := range held.Grants {
			if i := c.Position(g); i >= 0 && c.overdrawn(i) {
				return true
			}
		}
	}
	return false
}

// Take claims h. It reports an error and changes nothing when h does not fit
// or names devices that are not there.
func (r *Room) Take(h Holding) error {
	free := r.Free()
	for k, n := range h.Amounts {
		if n < 0 || n > 0 && n > free[k] { // free is below nothing after a Claim
			return fmt.Errorf("%s: %d asked, %d free", Scalar(k), n, free[k])
		}
	}
	if !h.Ports.Within(r.FreePorts()) {
		return fmt.Errorf("ports: some of them are not free")
	}
	if class := r.lacks(h.Devices); class != "" {
		return fmt.Errorf("%s: the devices are not there or not free", class)
	}
	r.move(h, 1)
	return nil
}

// lacks returns a class of which not all that is granted is there and free, or
// "".
func (r *Room) lacks(devices Devices) string {
	for i := range devices {
		if c := r.Class(devices[i].Class); c == nil || !c.holds(devices[i].Grants) {
			return devices[i].Class
		}
	}
	return ""
}

// Give returns what Take claimed. Giving back what was never taken is a
// broken invariant and panics.
func (r *Room) Give(h Holding) {
	r.move(h, -1)
	for k, n := range r.used {
		if n < 0 {
			panic(fmt.Sprintf("offers: %s below nothing after giving back %v", Scalar(k), h))
		}
	}
}

// Claim takes h even where it passes the inventory, because it is what really
// runs there: an agent may come back smaller than it was. Devices that are no
// longer there are left out.
func (r *Room) Claim(h Holding) { r.move(h, 1) }

func (r *Room) move(h Holding, sign int64) {
	r.used = r.used.Plus(h.Amounts.Times(sign))
	if sign > 0 {
		r.ports = r.ports.Plus(h.Ports)
		if n := len(h.Ports); n > 0 {
			r.last = h.Ports[n-1].Last
		}
	} else {
		r.ports = r.ports.Minus(h.Ports)
	}
	for i := range h.Devices {
		if c := r.Class(h.Devices[i].Class); c != nil {
			c.take(h.Devices[i].Grants, sign)
		}
	}
}
