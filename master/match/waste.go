package match

// waste is the strategy `waste`: of some suitable agents of each ring, no two of
// them alike, the one that the unit costs least. What it costs is what becomes of the room
// left beside it, judged by the demands seen so far (see [lore]); smaller is
// better, and all amounts are thousandths of a device or of a core:
//
//	cost = psi[x-m] - psi[x]                              of a device with x free, m asked
//	     + 0.5 (lack after - lack before)                 lack = max(0, free devices - free cpus / rho)
//	     + 50 (cpus left / 128000 + devices left / 8000)  between equals the fuller
//	     + 0.5 press[agent] * devices asked               spare the agents that few can replace
//	     + 4 breaks                                       and, where tasks end, those with room for large ones
//
// psi, lack and press are summed over the device classes of the agent; breaks
// see [large]. Where a demand names no device the agents without free devices are
// not compared: the first is taken, as by `rings`. Where nobody has devices what
// is wasted are cpus beside full memory and the like, see [search.evenest].
//
// Source: ALGORITHMS section 7. Few candidates are enough because agents that
// are equally close come fuller first and those that are alike count once: on
// openb, seeds 42..51, all 1,213 nodes compared give the same allocation.
//
// Golden case: agents with one device each, of which 190, 540 and 600
// thousandths are free; demands of 600 and 190 have been seen as often. 190
// goes to the 190, where nothing is left. The next two go to the 540, which no
// 600 would fit; only then the 600 is broken.
type waste struct {
	lore
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
	g := s.gradient()
	var best *agent
	var least float64
	ring, ofRing, inAll := 0, 0, 0
	for a := g.next(); a != nil; a = g.next() {
		if !s.suits(a) {
			continue
		}
		if g.bare {
			return a
		}
		g.cursor.SkipAlike()
		c := w.cost(s, a)
		s.rated(a, c)
		if best == nil || c < least {
			best, least = a, c
		}
		if inAll++; inAll == wasteInAll {
			break
		}
		if g.ring != ring {
			ring, ofRing = g.ring, 0
		}
		if ofRing++; ofRing == wasteOfRing {
			g.cursor.SkipRing()
		}
	}
	return best
}

// The weights of the cost's terms.
const (
	weightLack  = 0.5
	weightLarge = 4.0
	weightPress = 0.5
	weightLeft  = 50.0
	largeCPUs   = 128000.0 // thousandths of a core of a large agent
	largeClass  = 8000.0   // thousandths of devices of a large agent
)

// cost says what it costs to place the unit on an agent that suits it.
func (w *waste) cost(s *search, a *agent) float64 {
	cpus := float64(max(a.columns[0], 0))
	left := cpus - float64(s.take[0])
	cost := weightLeft * left / largeCPUs
	cost += weightLarge * w.breaks(s, a)
	for i, class := range w.aligned {
		if a.classes[i].room == nil {
			continue
		}
		milli := a.classes[i].milli
		free := float64(a.fair[scalars+i]) * milli
		taken := float64(s.take[scalars+i]) * milli
		cost += weightLeft * (free - taken) / largeClass
		if class.rho > 0 {
			cost += weightLack * (lack(free-taken, left, class.rho) - lack(free, cpus, class.rho))
		}
		if taken > 0 && a.group != nil {
			cost += weightPress * a.group.press[i] * taken
		}
	}
	if !s.d.counted() {
		return cost // all that is free is taken
	}
	for n, want := range s.d.asks {
		if want.ask.Whole() {
			continue // an idle device is as good as another
		}
		c, class := a.classes[want.class].room, w.aligned[want.class]
		d := s.devices[n]
		x := thousandths(c.Free(d), c.Devices[d].Capacity)
		m := min(thousandths(want.ask.Bytes(c.Devices[d].Capacity)/int64(want.ask.Count), c.Devices[d].Capacity), x)
		cost += float64(want.ask.Count) * (class.psi[x-m] - class.psi[x])
	}
	return cost
}

// lack returns how many thousandths of free devices have no cpus beside them,
// where rho thousandths of a core go with one.
func lack(devices, cpus, rho float64) float64 { return max(0, devices-cpus/rho) }

// thousandths returns part of whole, rounded to the next.
func thousandths(part, whole int64) int64 { return (millionths(part, whole) + 500) / 1000 }
