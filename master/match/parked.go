package match

import "github.com/ringmaster-project/ringmaster/offers"

// parked holds the demands that nothing can be done for until something
// changes, so that a turn costs nothing for them. Demands of one shape wait
// together: an agent that grew wakes the shapes it now fits, see sweep, a quota that
// moved wakes those that a quota stopped.
type parked struct {
	shapes     map[string]*shape
	sweep      sweep
	quota      map[*demand]struct{}
	quotaMoved bool
	pending    map[string]int // parked demands by what stops them, each once for all that does
}

// shape is the parked demands that any agent suits equally.
type shape struct {
	need    []int64
	meets   []offers.Constraint // what an agent must meet whatever else runs; to be read only
	demands map[*demand]struct{}
	missing int64 // units that must find room before it is worth a look again; of a gang
	place   int   // in the sweep's shapes
}

func newParked() parked {
	return parked{shapes: map[string]*shape{}, quota: map[*demand]struct{}{}, pending: map[string]int{}}
}

// park takes a demand out of the turn until room of its shape appears.
func (m *Matcher) park(d *demand, stopped []string) {
	m.rest(d)
	s := m.parked.shapes[d.key]
	if s == nil {
		s = &shape{need: d.need, demands: map[*demand]struct{}{}}
		if d.spread == nil { // with limits any end may let another agent suit
			s.meets = d.spec.Constraints
		}
		m.parked.shapes[d.key] = s
		m.parked.sweep.enter(s)
	}
	s.demands[d] = struct{}{}
	d.shape = s
	m.parked.stop(d, stopped)
	m.waits(d)
	if d.form.neverOf != m.epoch {
		d.form.never, d.form.neverOf = m.never(d), m.epoch
	}
	if d.form.never != "" && !d.told {
		d.told = true
		m.hopeless = append(m.hopeless, Hopeless{d.owner.id, d.spec.ID, stopped, d.form.never})
	}
	m.batch.passed(d)
	m.claim(d)
}

// parkForQuota takes a demand out of the turn until a quota moves.
func (m *Matcher) parkForQuota(d *demand) {
	m.rest(d)
	m.parked.quota[d] = struct{}{}
	d.quota = true
	m.parked.stop(d, []string{stopQuota})
	m.waits(d)
	m.batch.passed(d)
	m.claim(d)
}

// stop notes what keeps a demand waiting, none when nothing does any more.
func (p *parked) stop(d *demand, stopped []string) {
	for _, by := range d.stopped {
		if p.pending[by]--; p.pending[by] == 0 {
			delete(p.pending, by)
		}
	}
	for _, by := range stopped {
		p.pending[by]++
	}
	d.stopped = stopped
}

// unpark forgets that a demand waits.
func (m *Matcher) unpark(d *demand) {
	if d.shape != nil {
		delete(d.shape.demands, d)
		if len(d.shape.demands) == 0 {
			delete(m.parked.shapes, d.key)
			m.parked.sweep.leave(d.shape)
		}
		d.shape = nil
	}
	if d.quota {
		delete(m.parked.quota, d)
		d.quota = false
	}
	m.parked.stop(d, nil)
	d.gathered = false
}

func (m *Matcher) wakeShape(s *shape) {
	for d := range s.demands {
		m.activate(d)
	}
}

// wakeFramework activates what a framework has parked.
func (m *Matcher) wakeFramework(f *framework) {
	for _, d := range f.demands {
		if d.shape != nil || d.quota {
			m.activate(d)
		}
	}
}

// covers reports whether free has at least need of every kind asked.
func covers(free, need []int64) bool {
	for k, n := range need {
		if n > 0 && free[k] < n {
			return false
		}
	}
	return true
}
