package rings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// TestStill: walks that run at the same time come to the same agents in the
// same order as one alone, and Earlier knows that order.
func TestStill(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 13))
	x := newIndex(t, benchLayouts(t)...)
	asked := demands(rnd)
	for round := range 20 {
		for range 300 {
			x.Set(offers.AgentID(fmt.Sprint("a", rnd.IntN(600))), mixedAgent(rnd))
		}
		d := asked[rnd.IntN(len(asked))]
		x.Settle(d.kind)
		walks := make([][]int, 3)
		var wg sync.WaitGroup
		for i := range walks {
			wg.Go(func() { walks[i] = slots(x.Still(d.kind, d.need)) })
		}
		wg.Wait()
		want := slots(x.Candidates(d.kind, d.need))
		for _, got := range walks {
			if !slices.Equal(got, want) {
				t.Fatalf("round %d: beside others a walk came to %v, alone to %v", round, got, want)
			}
		}
		for range 200 {
			if len(want) < 2 {
				break
			}
			i, j := rnd.IntN(len(want)), rnd.IntN(len(want))
			if got := x.Earlier(d.kind, d.need, want[i], want[j]); got != (i < j) {
				t.Fatalf("round %d: agent %d of the walk is earlier than agent %d: %v", round, i, j, got)
			}
		}
	}
}

// TestStillWantsSettledKinds: agents that are not filed where they belong would
// be missed.
func TestStillWantsSettledKinds(t *testing.T) {
	x := newIndex(t, benchLayouts(t)...)
	for range 100 {
		x.Closest(mem, []int64{0, 1, 0, 0, 0})
	}
	x.Set("a", []int64{8000, gib, gib, -1, -1})
	still := func() { x.Still(cpus, []int64{1, 0, 0, 0, 0}) }
	expectPanic(t, still)
	x.Settle(cpus)
	still()
	x.Set("b", []int64{8000, gib, gib, -1, -1}) // one lot with a, who of them is first is not settled
	expectPanic(t, still)
}

func slots(c rings.Cursor) []int {
	var out []int
	for a, ok := c.Next(); ok; a, ok = c.Next() {
		out = append(out, a.Slot)
	}
	return out
}
