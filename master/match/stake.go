package match

import "github.com/ringmaster-project/ringmaster/offers"

// stake is what a unit would take of the devices of an agent, as far as [waste]
// weighs it: beside take of the search, how many idle devices it would use and
// which gaps it would leave. It is found by a glance at the agent's gauges
// wherever they tell, and else by looking at the agent itself.
type stake struct {
	glances bool    // the gauges tell of the demand what they tell of the agent
	idle    []int64 // by class, the devices
	gaps    []gap

	weightLack, weightLeft float64 // see waste

	capacity int64 // bytes of the device of the latest glance
	milli    int64 // thousandths of it that the unit asks for
}

// gap is what is left on a device, or on several of them, of which a part is
// taken.
type gap struct {
	class   int
	devices int64
	free    int64 // thousandths of the device before
	taken   int64 // thousandths of each
}

// begin sets out to weigh agents for the demand of a search. Those of a demand
// for which only an agent itself can tell whether it suits are not glanced at.
func (w *waste) begin(s *search) {
	if n := len(w.aligned); len(w.idle) != n {
		w.idle = make([]int64, n)
	}
	w.weightLack, w.weightLeft = between(1, 0.5, w.turnover), between(5, 50, w.turnover)
	clear(w.idle)
	w.gaps, w.capacity = w.gaps[:0], 0
	d := s.d
	r := &d.spec.Resources
	w.glances = s.trail == nil && d.single() && len(d.spec.Constraints) == 0 && len(d.owner.refused) == 0 &&
		len(r.Ports) == 0 && r.AnyPorts == 0 && len(d.asks) <= 1
	for i := range d.asks {
		ask := &d.asks[i].ask
		w.glances = w.glances && ask.Share == 0 && (ask.Whole() || ask.Count == 1)
	}
	copy(s.take, r.Amounts[:])
	clear(s.take[scalars:])
}

// glance finds the stake in an agent by its gauges, and reports whether that
// was possible. An agent that was found by the columns that the demand needs, and
// can be glanced at, suits unless a quota says otherwise.
func (w *waste) glance(s *search, slot int) bool {
	if !w.glances || len(s.d.asks) > 0 && !w.glanceAt(s, slot) {
		return false
	}
	s.looks++
	return true
}

// glanceAt does so for a demand that asks for devices.
func (w *waste) glanceAt(s *search, slot int) bool {
	want := &s.d.asks[0]
	g := &s.m.gauges[want.class][slot]
	if !g.plain {
		return false
	}
	bytes := want.ask.Memory
	if bytes == 0 {
		bytes = int64(want.ask.Count) * g.capacity
		w.idle[want.class] = int64(want.ask.Count)
	} else {
		if g.capacity != w.capacity {
			w.capacity, w.milli = g.capacity, thousandths(bytes, g.capacity)
		}
		var p part
		if g.spreads(s.d) {
			p = g.most()
		} else {
			p = g.closest(bytes, w.milli)
		}
		w.idle[want.class] = p.idle()
		w.gaps = append(w.gaps[:0], gap{want.class, 1, p.thousandths(), w.milli})
	}
	s.latest = nil // take is of another agent now
	s.take[scalars+want.class] = bytes
	return bytes <= s.head[scalars+want.class]
}

// spreads reports whether a slice for d is of the device with the most.
func (g *gauge) spreads(d *demand) bool {
	if p := d.spec.DevicePolicy; p != "" {
		return p == offers.Spread
	}
	return g.spread
}

// look finds the stake in an agent by its room, and reports whether it suits.
func (w *waste) look(s *search, a *agent) bool {
	if !s.suits(a) {
		return false
	}
	w.gaps = w.gaps[:0]
	if !s.d.counted() { // all that is free is taken
		for i := range w.idle {
			w.idle[i] = a.columns[scalars+2*i]
		}
		return true
	}
	clear(w.idle)
	for n := range s.d.asks {
		want := &s.d.asks[n]
		c, d := a.classes[want.class].room, s.devices[n]
		size := c.Devices[d].Capacity
		if want.ask.Whole() || c.Free(d) == size {
			w.idle[want.class] = int64(want.ask.Count)
		}
		if !want.ask.Whole() { // an idle device is as good as another
			w.gaps = append(w.gaps, gap{want.class, int64(want.ask.Count), thousandths(c.Free(d), size), thousandths(want.ask.Bytes(size)/int64(want.ask.Count), size)})
		}
	}
	return true
}

// cost is the expected waste of what is left less that of what was there.
func (g *gap) cost(classes []*classLore) float64 {
	psi := &classes[g.class].psi
	x := g.free
	m := min(g.taken, x)
	return float64(g.devices) * (psi[x-m] - psi[x])
}

// thousandths returns part of whole, rounded to the next.
func thousandths(part, whole int64) int64 { return (millionths(part, whole) + 500) / 1000 }
