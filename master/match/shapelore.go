package match

import (
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// shapeLore is one shape of demand that asks for devices.
type shapeLore struct {
	key    string
	spec   offers.Demand
	weight float64 // units seen, beyond lore.fallen
	place  int     // in lore.lightest, -1: it was forgotten
	hosts  []bool  // by group, whether its agents could ever host it; nil: not found out yet

	asks   []loreAsk // what it asks of the classes that the cluster has devices of
	asksOf uint64    // the epoch of asks
}

// loreAsk is what a unit asks of one class.
type loreAsk struct {
	class   int
	milli   int64 // thousandths of each device
	count   float64
	devices float64 // thousandths in all
}

// shapeOf returns the shape of a demand, which its form has at hand where it is
// not new, or new again since it was forgotten.
func (l *lore) shapeOf(d *demand) *shapeLore {
	if s := d.form.lore; s != nil && s.place >= 0 {
		return s
	}
	s := l.shapes[d.key]
	if s == nil {
		s = &shapeLore{key: d.key, spec: d.spec, weight: l.fallen, place: -1}
		l.shapes[d.key] = s
		l.inOrder = append(l.inOrder, s)
		l.lightest.Push(s)
	}
	d.form.lore = s
	return s
}

// asked returns what a unit asks of each class, in their order.
func (s *shapeLore) asked(m *Matcher) []loreAsk {
	if s.asksOf == m.epoch {
		return s.asks
	}
	s.asks, s.asksOf = s.asks[:0], m.epoch
	for i, class := range m.kinds.classes {
		if ask, asked := s.spec.Resources.Devices[class]; asked && m.devices[i] > 0 {
			size, count := m.total.n[scalars+i]/m.devices[i], float64(ask.Count)
			milli := min(thousandths(ask.Bytes(size)/int64(ask.Count), size), 1000)
			s.asks = append(s.asks, loreAsk{i, milli, count, count * float64(milli)})
		}
	}
	return s.asks
}

// sawShape counts a shape. When there are too many, all counts fall by the least
// of them, so that what is frequent stays.
func (l *lore) sawShape(s *shapeLore, units float64) {
	s.weight += units
	l.lightest.Fix(s)
	if len(l.inOrder) <= loreShapes {
		return
	}
	l.fallen = l.lightest.First().weight
	for l.lightest.Len() > 0 && l.lightest.First().weight <= l.fallen {
		gone := l.lightest.Pop()
		delete(l.shapes, gone.key)
		at := slices.Index(l.inOrder, gone)
		l.inOrder = slices.Delete(l.inOrder, at, at+1)
	}
}

// press adds what the shape, that asks for a part of class i, presses on those
// that can host it.
func (s *shapeLore) press(i int, part float64, groups []*group, all float64) {
	hosts := s.hostedBy(groups)
	var h float64
	for n, g := range groups {
		if hosts[n] {
			h += g.devices(i) / all
		}
	}
	for n, g := range groups {
		if hosts[n] && h > 0 {
			g.press[i] += part / h * (1 - h)
		}
	}
}

// bytes returns how much of a class, of devices of that size, was asked for in
// this shape.
func (s *shapeLore) bytes(class string, size int64) float64 {
	ask, asked := s.spec.Resources.Devices[class]
	if !asked {
		return 0
	}
	return s.weight * float64(ask.Bytes(size))
}

// hostedBy reports of each group whether its agents could ever host the shape.
func (s *shapeLore) hostedBy(groups []*group) []bool {
	if s.hosts == nil {
		s.hosts = make([]bool, len(groups))
		for n, g := range groups {
			s.hosts[n] = g.room.Short(s.spec.Resources) == "" && meets(&demand{spec: s.spec}, g.one)
		}
	}
	return s.hosts
}
