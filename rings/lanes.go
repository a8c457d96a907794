package rings

import "math/bits"

// Lanes are a vector in a few words: each amount in 16 bits, four to a word, the
// first in the lowest, rounded so that what is no less stays no less. So a vector
// whose lanes are short of a need's certainly does not fit it, which is known
// from 16 bytes instead of a cache line, without a branch; one whose lanes suffice
// is compared in full. The highest bit of a lane is free, to borrow from.
//
// Source: L. Lamport, "Multiple byte processing with full-word instructions",
// CACM 18(8), 1975.
const (
	laneBits  = 16
	exact     = 1022 // the largest amount that a lane does not round
	lanesEach = 64 / laneBits
	guards    = 0x8000_8000_8000_8000
)

// lane is an amount, absent or more, in 15 bits: [exact] up to there, then to 9
// bits behind the first.
func lane(amount int64) uint64 {
	n := uint64(amount + 1)
	drop := max(bits.Len64(n)-10, 0)
	return uint64(drop)<<9 + n>>drop
}

// pack writes the lanes of a vector.
func pack(lanes []uint64, v []int64) {
	clear(lanes)
	for k, amount := range v {
		lanes[k/lanesEach] |= lane(amount) << (k % lanesEach * laneBits)
	}
}

// packNeed writes the lanes of a need, of which nothing is asked where it is 0, into
// wanted; a vector with lanes that are no less may fit. One with lanes no less than
// those written into ample does for certain.
func packNeed(wanted, ample []uint64, need []int64) {
	clear(wanted)
	clear(ample)
	for k, amount := range need {
		if amount > 0 {
			n, at := lane(amount), k%lanesEach*laneBits
			wanted[k/lanesEach] |= n << at
			if amount > exact {
				n++
			}
			ample[k/lanesEach] |= n << at
		}
	}
}

// mayFit says whether no lane is less than what is needed, or ample.
func mayFit(lanes, need []uint64) bool {
	enough := uint64(guards)
	need = need[:len(lanes)]
	for w, have := range lanes {
		enough &= (have | guards) - need[w]
	}
	return enough&guards == guards
}

// lift raises each lane of tops to that of v, and says whether any rose.
func lift(tops, v []uint64) bool {
	rose := uint64(0)
	v = v[:len(tops)]
	for w, top := range tops {
		enough := ((top | guards) - v[w]) & guards // the guard stays where top is no less
		keep := enough - enough>>(laneBits-1)      // and becomes the lane below it
		tops[w] = top&keep | v[w]&^keep
		rose |= enough ^ guards
	}
	return rose != 0
}
