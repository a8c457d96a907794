package match

import (
	"cmp"
	"iter"
	"slices"
)

// backlog is the demands that one framework has placed by `balance` and that
// wait in this turn, by shape: any agent suits those of one shape equally, so
// that only the eldest of each is looked at.
type backlog struct {
	shapes [][]*demand // by the eldest of each, each by age; those that are served leave lazily
}

// maxPassing bounds the shapes that one demand is compared with.
const maxPassing = 64

// letPass returns whom to serve where d, whose turn it is, was found what is in f:
// d, or another demand of the same framework that lets d wait. A demand of
// `balance` that makes the agent less even is passed over as long as another one
// that waits makes it more even, unless it has waited longer than [Balance]
// allows. Gangs are left out, and demands with preferences, since those come before
// evenness.
// Whose turn it is stays with fair share: nobody passes over another
// framework's demand. What is in f then is what the search found last.
//
// Source: ALGORITHMS section 4, the backlog pass.
func (m *Matcher) letPass(d *demand, f *found) *demand {
	b, balances := d.placer.strategy.(*balance)
	s := &m.search
	if !balances || !d.single() || m.now.Sub(d.arrived) >= b.config.Patience || b.after(s, f.agent) <= b.before(f.agent) {
		return d
	}
	for e := range m.backlog(d.owner).eldest() {
		if e.key == d.key {
			continue
		}
		if g := m.findBy(e, evening{b, f.agent}); g.agent != nil {
			*f = g
			return e
		}
	}
	*f = m.findBy(d, only{f.agent})
	return d
}

// backlog returns that of a framework, made in the order of age when it is asked
// for first in a turn. No demand joins it later: in a turn they only leave.
func (m *Matcher) backlog(f *framework) *backlog {
	if b := m.backlogs[f]; b != nil {
		return b
	}
	byAge := slices.SortedFunc(slices.Values(f.active), func(a, b standing) int { return cmp.Compare(a.age, b.age) })
	out, at := &backlog{}, map[string]int{}
	for _, next := range byAge {
		d := next.d
		m.compile(d)
		if _, balances := d.placer.strategy.(*balance); !balances || !d.single() {
			continue
		}
		i, known := at[d.key]
		if !known {
			i = len(out.shapes)
			at[d.key] = i
			out.shapes = append(out.shapes, nil)
		}
		out.shapes[i] = append(out.shapes[i], d)
	}
	if m.backlogs == nil {
		m.backlogs = map[*framework]*backlog{}
	}
	m.backlogs[f] = out
	return out
}

// eldest yields the eldest demand of each of the first shapes that still wait.
func (b *backlog) eldest() iter.Seq[*demand] {
	return func(yield func(*demand) bool) {
		shapes := b.shapes
		b.shapes = b.shapes[:0]
		for n, list := range shapes {
			for len(list) > 0 && list[0].at < 0 {
				list = list[1:]
			}
			if len(list) == 0 {
				continue
			}
			b.shapes = append(b.shapes, list)
			if len(b.shapes) == maxPassing || !yield(list[0]) {
				b.shapes = append(b.shapes, shapes[n+1:]...)
				return
			}
		}
	}
}

// only is a chooser that takes one agent or none.
type only struct{ agent *agent }

func (o only) choose(s *search) *agent {
	if covers(o.agent.columns, s.d.need) && s.suits(o.agent) {
		return o.agent
	}
	return nil
}

// evening is a chooser that takes one agent if the unit makes it more even.
type evening struct {
	*balance
	agent *agent
}

func (e evening) choose(s *search) *agent {
	if e.evens(s, e.agent) {
		return e.agent
	}
	return nil
}
