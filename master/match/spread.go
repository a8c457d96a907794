package match

import (
	"github.com/ringmaster-project/ringmaster/offers"
)

// spread is where the units of a demand with limits are: those that are offered
// or drafted, and the tasks that were launched out of its offers and have not
// ended. A new leader learns the tasks from what is replicated; offers are gone
// with the old one.
//
// Invariant: together is what units come to by the agents' attributes.
type spread struct {
	limits   []offers.Constraint
	units    map[*agent]int
	together []map[string]int // by limit
}

// newSpread returns nil for a demand without limits.
func newSpread(spec *offers.Demand) *spread {
	var limits []offers.Constraint
	for _, c := range spec.Constraints {
		if c.Limit() > 0 {
			limits = append(limits, c)
		}
	}
	if len(limits) == 0 {
		return nil
	}
	s := &spread{limits: limits, units: map[*agent]int{}}
	s.recount()
	return s
}

// add counts n more units on an agent; a nil spread counts nothing.
func (s *spread) add(a *agent, n int) {
	if s == nil {
		return
	}
	if s.units[a] += n; s.units[a] == 0 {
		delete(s.units, a)
	}
	s.count(a, n)
}

func (s *spread) count(a *agent, n int) {
	for i := range s.limits {
		if under, has := s.limits[i].Together(&a.info.Agent); has {
			if s.together[i][under] += n; s.together[i][under] == 0 {
				delete(s.together[i], under)
			}
		}
	}
}

// recount follows attributes that changed.
func (s *spread) recount() {
	s.together = make([]map[string]int, len(s.limits))
	for i := range s.together {
		s.together[i] = map[string]int{}
	}
	for a, n := range s.units {
		s.count(a, n)
	}
}

// full returns the limit that one more unit on an agent would pass; -1 for none.
func (s *spread) full(a *agent) int {
	if s == nil {
		return -1
	}
	for i, c := range s.limits {
		if under, has := c.Together(&a.info.Agent); has && s.together[i][under] >= c.Limit() {
			return i
		}
	}
	return -1
}

// spreadOut counts where the units of a demand of f are that has limits.
func (m *Matcher) spreadOut(f *framework, spec *offers.Demand) *spread {
	s := newSpread(spec)
	if s == nil {
		return nil
	}
	for t := f.launched[spec.ID]; t != nil; t = t.later {
		s.add(t.agent, 1)
	}
	return s
}

// enter puts a task among those launched for its demand.
func (f *framework) enter(t *task) {
	if t.of.Demand == "" {
		return
	}
	if t.later = f.launched[t.of.Demand]; t.later != nil {
		t.later.sooner = t
	}
	f.launched[t.of.Demand] = t
	if d := f.demands[t.of.Demand]; d != nil {
		d.spread.add(t.agent, 1)
	}
}

// leave takes a task out of those launched for its demand, which may have
// waited for that.
func (m *Matcher) leave(f *framework, t *task) {
	if t.of.Demand == "" {
		return
	}
	switch {
	case t.sooner != nil:
		t.sooner.later = t.later
	case t.later != nil:
		f.launched[t.of.Demand] = t.later
	default:
		delete(f.launched, t.of.Demand)
	}
	if t.later != nil {
		t.later.sooner = t.sooner
	}
	if d := f.demands[t.of.Demand]; d != nil && d.spread != nil {
		d.spread.add(t.agent, -1)
		m.activate(d)
	}
}

// spreadAgain follows an agent's changed attributes, which may make room.
func (m *Matcher) spreadAgain() {
	for _, f := range m.frameworks {
		for _, d := range f.demands {
			if d.spread != nil {
				d.spread.recount()
				m.activate(d)
			}
		}
	}
}
