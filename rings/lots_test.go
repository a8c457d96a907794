package rings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// TestPassWithinLots: of agents that are alike those are left out that the walk is to
// pass, and no other; a sample has the first of each lot that is left.
func TestPassWithinLots(t *testing.T) {
	rnd := rand.New(rand.NewPCG(23, 23))
	x := newIndex(t, rings.Layout{Name: "cpus", Bounds: []int64{0, 4, 8, 12, 16}, Reach: 3})
	need := []int64{3}
	for round := range 20 {
		for range 200 {
			x.Set(offers.AgentID(fmt.Sprintf("a%03d", rnd.IntN(300))), []int64{rnd.Int64N(20)})
		}
		all := slots(x.Candidates(0, need))
		var pass rings.Slots
		var left, first []int
		for _, slot := range all {
			if rnd.IntN(3) > 0 {
				pass = pass.With(slot)
				continue
			}
			left = append(left, slot)
			if n := len(left); n == 1 || x.FreeAt(left[n-2])[0] != x.FreeAt(slot)[0] {
				first = append(first, slot)
			}
		}
		c := x.Candidates(0, need)
		c.Pass(pass)
		if got := slots(c); !slices.Equal(got, left) {
			t.Fatalf("round %d: the walk came to %v, want %v", round, got, left)
		}
		c = x.Candidates(0, need)
		c.Pass(pass)
		some := make([]rings.Sampled, len(all))
		var got []int
		for _, a := range some[:c.Sample(some, len(all))] {
			got = append(got, int(a.Slot))
		}
		if !slices.Equal(got, first) || !c.Passed() {
			t.Fatalf("round %d: sampled are %v, want %v; passed %v", round, got, first, c.Passed())
		}
	}
}
