package match

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// goldenAgent and goldenJobs are the golden case of ALGORITHMS section 4, in the
// order in which the jobs wait.
const goldenAgent = `{"cpus":100,"mem":1000,"devices":{"gpu":{"ids":["0","1","2","3","4","5","6","7","8","9"],"capacity":[8,8,8,8,8,8,8,8,8,8]}}}`

var goldenJobs = []struct {
	name            string
	cpus, mem, gpus int
}{{"job5", 20, 500, 4}, {"job2", 30, 400, 2}, {"job1", 40, 200, 2}, {"job4", 40, 300, 4}, {"job3", 30, 300, 1}, {"job6", 30, 200, 1}}

// waitInOrder has a framework demand the golden jobs.
func (b *bench) waitInOrder(f offers.FrameworkID) {
	b.Helper()
	for _, j := range goldenJobs {
		b.demand(f, fmt.Sprintf(`{"id":"%s","count":1,"resources":{"cpus":%d,"mem":%d,"devices":{"gpu":{"count":%d}}}}`, j.name, j.cpus, j.mem, j.gpus))
	}
}

// placed finishes a turn and returns which demands it served, in that order.
func (b *bench) placed() string {
	b.Helper()
	var out []string
	for _, o := range b.offered() {
		out = append(out, string(o.Demand))
	}
	return fmt.Sprint(out)
}

func TestBalanceGolden(t *testing.T) {
	for _, c := range []struct {
		placement offers.Placement
		config    *Balance
		placed    string
		stranded  [3]int64
	}{
		{offers.Rings, nil, "[job5 job2]", [3]int64{50, 100, 4}},
		{offers.Balance, &Balance{Threshold: 0.5, From: []WeightSource{FromUsage}, Patience: time.Hour}, "[job5 job1 job4]", [3]int64{}},
		{offers.Balance, &Balance{Threshold: 0.5, From: []WeightSource{FromInitial}, Patience: time.Hour}, "[job5 job1 job4]", [3]int64{}},
		{offers.Balance, nil, "[job5 job1 job4]", [3]int64{}},
	} {
		b := newBench(t, Config{Placement: c.placement, Balance: c.config})
		b.agent("a", goldenAgent)
		b.waitInOrder(b.framework("f", "default"))
		if got := b.placed(); got != c.placed {
			t.Errorf("%s %+v places %s, want %s", c.placement, c.config, got, c.placed)
		}
		if got := [3]int64{b.free.n[0] / 1000, b.free.n[1], b.free.n[scalars] / 8}; got != c.stranded {
			t.Errorf("%s %+v strands %v, want %v", c.placement, c.config, got, c.stranded)
		}
	}
}

// TestBalanceGoldenNumbers: weights and y of the golden case after job5.
func TestBalanceGoldenNumbers(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Balance, Balance: &Balance{From: []WeightSource{FromUsage}}})
	b.agent("a", goldenAgent)
	f := b.framework("f", "default")
	b.waitInOrder(f)
	s, a := &b.search, b.agents[b.ids["a"]]
	by := b.placers[offers.Balance].strategy.(*balance)
	y := func(square int64) float64 { return math.Round(math.Sqrt(float64(square)/1e18)*1e4) / 1e4 }
	for i, want := range []float64{0, 0.1866, 0.0544, 0} {
		d := b.frameworks[f].demands[offers.DemandID(goldenJobs[i].name)]
		b.compile(d)
		found := b.find(d)
		if got := y(by.after(s, a)); i > 0 && got != want {
			t.Errorf("%s makes y %v, want %v", goldenJobs[i].name, got, want)
		}
		if i == 1 {
			continue
		}
		b.hold(d, &found)
		if i > 0 {
			continue
		}
		by.weigh(b.Matcher)
		if want := []int64{111111, 555555, 333333}; by.weights[0] != want[0] || by.weights[1] != want[1] || by.weights[scalars] != want[2] {
			t.Errorf("weights %v, want %v of cpus, mem and gpu", by.weights, want)
		}
		if got := y(by.before(a)); got != 0.1155 {
			t.Errorf("y after job5 is %v, want 0.1155", got)
		}
	}
}

// TestBalanceIsPatientSoLong: what was passed over has its turn when it has
// waited for as long as is allowed, and at once where nothing else makes the
// agent more even.
func TestBalanceIsPatientSoLong(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Balance, Balance: &Balance{Threshold: 1, Patience: time.Minute}})
	b.agent("a", `{"cpus":8,"mem":8}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"first","count":1,"resources":{"cpus":4,"mem":2}}`)
	fill := b.launch(b.offered()[0], map[string]string{"fill": `{"cpus":4,"mem":2}`})
	b.demand(f, `{"id":"skewed","count":1,"resources":{"cpus":4,"mem":1}}`)
	b.demand(f, `{"id":"level","count":8,"resources":{"cpus":3,"mem":5}}`)
	if got := b.placed(); got != "[level]" {
		t.Fatalf("placed %s, want the one that evens the agent out", got)
	}
	b.now = b.now.Add(59 * time.Second)
	b.Decline(f, []offers.OfferID{b.book.All()[0].ID}, 0, b.now)
	if got := b.placed(); got != "[level]" {
		t.Fatalf("after 59 s placed %s, want the one that evens the agent out again", got)
	}
	b.now = b.now.Add(time.Second)
	b.Decline(f, []offers.OfferID{b.book.All()[0].ID}, 0, b.now)
	if got := b.placed(); got != "[skewed]" {
		t.Fatalf("after a minute placed %s, want the one that was passed over", got)
	}
	b.Ended(fill.Launches[0].Task.Ref())
	if got := b.placed(); got != "[level]" {
		t.Fatalf("placed %s of what is left", got)
	}
}

// TestNobodyPassesOverAnotherFramework: the one whose turn it is is served even
// if another one's demand would even the agent out.
func TestNobodyPassesOverAnotherFramework(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Balance})
	b.agent("a", `{"cpus":8,"mem":8}`)
	f, g := b.framework("f", "default"), b.framework("g", "default")
	b.demand(f, `{"id":"first","count":1,"resources":{"cpus":4,"mem":2}}`)
	b.launch(b.offered()[0], map[string]string{"fill": `{"cpus":4,"mem":2}`})
	b.demand(f, `{"id":"level","count":1,"resources":{"cpus":3,"mem":5}}`)
	b.demand(g, `{"id":"skewed","count":1,"resources":{"cpus":4,"mem":1}}`)
	if got := b.placed(); got != "[skewed]" {
		t.Fatalf("placed %s, want the demand of the framework that has nothing", got)
	}
}

// TestBalanceTakesTheFirstThatItEvens: below the threshold the walk starts one
// agent further each time and ends at the first agent that gets more even; from
// the threshold on the best of all is taken.
func TestBalanceTakesTheFirstThatItEvens(t *testing.T) {
	scene := func(threshold float64) string {
		b := newBench(t, Config{Placement: offers.Balance, Balance: &Balance{Threshold: threshold, From: []WeightSource{FromInitial}}})
		f := b.framework("f", "default")
		for _, name := range []string{"a1", "a2", "a3", "a4"} {
			b.agent(name, `{"cpus":40,"mem":40}`)
			cpus := 4
			if name == "a2" {
				cpus = 2 // where units of memory fit best
			}
			b.demand(f, fmt.Sprintf(`{"id":"%s","count":1,"constraints":["name==%s"],"resources":{"cpus":%d}}`, name, name, cpus))
		}
		b.offered()
		out := ""
		for i := range 4 {
			b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":{"mem":2}}`, i))
			out += b.places()
		}
		return out
	}
	if got := scene(0.9); got != "[a1][a2][a3][a4]" {
		t.Errorf("far below the threshold units go to %s, want each to the next agent", got)
	}
	if got := scene(0); got != "[a2][a2][a1][a1]" {
		t.Errorf("from the threshold on units go to %s, want the smallest y each time, the closest fit between equals", got)
	}
}

func TestBalanceConfigIsValidated(t *testing.T) {
	for says, c := range map[string]Balance{
		"threshold": {Threshold: 1.5}, "threshold is NaN": {Threshold: math.NaN()}, "weight of cpus": {Weights: map[string]float64{"cpus": 0}},
		"weight of mem": {Weights: map[string]float64{"mem": math.Inf(1)}}, `"use"`: {From: []WeightSource{"use"}},
		"twice": {From: []WeightSource{FromUsage, FromUsage}}, "patience": {Patience: -1},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", c, err, says)
		}
	}
	if err := DefaultBalance().Validate(); err != nil {
		t.Error(err)
	}
}

// TestPendingDemandsWeigh: the kind that more demands wait for weighs more, and
// what no longer waits does not.
func TestPendingDemandsWeigh(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Balance, Balance: &Balance{From: []WeightSource{FromPending}}})
	b.agent("a", `{"cpus":4,"mem":8,"devices":{"gpu":{"ids":["0"],"capacity":[8]}}}`)
	f := b.framework("f", "default")
	weights := func() []int64 {
		by := b.placers[offers.Balance].strategy.(*balance)
		by.weigh(b.Matcher)
		return []int64{by.weights[offers.CPUs], by.weights[offers.Mem], by.weights[scalars]}
	}
	for i, text := range []string{`{"mem":9}`, `{"devices":{"gpu":{"memory":9}}}`, `{"devices":{"gpu":{"count":2}}}`} {
		b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":%s}`, i, text))
	}
	b.offered()
	if got, want := weights(), []int64{111111, 333333, 555555}; !slices.Equal(got, want) {
		t.Errorf("with one demand short of mem and two of gpu the weights are %v, want %v", got, want)
	}
	b.demand(f, `{"id":"d1","count":0,"resources":{}}`)
	b.demand(f, `{"id":"d2","count":0,"resources":{}}`)
	b.agent("n", `{"cpus":1,"devices":{"npu":{"ids":["0"],"capacity":[8]}}}`) // a new kind: everything is made anew
	b.offered()
	if got, want := weights(), []int64{2 * 1e6 / 16 * 3 / 2, 7 * 1e6 / 16, 3 * 1e6 / 16}; !slices.Equal(got, want) {
		t.Errorf("with one demand short of mem alone the weights are %v, want %v", got, want)
	}
}

// naiveBalance is y as the formulas of section 4 are written, for an agent with
// holdings; weights by the precedence matrix over the cluster's use.
func naiveBalance(has offers.Inventory, taken, weights map[string]float64) float64 {
	totals := map[string]float64{"cpus": float64(has.Amounts[offers.CPUs]), "mem": float64(has.Amounts[offers.Mem])}
	for _, c := range has.Classes {
		totals[c.Name] = float64(c.Bytes())
	}
	kinds, mean := 0.0, 0.0
	for kind := range weights {
		if totals[kind] > 0 {
			kinds++
			mean += taken[kind] / totals[kind]
		}
	}
	sum := 0.0
	for kind, w := range weights {
		if totals[kind] > 0 {
			off := taken[kind]/totals[kind] - mean/kinds
			sum += w * off * off
		}
	}
	return math.Sqrt(sum)
}

func naiveWeights(usage map[string]float64) map[string]float64 {
	rows, all := map[string]float64{}, 0.0
	for i, a := range usage {
		for _, b := range usage {
			m := 0.5
			if a > b {
				m = 1
			} else if a < b {
				m = 0
			}
			rows[i] += m
			all += m
		}
	}
	for i := range rows {
		rows[i] /= all
	}
	return rows
}

// TestBalanceAgainstModel: with every agent read, none on which a unit fits would
// have been left more even than the one that got it, by a model that knows
// nothing but what was offered where.
func TestBalanceAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, Config{Placement: offers.Balance, Balance: &Balance{From: []WeightSource{FromUsage}}})
		for i := range rapid.IntRange(1, 8).Draw(t, "agents") {
			b.agent(fmt.Sprint("a", i), inventory(t))
		}
		f := b.framework("f", "default")
		held := map[offers.AgentID][]offers.Holding{}
		for i := range rapid.IntRange(1, 12).Draw(t, "units") {
			text := asks(t)
			var r offers.Resources
			if err := r.UnmarshalJSON([]byte(text)); err != nil {
				t.Fatal(err)
			}
			total, used := map[string]float64{}, map[string]float64{"cpus": 0, "mem": 0}
			for a := range b.state.Agents() {
				total["cpus"] += float64(a.Total.Amounts[offers.CPUs])
				total["mem"] += float64(a.Total.Amounts[offers.Mem])
				for _, c := range a.Total.Classes {
					total[c.Name] += float64(c.Bytes())
					used[c.Name] += 0
				}
				for kind, n := range takes(held[a.ID]...) {
					used[kind] += n
				}
			}
			usage := map[string]float64{}
			for kind := range used {
				if kind == "cpus" || kind == "mem" || total[kind] > 0 && kind != "disk" && kind != "bandwidth" {
					usage[kind] = used[kind] / max(total[kind], 1)
				}
			}
			weights := naiveWeights(usage)
			y := func(a *state.Agent) float64 {
				if math.IsInf(scoreOn(offers.LeastRequested, a, r, held[a.ID]), 1) {
					return math.Inf(1)
				}
				room := offers.NewRoom(a.Total)
				for _, h := range held[a.ID] {
					room.Claim(h)
				}
				unit, _ := room.Plan(r, func(string) offers.Policy { return a.Policy("") })
				return naiveBalance(a.Total, takes(append(held[a.ID][:len(held[a.ID]):len(held[a.ID])], unit)...), weights)
			}
			best := math.Inf(1)
			for a := range b.state.Agents() {
				best = min(best, y(a))
			}
			b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":%s}`, i, text))
			out := b.offered()
			if len(out) == 0 && !math.IsInf(best, 1) {
				t.Fatalf("%s is offered nowhere, the best y is %v", text, best)
			}
			for _, o := range out {
				if got := y(b.state.Agent(o.Agent)); got*got > best*best+1e-5 {
					t.Fatalf("%s goes to %s with y %v, the best is %v", text, b.names[o.Agent], got, best)
				}
				held[o.Agent] = append(held[o.Agent], o.Held)
			}
		}
	})
}
