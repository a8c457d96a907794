package match

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// teach shows a strategy demands that nobody serves.
func teach(b *bench, w *waste, times int, texts ...string) {
	b.Helper()
	for range times {
		for _, text := range texts {
			var d offers.Demand
			if err := d.UnmarshalJSON([]byte(text)); err != nil {
				b.Fatal(err)
			}
			w.asked(b.Matcher, &demand{spec: d, left: *d.Count, form: b.form(appendShape(nil, &d))})
		}
	}
}

func (b *bench) waste() *waste { return b.placers[offers.Waste].strategy.(*waste) }

// TestWasteGolden is the golden case of the strategy's docstring.
func TestWasteGolden(t *testing.T) {
	b := newBench(t, Config{})
	f := b.framework("f", "default")
	for name, taken := range map[string]string{"190": "810", "540": "460", "600": "400"} {
		b.agent(name, `{"cpus":8,"devices":{"gpu":{"ids":["g0"],"capacity":[1000]}}}`)
		b.demand(f, `{"id":"fill `+name+`","count":1,"constraints":["name==`+name+`"],"resources":{"devices":{"gpu":{"memory":`+taken+`}}}}`)
		b.offered()
	}
	small := `"count":1,"placement":"waste","resources":{"devices":{"gpu":{"memory":190}}}}`
	teach(b, b.waste(), 8, `{"id":"a",`+small, `{"id":"b","count":1,"resources":{"devices":{"gpu":{"memory":600}}}}`)
	for i, want := range []string{"[190]", "[540]", "[540]", "[600]"} {
		b.demand(f, fmt.Sprint(`{"id":"`, i, `",`, small))
		if got := b.places(); got != want {
			t.Errorf("190 thousandths are offered on %s, want %s", got, want)
		}
	}
}

// TestPsi: with one size seen, and no task that ends, a gap is wasted but for the
// slices that fit it, each of which makes up for what is left beside them. With an
// end for each demand it is the remainder of a division, and between them the mean.
func TestPsi(t *testing.T) {
	for _, turnover := range []float64{0, 0.5, 1} {
		c := classLore{}
		c.sizes[300] = 5
		c.learn(turnover)
		for x, got := range c.psi {
			fit := float64(x / 300)
			if want := float64(x) - fit*(300+(1-turnover)*100/3); math.Abs(got-want) > 1e-6 {
				t.Fatalf("turnover %v: psi[%d] is %v, want %v", turnover, x, got, want)
			}
		}
	}
	c := classLore{}
	c.sizes[500], c.sizes[1000] = 1, 1
	c.learn(1)
	if half := math.Pow(0.5, loreHorizon); c.psi[500] != 500*half || c.psi[499] != 499 {
		t.Errorf("psi[500] is %v and psi[499] %v, want %v and 499", c.psi[500], c.psi[499], 500*half)
	}
}

// TestLoreAsksForFewPrices: the sizes that most was asked in get a price.
func TestLoreAsksForFewPrices(t *testing.T) {
	c := classLore{}
	for m := 1; m <= 2*pricedSizes; m++ {
		c.sizes[m] = 1
	}
	c.sizes[1] = 1000
	sizes, parts := c.priced()
	if len(sizes) != pricedSizes || len(parts) != pricedSizes || sizes[0] != 1 || parts[0] != 1000 || sizes[1] != pricedSizes+2 || !slices.IsSorted(sizes) {
		t.Errorf("prices for %v, asked %v times", sizes, parts)
	}
}

// TestPressSparesTheScarce: whole-device demands leave the one agent with a
// model that others ask for to those others, once they were seen.
func TestPressSparesTheScarce(t *testing.T) {
	b := newBench(t, Config{})
	device := `"devices":{"gpu":{"ids":["g0"],"capacity":[1000]}}`
	b.agentWith("scarce", `{"cpus":8,`+device+`}`, map[string]string{"model": "B"})
	b.agentWith("plain", `{"cpus":8.2,`+device+`}`, map[string]string{"model": "A"})
	f := b.framework("f", "default")
	any := `"count":1,"placement":"waste","resources":{"cpus":1,"devices":{"gpu":{"count":1}}}}`
	b.demand(f, `{"id":"first",`+any)
	if got := b.places(); got != "[scarce]" {
		t.Fatalf("the first goes to %s, want [scarce], which is left fuller", got)
	}
	b.demand(f, `{"id":"first","count":0,"resources":{}}`)
	teach(b, b.waste(), 4, `{"id":"a","count":1,"constraints":["model==B"],"resources":{"cpus":1,"devices":{"gpu":{"count":1}}}}`)
	b.demand(f, `{"id":"second",`+any)
	if got := b.places(); got != "[plain]" {
		t.Fatalf("the second goes to %s, want [plain]", got)
	}
}

// TestLackKeepsCPUsBesideDevices: of two agents whose device is equally free a
// demand with few cpus takes the one that has few left.
func TestLackKeepsCPUsBesideDevices(t *testing.T) {
	b := newBench(t, Config{})
	gpus := `"devices":{"gpu":{"ids":["g0","g1"],"capacity":[1000,1000]}}`
	b.agent("many", `{"cpus":16,`+gpus+`}`)
	b.agent("few", `{"cpus":20,`+gpus+`}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"fill","count":1,"constraints":["name==few"],"resources":{"cpus":14}}`)
	b.demand(f, `{"id":"fill 2","count":1,"constraints":["name==many"],"resources":{"mem":0,"cpus":0.1}}`)
	b.offered()
	teach(b, b.waste(), 8, `{"id":"a","count":1,"resources":{"cpus":8,"devices":{"gpu":{"count":1}}}}`)
	b.demand(f, `{"id":"d","count":1,"placement":"waste","resources":{"cpus":1,"devices":{"gpu":{"count":1}}}}`)
	if got := b.places(); got != "[few]" {
		t.Fatalf("one cpu beside a device is offered on %s, want [few]: the other can still serve two of eight", got)
	}
}

// TestLargeGolden is the golden case of [large].
func TestLargeGolden(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("eight", `{"cpus":96,"devices":{"gpu":{"ids":["g0","g1","g2","g3","g4","g5","g6","g7"],"capacity":[1,1,1,1,1,1,1,1]}}}`)
	b.agent("four", `{"cpus":32,"devices":{"gpu":{"ids":["g0","g1","g2","g3"],"capacity":[1,1,1,1]}}}`)
	f, w := b.framework("f", "default"), b.waste()
	seen := []string{
		`{"id":"a","count":1,"resources":{"cpus":64,"devices":{"gpu":{"count":8}}}}`,
		`{"id":"b","count":1,"resources":{"cpus":8,"devices":{"gpu":{"count":1}}}}`,
	}
	heavy := `{"id":"d","count":1,"placement":"waste","resources":{"cpus":24,"devices":{"gpu":{"count":1}}}}`
	for _, c := range []struct {
		ended int
		want  string
	}{{0, "[eight]"}, {16, "[four]"}} {
		for range c.ended {
			w.unitEnded()
		}
		teach(b, w, 32, seen...)
		b.demand(f, heavy)
		if got := b.places(); got != c.want {
			t.Errorf("with %d units ended it goes to %s, want %s", c.ended, got, c.want)
		}
	}
}

// TestEndsAreLearned: a task that ends is counted by the strategy that learns,
// and what is counted fades with the demands.
func TestEndsAreLearned(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Waste})
	b.agent("a", `{"cpus":8,"devices":{"gpu":{"ids":["g0"],"capacity":[1000]}}}`)
	f, w := b.framework("f", "default"), b.waste()
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1}}`)
	b.launch(b.offered()[0], map[string]string{"t": `{"cpus":1}`})
	if w.ended != 0 {
		t.Fatalf("%v units have ended before any has", w.ended)
	}
	b.Ended(offers.TaskRef{Framework: f, Task: "t"})
	if w.ended != 1 {
		t.Fatalf("%v units have ended, want 1", w.ended)
	}
	for range 2 * loreFades / loreInterval {
		teach(b, w, 1, `{"id":"a","count":100000,"resources":{"cpus":1}}`)
	}
	if w.ended >= 1 {
		t.Errorf("%v units that have ended are remembered", w.ended)
	}
}

// TestSlots: what is scarcest decides, and what is not asked does not count.
func TestSlots(t *testing.T) {
	l := large{count: 4, cpus: 1000}
	for _, c := range []struct{ idle, cpus, mem, want int64 }{
		{3, 9000, 0, 0}, {4, 9000, 0, 1}, {11, 9000, 0, 2}, {16, 3999, 0, 3}, {16, 999, 0, 0},
	} {
		if got := l.slots(c.idle, c.cpus, c.mem); got != c.want {
			t.Errorf("%+v: %d slots", c, got)
		}
	}
	if l.mem = 10; l.slots(16, 9000, 19) != 1 {
		t.Error("memory for one does not make one slot")
	}
}

// TestLoreIsBounded: shapes without end are told apart up to a limit, what was
// seen most stays, and counts fade.
func TestLoreIsBounded(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":8,"devices":{"gpu":{"ids":["g0"],"capacity":[1000]}}}`)
	w := b.waste()
	frequent := `{"id":"a","count":50,"resources":{"cpus":1,"devices":{"gpu":{"memory":500}}}}`
	teach(b, w, 20, frequent)
	one := 1
	for i := range 3 * loreShapes {
		d := offers.Demand{ID: "x", Count: &one}
		d.Resources.Amounts[offers.CPUs] = int64(i + 1)
		d.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1}}
		w.asked(b.Matcher, &demand{spec: d, left: 1, form: b.form(appendShape(nil, &d))})
	}
	if n := len(w.inOrder); n > loreShapes || n != len(w.shapes) || w.inOrder[0].weight < 900 {
		t.Errorf("%d shapes are known, %d by key, the first with %v", n, len(w.shapes), w.inOrder[0].weight)
	}
	for range 2 * loreFades / loreInterval {
		teach(b, w, 1, `{"id":"a","count":100000,"resources":{"cpus":1,"devices":{"gpu":{"memory":500}}}}`)
	}
	if w.seen > loreFades || w.aligned[0].sizes[500] > loreFades {
		t.Errorf("%v units are remembered, %v of one size", w.seen, w.aligned[0].sizes[500])
	}
}

// TestLoreAgainstCounts: what is known of the shapes is what comes of counting all
// of them one by one, and taking the least from each where they are too many.
func TestLoreAgainstCounts(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":8,"devices":{"gpu":{"ids":["g0"],"capacity":[1000]}}}`)
	w, rnd := b.waste(), rand.New(rand.NewPCG(5, 5))
	var order []int64 // of the shapes, by their cpus
	counts := map[int64]float64{}
	for range 20_000 {
		d := offers.Demand{ID: "x"}
		cpus := rnd.Int64N(1 + rnd.Int64N(2*loreShapes))
		d.Resources.Amounts[offers.CPUs] = cpus
		d.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1}}
		units := 1 + rnd.IntN(3)
		w.asked(b.Matcher, &demand{spec: d, left: units, form: b.form(appendShape(nil, &d))})
		if counts[cpus] == 0 {
			order = append(order, cpus)
		}
		if counts[cpus] += float64(units); len(order) > loreShapes {
			least := slices.Min(slices.Collect(maps.Values(counts)))
			for cpus := range counts {
				if counts[cpus] -= least; counts[cpus] == 0 {
					delete(counts, cpus)
				}
			}
			order = slices.DeleteFunc(order, func(cpus int64) bool { return counts[cpus] == 0 })
		}
	}
	if w.lightest.Len() != len(order) || len(w.shapes) != len(order) {
		t.Errorf("%d shapes are by weight and %d by key, want %d", w.lightest.Len(), len(w.shapes), len(order))
	}
	known := []int64{}
	for _, s := range w.inOrder {
		cpus := s.spec.Resources.Amounts[offers.CPUs]
		known = append(known, cpus)
		if got := s.weight - w.fallen; got != counts[cpus] || w.shapes[s.key] != s {
			t.Fatalf("the shape with %d has %v, want %v", cpus, got, counts[cpus])
		}
	}
	if !slices.Equal(known, order) {
		t.Errorf("shapes are in the order %v, want %v", known, order)
	}
}

// TestMixedDemandsUseKindsEvenly: a demand for cpus alone takes what is closest
// in cpus; one for cpus and memory the agent that it leaves evenly used. `rings`
// takes the closest for both.
func TestMixedDemandsUseKindsEvenly(t *testing.T) {
	for _, c := range []struct {
		placement offers.Placement
		resources string
		want      string
	}{
		{offers.Waste, `{"cpus":2}`, "[close]"},
		{offers.Waste, `{"cpus":2,"mem":1073741824}`, "[even]"},
		{offers.Rings, `{"cpus":2,"mem":1073741824}`, "[close]"},
	} {
		b := newBench(t, Config{Placement: c.placement})
		b.agent("close", `{"cpus":8,"mem":8589934592}`)
		b.agent("even", `{"cpus":10,"mem":8589934592}`)
		f := b.framework("f", "default")
		b.demand(f, `{"id":"fill","count":1,"constraints":["name==close"],"resources":{"cpus":4}}`)
		b.offered()
		b.demand(f, `{"id":"d","count":1,"resources":`+c.resources+`}`)
		if got := b.places(); got != c.want {
			t.Errorf("%s: %s goes to %s, want %s", c.placement, c.resources, got, c.want)
		}
	}
}
