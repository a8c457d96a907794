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
// [Cursor.SkipRing] after the last of a ring.
func (c *Cursor) Sample(some []Sampled, ofRing int) int {
	n, ring, inRing := 0, 0, 0
	for n < len(some) {
		slot, ok := c.Step()
		if !ok {
			break
		}
		some[n] = Sampled{int32(slot), c.lot}
		n++
		c.inside = false
		if in := c.Ring(); in != ring {
			ring, inRing = in, 0
		}
		if inRing++; inRing == ofRing {
			c.SkipRing()
		}
	}
	return n
}

// FreeOf is [Index.FreeAt] for an agent of a sample, until the next change.
func (x *Index) FreeOf(s Sampled) []int64 { return x.vector(s.lot) }
