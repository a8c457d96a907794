package match

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"sort"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// Follower is a master that does not lead and pre-matches for this one on a
// [Copy] of its agents. No method waits. It belongs to the matcher from
// FollowerJoined to FollowerLeft.
type Follower interface {
	// Send passes a frame on. A follower that can't take it leaves.
	Send(frame []byte)
	// Receive returns the next of its answers, nil where none has come.
	Receive() []byte
	// End has it leave.
	End(reason string)
}

// afar is pre-matching on followers. It is done by form, not by demand: a list
// holds the best agents for everybody who asks for the same, so that it may come
// before the demand does, and the arbiter leaves out whom a quota, a limit or a
// refusal forbids to this one.
//
//	leader                                              follower
//	  changes, the demands of forms that are wanted ──▶   Copy
//	  lists by form                                 ◀──   reads all agents, on all its cores
//	  the next of that form: first of the list,
//	  in which what changed since has its new place
//
// Nothing waits for a follower. A list is used where it is there when a turn
// comes, and the leader reads the agents itself where it is not. What a follower
// was sent and has not taken is bounded by frames, and what came later is told
// as it is then; so one that is stopped costs nothing, and is told all anew when
// the log does not go back as far. A list says up to which version of the agents
// it holds, and names agents by versions: what is late, or of an earlier life of
// the kinds, is known by that, and at worst a search is made that was not needed.
// A follower must rate agents as the leader does: who lets it join sees to it
// that both are of one build.
//
// Followers are told of changes only while demands come that are placed by
// lists.
type afar struct {
	followers []*far
	lists     map[farKey]*farList
	asked     map[uint64]*farList // those that somebody looks for, by number
	number    uint64              // of the latest that was asked for
	used      uint64              // the version when a list was last of interest
	search    search              // for anybody
}

// Bounds of what is under way to a follower and kept of it.
const (
	farWindow = 4    // frames that it has not taken
	farWeight = 2048 // of the agents in a frame, see farAgent.weight
	farWants  = 64   // lists that it was asked for
	farBatch  = 64   // changes that wait for each other to be told
	farLists  = 1024 // forms that lists are kept for; past it all are forgotten
	farLength = 256  // candidates of a list
	farOldest = 1024 // changes that a list may be behind, where there are eight times as many agents
)

// far is what the leader knows of one follower.
type far struct {
	Follower
	restart bool // it is to forget all
	told    uint64
	next    int             // the slots from here on were not told yet
	known   []*offers.Agent // by slot, what it was told that agents are

	sent, taken uint64     // frames
	wants       []*farList // to go with the next frame that leaves nothing out
	open        int        // lists that it was asked for, these too
	ended       bool       // it broke the rules
}

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

func (p *afar) attended() bool { return len(p.followers) > 0 }

// forget drops all lists, and has every follower start again.
func (p *afar) forget(k *kinds) {
	p.search = unbounded(k)
	p.lists, p.asked = map[farKey]*farList{}, map[uint64]*farList{}
	for _, f := range p.followers {
		f.restart, f.wants, f.open = true, nil, 0
	}
}

// FollowerJoined begins to have a follower pre-match.
func (m *Matcher) FollowerJoined(f Follower) {
	p := &m.prematch.afar
	p.followers = append(p.followers, &far{Follower: f, restart: true})
}

// FollowerLeft forgets it. One that is not here is no error.
func (m *Matcher) FollowerLeft(f Follower) {
	p := &m.prematch.afar
	i := slices.IndexFunc(p.followers, func(have *far) bool { return have.Follower == f })
	if i < 0 {
		return
	}
	for number, l := range p.asked {
		if l.by == p.followers[i] {
			l.number = 0
			delete(p.asked, number)
		}
	}
	p.followers = slices.Delete(p.followers, i, i+1)
	if !p.attended() {
		m.prematch.log = nil // from here on it would have gaps
	}
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

// askAfar has the follower look for a list that has least to do; where all have
// much nobody does.
func (m *Matcher) askAfar(l *farList, d *demand) {
	p := &m.prematch.afar
	var by *far
	for _, f := range p.followers {
		if f.open < farWants && !f.ended && f.sent-f.taken < farWindow && (by == nil || f.open < by.open) {
			by = f
		}
	}
	if by == nil {
		return
	}
	if l.written == nil {
		l.written = writeForm(d)
	}
	p.number++
	l.number, l.by = p.number, by
	l.looked = &demand{spec: d.spec, owner: anybody, placer: d.placer, plan: d.plan}
	p.asked[l.number] = l
	by.wants = append(by.wants, l)
	by.open++
	m.counters.AfarAsked++
}

// farRoom returns how many lists followers may still be asked for.
func (p *afar) room() int {
	n := 0
	for _, f := range p.followers {
		if !f.ended && f.sent-f.taken < farWindow {
			n += farWants - f.open
		}
	}
	return n
}

// writeForm returns what a list for the demand depends on.
func writeForm(d *demand) []byte {
	one := 1
	text, err := json.Marshal(offers.Demand{
		ID: "form", Count: &one, Resources: d.spec.Resources, Constraints: d.spec.Constraints,
		Placement: d.placer.name, DevicePolicy: d.spec.DevicePolicy,
	})
	if err != nil {
		panic("match: a demand that was valid can't be written: " + err.Error())
	}
	return text
}

// hear takes what followers have answered.
func (m *Matcher) hear() {
	for _, f := range m.prematch.afar.followers {
		for text := f.Receive(); text != nil; text = f.Receive() {
			if f.ended {
				continue
			}
			if err := m.heard(f, text); err != nil {
				f.ended = true
				f.End(err.Error())
			}
		}
	}
}

var errAnswer = errors.New("the answer of a follower makes no sense")

func (m *Matcher) heard(f *far, text []byte) error {
	var in farAnswer
	if err := farDecoding.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.Taken < f.taken || in.Taken > f.sent {
		return errAnswer
	}
	f.taken = in.Taken
	if in.Number == 0 {
		return nil
	}
	l := m.prematch.afar.asked[in.Number]
	if l == nil || l.by != f {
		m.counters.AfarLate++ // it was asked for before all was forgotten
		return nil
	}
	delete(m.prematch.afar.asked, in.Number)
	l.number = 0
	f.open--
	best, err := m.readBest(in.Best)
	if err != nil || in.Seen > f.told {
		return errAnswer
	}
	if m.prematch.version-in.Seen > m.farAge() || !m.prematch.logged(in.Seen) {
		m.counters.AfarLate++
		return nil
	}
	l.list = list{best: best, all: in.All, seen: in.Seen}
	l.form, l.column, l.read, l.there, l.used, l.passed = l.looked, l.looked.column, in.Seen, true, false, false
	return nil
}

// readBest reads the candidates of a list.
func (m *Matcher) readBest(text []byte) (out []scored, err error) {
	var score int64
	for len(text) > 0 {
		slot, n := binary.Uvarint(text)
		more, k := binary.Varint(text[max(n, 0):])
		if n <= 0 || k <= 0 {
			return nil, errAnswer
		}
		version, j := binary.Uvarint(text[n+k:])
		if j <= 0 || slot >= uint64(len(m.bySlot)) || len(out) == farLength {
			return nil, errAnswer
		}
		score += more
		out = append(out, scored{int(slot), score, version})
		text = text[n+k+j:]
	}
	return out, nil
}

// appendBest writes them: slots, how much each score is more than the one before,
// and versions.
func appendBest(out []byte, best []scored) []byte {
	var last int64
	for _, c := range best {
		out = binary.AppendUvarint(out, uint64(c.slot))
		out = binary.AppendVarint(out, c.score-last)
		out = binary.AppendUvarint(out, c.version)
		last = c.score
	}
	return out
}

// inform sends followers what they are to know, as far as they take it.
func (m *Matcher) inform() {
	p := &m.prematch
	if !p.afar.attended() || p.version-p.afar.used > logLength {
		return
	}
	for _, f := range p.afar.followers {
		for !f.ended && f.sent-f.taken < farWindow && m.behind(f) {
			text, err := farEncoding.Marshal(m.frame(f))
			if err != nil {
				panic("match: a frame can't be written: " + err.Error())
			}
			f.sent++
			f.Send(text)
		}
	}
}

// behind reports whether there is enough to tell.
func (m *Matcher) behind(f *far) bool {
	p := &m.prematch
	return f.restart || f.next < len(m.bySlot) || len(f.wants) > 0 || p.version-f.told >= farBatch
}

// frame returns the next part of what a follower is to know.
func (m *Matcher) frame(f *far) *farFrame {
	p := &m.prematch
	out := &farFrame{}
	if f.restart || !p.logged(f.told) {
		out.Restart, out.Layouts = true, m.config.Rings
		f.restart, f.told, f.next = false, p.version, 0
		clear(f.known)
	}
	if n := len(m.bySlot) - len(f.known); n > 0 {
		f.known = append(f.known, make([]*offers.Agent, n)...)
	}
	weight := 0
	for f.told < p.version && weight < farWeight {
		slot := p.log[len(p.log)-int(p.version-f.told)]
		f.told++
		switch a := m.bySlot[slot]; {
		case a == nil:
			out.Gone = append(out.Gone, slot)
			f.known[slot] = nil
		case a.version == f.told:
			weight += out.add(a, f)
		}
	}
	for ; f.next < len(m.bySlot) && weight < farWeight; f.next++ {
		if a := m.bySlot[f.next]; a != nil {
			weight += out.add(a, f)
		}
	}
	out.Seen = f.told
	if f.told == p.version && f.next == len(m.bySlot) {
		for _, l := range f.wants {
			out.Wants = append(out.Wants, farWant{Number: l.number, Demand: l.written, Column: m.kinds.columnName(l.looked.column)})
		}
		f.wants = f.wants[:0]
	}
	return out
}
