package match

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLineGivesTheEldest: as a list does that is gone through.
func TestLineGivesTheEldest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line
		var all []*demand
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at := rapid.IntRange(0, 3*len(all)+2).Draw(t, "who")
			switch {
			case at >= len(all):
				all = append(all, &demand{age: uint64(len(all) + 1)})
				at = len(all) - 1
				fallthrough
			case all[at].line == nil:
				l.enter(all[at], []int64{rapid.Int64Range(0, 4).Draw(t, "cpus"), rapid.Int64Range(0, 4).Draw(t, "mem")})
			default:
				l.leave(all[at])
			}
			l.root.hold(t)
			room := []int64{rapid.Int64Range(0, 4).Draw(t, "free cpus"), rapid.Int64Range(0, 4).Draw(t, "free mem")}
			after, before := rapid.Uint64Range(0, 20).Draw(t, "after"), rapid.Uint64Range(1, 30).Draw(t, "before")
			suits := func(d *demand) bool { return d.age%3 > 0 }
			var want *demand
			for i := len(all) - 1; i >= 0; i-- {
				if d := all[i]; d.line != nil && d.age > after && d.age < before && covers(room, d.waiter.need) && suits(d) {
					want = d
				}
			}
			if got := l.root.eldest(after, before, room, suits); got != want {
				t.Fatalf("%v is the eldest between %d and %d for %v, want %v", got, after, before, room, want)
			}
		}
	})
}

// hold verifies the order and the least of all below w.
func (w *waiter) hold(t *rapid.T) {
	if w == nil {
		return
	}
	least := slices.Clone(w.need)
	for side, kid := range []*waiter{w.left, w.right} {
		if kid == nil {
			continue
		}
		if kid.rank < w.rank || (kid.d.age < w.d.age) != (side == 0) {
			t.Fatalf("age %d of rank %d is below %d of rank %d", kid.d.age, kid.rank, w.d.age, w.rank)
		}
		kid.hold(t)
		for k := range least {
			least[k] = min(least[k], kid.least[k])
		}
	}
	if !slices.Equal(least, w.least) {
		t.Fatalf("the least below age %d is %v, it says %v", w.d.age, least, w.least)
	}
}
