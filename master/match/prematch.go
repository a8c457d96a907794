package match

import (
	"iter"
	"slices"

	"github.com/ringmaster-project/ringmaster/rings"
)

// Prematch says who looks at the agents beforehand for the strategies that read
// all of them. With nobody, here or on a [Follower], every search is made when
// its turn comes.
type Prematch struct {
	// Workers is how many pre-matchers there are here; 0 is none.
	Workers int
	// Run calls job once for every i below jobs and returns when all calls have.
	// Calls may run at the same time, but never two with the same worker, which is
	// below Workers. nil runs them one after another.
	Run func(jobs int, job func(worker, i int))
}

// prematch is parallel pre-matching: several demands that will soon be served
// are looked for at the same time, while nothing changes, and when the turn of
// one of them comes the arbiter decides by what has changed since.
//
//	demands of a turn  d1 d2 d3 d4 ..        pre-matchers, on agents that stand still
//	                    |  |  |  |
//	list 1             best agents of each, with score and the agent's version
//	                    |                    the matcher itself, in the order of fair share
//	list 2, or 3 and 4 the first whose version is the same, or one of those that changed
//	                    |                    meanwhile, looked at anew
//	                   hold                  gives the agent the next version, and logs it
//
// An agent that is in no list has a score no better than those that are, unless
// it has changed; and all that have changed are looked at. So what is chosen is
// what a search at that moment would choose, whoever ran when, and however many
// pre-matchers there are. Where a list has nothing left the demand is searched
// for at once.
//
// Only counted demands are pre-matched: what a whole-agent demand would be given
// depends on what fair share leaves, and changes with every placement. And only
// those without preferences, whose search is made twice, and no gangs, whose units
// may be given back. Between two placements of a turn fair share and quotas only leave less, so nothing that
// they kept out of a list would come in; nor do limits, since the units of a demand
// only become more.
//
// Source: ALGORITHMS section 6. Ours is that the arbiter looks at all agents that
// have changed, not only at those of the list.
type prematch struct {
	// Static after construction.
	Prematch
	searches []search // by worker

	on       bool    // within a turn
	version  uint64  // of the agent that changed last
	log      []int32 // slots of those that changed, the last one by version, also again
	lists    []*list // made in this turn, each its demand's
	spare    []*list
	upcoming []*framework // scratch, as the next three are
	eldest   []*demand
	awaited  []*demand
	fresh    []*list
	afar     afar
}

// list is what pre-matching found for a demand.
type list struct {
	d    *demand
	best []scored // ascending by score, then in the order of the rings; never more than listLength
	all  bool     // no other agent suits
	seen uint64   // the version up to which it holds
	dead bool     // it is of no use any more
}

// scored is a candidate as a pre-matcher saw it. No two versions are the same, so
// an agent that stands where another stood does not pass for it.
type scored struct {
	slot    int
	score   int64
	version uint64
}

// A list is longer than there are demands at a time, since these may all want
// the same agents and the last one is to find one that is left.
const (
	listLength = 80         // candidates of a demand
	listsAhead = 64         // demands at a time
	listAge    = listLength // changes after which a list is not worth reading
)

// stale reports whether a list has to be made anew.
func (l *list) stale(p *prematch) bool { return l == nil || l.dead || p.version-l.seen > listAge }

// rebuilt is pre-matching for other kinds, and for agents that all get new slots.
func (p *prematch) rebuilt(k *kinds, config Prematch) prematch {
	next := prematch{Prematch: config, version: p.version, afar: p.afar}
	if next.Run == nil {
		next.Run = oneByOne
	}
	for range next.Workers {
		next.searches = append(next.searches, newSearch(k))
	}
	next.afar.forget(k)
	return next
}

func oneByOne(jobs int, job func(worker, i int)) {
	for i := range jobs {
		job(0, i)
	}
}

// begin opens a turn.
func (p *prematch) begin() {
	p.on = p.Workers > 0 || p.afar.attended()
	if n := len(p.log); n > 2*logLength {
		p.log = slices.Delete(p.log, 0, n-logLength)
	}
}

// logLength is how many of the last changes are known from turn to turn, where
// followers are told of them.
const logLength = 8192

// end drops what was found in a turn.
func (p *prematch) end() {
	for _, l := range p.lists {
		l.d.list = nil
		clear(l.best)
		*l = list{best: l.best[:0]}
	}
	p.spare = append(p.spare, p.lists...)
	clear(p.lists)
	clear(p.upcoming)
	clear(p.eldest)
	clear(p.awaited)
	clear(p.fresh)
	p.on, p.lists = false, p.lists[:0]
	if !p.afar.attended() {
		p.log = p.log[:0]
	}
}

// changed gives an agent that has a slot a new version, and logs it for whom it
// may concern.
func (p *prematch) changed(a *agent) {
	p.version++
	a.version = p.version
	if p.on || p.afar.attended() {
		p.log = append(p.log, int32(a.slot))
	}
}

// logged reports whether all that changed after a version is in the log.
func (p *prematch) logged(after uint64) bool { return p.version-after <= uint64(len(p.log)) }

// changes goes through the agents that are not as they were at a version that is
// logged, each once.
func (m *Matcher) changes(after uint64) iter.Seq[*agent] {
	p := &m.prematch
	return func(yield func(*agent) bool) {
		log := p.log[len(p.log)-int(p.version-after):]
		for i, slot := range log {
			a := m.bySlot[slot]
			if a != nil && a.version == after+1+uint64(i) && !yield(a) {
				return
			}
		}
	}
}

// arbitrate returns the agent with the smallest score by the demand's list, or
// nil where only a search can tell.
func (m *Matcher) arbitrate(s *search, score scoring) *agent {
	p := &m.prematch
	if !p.on || !s.d.single() {
		return nil
	}
	if a := m.arbitrateAfar(s, score); a != nil {
		return a
	}
	if p.Workers == 0 {
		return nil
	}
	if s.d.list.stale(p) {
		m.lookAhead(s.d, score)
	}
	l := s.d.list
	if l.stale(p) {
		return nil
	}
	best, conflict := m.choose(l, s, score)
	if best == nil {
		l.dead = !l.all
		return nil
	}
	m.counters.Prematched++
	m.counters.Conflicts += conflict
	return best
}

// choose returns the best of a list and of all that have changed since, or nil
// where the list does not tell; conflict is 1 where the best of the list has
// changed.
func (m *Matcher) choose(l *list, s *search, score scoring) (best *agent, conflict uint64) {
	best, least, conflict := l.unchanged(s)
	if best == nil && !l.all {
		return nil, 0
	}
	kind := rings.Kind(s.d.column)
	for a := range m.changes(l.seen) {
		if !m.enough(a, s.d) || !s.suits(a) {
			continue
		}
		n := score(s, a)
		if best == nil || n < least || n == least && m.index.Earlier(kind, s.d.need, a.slot, best.slot) {
			best, least = a, n
		}
	}
	return best, conflict
}

// enough reports whether a walk over the rings would come to the agent.
func (m *Matcher) enough(a *agent, d *demand) bool {
	return a.columns[d.column] >= 0 && covers(a.columns, d.need)
}

// unchanged returns the first of the list that is as it was and still suits;
// conflict is 1 where one before it has changed.
func (l *list) unchanged(s *search) (best *agent, score int64, conflict uint64) {
	for _, c := range l.best {
		a := s.m.bySlot[c.slot]
		if a == nil || a.version != c.version {
			conflict = 1
		} else if s.suits(a) {
			return a, c.score, conflict
		}
	}
	return nil, 0, conflict
}

// lookAhead has the pre-matchers make lists for a demand and for others that are
// likely to be served soon by the same strategy. A single unit alone is not
// worth a list.
func (m *Matcher) lookAhead(first *demand, score scoring) {
	p := &m.prematch
	p.fresh = p.fresh[:0]
	m.listFor(first)
	p.upcoming = m.fair.waiting(m.fair.root, p.upcoming[:0])
	each, beyond := max(listsAhead/max(len(p.upcoming), 1), 1), p.afar.room()/max(len(p.upcoming), 1)
	p.awaited = p.awaited[:0]
	for _, f := range p.upcoming {
		p.eldest = f.active.eldest(each+beyond, p.eldest[:0])
		for i, d := range p.eldest {
			if d == first || !m.foreseeable(d, first.placer) || m.farKnown(d) {
				continue
			}
			switch awaited := m.farAwaited(d); {
			case awaited && i < each:
				p.awaited = append(p.awaited, d)
			case awaited:
			case i >= each:
				m.askAfar(m.farListOf(d), d)
			case len(p.fresh) < listsAhead:
				m.listFor(d)
			}
		}
	}
	// Nobody here is idle because a follower is late. What it comes to last is
	// the likeliest not to be done twice.
	for n := len(p.awaited); n > 0 && len(p.fresh) < p.Workers; n-- {
		m.listFor(p.awaited[n-1])
	}
	m.inform()
	if len(p.fresh) == 1 && first.left-first.out == 1 {
		first.list.dead = true
		return
	}
	p.Run(len(p.fresh), func(worker, i int) { p.fresh[i].fill(m, &p.searches[worker], score) })
}

// foreseeable reports whether what the demand will be looked for by is known, and
// by that strategy.
func (m *Matcher) foreseeable(d *demand, by *placer) bool {
	if !d.single() || !d.list.stale(&m.prematch) {
		return false
	}
	if d.epoch != m.epoch {
		m.compile(d)
		if d.tied {
			d.epoch = 0 // to be compiled by what is free when its turn comes
			return false
		}
	}
	return d.placer == by && d.column >= 0
}

// listFor gives a demand an empty list.
func (m *Matcher) listFor(d *demand) {
	p := &m.prematch
	m.index.Settle(rings.Kind(d.column))
	if d.list == nil {
		d.list = &list{}
		if n := len(p.spare); n > 0 {
			d.list, p.spare = p.spare[n-1], p.spare[:n-1]
		}
		p.lists = append(p.lists, d.list)
	}
	*d.list = list{d: d, best: d.list.best[:0], all: true, seen: p.version}
	p.fresh = append(p.fresh, d.list)
}

// fill reads all agents that fit. It runs beside others: it writes to nothing but
// the list and s.
func (l *list) fill(m *Matcher, s *search, score scoring) {
	if s.begin(m, l.d) >= 0 {
		l.all = false
		return
	}
	cursor := m.index.Still(rings.Kind(l.d.column), l.d.need)
	for c, ok := cursor.Next(); ok; c, ok = cursor.Next() {
		if a := m.bySlot[c.Slot]; s.suits(a) {
			l.enter(scored{a.slot, score(s, a), a.version})
		}
	}
}

// enter adds a candidate, after those with the same score, which come earlier in
// the order of the rings.
func (l *list) enter(c scored) {
	n := len(l.best)
	if n == listLength {
		l.all = false
		if c.score >= l.best[n-1].score {
			return
		}
		n--
		l.best = l.best[:n]
	}
	for n > 0 && l.best[n-1].score > c.score {
		n--
	}
	l.best = slices.Insert(l.best, n, c)
}
