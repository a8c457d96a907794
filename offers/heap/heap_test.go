package heap_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers/heap"
)

type thing struct{ rank, at int }

// TestAgainstASortedList: whatever enters, moves and leaves, the first is the
// least, and everything knows its place.
func TestAgainstASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := heap.New(func(a, b *thing) bool { return a.rank < b.rank }, func(x *thing) *int { return &x.at })
		all := make([]*thing, 12)
		for i := range all {
			all[i] = &thing{at: -1}
		}
		inside := func() []*thing {
			return slices.DeleteFunc(slices.Clone(all), func(x *thing) bool { return x.at < 0 })
		}
		rank, pick := rapid.IntRange(0, 9), rapid.SampledFrom(all)
		t.Repeat(map[string]func(*rapid.T){
			"plan": func(t *rapid.T) {
				x := pick.Draw(t, "thing")
				x.rank = rank.Draw(t, "rank")
				in := rapid.Bool().Draw(t, "inside")
				if h.Plan(x, in); h.Has(x) != in {
					t.Fatalf("inside is %v, want %v", h.Has(x), in)
				}
			},
			"pop": func(t *rapid.T) {
				if h.Len() > 0 {
					first := h.First()
					if got := h.Pop(); got != first || got.at >= 0 {
						t.Fatalf("popped %+v, the first was %+v", got, first)
					}
				}
			},
			"rebuild": func(t *rapid.T) {
				for _, x := range all {
					x.rank = rank.Draw(t, "rank")
				}
				h.Rebuild()
			},
			"": func(t *rapid.T) {
				in := inside()
				if len(in) != h.Len() {
					t.Fatalf("%d inside, want %d", h.Len(), len(in))
				}
				for place, x := range h.All() {
					if x.at != place {
						t.Fatalf("%+v is at %d", x, place)
					}
				}
				if len(in) > 0 {
					least := slices.MinFunc(in, func(a, b *thing) int { return a.rank - b.rank })
					if h.First().rank != least.rank {
						t.Fatalf("the first is of rank %d, the least of %d", h.First().rank, least.rank)
					}
				}
			},
		})
	})
}
