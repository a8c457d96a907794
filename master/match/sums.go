package match

import (
	"math"
	"math/bits"
)

// sums are amounts by kind of many agents. Each stops at the ends of int64, and where
// it comes back from there it is exact: 1,024 agents with [offers.MaxAmount] of a kind,
// as the disks of some networks say that they have, are more than fits.
type sums struct {
	n    []int64 // of each kind, as far as that fits
	wide []wide  // exactly; nil as long as all of them fit
}

// wide is hi * 2^64 + lo.
type wide struct {
	hi int64
	lo uint64
}

func newSums(kindCount int) sums { return sums{n: make([]int64, kindCount)} }

// add adds an amount of a kind; one that is below 0 is taken away.
func (s *sums) add(kind int, amount int64) {
	n := &s.n[kind]
	if sum := *n + amount; s.wide == nil && (sum < *n) == (amount < 0) {
		*n = sum
		return
	}
	s.addWide(kind, amount)
}

// addWide is add where not all fit.
func (s *sums) addWide(kind int, amount int64) {
	if s.wide == nil {
		s.wide = make([]wide, len(s.n))
		for k, n := range s.n {
			s.wide[k].add(n)
		}
	}
	s.wide[kind].add(amount)
	s.n[kind] = s.wide[kind].stopped()
}

func (w *wide) add(n int64) {
	lo, carry := bits.Add64(w.lo, uint64(n), 0)
	w.lo, w.hi = lo, w.hi+n>>63+int64(carry)
}

// stopped returns w as far as it fits.
func (w wide) stopped() int64 {
	switch {
	case w.hi > 0 || w.hi == 0 && w.lo > math.MaxInt64:
		return math.MaxInt64
	case w.hi < -1 || w.hi == -1 && w.lo <= math.MaxInt64:
		return math.MinInt64
	}
	return int64(w.lo)
}

// stoppedPlus returns a + b, stopped at the ends of int64.
func stoppedPlus(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}
