package rings

// Sampled is an agent of a sample.
type Sampled struct {
	// Slot is what [Index.Set] returned for the agent.
	Slot int32
	lot  int32
}

// Sample writes the next candidates into some: of those that have exactly the same
// of every kind and measure only the first, and of each ring at most so many. It
// returns how many they are; fewer than there is room for are all that were left. It
// gives what [Cursor.Step] does with [Cursor.SkipAlike] after each and
// [Cursor.SkipRing] after the last of a ring, for a caller who compares a few dozen:
// each leaf is read in one go.
func (c *Cursor) Sample(some []Sampled, ofRing int) int {
	if c.version != c.x.version {
		panic("rings: cursor used after the index changed")
	}
	s := sample{some: some, ofRing: ofRing}
	for s.n < len(some) && (c.leaf != none || c.stretch()) {
		if c.leaf != none {
			c.sampleLeaf(&s)
		}
	}
	return s.n
}

// sample is what was given so far.
type sample struct {
	some   []Sampled
	n      int
	ofRing int
	inRing int // of the latest's ring
}

// sampleLeaf gives what the rest of the leaf has, and goes on to the next leaf or
// ring; it stops where there is no room for more.
func (c *Cursor) sampleLeaf(s *sample) {
	t := &c.x.trees[c.kind]
	nd, h, wanted, ample := &t.leaves[c.leaf], &t.leafHeads[c.leaf], c.wanted(), c.ample()
	keys := nd.key[:h.n]
	for at := c.at; at < len(keys); at++ {
		key, lot := keys[at], nd.lot[at]
		if key > c.lastKey {
			c.leaf = none
			return
		}
		lanes := t.lanes(lot)
		if !mayFit(lanes, wanted) {
			continue
		}
		own := t.own(key, lot)
		if own > c.last {
			c.leaf = none
			return
		}
		if own < c.first || !mayFit(lanes, ample) && !fits(t.vector(lot), c.need) {
			continue
		}
		c.whole, c.at = false, at+1
		c.lot, c.own, c.slot = lot, own, none
		if !c.member() {
			continue
		}
		if c.give(s) || s.n == len(s.some) {
			return
		}
	}
	c.at = len(keys)
	c.leave()
}

// give adds the latest candidate to a sample, and passes over the rest of its ring if
// it is the last of that.
func (c *Cursor) give(s *sample) (skipped bool) {
	c.inside = false
	if c.own > c.until {
		c.Ring()
		s.inRing = 0
	}
	s.some[s.n] = Sampled{c.slot, c.lot}
	s.n++
	s.inRing++
	if skipped = s.inRing == s.ofRing; skipped {
		c.SkipRing()
	}
	return skipped
}

// FreeOf is [Index.FreeAt] for an agent of a sample, until the next change.
func (x *Index) FreeOf(s Sampled) []int64 { return x.vector(s.lot) }
