package match

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestLeastRequestedGolden is the golden case of the strategy's docstring.
func TestLeastRequestedGolden(t *testing.T) {
	b := newBench(t, Config{Placement: offers.LeastRequested})
	b.agent("a", `{"cpus":10,"mem":"10GiB"}`)
	b.agent("b", `{"cpus":20,"mem":"20GiB"}`)
	f := b.framework("f", "default")
	for i, want := range []string{"[b]", "[a]", "[b]"} {
		b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":{"cpus":4,"mem":"4GiB"}}`, i))
		if got := b.places(); got != want {
			t.Fatalf("unit %d goes to %s, want %s", i+1, got, want)
		}
	}
	b.agent("c", `{"cpus":10,"devices":{"gpu":{"ids":["1","2","3","4"],"capacity":[24,24,24,24]}}}`)
	b.agents[b.ids["c"]].room.Claim(offers.Holding{Devices: offers.DevicesOf(map[string][]offers.Grant{"gpu": {
		{ID: "1", Memory: 3}, {ID: "3", Index: 2, Memory: 20}, {ID: "4", Index: 3, Memory: 7},
	}})})
	b.moved(b.agents[b.ids["c"]])
	s := b.ask(f, `{"id":"slice","count":1,"resources":{"devices":{"gpu":{"memory":5}}}}`)
	if a := b.agents[b.ids["c"]]; !s.suits(a) || (leastRequested{}).score(s, a) != 364583/2 {
		t.Errorf("a slice of 5 makes %d millionths requested of c, want %d", leastRequested{}.score(s, a), 364583/2)
	}
}

// ask sets up the search for a demand.
func (b *bench) ask(f offers.FrameworkID, text string) *search {
	b.Helper()
	b.demand(f, text)
	d := b.frameworks[f].active[0].d
	b.compile(d)
	s := &b.search
	s.m, s.d, s.latest = b.Matcher, d, nil
	b.fair.headroom(d.owner.node, b.free.n, s.head)
	return s
}

// TestMostBalancedGolden is the golden case of the strategy's docstring.
func TestMostBalancedGolden(t *testing.T) {
	unit := `"count":1,"resources":{"cpus":4,"mem":"2GiB"}}`
	scene := func(p offers.Placement) (*bench, offers.FrameworkID) {
		b := newBench(t, Config{Placement: p})
		b.agent("x", `{"cpus":8,"mem":"8GiB"}`)
		b.agent("y", `{"cpus":8,"mem":"4GiB"}`)
		return b, b.framework("f", "default")
	}
	b, f := scene(offers.MostBalanced)
	s := b.ask(f, `{"id":"0",`+unit)
	if a := b.agents[b.ids["x"]]; !s.suits(a) || (mostBalanced{}).score(s, a) != 15625_000_000 {
		t.Errorf("the variance on x is %d millionths of millionths, want 0.015625", mostBalanced{}.score(s, a))
	}
	for i, want := range []string{"[y]", "[y]", "[x]"} {
		b.demand(f, fmt.Sprintf(`{"id":"%d",`, i)+unit)
		if got := b.places(); got != want {
			t.Fatalf("unit %d goes to %s, want %s", i+1, got, want)
		}
	}
	b, f = scene(offers.LeastRequested)
	b.demand(f, `{"id":"0",`+unit)
	if got := b.places(); got != "[x]" {
		t.Fatalf("least-requested takes %s, want [x]", got)
	}
}

// naive scores, by what an agent has and what is taken of it, as the formulas of
// section 3 are written.
func naive(p offers.Placement, has offers.Inventory, taken map[string]float64) float64 {
	var ratios []float64
	for k, n := range has.Amounts {
		if n > 0 {
			ratios = append(ratios, taken[offers.Scalar(k).String()]/float64(n))
		}
	}
	for _, c := range has.Classes {
		if n := c.Bytes(); n > 0 {
			ratios = append(ratios, taken[c.Name]/float64(n))
		}
	}
	var mean, variance float64
	for _, r := range ratios {
		mean += r / float64(len(ratios))
	}
	for _, r := range ratios {
		variance += (r - mean) * (r - mean) / float64(len(ratios))
	}
	if p == offers.MostBalanced {
		return variance
	}
	return mean
}

// takes counts holdings by kind.
func takes(holdings ...offers.Holding) map[string]float64 {
	out := map[string]float64{}
	for _, h := range holdings {
		for k, n := range h.Amounts {
			out[offers.Scalar(k).String()] += float64(n)
		}
		for _, held := range h.Devices {
			out[held.Class] += float64(h.DeviceBytes(held.Class))
		}
	}
	return out
}

// TestScansAgainstModel: of all agents on which a unit fits none would have had a
// smaller score than the one that got it, by a model that knows nothing but what
// was offered where. A millionth is allowed for what is rounded.
func TestScansAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]offers.Placement{offers.LeastRequested, offers.MostBalanced}).Draw(t, "placement")
		b := newBench(t, Config{Placement: p})
		for i := range rapid.IntRange(1, 8).Draw(t, "agents") {
			b.agent(fmt.Sprint("a", i), inventory(t))
		}
		f := b.framework("f", "default")
		held := map[offers.AgentID][]offers.Holding{}
		for i := range rapid.IntRange(1, 12).Draw(t, "units") {
			var r offers.Resources
			text := asks(t)
			if err := r.UnmarshalJSON([]byte(text)); err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprint("d", i)
			b.demand(f, `{"id":"`+id+`","count":1,"resources":`+text+`}`)
			best := math.Inf(1)
			for a := range b.state.Agents() {
				best = min(best, scoreOn(p, a, r, held[a.ID]))
			}
			out := b.offered()
			if len(out) == 0 && !math.IsInf(best, 1) {
				t.Fatalf("%s is offered nowhere, the best score is %v", text, best)
			}
			for _, o := range out {
				if got := scoreOn(p, b.state.Agent(o.Agent), r, held[o.Agent]); got > best+2e-6 {
					t.Fatalf("%s goes to %s with %v, the best score is %v", text, b.names[o.Agent], got, best)
				}
				held[o.Agent] = append(held[o.Agent], o.Held)
			}
		}
	})
}

// scoreOn is the naive score of an agent with one more unit, infinite where it
// does not fit.
func scoreOn(p offers.Placement, a *state.Agent, r offers.Resources, held []offers.Holding) float64 {
	room := offers.NewRoom(a.Total)
	for _, h := range held {
		room.Claim(h)
	}
	unit, short := room.Plan(r, func(string) offers.Policy { return a.Policy("") })
	if short != "" {
		return math.Inf(1)
	}
	return naive(p, a.Total, takes(append(held[:len(held):len(held)], unit)...))
}

// TestTurnsAreCut: a turn looks at no more agents than it may and those of the
// demands that were looked ahead to, and in the end all are offered.
func TestTurnsAreCut(t *testing.T) {
	const agents, demands = 400, 2000
	for _, p := range []offers.Placement{offers.LeastRequested, offers.Balance} {
		for _, workers := range []int{0, 2} {
			b := newBench(t, Config{OfferTimeout: time.Hour, Placement: p, Prematch: atOnce(workers)})
			for i := range agents {
				b.agent(fmt.Sprint("a", i), `{"cpus":16}`)
			}
			f := b.framework("f", "default")
			for i := range demands {
				b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":{"cpus":%d}}`, i, 1+i%3))
			}
			offered, turns := 0, 0
			for more := true; more; turns++ {
				before := b.looks()
				r := b.Ready(b.now)
				offered, more = offered+len(r.Offers), r.More
				if looked := b.looks() - before; looked > turnLooks+2*listsAhead*agents {
					t.Errorf("%s with %d pre-matchers looks at %d agents in a turn", p, workers, looked)
				}
			}
			if offered != demands || turns < 2 {
				t.Errorf("%s with %d pre-matchers offers %d of %d in %d turns", p, workers, offered, demands, turns)
			}
		}
	}
}
