package rings

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// anyAmount is of any size, absent and the greatest included.
func anyAmount(rnd *rand.Rand) int64 {
	if rnd.IntN(8) == 0 {
		return []int64{absent, 0, 1, 1022, 1023, 1024, math.MaxInt64 - 1}[rnd.IntN(7)]
	}
	return rnd.Int64N(1<<rnd.IntN(63)) + rnd.Int64N(2)
}

// TestLanesKeepTheOrder: no amount has a lesser lane than a smaller one, and none
// reaches the guard.
func TestLanesKeepTheOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 1_000_000 {
		a, b := anyAmount(rnd), anyAmount(rnd)
		if rnd.IntN(2) == 0 {
			b = min(a, math.MaxInt64-1000) + rnd.Int64N(1000)
		}
		if a > b {
			a, b = b, a
		}
		if lane(a) > lane(b) || lane(b) >= 1<<(laneBits-1) {
			t.Fatalf("the lane of %d is %d, that of %d is %d", a, lane(a), b, lane(b))
		}
		if b < 1023 && a != b && lane(a) == lane(b) {
			t.Fatalf("%d and %d have the same lane", a, b)
		}
	}
}

// TestLanesNeverHideWhatFits: what fits may fit by its lanes too, also under tops
// that were lifted to it, and what lacks half of something doesn't. What is ample
// fits.
func TestLanesNeverHideWhatFits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	no, ampleFor := 0, 0
	for range 200_000 {
		kinds := 1 + rnd.IntN(9)
		words := (kinds + lanesEach - 1) / lanesEach
		v, other, need := make([]int64, kinds), make([]int64, kinds), make([]int64, kinds)
		for k := range v {
			v[k], other[k] = anyAmount(rnd), anyAmount(rnd)
			if rnd.IntN(2) == 0 {
				need[k] = max(v[k]-rnd.Int64N(2), 0)
			}
		}
		if rnd.IntN(4) == 0 {
			need[rnd.IntN(kinds)] = max(anyAmount(rnd), 0)
		}
		has, tops, wanted, ample := make([]uint64, words), make([]uint64, words), make([]uint64, words), make([]uint64, words)
		pack(has, v)
		pack(tops, other)
		packNeed(wanted, ample, need)
		before := slices.Clone(tops)
		if lift(tops, has) == slices.Equal(tops, before) {
			t.Fatalf("lifting %x to %x made it %x, and said otherwise", before, has, tops)
		}
		for k := range v {
			if at := k % lanesEach * laneBits; tops[k/lanesEach]>>at&0xffff != max(lane(v[k]), lane(other[k])) {
				t.Fatalf("the tops of %v and %v are %x", v, other, tops)
			}
		}
		if fits(v, need) && !(mayFit(has, wanted) && mayFit(tops, wanted)) {
			t.Fatalf("%v fits %v, and its lanes %x do not fit %x", need, v, has, wanted)
		}
		for k := range v {
			if v[k] < need[k]/2 && need[k] > 1 && mayFit(has, wanted) {
				t.Fatalf("%v has half of %v, and its lanes hide that", v, need)
			}
		}
		if mayFit(has, ample) {
			if ampleFor++; !fits(v, need) {
				t.Fatalf("%v does not fit %v, and its lanes %x are ample, %x", need, v, has, ample)
			}
		}
		if !mayFit(has, wanted) {
			no++
		}
	}
	if no == 0 || ampleFor == 0 {
		t.Errorf("%d were passed over by their lanes, %d were ample", no, ampleFor)
	}
}

// TestKeysKeepTheOrder: where the keys of two agents differ their vectors do, the
// same way, also where amounts pass what a key holds.
func TestKeysKeepTheOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	some := []int64{0, 1, 2, ownMost - 1, ownMost, ownMost + 1, math.MaxInt64 - 1}
	others := []int64{absent, 0, 1, 1_000_000, otherMost - 2, otherMost - 1, otherMost, math.MaxInt64 - 1}
	for range 100_000 {
		a, b := some[rnd.IntN(len(some))], some[rnd.IntN(len(some))]
		c, d := others[rnd.IntN(len(others))], others[rnd.IntN(len(others))]
		k, l := keyOf(a, c), keyOf(b, d)
		if (a > b || a == b && c >= d) && k < l || k < leastKey(a) || k >= unused || a <= b && k > leastKey(b)|otherMost {
			t.Fatalf("the key of %d, %d is %d, that of %d, %d is %d; the least of %d is %d", a, c, k, b, d, l, a, leastKey(a))
		}
	}
}
