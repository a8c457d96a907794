package match

import "github.com/ringmaster-project/ringmaster/offers"

// gauge is what [waste] reads of one class on one agent. A search compares many
// agents of which few have changed since the last one, and reading each through
// its record, its room and its devices is a dozen cache lines one after the
// other, nearly all of what a search costs on a large cluster. So what they come
// to is kept side by side, in one line and a second that hardly any search reads.
//
// Invariant: a gauge is what [gauge.read] makes of its agent as it is.
type gauge struct {
	group *group  // of the agent
	milli float64 // thousandths of a device per byte
	free  float64 // thousandths of devices
	// What follows says what a unit would take, without asking the room.
	capacity int64 // bytes of each device
	devices  int32 // 0: the agent has none of the class
	plain    bool  // devices, parts and left tell all: there are not too many, all alike, and none is withheld
	spread   bool  // the agent's own way to choose among them
	parts    [gaugeDevices]part
	_        [8]byte
	left     [gaugeDevices]int64 // bytes by device; below nothing where there is none
}

// part is what a device has free, twice its thousandths, and one more where it is
// idle: between two devices of a capacity the larger part is no less in bytes.
type part int16

const (
	whole = 1000<<1 | 1
	lots  = 0x7fff // more than any part
)

func (p part) thousandths() int64 { return int64(p >> 1) }
func (p part) idle() int64        { return int64(p & 1) }

// gaugeDevices is how many devices of a class a gauge has room for. Searches ask
// the rooms of agents that have more.
const gaugeDevices = 8

// gauges are those of all agents, by class and slot; nil as long as no strategy
// reads them.
type gauges [][]gauge

// gauge has gauges kept from here on.
func (m *Matcher) gauge() {
	m.gauges = make(gauges, len(m.kinds.classes))
	for _, a := range m.bySlot {
		if a != nil {
			m.gauges.read(a)
		}
	}
}

// read brings the gauges of an agent that is in the rings up to date.
func (g gauges) read(a *agent) {
	for i := range g {
		for len(g[i]) <= a.slot {
			g[i] = append(g[i], gauge{})
		}
		g[i][a.slot].read(a, i)
	}
}

func (g *gauge) read(a *agent, class int) {
	c := &a.classes[class]
	if c.room == nil {
		*g = gauge{group: a.group}
		return
	}
	g.group, g.milli, g.free = a.group, c.milli, float64(a.fair[scalars+class])*c.milli
	g.devices, g.spread = int32(len(c.room.Devices)), c.policy == offers.Spread
	g.plain = c.alike && c.room.Plain() && g.devices <= gaugeDevices
	anew := g.capacity != c.room.Devices[0].Capacity
	g.capacity = c.room.Devices[0].Capacity
	for d := range g.left {
		left := int64(-1)
		if d < int(g.devices) {
			left = c.room.Free(d)
		}
		if anew || left != g.left[d] {
			g.left[d], g.parts[d] = left, partOf(left, g.capacity)
		}
	}
}

// partOf returns the part of a device that has so many bytes left.
func partOf(left, capacity int64) part {
	switch {
	case left < 0:
		return -1
	case left >= capacity:
		return whole
	}
	return part(thousandths(left, capacity) << 1)
}

// most returns the part of the device with the most.
func (g *gauge) most() part {
	most := g.parts[0]
	for _, p := range g.parts[1:] {
		most = max(most, p)
	}
	return most
}

// closest returns the part of the device with the least of those that have as
// many bytes as asked, which one has; milli are the thousandths of a device asked.
func (g *gauge) closest(asked, milli int64) part {
	closest, least := int32(lots), int32(milli)<<1
	for _, p := range g.parts {
		short := (int32(p) - least) >> 31
		closest = min(closest, int32(p)&^short|lots&short)
	}
	if closest>>1 != int32(milli) {
		return part(closest)
	}
	closest = lots // the thousandths are equal, the bytes may not be
	for d, left := range g.left {
		if left >= asked {
			closest = min(closest, int32(g.parts[d]))
		}
	}
	return part(closest)
}
