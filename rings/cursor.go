package rings

import (
	"github.com/ringmaster-project/ringmaster/offers"
)

// Candidate is an agent that has what was asked for.
type Candidate struct {
	Agent offers.AgentID
	// Slot is what [Index.Set] returned for the agent.
	Slot int
	// Ring is the agent's ring in the kind of the search, from 1.
	Ring int
	// Free is the agent's vector, under the terms of [Index.Free].
	Free []int64
}

// Cursor walks the agents that fit a need in gradient order: the ring K that
// holds the need, then the rings up to the layout's Reach, then from the
// outermost ring down to the first not yet visited. Where K lies beyond the
// reach it is visited first all the same and the walk turns right after it.
// Inside a ring the closest comes first: the least free of the kind of the
// search, then the least of the first measure, if there is one, and of the other
// kinds in their order, then the least id.
//
// A cursor may be dropped at any point; several may walk one index. They
// tighten its summaries as they go, so they must not run at the same time, but
// for those of [Index.Still]. Any
// change of the index ends a cursor: Next then panics.
type Cursor struct {
	x    *Index
	kind Kind
	need []int64
	// lanes are those of need, first what is wanted, then what is ample, and moreLanes
	// all of them where they are too many.
	lanes     [8]uint64
	moreLanes []uint64

	// leaf and at are the entry to look at next; leaf is none where the present
	// stretch of rings has no more. whole says that the leaf was entered at its
	// start and has given nothing so far.
	leaf  int32
	at    int
	whole bool
	// first and last are the least and the greatest amount of the present
	// stretch, and lastKey is no less than the key of any agent in it.
	first, last, lastKey int64
	// lot is that of the latest candidate, none before the first. While more of its
	// agents may be still to come inside is set, and slot is who was last, none before
	// the first of them.
	lot, slot int32
	inside    bool
	// own is what the latest candidate has of the kind.
	own int64
	// ring is one that was asked for, 0 before, and until the greatest amount in it
	// while its stretch lasts.
	ring  int
	until int64
	// The rings from outer down to turn+1 are still to come.
	turn, outer int

	version uint64
	// still says that the walk writes nothing.
	still bool
	// pass are agents that are no candidates, and passed says that one would
	// have been.
	pass   Slots
	passed bool
}

// Pass leaves agents out of the rest of the walk. The set must not change
// meanwhile.
func (c *Cursor) Pass(agents Slots) { c.pass = agents }

// Passed reports whether an agent that fits was left out so far.
func (c *Cursor) Passed() bool { return c.passed }

// Candidates starts a walk over the agents that have the kind and at least
// need[k] of every other kind k; zero means that nothing is asked of a kind.
// The cursor keeps need, which must not change meanwhile. It does not allocate in
// an index of at most 16 kinds and measures.
func (x *Index) Candidates(kind Kind, need []int64) Cursor {
	x.trees[kind].prepare(need[kind])
	return x.candidates(kind, need, false)
}

func (x *Index) candidates(kind Kind, need []int64, still bool) Cursor {
	l := &x.layouts[kind]
	k := l.holding(need[kind])
	c := Cursor{
		x: x, kind: kind, need: need, version: x.version, still: still,
		lot: none, until: absent, turn: max(k, l.Reach), outer: len(l.Bounds),
	}
	c.pack()
	c.seek(max(need[kind], 0), l.last(c.turn))
	return c
}

// Settle prepares a kind for [Index.Still].
func (x *Index) Settle(kind Kind) {
	x.trees[kind].prepare(0)
	x.arrangeAll()
}

// Still is [Index.Candidates] for walks that run at the same time: they write
// nothing, and so leave summaries as loose as they are. Since the last change of
// the index the kind must have been settled; else Still panics.
func (x *Index) Still(kind Kind, need []int64) Cursor {
	if t := &x.trees[kind]; t.deferring || !t.exhausted || x.anyFresh {
		panic("rings: a kind that was not settled is walked")
	}
	return x.candidates(kind, need, true)
}

// Earlier reports whether [Index.Candidates] comes to the agent of slot a before
// that of b, where it comes to both.
func (x *Index) Earlier(kind Kind, need []int64, a, b int) bool {
	l, t := &x.layouts[kind], &x.trees[kind]
	lot, other := x.nodes[a].lot, x.nodes[b].lot
	if lot == other {
		return x.before(int32(a), int32(b))
	}
	e, f := t.entryOf(lot), t.entryOf(other)
	turn := max(l.holding(need[kind]), l.Reach)
	i, j := l.holding(t.vector(lot)[kind]), l.holding(t.vector(other)[kind])
	if (i > turn || j > turn) && i != j {
		return i <= turn || j > turn && i > j
	}
	return t.compare(e, f) < 0
}

// Outermost starts a walk over the same agents from the outermost ring down to
// ring K, as if the reach were used up before it began: the largest remainders
// first, though inside a ring still the closest.
func (x *Index) Outermost(kind Kind, need []int64) Cursor {
	x.trees[kind].prepare(need[kind])
	l := &x.layouts[kind]
	c := Cursor{
		x: x, kind: kind, need: need, version: x.version,
		leaf: none, lot: none, until: absent, turn: l.holding(need[kind]) - 1, outer: len(l.Bounds),
	}
	c.pack()
	return c
}

// pack finds the lanes of the need.
func (c *Cursor) pack() {
	if 2*c.x.words > len(c.lanes) {
		c.moreLanes = make([]uint64, 2*c.x.words)
	}
	packNeed(c.wanted(), c.ample(), c.need)
}

// wanted are the lanes of the need.
func (c *Cursor) wanted() []uint64 {
	if c.moreLanes != nil {
		return c.moreLanes[:c.x.words]
	}
	return c.lanes[:c.x.words]
}

// ample are lanes that are enough for the need, however they were rounded.
func (c *Cursor) ample() []uint64 {
	if c.moreLanes != nil {
		return c.moreLanes[c.x.words:]
	}
	return c.lanes[c.x.words : 2*c.x.words]
}

// Closest is the first of [Index.Candidates].
func (x *Index) Closest(kind Kind, need []int64) (Candidate, bool) {
	c := x.Candidates(kind, need)
	return c.Next()
}

// Next returns the next candidate; false when there is none left.
func (c *Cursor) Next() (Candidate, bool) {
	slot, ok := c.Step()
	if !ok {
		return Candidate{}, false
	}
	return Candidate{Agent: c.x.ids[slot], Slot: slot, Ring: c.Ring(), Free: c.Free()}, true
}

// Step is [Cursor.Next] for a caller who reads many candidates and knows them by
// their slots.
func (c *Cursor) Step() (slot int, ok bool) {
	if c.version != c.x.version {
		panic("rings: cursor used after the index changed")
	}
	for {
		if c.inside && c.member() {
			return int(c.slot), true
		}
		if c.leaf == none && !c.stretch() {
			return 0, false
		}
		if c.leaf != none && c.scan() {
			c.slot, c.inside = none, true
		}
	}
}

// member goes to the next agent of the latest lot that is not left out; false when
// there is none.
func (c *Cursor) member() bool {
	for {
		if c.slot == none {
			c.slot = c.x.leader(c.lot)
		} else {
			c.slot = c.x.next(c.slot)
		}
		switch {
		case c.slot == none:
			c.inside = false
			return false
		case !c.pass.Has(int(c.slot)):
			return true
		}
		c.passed = true
	}
}

// Ring is the latest candidate's, as in [Candidate]; 0 before the first.
func (c *Cursor) Ring() int {
	if c.lot == none {
		return 0
	}
	if c.own > c.until {
		l := &c.x.layouts[c.kind]
		c.ring = l.holding(c.own)
		c.until = l.last(c.ring)
	}
	return c.ring
}

// Free is what the latest candidate has, as in [Candidate].
func (c *Cursor) Free() []int64 { return c.x.vector(c.lot) }

// SkipRing passes over the rest of the latest candidate's ring, for a caller
// that wants only a few from each.
func (c *Cursor) SkipRing() {
	if c.version != c.x.version {
		panic("rings: cursor used after the index changed")
	}
	c.inside = false
	if ring := c.Ring(); ring > 0 && ring < c.turn {
		c.seek(c.x.layouts[c.kind].first(ring+1), c.last)
	} else if ring > 0 {
		c.leaf = none
	}
}

// SkipAlike passes over the agents that have exactly what the latest candidate
// has, of every kind and measure, for a caller to whom one of them is as good as
// another.
func (c *Cursor) SkipAlike() {
	if c.version != c.x.version {
		panic("rings: cursor used after the index changed")
	}
	c.inside = false
}

// stretch goes on to the next ring from the outermost down. The rings from K
// up to the turn are one stretch, since ascending rings, each closest first,
// are simply ascending amounts.
func (c *Cursor) stretch() bool {
	l := &c.x.layouts[c.kind]
	if c.outer == len(l.Bounds) && c.outer > c.turn { // nobody is in the rings beyond
		c.outer = l.holding(c.x.trees[c.kind].greatest())
	}
	if c.outer <= c.turn {
		return false
	}
	c.until = absent
	c.seek(l.first(c.outer), l.last(c.outer))
	c.outer--
	return true
}

// scan goes to the next fitting lot of the leaf, and to the next leaf when
// there is none.
func (c *Cursor) scan() bool {
	t := &c.x.trees[c.kind]
	nd, h, wanted, ample := &t.leaves[c.leaf], &t.leafHeads[c.leaf], c.wanted(), c.ample()
	for ; c.at < int(h.n); c.at++ {
		key, lot := nd.key[c.at], nd.lot[c.at]
		if key > c.lastKey {
			c.leaf = none
			return false
		}
		lanes := t.lanes(lot)
		if !mayFit(lanes, wanted) {
			continue
		}
		own := t.own(key, lot)
		if own > c.last {
			c.leaf = none
			return false
		}
		if own < c.first || !mayFit(lanes, ample) && !fits(t.vector(lot), c.need) {
			continue
		}
		c.whole = false
		c.lot, c.own = lot, own
		c.at++
		return true
	}
	c.leave()
	return false
}

// leave goes on from a leaf that was read to its end.
func (c *Cursor) leave() {
	t := &c.x.trees[c.kind]
	if c.whole && !c.still {
		t.tighten(c.leaf)
	}
	if up := t.leafHeads[c.leaf].parent; up == none {
		c.leaf = none
	} else {
		c.step(up, t.indexOf(up, c.leaf)+1)
	}
}

// seek goes to the first entry of a stretch of amounts whose leaf may hold a
// candidate.
func (c *Cursor) seek(first, last int64) {
	c.first, c.last, c.lastKey = first, last, leastKey(last)|otherMost
	t, key := &c.x.trees[c.kind], leastKey(first)
	c.descend(func(id int32) int {
		keys, _ := t.entries(id)
		return below(keys, key)
	})
}

// descend goes to the first entry that is not passed, where passed says how
// many entries of a node are, or to the first leaf after it that may hold a
// candidate.
func (c *Cursor) descend(passed func(int32) int) {
	t := &c.x.trees[c.kind]
	id := t.root
	for !isLeaf(id) {
		// The child before the first that is not passed may end with such.
		i := max(passed(id)-1, 0)
		if !mayFit(t.topsOf(id, i), c.wanted()) {
			c.step(id, i+1)
			return
		}
		id = t.inners[^id].kids[i]
	}
	c.leaf, c.at = id, passed(id)
	c.whole = c.at == 0
}

// step goes to the first leaf that may hold a candidate, from child i of an
// inner node on, down and up as needed.
func (c *Cursor) step(id int32, i int) {
	t, wanted := &c.x.trees[c.kind], c.wanted()
	for {
		nd, h := &t.inners[^id], &t.innerHeads[^id]
		for i < int(h.n) && nd.key[i] <= c.lastKey && !mayFit(t.topsOf(id, i), wanted) {
			i++
		}
		switch {
		case i < int(h.n) && nd.key[i] > c.lastKey:
			c.leaf = none
			return
		case i < int(h.n):
			id, i = nd.kids[i], 0
			if isLeaf(id) {
				c.leaf, c.at, c.whole = id, 0, true
				return
			}
		case h.parent == none:
			c.leaf = none
			return
		default:
			if !c.still {
				t.tighten(id)
			}
			id, i = h.parent, t.indexOf(h.parent, id)+1
		}
	}
}
