package match

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDemandHeap: whatever comes and goes, the eldest stand in their order and
// every demand knows its position.
func TestDemandHeap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 17))
	var h demandHeap
	var in []*demand // by age
	for step := range 5000 {
		if rnd.IntN(5) < 3 && len(in) < 200 {
			d := &demand{age: uint64(step), at: -1}
			if rnd.IntN(4) == 0 {
				d.age = rnd.Uint64N(5000) // one that rested for a while
			}
			h.push(d)
			at, _ := slices.BinarySearchFunc(in, d.age, func(d *demand, age uint64) int { return int(d.age) - int(age) })
			in = slices.Insert(in, at, d)
		} else if len(in) > 0 {
			gone := rnd.IntN(len(in))
			if rnd.IntN(2) == 0 {
				gone = 0
			}
			h.remove(in[gone].at)
			if in[gone].at != -1 {
				t.Fatalf("step %d: a demand that was taken out stands at %d", step, in[gone].at)
			}
			in = slices.Delete(in, gone, gone+1)
		}
		for i, s := range h {
			if s.d.at != i || s.age != s.d.age {
				t.Fatalf("step %d: the demand at %d stands at %d by itself", step, i, s.d.at)
			}
		}
		n := rnd.IntN(70)
		ages := func(list []*demand) (out []uint64) {
			for _, d := range list {
				out = append(out, d.age)
			}
			return out
		}
		if got, want := ages(h.eldest(n, nil)), ages(in[:min(n, len(in))]); !slices.Equal(got, want) {
			t.Fatalf("step %d: the %d eldest have the ages %v, want %v", step, n, got, want)
		}
	}
}
