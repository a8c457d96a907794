package rings

import (
	"cmp"
	"slices"

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

	// leaf and at are the entry to look at next; leaf is none where the present
	// stretch of rings has no more. whole says that the leaf was entered at its
	// start and has given nothing so far.
	leaf  int32
	at    int
	whole bool
	// last is the greatest amount of the present stretch.
	last int64
	// ring and slot are those of the latest candidate, 0 and none before the
	// first; until is the greatest amount of the ring, while its stretch lasts.
	ring  int
	slot  int32
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
// The cursor keeps need, which must not change meanwhile. It does not allocate.
func (x *Index) Candidates(kind Kind, need []int64) Cursor {
	x.trees[kind].catchUp()
	return x.candidates(kind, need, false)
}

func (x *Index) candidates(kind Kind, need []int64, still bool) Cursor {
	l := &x.layouts[kind]
	k := l.holding(need[kind])
	c := Cursor{
		x: x, kind: kind, need: need, version: x.version, still: still,
		slot: none, until: absent, turn: max(k, l.Reach), outer: len(l.Bounds),
	}
	c.last = l.last(c.turn)
	c.seek(max(need[kind], 0))
	return c
}

// Settle prepares a kind for [Index.Still].
func (x *Index) Settle(kind Kind) { x.trees[kind].catchUp() }

// Still is [Index.Candidates] for walks that run at the same time: they write
// nothing, and so leave summaries as loose as they are. Since the last change of
// the index the kind must have been settled; else Still panics.
func (x *Index) Still(kind Kind, need []int64) Cursor {
	if x.trees[kind].deferring {
		panic("rings: a kind that was not settled is walked")
	}
	return x.candidates(kind, need, true)
}

// Earlier reports whether [Index.Candidates] comes to the agent of slot a before
// that of b, where it comes to both.
func (x *Index) Earlier(kind Kind, need []int64, a, b int) bool {
	l, t := &x.layouts[kind], &x.trees[kind]
	e, f := t.entryOf(int32(a)), t.entryOf(int32(b))
	turn := max(l.holding(need[kind]), l.Reach)
	i, j := l.holding(e.own), l.holding(f.own)
	if (i > turn || j > turn) && i != j {
		return i <= turn || j > turn && i > j
	}
	return cmp.Or(cmp.Compare(e.own, f.own), cmp.Compare(e.next, f.next), t.tie(e.slot, f.slot)) < 0
}

// Outermost starts a walk over the same agents from the outermost ring down to
// ring K, as if the reach were used up before it began: the largest remainders
// first, though inside a ring still the closest.
func (x *Index) Outermost(kind Kind, need []int64) Cursor {
	x.trees[kind].catchUp()
	l := &x.layouts[kind]
	return Cursor{
		x: x, kind: kind, need: need, version: x.version,
		leaf: none, slot: none, until: absent, turn: l.holding(need[kind]) - 1, outer: len(l.Bounds),
	}
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
	return Candidate{Agent: c.x.ids[slot], Slot: slot, Ring: c.ring, Free: c.Free()}, true
}

// Step is [Cursor.Next] for a caller who reads many candidates and knows them by
// their slots.
func (c *Cursor) Step() (slot int, ok bool) {
	if c.version != c.x.version {
		panic("rings: cursor used after the index changed")
	}
	for {
		for c.leaf != none {
			if c.scan() {
				return int(c.slot), true
			}
		}
		if !c.stretch() {
			return 0, false
		}
	}
}

// Ring is the latest candidate's, as in [Candidate].
func (c *Cursor) Ring() int { return c.ring }

// Free is what the latest candidate has, as in [Candidate].
func (c *Cursor) Free() []int64 { return c.x.vector(c.slot) }

// SkipRing passes over the rest of the latest candidate's ring, for a caller
// that wants only a few from each.
func (c *Cursor) SkipRing() {
	if c.version != c.x.version {
		panic("rings: cursor used after the index changed")
	}
	if c.ring > 0 && c.ring < c.turn {
		c.seek(c.x.layouts[c.kind].first(c.ring + 1))
	} else if c.ring > 0 {
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
	if c.slot == none || c.leaf == none {
		return
	}
	t := &c.x.trees[c.kind]
	nd := t.nodes[c.leaf]
	e := t.entryOf(c.slot)
	if last := int(nd.n) - 1; c.at <= last && t.alike(nd, last, e) {
		c.at = last + 1
	}
	for ; c.at < int(nd.n); c.at++ {
		if !t.alike(nd, c.at, e) {
			return
		}
	}
	if nd.parent != none {
		up := t.nodes[nd.parent]
		if i := up.indexOf(c.leaf) + 1; i < int(up.n) && !t.alike(up, i, e) {
			return // the next leaf begins with another sort
		}
	}
	c.descend(func(nd *node) int { return t.upTo(nd, e) })
}

// alike says whether the agent of the entry at i of a node has all that e's has.
func (t *tree) alike(nd *node, i int, e entry) bool {
	return nd.own[i] == e.own && nd.next[i] == e.next && slices.Equal(t.vector(nd.slot[i]), t.vector(e.slot))
}

// stretch goes on to the next ring from the outermost down. The rings from K
// up to the turn are one stretch, since ascending rings, each closest first,
// are simply ascending amounts.
func (c *Cursor) stretch() bool {
	if c.outer <= c.turn {
		return false
	}
	l := &c.x.layouts[c.kind]
	c.last = l.last(c.outer)
	c.until = absent
	c.seek(l.first(c.outer))
	c.outer--
	return true
}

// scan goes to the next fitting entry of the leaf, and to the next leaf when
// there is none.
func (c *Cursor) scan() bool {
	t := &c.x.trees[c.kind]
	nd := t.nodes[c.leaf]
	for ; c.at < int(nd.n); c.at++ {
		own, slot := nd.own[c.at], nd.slot[c.at]
		if own > c.last {
			c.leaf = none
			return false
		}
		if !fits(t.vector(slot), c.need) {
			continue
		}
		c.whole = false
		if c.pass.Has(int(slot)) {
			c.passed = true
			continue
		}
		if own > c.until {
			l := &c.x.layouts[c.kind]
			c.ring = l.holding(own)
			c.until = l.last(c.ring)
		}
		c.slot = slot
		c.at++
		return true
	}
	if c.whole && !c.still {
		t.tighten(c.leaf)
	}
	if nd.parent == none {
		c.leaf = none
	} else {
		c.step(nd.parent, t.nodes[nd.parent].indexOf(c.leaf)+1)
	}
	return false
}

// seek goes to the first entry with at least the amount whose leaf may hold a
// candidate.
func (c *Cursor) seek(amount int64) {
	c.descend(func(nd *node) int { return nd.below(amount) })
}

// descend goes to the first entry that is not passed, where passed says how
// many entries of a node are, or to the first leaf after it that may hold a
// candidate.
func (c *Cursor) descend(passed func(*node) int) {
	t := &c.x.trees[c.kind]
	id := t.root
	nd := t.nodes[id]
	for !nd.leaf() {
		// The child before the first that is not passed may end with such.
		i := max(passed(nd)-1, 0)
		if !fits(nd.tops[i*t.kinds:(i+1)*t.kinds], c.need) {
			c.step(id, i+1)
			return
		}
		id = nd.kids[i]
		nd = t.nodes[id]
	}
	c.leaf, c.at = id, passed(nd)
	c.whole = c.at == 0
}

// step goes to the first leaf that may hold a candidate, from child i of an
// inner node on, down and up as needed.
func (c *Cursor) step(id int32, i int) {
	t := &c.x.trees[c.kind]
	for {
		nd := t.nodes[id]
		for i < int(nd.n) && nd.own[i] <= c.last && !fits(nd.tops[i*t.kinds:(i+1)*t.kinds], c.need) {
			i++
		}
		switch {
		case i < int(nd.n) && nd.own[i] > c.last:
			c.leaf = none
			return
		case i < int(nd.n):
			id, i = nd.kids[i], 0
			if t.nodes[id].leaf() {
				c.leaf, c.at, c.whole = id, 0, true
				return
			}
		case nd.parent == none:
			c.leaf = none
			return
		default:
			if !c.still {
				t.tighten(id)
			}
			i = t.nodes[nd.parent].indexOf(id) + 1
			id = nd.parent
		}
	}
}
