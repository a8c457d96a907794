package match

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/heap"
)

// lore is what was learned of the demands so far, class by class, and nothing
// of what is still to come:
//
//	psi[x]  the thousandths that are wasted of a gap of x. Where tasks stay: what
//	        it has beyond what it is worth, see [prices]. Where one ends for each
//	        that is asked for: what is expected to be left after ten more demands
//	        of the sizes seen, each taking its part where it fits. Else what lies
//	        between
//	rho     0.95 * cpus asked beside devices / devices asked
//	press   of an agent: the sum over the shapes of demand that it can host of
//	        d/h (1-h), with d the shape's part of all that is asked of the
//	        class, h the part of all devices that can host it
//
// Tables are made anew at the demands 1, 2, 4, 8, ... and then every 4,096;
// before the first psi[x] is x and the rest nothing. What was seen fades: counts are
// halved whenever they come to 65,536.
//
// Source: ALGORITHMS section 7; the prices are ours, and so is the fading, so that
// a mix of demands that changes is learned again.
type lore struct {
	seen, due float64
	ended     float64 // units
	turnover  float64 // units that end for each that is asked for, at most 1, as of the tables
	classes   map[string]*classLore
	shapes    map[string]*shapeLore
	inOrder   []*shapeLore          // by first sight, so that sums are the same every time
	lightest  heap.Heap[*shapeLore] // the same, in front who was seen the least
	fallen    float64               // by which all weights count for less, see sawShape; 0 while tables are made

	kinds   *kinds       // that aligned was made for
	aligned []*classLore // by class of kinds

	epoch      uint64   // of the totals that groups was made for
	attributes []string // likewise
	groups     []*group // by first agent
	large      []large  // those that ask most first, see there
}

// classLore is what is known of the demands for one class.
type classLore struct {
	sizes         [1001]float64 // seen, by thousandths of one device
	cpus, devices float64       // asked together, in thousandths
	prices        prices
	psi           [1001]float64
	rho           float64 // thousandths of a core per thousandth of a device; 0: unknown
}

const (
	loreShapes   = 256   // that are told apart at a time
	loreGroups   = 1024  // of agents; where there are more, none is spared
	loreInterval = 4096  // demands between two tables, at most
	loreFades    = 65536 // units that are remembered, at most
	loreHorizon  = 10    // demands
	loreRho      = 0.95
)

// learner is a strategy that wants to see every counted demand when it is
// stated, whoever serves it, from the first on that it is to serve itself.
type learner interface {
	asked(m *Matcher, d *demand)
	unitEnded()
}

// unitEnded takes note of a task that gave its room back.
func (l *lore) unitEnded() { l.ended++ }

// asked takes note of a demand.
func (l *lore) asked(m *Matcher, d *demand) {
	l.align(m)
	units := math.Min(float64(d.left), loreInterval)
	l.seen += units
	if len(d.spec.Resources.Devices) > 0 {
		s := l.shapeOf(d)
		cpus := float64(s.spec.Resources.Amounts[offers.CPUs])
		for _, ask := range s.asked(m) {
			c := l.aligned[ask.class]
			c.sizes[ask.milli] += units * ask.count
			c.cpus += units * cpus
			c.devices += units * ask.devices
		}
		l.sawShape(s, units)
	}
	if l.seen >= l.due {
		l.due = l.seen + math.Min(math.Max(l.seen, 1), loreInterval)
		l.learn(m)
	}
}

// align brings aligned into the order of the matcher's present classes.
func (l *lore) align(m *Matcher) {
	if l.kinds == m.kinds {
		return
	}
	if l.classes == nil {
		l.classes, l.shapes = map[string]*classLore{}, map[string]*shapeLore{}
		l.lightest = heap.New(func(a, b *shapeLore) bool { return a.weight < b.weight }, func(s *shapeLore) *int { return &s.place })
	}
	l.kinds, l.aligned = m.kinds, nil
	for _, name := range m.kinds.classes {
		c := l.classes[name]
		if c == nil {
			c = &classLore{}
			for x := range c.psi {
				c.psi[x] = float64(x)
			}
			l.classes[name] = c
		}
		l.aligned = append(l.aligned, c)
	}
	m.gauge()
}

// learn makes the tables anew.
func (l *lore) learn(m *Matcher) {
	l.turnover = min(l.ended/l.seen, 1)
	for _, s := range l.inOrder {
		s.weight -= l.fallen
	}
	l.fallen = 0
	fade := l.seen > loreFades
	for _, c := range l.aligned {
		if fade {
			c.fade()
		}
		c.learn(l.turnover)
	}
	if fade {
		l.due -= l.seen / 2
		l.seen /= 2
		l.ended /= 2
		for _, s := range l.inOrder {
			s.weight /= 2
		}
	}
	l.learnPress(m)
	l.learnLarge(m)
}

func (c *classLore) fade() {
	for m := range c.sizes {
		c.sizes[m] /= 2
	}
	c.cpus /= 2
	c.devices /= 2
}

func (c *classLore) learn(turnover float64) {
	sizes, parts := c.priced()
	if len(sizes) == 0 {
		return
	}
	if c.rho = 0; c.devices > 0 {
		c.rho = loreRho * c.cpus / c.devices
	}
	c.prices.learn(sizes, parts)
	left := leftAfter(sizes, parts)
	for x, worth := range c.prices.gap {
		c.psi[x] = between(float64(x)-fullDevice*worth, left[x], turnover)
	}
}

// leftAfter returns what of each gap is expected to be left after loreHorizon more
// demands of the sizes, each taking its part where it fits: W0[x] = x, and then
// W[x] <- sum over sizes m of p(m) (m<=x ? W[x-m] : W[x]).
func leftAfter(sizes []int, parts []float64) (now [fullDevice + 1]float64) {
	all := 0.0
	for _, n := range parts {
		all += n
	}
	for x := range now {
		now[x] = float64(x)
	}
	for range loreHorizon {
		before := now
		clear(now[:])
		for i, m := range sizes {
			part := parts[i] / all
			for x, left := range before[:m] {
				now[x] += part * left
			}
			for x, left := range before[:len(before)-m] {
				now[m+x] += part * left
			}
		}
	}
	return now
}

// between returns a where tasks stay, b where one ends for each that is asked for,
// and what lies between them where fewer end.
func between(a, b, turnover float64) float64 { return a + (b-a)*turnover }

// priced returns the sizes that most was asked in, ascending, and how often each
// was asked.
func (c *classLore) priced() (sizes []int, parts []float64) {
	for m, n := range c.sizes {
		if m > 0 && n > 0 {
			sizes = append(sizes, m)
		}
	}
	if len(sizes) > pricedSizes {
		slices.SortStableFunc(sizes, func(a, b int) int { return cmp.Compare(c.sizes[b]*float64(b), c.sizes[a]*float64(a)) })
		sizes = sizes[:pricedSizes]
		slices.Sort(sizes)
	}
	for _, m := range sizes {
		parts = append(parts, c.sizes[m])
	}
	return sizes, parts
}

// group is the agents that can host the same shapes.
type group struct {
	one     *agent
	room    *offers.Room // of one while nothing is taken
	members int
	press   []float64 // by class
	hosts   uint8     // a bit for each large shape that the members could host
}

// learnPress gives every group of agents its press.
func (l *lore) learnPress(m *Matcher) {
	l.group(m)
	for i, name := range m.kinds.classes {
		var all, asked float64
		for _, g := range l.groups {
			g.press[i] = 0
			all += g.devices(i)
		}
		if all == 0 || m.devices[i] == 0 || len(l.groups) > loreGroups {
			continue
		}
		size := m.total.n[scalars+i] / m.devices[i]
		for _, s := range l.inOrder {
			asked += s.bytes(name, size)
		}
		for _, s := range l.inOrder {
			if part := s.bytes(name, size) / asked; part > 0 {
				s.press(i, part, l.groups, all)
			}
		}
	}
}

// devices returns how many devices of a class the group has.
func (g *group) devices(class int) float64 {
	if c := g.one.classes[class].room; c != nil {
		return float64(len(c.Devices) * g.members)
	}
	return 0
}

// group sorts the agents that are offered by what they have and by the
// attributes that the shapes ask for, unless nothing has changed since.
func (l *lore) group(m *Matcher) {
	attributes := l.asking()
	if l.epoch == m.epoch && slices.Equal(attributes, l.attributes) {
		return
	}
	l.epoch, l.attributes, l.groups = m.epoch, attributes, nil
	for _, s := range l.inOrder {
		s.hosts = nil
	}
	byKey := map[string]*group{}
	var key []byte
	for _, a := range m.bySlot {
		if a == nil {
			continue
		}
		key = a.sort(key[:0], attributes)
		g := byKey[string(key)]
		if g == nil {
			g = &group{one: a, room: offers.NewRoom(a.info.Total), press: make([]float64, len(m.kinds.classes))}
			byKey[string(key)] = g
			l.groups = append(l.groups, g)
		}
		g.members++
		a.group = g
		m.gauges.read(a)
	}
}

// sort appends what makes agents equal in the eyes of a shape.
func (a *agent) sort(key []byte, attributes []string) []byte {
	for k, n := range a.total {
		key = append(strconv.AppendInt(key, n, 36), ' ')
		if k >= scalars && a.classes[k-scalars].room != nil {
			key = append(strconv.AppendInt(key, int64(len(a.classes[k-scalars].room.Devices)), 36), ' ')
		}
	}
	for _, name := range attributes {
		value, _ := a.info.Attribute(name)
		key = append(append(key, 0), value...)
	}
	return key
}

// asking are the attributes that shapes ask for, each once. One that names a
// single agent would make a group of each, and is left out.
func (l *lore) asking() []string {
	var out []string
	for _, s := range l.inOrder {
		for i := range s.spec.Constraints {
			name := s.spec.Constraints[i].Attribute()
			if name != "host" && name != "name" && name != "id" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
