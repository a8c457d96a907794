package match

import (
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// waste is the strategy `waste`: of some suitable agents of each ring, no two of
// them alike, the one that the unit costs least. What it costs is what becomes of the room
// left beside it, judged by the demands seen so far (see [lore]); smaller is
// better, and all amounts are thousandths of a device or of a core:
//
//	cost = psi[x-m] - psi[x]                              of a device with x free, m asked
//	     + 1..0.5 (lack after - lack before)              lack = max(0, free devices - free cpus / rho)
//	     + 5..50 (cpus left / 128000 + devices left / 8000)  between equals the fuller
//	     + 0.5 press[agent] * devices asked               spare the agents that few can replace
//	     + 4 breaks                                       and, where tasks end, those with room for large ones
//
// psi, lack and press are summed over the device classes of the agent; breaks
// see [large]. Of two weights the first is for tasks that stay, the second for
// where one ends for each that is asked for, and between them is what lies between.
// Where a demand names no device the agents without free devices are
// not compared: the first is taken, as by `rings`. Where nobody has devices what
// is wasted are cpus beside full memory and the like, see [search.evenest].
//
// Source: ALGORITHMS section 7, which has no [prices] and the second weights only:
// openb is then full at 95.95 %, with them at 96.31 % (seeds 42..51, 130 % arrived).
// Where tasks come and go prices lose more than they gain: at load 0.98 2.0 % of
// what is asked for instead of 1.8 % (seeds 1..3). Few candidates are enough because agents that
// are equally close come fuller first and those that are alike count once: on
// openb, seeds 42..51, all 1,213 nodes compared give the same allocation.
//
// Golden case: agents with one device each, of which 190, 540 and 600
// thousandths are free; demands of 600 and 190 have been seen as often. 190
// goes to the 190, where nothing is left. The next two go to the 540, which no
// 600 would fit; only then the 600 is broken.
type waste struct {
	lore
	stake

	few     [wasteInAll]rings.Sampled // who is compared
	touched int64                     // keeps loads alive whose purpose is the cache
}

// The bounds of a search. A ring offers its closest agents only.
const (
	wasteOfRing = 24
	wasteInAll  = 32
)

var _ learner = (*waste)(nil)

func (*waste) prefers() string { return "the least waste" }

func (w *waste) choose(s *search) *agent {
	if s.d.mixed() {
		return s.evenest()
	}
	w.align(s.m)
	w.begin(s)
	if w.glances && len(s.d.asks) > 0 {
		if slot, sure := w.least(s); sure {
			return s.at(slot)
		}
	}
	g := s.gradient()
	best, least := -1, 0.0
	ring, ofRing, inAll := 0, 0, 0
	for slot, ok := g.step(); ok; slot, ok = g.step() {
		if g.bare {
			if a := s.m.bySlot[slot]; s.suits(a) {
				return a
			}
			continue
		}
		if !w.glance(s, slot) && !w.look(s, s.m.bySlot[slot]) {
			continue
		}
		g.cursor.SkipAlike()
		c := w.cost(s, slot, g.cursor.Free())
		s.rated(s.m.bySlot[slot], c)
		if best < 0 || c < least {
			best, least = slot, c
		}
		if inAll++; inAll == wasteInAll {
			break
		}
		if in := g.cursor.Ring(); in != ring {
			ring, ofRing = in, 0
		}
		if ofRing++; ofRing == wasteOfRing {
			g.cursor.SkipRing()
		}
	}
	return s.at(best)
}

// least returns the slot of the same agent, -1 for nobody, where the gauges tell
// all; false when a quota stands against one, so that each has to be looked at.
func (w *waste) least(s *search) (best int, sure bool) {
	best = -1
	least := 0.0
	cursor := s.m.index.Candidates(rings.Kind(s.d.column), s.d.need)
	few := w.few[:cursor.Sample(w.few[:], wasteOfRing)]
	for _, a := range few {
		w.touched += s.m.gauges[s.d.asks[0].class][a.Slot].capacity + s.m.index.FreeOf(a)[0]
	}
	s.looks += len(few)
	for _, a := range few {
		slot := int(a.Slot)
		if !w.glanceAt(s, slot) && !w.look(s, s.m.bySlot[slot]) {
			return -1, false
		}
		c := w.cost(s, slot, s.m.index.FreeOf(a))
		if best < 0 || c < least {
			best, least = slot, c
		}
	}
	return best, true
}

// at returns the agent of a slot, nil for none.
func (s *search) at(slot int) *agent {
	if slot < 0 {
		return nil
	}
	return s.m.bySlot[slot]
}

// The weights of the cost's terms.
const (
	weightLarge = 4.0
	weightPress = 0.5
	largeCPUs   = 128000.0 // thousandths of a core of a large agent
	largeClass  = 8000.0   // thousandths of devices of a large agent
)

// cost says what it costs to place the unit on an agent that suits it, of which
// columns are free.
func (w *waste) cost(s *search, slot int, columns []int64) float64 {
	cpus := float64(max(columns[offers.CPUs], 0))
	left := cpus - float64(s.take[offers.CPUs])
	cost := w.weightLeft * left / largeCPUs
	cost += weightLarge * w.breaks(s, slot, columns)
	for i, class := range w.aligned {
		g := &s.m.gauges[i][slot]
		if g.devices == 0 {
			continue
		}
		free := g.free
		taken := float64(s.take[scalars+i]) * g.milli
		cost += w.weightLeft * (free - taken) / largeClass
		if class.rho > 0 {
			cost += w.weightLack * (lack(free-taken, left, class.rho) - lack(free, cpus, class.rho))
		}
		if taken > 0 && g.group != nil {
			cost += weightPress * g.group.press[i] * taken
		}
	}
	for i := range w.gaps {
		cost += w.gaps[i].cost(w.aligned)
	}
	return cost
}

// lack returns how many thousandths of free devices have no cpus beside them,
// where rho thousandths of a core go with one.
func lack(devices, cpus, rho float64) float64 { return max(0, devices-cpus/rho) }
