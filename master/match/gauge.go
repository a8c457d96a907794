package match

import "github.com/ringmaster-project/ringmaster/offers"

// gauge is what [waste] reads of one class on one agent. A search compares many
// agents of which few have changed since the last one, and reading each through
// its record, its room and its devices is a dozen cache lines one after the
// other, nearly all of what a search costs on a large cluster. So what they come
// to is kept side by side, in two lines.
//
// Invariant: a gauge is what [gauge.read] makes of its agent as it is.
type gauge struct {
	group *group // of the agent
	milli float64
	free  int64 // bytes of the class
	// What follows says what a unit would take, without asking the room.
	capacity int64 // bytes of each device
	idle     int32 // devices
	devices  int32 // 0: the agent has none of the class
	plain    bool  // devices and left tell all: there are not too many, all alike, and none is withheld
	spread   bool  // the agent's own way to choose among them
	_        [2]int64
	left     [gaugeDevices]int64 // bytes by device; below nothing where there is none
}

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
	c, at := &a.classes[class], scalars+2*class
	if c.room == nil {
		*g = gauge{group: a.group}
		return
	}
	g.group, g.milli, g.free = a.group, c.milli, a.fair[scalars+class]
	g.capacity, g.idle, g.devices = c.room.Devices[0].Capacity, int32(a.columns[at]), int32(len(c.room.Devices))
	g.spread = c.policy == offers.Spread
	g.plain = c.alike && c.room.Plain() && g.devices <= gaugeDevices
	for d := range g.left {
		g.left[d] = -1
		if d < int(g.devices) {
			g.left[d] = c.room.Free(d)
		}
	}
}

// most returns what is free on the device with the most.
func (g *gauge) most() int64 {
	most := g.left[0]
	for _, left := range g.left[1:] {
		most = max(most, left)
	}
	return most
}

// closest returns what is free on the device with the least of those that have
// as much as asked, which one has.
func (g *gauge) closest(asked int64) int64 {
	closest := g.capacity
	for _, left := range g.left {
		if left >= asked {
			closest = min(closest, left)
		}
	}
	return closest
}
