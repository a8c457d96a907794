package rings_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// terrains are clusters of different nature: amounts says what an agent may
// have free of a kind, from almost all equal to almost all different.
var terrains = []struct {
	name    string
	layouts []rings.Layout
	amounts []int64
	agents  int
}{
	{"one kind, equal rings", []rings.Layout{
		{Name: "cpus", Bounds: []int64{0, 4, 8, 12}, Reach: 3},
	}, []int64{40}, 300},
	{"ties everywhere", []rings.Layout{
		{Name: "cpus", Bounds: []int64{0, 1, 2}, Reach: 2},
		{Name: "mem", Bounds: []int64{0, 1, 2}, Reach: 3},
		{Name: "gpu", Bounds: []int64{1, 2}, Reach: 1},
	}, []int64{3, 3, 3}, 600},
	{"geometric bounds, lower bound above nothing", []rings.Layout{
		{Name: "cpus", Bounds: []int64{1, 2, 4, 8, 16, 32, 64}, Reach: 4},
		{Name: "mem", Bounds: []int64{100, 1000, 10000}, Reach: 1},
	}, []int64{100, 20000}, 400},
	{"five kinds", []rings.Layout{
		{Name: "cpus", Bounds: []int64{0, 4, 8, 12, 16}, Reach: 3},
		{Name: "mem", Bounds: []int64{0, 16, 64, 256}, Reach: 2},
		{Name: "disk", Bounds: []int64{0}, Reach: 1},
		{Name: "gpu", Bounds: []int64{0, 1, 2, 4, 8}, Reach: 5},
		{Name: "gpu.slice", Bounds: []int64{0, 10, 20, 40}, Reach: 2},
	}, []int64{20, 300, 5, 9, 50}, 500},
}

func TestAgainstModel(t *testing.T) {
	for i, terrain := range terrains {
		t.Run(terrain.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			w := newTwin(t, terrain.layouts)
			for step := range 6000 {
				// Phases grow and shrink the index, so that nodes split and join.
				growing := step/1500%2 == 0
				id := offers.AgentID(fmt.Sprintf("a%d", rnd.IntN(terrain.agents)))
				switch n := rnd.IntN(20); {
				case n < 8 && growing || n < 3:
					w.set(id, someAmounts(rnd, terrain.amounts, true))
				case n < 9:
					w.remove(id)
				case n < 18:
					w.take(rings.Kind(rnd.IntN(len(terrain.amounts))), someAmounts(rnd, terrain.amounts, false))
				default:
					w.compareWalk(rings.Kind(rnd.IntN(len(terrain.amounts))), someAmounts(rnd, terrain.amounts, false))
				}
				w.check()
			}
			w.compareView()
		})
	}
}

// someAmounts is a vector of free amounts, with kinds missing now and then, or
// of needs, with kinds not asked for.
func someAmounts(rnd *rand.Rand, below []int64, free bool) []int64 {
	v := make([]int64, len(below))
	for k := range v {
		v[k] = rnd.Int64N(below[k])
		switch {
		case free && rnd.IntN(6) == 0:
			v[k] = -1 - rnd.Int64N(3)
		case !free:
			v[k] = rnd.Int64N(v[k] + 1)
		}
	}
	return v
}

// FuzzIndex reads operations from bytes: what to do, to which agent, with
// which amounts.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{0, 1, 5, 5, 5, 2, 0, 3, 3, 0})
	f.Add([]byte("0a1b2c3d4e5f6g7h8i9j"))
	layouts := []rings.Layout{
		{Name: "cpus", Bounds: []int64{0, 4, 8, 12}, Reach: 2},
		{Name: "mem", Bounds: []int64{2, 4, 8, 16, 32}, Reach: 4},
		{Name: "gpu", Bounds: []int64{1}, Reach: 1},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newTwin(t, layouts)
		for len(data) >= 5 {
			op, id := data[0]%5, offers.AgentID(fmt.Sprintf("a%d", data[1]))
			v := []int64{int64(data[2]) - 8, int64(data[3]) - 8, int64(data[4]) - 8}
			need := []int64{int64(data[2] % 24), int64(data[3] % 48), int64(data[4] % 4)}
			kind := rings.Kind(data[1] % 3)
			data = data[5:]
			switch op {
			case 0, 1:
				w.set(id, v)
			case 2:
				w.remove(id)
			case 3:
				w.take(kind, need)
			case 4:
				w.compareWalk(kind, need)
			}
			w.check()
		}
		w.compareView()
	})
}

// TestFirstLeafRunsEmpty beside a sibling too full to join.
func TestFirstLeafRunsEmpty(t *testing.T) {
	w := newTwin(t, terrains[0].layouts)
	id := func(n int64) offers.AgentID { return offers.AgentID(fmt.Sprintf("a%05d", n)) }
	for n := range int64(100) {
		w.set(id(n*1000), []int64{n * 1000})
	}
	for n := range int64(28) {
		w.set(id(40_001+n), []int64{40_001 + n})
	}
	for n := range int64(100) {
		w.remove(id(n * 1000))
		w.check()
		w.compareWalk(0, []int64{n})
	}
	w.compareView()
}

// TestDeep takes the tree through all its heights and back to nothing; checks
// and comparisons are spread, being linear.
func TestDeep(t *testing.T) {
	const agents = 12_000
	terrain := terrains[3]
	rnd := rand.New(rand.NewPCG(2, 2))
	w := newTwin(t, terrain.layouts)
	for i, n := range rnd.Perm(agents) {
		w.set(offers.AgentID(fmt.Sprintf("a%d", n)), someAmounts(rnd, []int64{1000, 1000, 10, 9, 50}, true))
		w.take(rings.Kind(rnd.IntN(5)), someAmounts(rnd, []int64{100, 100, 2, 2, 50}, false))
		if i%2000 == 1999 {
			w.check()
			w.compareWalk(rings.Kind(rnd.IntN(5)), someAmounts(rnd, []int64{500, 500, 5, 5, 50}, false))
		}
	}
	w.compareView()
	for i, n := range rnd.Perm(agents) {
		id := offers.AgentID(fmt.Sprintf("a%d", n))
		w.index.Remove(id)
		delete(w.model.free, id)
		if i%1000 == 999 {
			w.check()
			w.compareWalk(rings.Kind(rnd.IntN(5)), someAmounts(rnd, []int64{500, 500, 5, 5, 50}, false))
		}
	}
	if w.index.Len() != 0 {
		t.Errorf("%d agents left", w.index.Len())
	}
}
