package match

import (
	"slices"
	"sort"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// farKey is what demands have in common that a list is good for.
type farKey struct {
	form   *form
	placer *placer
	policy offers.Policy
}

// farList is what is known of a form.
//
// Invariant of a list that is there and not dead: nobody who is not in it, and
// has not changed after the version seen, suits and comes before its last; where
// it has all nobody else suits.
type farList struct {
	list
	form   *demand // of anybody; as the list was made for it
	column int     // that agents were looked up by
	read   uint64  // the version that the follower saw
	there  bool    // list is one
	used   bool    // some unit was placed by it
	passed bool    // the first that the follower found has changed
	wanted bool    // it was of interest before

	number  uint64  // under which it is looked for; 0: by nobody
	looked  *demand // what is looked for, with the plan of then
	by      *far    // who does
	written []byte  // the demand, as a follower reads it
}

// arbitrateAfar is arbitrate by what followers have found.
func (m *Matcher) arbitrateAfar(s *search, score scoring) *agent {
	p := &m.prematch.afar
	if !p.attended() {
		return nil
	}
	p.used = m.prematch.version
	m.hear()
	l := m.farListOf(s.d)
	var best *agent
	if m.usable(l, s.d) {
		m.catchUp(l, score)
		best = l.first(s)
	}
	// What is asked for once is searched for now; a list is for those to come.
	if (l.wanted || s.d.left-s.d.out > 1) && m.farDue(l, s.d) {
		m.askAfar(l, s.d)
	}
	l.wanted = true
	m.inform()
	return best
}

// catchUp brings a list to the present: those that have changed since leave it,
// and come back where they belong now. They are filtered and rated as the
// follower would.
func (m *Matcher) catchUp(l *farList, score scoring) {
	p, s := &m.prematch, &m.prematch.afar.search
	for _, slot := range p.log[len(p.log)-int(p.version-l.seen):] {
		if i := slices.IndexFunc(l.best, func(c scored) bool { return c.slot == int(slot) }); i >= 0 {
			l.best = slices.Delete(l.best, i, i+1)
			l.passed = l.passed || i == 0
		}
	}
	s.m, s.d = m, l.form
	for a := range m.changes(l.seen) {
		if m.enough(a, s.d) && s.suits(a) {
			m.rank(l, scored{a.slot, score(s, a), a.version})
		}
	}
	l.seen = p.version
	l.dead = len(l.best) == 0 && !l.all
}

// rank puts a candidate where it belongs, if that is not after the last.
func (m *Matcher) rank(l *farList, c scored) {
	at := sort.Search(len(l.best), func(i int) bool {
		if l.best[i].score != c.score {
			return l.best[i].score > c.score
		}
		return m.index.Earlier(rings.Kind(l.column), l.form.need, c.slot, l.best[i].slot)
	})
	if at == len(l.best) && !l.all {
		return
	}
	if l.best = slices.Insert(l.best, at, c); len(l.best) > 2*farLength {
		l.best, l.all = l.best[:farLength], false
	}
}

// first returns the first that this demand may have, or nil where the list does
// not tell.
func (l *farList) first(s *search) *agent {
	for i, c := range l.best {
		a := s.m.bySlot[c.slot]
		if !s.suits(a) {
			continue
		}
		n := &s.m.counters
		n.Prematched++
		n.Afar++
		if i == 0 && l.passed || c.version > l.read {
			n.Conflicts++
			n.AfarConflicts++
		}
		if !l.used {
			l.used = true
			n.AfarUsed++
		}
		return a
	}
	return nil
}

// farListOf returns what is known of the demand's form.
func (m *Matcher) farListOf(d *demand) *farList {
	p := &m.prematch.afar
	key := farKey{d.form, d.placer, d.spec.DevicePolicy}
	l := p.lists[key]
	if l == nil {
		if len(p.lists) >= farLists {
			p.lists = map[farKey]*farList{}
		}
		l = &farList{}
		p.lists[key] = l
	}
	return l
}

// usable reports whether the list may be read for a demand of its form.
func (m *Matcher) usable(l *farList, d *demand) bool {
	p := &m.prematch
	return l.there && !l.dead && l.column == d.column && p.version-l.seen <= m.farAge() && p.logged(l.seen)
}

// farAge is how many changes a list may be behind: far fewer than there are
// agents to read without it.
func (m *Matcher) farAge() uint64 {
	return uint64(max(listAge, min(farOldest, m.index.Len()/8)))
}

// farDue reports whether it is time for another list, so that it comes before
// this one is used up.
func (m *Matcher) farDue(l *farList, d *demand) bool {
	return l.number == 0 && (!m.usable(l, d) || !l.all && len(l.best) < farLength/2)
}

// farAwaited reports whether somebody looks for a list for the demand.
func (m *Matcher) farAwaited(d *demand) bool {
	return m.prematch.afar.attended() && m.farListOf(d).number != 0
}

// farKnown reports whether there is one.
func (m *Matcher) farKnown(d *demand) bool {
	return m.prematch.afar.attended() && m.usable(m.farListOf(d), d)
}
