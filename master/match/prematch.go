package match

import (
	"slices"

	"github.com/ringmaster-project/ringmaster/rings"
)

// Prematch says who looks at the agents beforehand for the strategies that read
// all of them. With nobody every search is made when its turn comes.
type Prematch struct {
	// Workers is how many pre-matchers there are; 0 is none.
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
//	                   hold                  adds 1 to the agent's version, and logs it
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

	on       bool     // within a turn
	log      []*agent // those that changed in this turn, also again
	lists    []*list  // made in this turn, each its demand's
	spare    []*list
	upcoming []*framework // scratch, as the next two are
	eldest   []*demand
	fresh    []*list
}

// list is what pre-matching found for a demand.
type list struct {
	d    *demand
	best []scored // ascending by score, then in the order of the rings; never more than listLength
	all  bool     // no other agent suits
	seen int      // how long the log was, or dropped
}

// scored is a candidate as a pre-matcher saw it.
type scored struct {
	agent   *agent
	score   int64
	version uint64
}

// A list is longer than there are demands at a time, since these may all want
// the same agents and the last one is to find one that is left.
const (
	listLength = 80         // candidates of a demand
	listsAhead = 64         // demands at a time
	listAge    = listLength // changes after which a list is not worth reading
	dropped    = -listAge - 1
)

// stale reports whether a list has to be made anew.
func (l *list) stale(p *prematch) bool { return l == nil || len(p.log)-l.seen > listAge }

func newPrematch(k *kinds, config Prematch) prematch {
	p := prematch{Prematch: config}
	if p.Run == nil {
		p.Run = oneByOne
	}
	for range p.Workers {
		p.searches = append(p.searches, newSearch(k))
	}
	return p
}

func oneByOne(jobs int, job func(worker, i int)) {
	for i := range jobs {
		job(0, i)
	}
}

// begin opens a turn.
func (p *prematch) begin() { p.on = p.Workers > 0 }

// end drops what was found in a turn.
func (p *prematch) end() {
	for _, l := range p.lists {
		l.d.list = nil
		clear(l.best)
		*l = list{best: l.best[:0]}
	}
	p.spare = append(p.spare, p.lists...)
	clear(p.lists)
	clear(p.log)
	clear(p.upcoming)
	clear(p.eldest)
	clear(p.fresh)
	p.on, p.lists, p.log = false, p.lists[:0], p.log[:0]
}

// changed logs that an agent has a new version.
func (p *prematch) changed(a *agent) {
	if p.on {
		a.logged = len(p.log)
		p.log = append(p.log, a)
	}
}

// arbitrate returns the agent with the smallest score by the demand's list, or
// nil where only a search can tell.
func (m *Matcher) arbitrate(s *search, score func(*search, *agent) int64) *agent {
	p := &m.prematch
	if !p.on || !s.d.single() {
		return nil
	}
	if s.d.list.stale(p) {
		m.lookAhead(s.d, score)
	}
	l := s.d.list
	if l.stale(p) {
		return nil
	}
	best, least, conflict := l.unchanged(s)
	if best == nil && !l.all {
		l.seen = dropped
		return nil
	}
	kind := rings.Kind(s.d.column)
	for i, a := range p.log[l.seen:] {
		if a.logged != l.seen+i || a.slot < 0 || !covers(a.columns, s.d.need) || !s.suits(a) {
			continue
		}
		n := score(s, a)
		if best == nil || n < least || n == least && m.index.Earlier(kind, s.d.need, a.slot, best.slot) {
			best, least = a, n
		}
	}
	if best != nil {
		m.counters.Prematched++
		m.counters.Conflicts += conflict
	}
	return best
}

// unchanged returns the first of the list that is as it was and still suits;
// conflict is 1 where one before it has changed.
func (l *list) unchanged(s *search) (best *agent, score int64, conflict uint64) {
	for _, c := range l.best {
		if c.agent.version != c.version {
			conflict = 1
		} else if s.suits(c.agent) {
			return c.agent, c.score, conflict
		}
	}
	return nil, 0, conflict
}

// lookAhead has the pre-matchers make lists for a demand and for others that are
// likely to be served soon by the same strategy. A single unit alone is not
// worth a list.
func (m *Matcher) lookAhead(first *demand, score func(*search, *agent) int64) {
	p := &m.prematch
	p.fresh = p.fresh[:0]
	m.listFor(first)
	p.upcoming = m.fair.waiting(m.fair.root, p.upcoming[:0])
	each := max(listsAhead/max(len(p.upcoming), 1), 1)
	for _, f := range p.upcoming {
		p.eldest = f.active.eldest(each, p.eldest[:0])
		for _, d := range p.eldest {
			if len(p.fresh) < listsAhead && d != first && m.foreseeable(d, first.placer) {
				m.listFor(d)
			}
		}
	}
	if len(p.fresh) == 1 && first.left-first.out == 1 {
		first.list.seen = dropped
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
	*d.list = list{d: d, best: d.list.best[:0], all: true, seen: len(p.log)}
	p.fresh = append(p.fresh, d.list)
}

// fill reads all agents that fit. It runs beside others: it writes to nothing but
// the list and s.
func (l *list) fill(m *Matcher, s *search, score func(*search, *agent) int64) {
	if s.begin(m, l.d) >= 0 {
		l.all = false
		return
	}
	cursor := m.index.Still(rings.Kind(l.d.column), l.d.need)
	for c, ok := cursor.Next(); ok; c, ok = cursor.Next() {
		if a := m.bySlot[c.Slot]; s.suits(a) {
			l.enter(scored{a, score(s, a), a.version})
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
