package rings

import "slices"

// Sample writes the slots of the next candidates into slots: of those that have
// exactly the same of every kind and measure only the first, and of each ring at
// most so many. It returns how many they are; fewer than there is room for are all
// that were left. It gives what [Cursor.Step] does with [Cursor.SkipAlike] after
// each and [Cursor.SkipRing] after the last of a ring, for a caller who compares a
// few dozen: each leaf is read in one go.
func (c *Cursor) Sample(slots []int32, ofRing int) int {
	if c.version != c.x.version {
		panic("rings: cursor used after the index changed")
	}
	s := sample{slots: slots, ofRing: ofRing}
	for s.n < len(slots) && (c.leaf != none || c.stretch()) {
		if c.leaf != none {
			c.sampleLeaf(&s)
		}
	}
	return s.n
}

// sample is what was given so far.
type sample struct {
	slots  []int32
	n      int
	ofRing int
	inRing int // of the latest's ring
	key    int64
}

// sampleLeaf gives what the rest of the leaf has, and goes on to the next leaf or
// ring; it stops where there is no room for more.
func (c *Cursor) sampleLeaf(s *sample) {
	t := &c.x.trees[c.kind]
	nd, h, wanted, ample := &t.leaves[c.leaf], &t.leafHeads[c.leaf], c.wanted(), c.ample()
	keys := nd.key[:h.n]
	for c.at < len(keys) {
		key, slot := keys[c.at], nd.slot[c.at]
		if key > c.lastKey {
			c.leaf = none
			return
		}
		if key == s.key && s.n > 0 && slices.Equal(t.vector(slot), t.vector(c.slot)) {
			leaf := c.leaf
			if c.SkipAlike(); c.leaf != leaf {
				return
			}
			continue
		}
		c.at++
		lanes := t.lanes(slot)
		if !mayFit(lanes, wanted) {
			continue
		}
		v := t.vector(slot)
		own := v[c.kind]
		if own > c.last {
			c.leaf = none
			return
		}
		if own < c.first || !mayFit(lanes, ample) && !fits(v, c.need) {
			continue
		}
		c.whole = false
		if c.pass.Has(int(slot)) {
			c.passed = true
			continue
		}
		c.slot = slot
		if own > c.until {
			c.Ring()
			s.inRing = 0
		}
		s.slots[s.n], s.key = slot, key
		s.n++
		if s.inRing++; s.inRing == s.ofRing {
			c.SkipRing()
			return
		}
		if s.n == len(s.slots) {
			return
		}
	}
	c.leave()
}
