package rings_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// drawLayouts are one to five kinds with bounds from crowded to far apart, and
// up to two measures.
func drawLayouts(t *rapid.T, unit int64) []rings.Layout {
	layouts := make([]rings.Layout, rapid.IntRange(1, 5).Draw(t, "kinds"))
	for k := range layouts {
		bounds := rapid.SliceOfNDistinct(rapid.Int64Range(0, 40), 1, 8, rapid.ID).Draw(t, "bounds")
		slices.Sort(bounds)
		bounds = inUnits(bounds, unit)
		layouts[k] = rings.Layout{Name: fmt.Sprint("k", k), Bounds: bounds, Reach: rapid.IntRange(1, len(bounds)).Draw(t, "reach")}
	}
	for k := range rapid.IntRange(0, 2).Draw(t, "measures") {
		layouts = append(layouts, rings.Layout{Name: fmt.Sprint("m", k), Measure: true})
	}
	return layouts
}

// game draws what to do with a twin.
type game struct {
	*twin
	unit   int64 // of all amounts, so that they are exact in an index's summaries, rounded or clipped
	kinds  int   // measures too
	ringed int
}

func (g *game) agent(t *rapid.T) offers.AgentID {
	return offers.AgentID(fmt.Sprint("a", rapid.IntRange(0, 300).Draw(t, "agent")))
}

// known is an agent of the index, if there is one.
func (g *game) known(t *rapid.T) (offers.AgentID, bool) {
	if len(g.slots) == 0 {
		return "", false
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(g.slots))).Draw(t, "known"), true
}

func (g *game) kind(t *rapid.T) rings.Kind {
	return rings.Kind(rapid.IntRange(0, g.ringed-1).Draw(t, "kind"))
}

// free is a vector with kinds missing now and then.
func (g *game) free(t *rapid.T) []int64 {
	return inUnits(g.units(t), g.unit)
}

func (g *game) units(t *rapid.T) []int64 {
	return rapid.SliceOfN(rapid.Int64Range(-2, 50), g.kinds, g.kinds).Draw(t, "free")
}

// inUnits multiplies amounts; what is below nothing stays.
func inUnits(amounts []int64, unit int64) []int64 {
	for k := range amounts {
		amounts[k] *= max(unit*min(amounts[k], 1), 1)
	}
	return amounts
}

func (g *game) need(t *rapid.T) []int64 {
	return inUnits(rapid.SliceOfN(rapid.Int64Range(0, 20), g.kinds, g.kinds).Draw(t, "need"), g.unit)
}

// crowd sets many agents at once, in steps that make ties or none, so that
// nodes split.
func (g *game) crowd(t *rapid.T) {
	from, many := rapid.IntRange(0, 300).Draw(t, "from"), rapid.IntRange(1, 400).Draw(t, "many")
	base, step := g.units(t), rapid.SliceOfN(rapid.Int64Range(0, 13), g.kinds, g.kinds).Draw(t, "step")
	for i := range many {
		v := slices.Clone(base)
		for k := range v {
			v[k] = (v[k]+2+int64(i)*step[k])%53 - 2
		}
		g.set(offers.AgentID(fmt.Sprint("a", from+i)), inUnits(v, g.unit))
	}
}

// clear removes a stretch of a ring, as one rack that fails, so that nodes join.
func (g *game) clear(t *rapid.T) {
	kind := g.kind(t)
	ids := g.model.inRing(kind, rapid.IntRange(1, len(g.model.layouts[kind].Bounds)).Draw(t, "ring"))
	from := rapid.IntRange(0, len(ids)).Draw(t, "from")
	for _, id := range ids[from:rapid.IntRange(from, len(ids)).Draw(t, "to")] {
		g.remove(id)
	}
}

// indexMatchesModel holds every operation of an index against sorting a list.
func indexMatchesModel(t *rapid.T) {
	unit := rapid.SampledFrom([]int64{1, 997, 1 << 39}).Draw(t, "unit")
	layouts := drawLayouts(t, unit)
	g := &game{twin: newTwin(t, layouts), unit: unit, kinds: len(layouts)}
	g.ringed = g.model.ringed()
	t.Repeat(map[string]func(*rapid.T){
		"set": func(t *rapid.T) { g.set(g.agent(t), g.free(t)) },
		"move": func(t *rapid.T) {
			if id, ok := g.known(t); ok {
				g.move(id, g.free(t))
			}
		},
		"same again": func(t *rapid.T) {
			if id, ok := g.known(t); ok {
				g.set(id, slices.Clone(g.model.free[id]))
			}
		},
		"remove": func(t *rapid.T) { g.remove(g.agent(t)) },
		"crowd":  g.crowd,
		"clear":  g.clear,
		"take": func(t *rapid.T) {
			for range rapid.IntRange(1, 20).Draw(t, "times") {
				g.take(g.kind(t), g.need(t))
			}
		},
		"kinds of": func(t *rapid.T) {
			kind, need := g.kind(t), g.need(t)
			c := g.index.Candidates(kind, need)
			c.SkipAlike() // before the first there is nothing to skip
			var got []string
			for a, ok := c.Next(); ok; a, ok = c.Next() {
				got = append(got, fmt.Sprintf("%s@%d", a.Agent, a.Ring))
				c.SkipAlike()
			}
			if want := g.model.distinct(kind, need); !slices.Equal(got, want) {
				t.Fatalf("kind %d need %d, one of a kind:\n got %v\nwant %v", kind, need, got, want)
			}
		},
		"sample": func(t *rapid.T) {
			g.compareSample(g.kind(t), g.need(t), rapid.IntRange(1, 40).Draw(t, "room"), rapid.IntRange(1, 9).Draw(t, "of each"))
		},
		"from outside": func(t *rapid.T) {
			kind, need := g.kind(t), g.need(t)
			got, want := collect(g.index.Outermost(kind, need)), g.model.fitting(kind, need, g.model.inward(kind, need[kind]))
			if !slices.Equal(got, want) {
				t.Fatalf("kind %d need %d from outside:\n got %v\nwant %v", kind, need, got, want)
			}
		},
		"walk":  func(t *rapid.T) { g.compareWalk(g.kind(t), g.need(t)) },
		"skips": func(t *rapid.T) { g.compareSkips(g.kind(t), g.need(t), rapid.IntRange(1, 4).Draw(t, "of each")) },
		"open": func(t *rapid.T) {
			kind, need := g.kind(t), g.need(t)
			c := g.index.Candidates(kind, need)
			g.cursor, g.open = &c, g.model.candidates(kind, need)
		},
		"read": func(t *rapid.T) {
			if g.cursor != nil {
				g.read(rapid.IntRange(1, 60).Draw(t, "many"))
			}
		},
		"": func(*rapid.T) { g.check() },
	})
	g.compareView()
}

func TestAgainstModel(t *testing.T) { rapid.Check(t, indexMatchesModel) }

// FuzzIndex is the same, led by what is covered.
func FuzzIndex(f *testing.F) { f.Fuzz(rapid.MakeFuzz(indexMatchesModel)) }

// deepLayouts are of kinds of different nature.
var deepLayouts = []rings.Layout{
	{Name: "cpus", Bounds: []int64{0, 4, 8, 12, 16}, Reach: 3},
	{Name: "mem", Bounds: []int64{0, 16, 64, 256}, Reach: 2},
	{Name: "disk", Bounds: []int64{0}, Reach: 1},
	{Name: "gpu", Bounds: []int64{0, 1, 2, 4, 8}, Reach: 5},
	{Name: "gpu.slice", Bounds: []int64{0, 10, 20, 40}, Reach: 2},
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

// TestFirstLeafRunsEmpty beside a sibling too full to join.
func TestFirstLeafRunsEmpty(t *testing.T) {
	w := newTwin(t, []rings.Layout{{Name: "cpus", Bounds: []int64{0, 4, 8, 12}, Reach: 3}})
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
	rnd := rand.New(rand.NewPCG(2, 2))
	w := newTwin(t, deepLayouts)
	for i, n := range rnd.Perm(agents) {
		w.set(offers.AgentID(fmt.Sprintf("a%d", n)), someAmounts(rnd, []int64{1000, 1000, 10, 9, 50}, true))
		need := someAmounts(rnd, []int64{100, 100, 2, 2, 50}, false)
		c, ok := w.index.Closest(rings.Kind(rnd.IntN(5)), need)
		w.allocate(c, ok, need)
		if i%2000 == 1999 {
			w.check()
			w.compareWalk(rings.Kind(rnd.IntN(5)), someAmounts(rnd, []int64{500, 500, 5, 5, 50}, false))
		}
	}
	w.compareView()
	for i, n := range rnd.Perm(agents) {
		w.remove(offers.AgentID(fmt.Sprintf("a%d", n)))
		if i%1000 == 999 {
			w.check()
			w.compareWalk(rings.Kind(rnd.IntN(5)), someAmounts(rnd, []int64{500, 500, 5, 5, 50}, false))
		}
	}
	if w.index.Len() != 0 {
		t.Errorf("%d agents left", w.index.Len())
	}
}
