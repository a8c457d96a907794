package match

import (
	"cmp"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// large is a shape of demand that needs several whole devices of one agent. An
// agent has slots for it, as many as units would find room there; a unit of
// another demand that takes one away costs what then goes without:
//
//	cost  = turnover * sum over large shapes of part * asked * (slots before - slots after)
//	slots = min over idle devices, cpus and memory of free / asked, rounded down
//
// with part the shape's share of all that is asked of the class, asked in
// thousandths of devices, and turnover how many units end for each that is asked.
//
// Source: ours. Where tasks come and go there are idle devices at any time, but
// hardly an agent with many of them: nearly all that a cluster refuses is large.
// The other terms do not see that, and what they spare, cpus beside idle
// devices, comes back by itself as tasks end. Where tasks stay, turnover is
// nothing and the other terms decide alone (openb under churn, load 0.98, seeds
// 1..3: 1.7 % of the devices asked for are refused with it, 2.5 % without).
//
// Golden case: agents with 8 idle devices beside 96 cpus and with 4 beside 32;
// demands of 8 devices with 64 cpus and of 1 with 8 were seen. A demand of 1 with
// 24 cpus would leave 3 devices with hardly any cpus on the second, and goes to
// the first; once tasks have ended, it goes to the second.
type large struct {
	shape  *shapeLore
	class  int
	count  int64 // devices of a unit
	cpus   int64
	mem    int64
	weight float64 // thousandths of a device lost with a slot, turnover included
}

// loreLarge is how many large shapes are told apart, those that ask most. A
// group has a bit for each.
const loreLarge = 8

// slots returns for how many units so much has room.
func (l *large) slots(idle, cpus, mem int64) int64 {
	n := idle / l.count
	if n > 0 && l.cpus > 0 {
		n = min(n, cpus/l.cpus)
	}
	if n > 0 && l.mem > 0 {
		n = min(n, mem/l.mem)
	}
	return n
}

// learnLarge finds the large shapes that ask most, and who could ever host them.
func (l *lore) learnLarge(m *Matcher) {
	l.large = l.large[:0]
	for i := range m.kinds.classes {
		l.largeOf(m, i)
	}
	slices.SortStableFunc(l.large, func(a, b large) int { return cmp.Compare(b.weight, a.weight) })
	l.large = l.large[:min(len(l.large), loreLarge)]
	for i, g := range l.groups {
		g.hosts = 0
		for n := range l.large {
			if l.large[n].shape.hostedBy(l.groups)[i] {
				g.hosts |= 1 << n
			}
		}
	}
}

// largeOf adds the large shapes that ask for a class.
func (l *lore) largeOf(m *Matcher, class int) {
	if m.devices[class] == 0 {
		return
	}
	name, size := m.kinds.classes[class], m.total.n[scalars+class]/m.devices[class]
	asked := 0.0
	for _, s := range l.inOrder {
		asked += s.bytes(name, size)
	}
	for _, s := range l.inOrder {
		r := &s.spec.Resources
		if ask := r.Devices[name]; ask.Count > 1 && ask.Whole() && l.turnover > 0 {
			l.large = append(l.large, large{
				shape: s, class: class, count: int64(ask.Count), cpus: r.Amounts[offers.CPUs], mem: r.Amounts[offers.Mem],
				weight: l.turnover * s.bytes(name, size) / asked * float64(ask.Count) * 1000,
			})
		}
	}
}

// breaks says what the slots cost that the unit takes from large shapes.
func (w *waste) breaks(s *search, slot int, columns []int64) float64 {
	var cost float64
	for n := range w.large {
		l := &w.large[n]
		idle := columns[scalars+2*l.class]
		if idle < l.count {
			continue
		}
		if group := s.m.gauges[l.class][slot].group; group == nil || group.hosts&(1<<n) == 0 {
			continue
		}
		cpus, mem := columns[offers.CPUs], columns[offers.Mem]
		if before := l.slots(idle, cpus, mem); before > 0 {
			after := l.slots(idle-w.idle[l.class], cpus-s.take[offers.CPUs], mem-s.take[offers.Mem])
			cost += l.weight * float64(before-after)
		}
	}
	return cost
}
