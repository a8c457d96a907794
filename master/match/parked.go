package match

import "github.com/ringmaster-project/ringmaster/offers"

// parked holds the demands that nothing can be done for until something
// changes, so that a turn costs nothing for them. Most wait in a line of their framework,
// and one at a time is woken, see hope. Of the others those of one shape wait
// together: an agent that grew wakes the shapes it now fits, see sweep, a quota that
// moved wakes those that a quota stopped, and of those that want what is left of agents
// whom it leaves more than they refused.
//
// Invariant: lined has the frameworks that have demands in a line.
type parked struct {
	lined      map[*framework]struct{}
	inLines    int // demands
	shapes     map[string]*shape
	sweep      sweep
	quota      map[*demand]struct{}
	capped     map[*demand][]int64 // of shapes; by fair kind, with how much headroom a refusal hides all there is, see found
	quotaMoved bool
	waiting    int            // parked demands that something stops
	pending    map[string]int // these by what stops them, each once for all that does
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
	return parked{lined: map[*framework]struct{}{}, shapes: map[string]*shape{}, quota: map[*demand]struct{}{}, capped: map[*demand][]int64{}, pending: map[string]int{}}
}

// park takes a demand out of the turn until room of its shape appears.
func (m *Matcher) park(d *demand, stopped []string) {
	m.rest(d)
	if d.lines() {
		m.line(d, &d.owner.room, d.need)
	} else {
		m.parked.shape(d)
	}
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

// line has a demand wait in one of its framework's lines.
func (m *Matcher) line(d *demand, l *line, need []int64) {
	l.enter(d, need)
	m.parked.lined[d.owner] = struct{}{}
	m.parked.inLines++
}

// shape has a demand wait with those of its shape.
func (p *parked) shape(d *demand) {
	s := p.shapes[d.key]
	if s == nil {
		s = &shape{need: d.need, meets: d.meets(), demands: map[*demand]struct{}{}}
		p.shapes[d.key] = s
		p.sweep.enter(s)
	}
	s.demands[d] = struct{}{}
	d.shape = s
}

// meets returns what an agent must meet whatever else runs, to be read only: with limits
// any end may let another agent suit.
func (d *demand) meets() []offers.Constraint {
	if d.spread != nil {
		return nil
	}
	return d.spec.Constraints
}

// parkForQuota takes a demand out of the turn until a quota moves.
func (m *Matcher) parkForQuota(d *demand) {
	m.rest(d)
	if d.lines() {
		m.line(d, &d.owner.quota, m.leastTake(d))
	} else {
		m.parked.quota[d] = struct{}{}
	}
	d.quota = true
	m.parked.stop(d, []string{stopQuota})
	m.waits(d)
	m.batch.passed(d)
	m.claim(d)
}

// leastTake returns the least that a unit takes of what quotas bound.
func (m *Matcher) leastTake(d *demand) []int64 {
	take := make([]int64, m.kinds.fair())
	copy(take, d.spec.Resources.Amounts[:])
	for _, want := range d.asks {
		take[scalars+want.class] = want.ask.Memory * int64(want.ask.Count)
	}
	return take
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
	if len(d.stopped) > 0 {
		p.waiting--
	}
	if len(stopped) > 0 {
		p.waiting++
	}
	d.stopped = stopped
}

// unpark forgets that a demand waits.
func (m *Matcher) unpark(d *demand) {
	if f := d.owner; d.line != nil {
		d.line.leave(d)
		m.parked.inLines--
		if f.room.root == nil && f.quota.root == nil {
			delete(m.parked.lined, f)
		}
	}
	if d.shape != nil {
		delete(d.shape.demands, d)
		delete(m.parked.capped, d)
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
		if d.parked() {
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
