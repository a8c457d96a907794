package replay_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ringmaster-project/ringmaster/cli/sim/replay"
	"github.com/ringmaster-project/ringmaster/master/match"
)

// traces is where the public traces lie beside a checkout; they are not part
// of it.
const traces = "../../../../shared/traces"

// open returns a trace file, or skips the test.
func open(tb testing.TB, name string) *os.File {
	tb.Helper()
	f, err := os.Open(filepath.Join(traces, name))
	if os.IsNotExist(err) {
		tb.Skipf("%s is not there: it is downloaded, not kept here", name)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	return f
}

// openb returns the trace with a mix of tasks and orders for seeds.
func openb(tb testing.TB, mix string, seeds string) replay.Workload {
	tb.Helper()
	nodes, err := replay.ReadNodes("nodes.csv", open(tb, "nodes.csv"))
	if err != nil {
		tb.Fatal(err)
	}
	tasks, _, err := replay.ReadTasks("tasks.csv", open(tb, "tasks_"+mix+".csv"), nodes)
	if err != nil {
		tb.Fatal(err)
	}
	w := replay.Workload{Nodes: nodes, Tasks: tasks}
	list, err := replay.ParseSeeds(seeds)
	if err != nil {
		tb.Fatal(err)
	}
	for _, seed := range list {
		w.Orders = append(w.Orders, replay.MakeOrder(seed, nodes, tasks))
	}
	return w
}

// TestOrdersAreTheAuthors: what is drawn for a seed is what the authors of the
// trace drew.
func TestOrdersAreTheAuthors(t *testing.T) {
	w := openb(t, "default", "42-51")
	seeds := make([]int64, len(w.Orders))
	for i, o := range w.Orders {
		seeds[i] = o.Seed
	}
	given, err := replay.ReadArrivals("arrivals.csv", open(t, "arrivals_default.csv"), seeds, len(w.Tasks))
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := csv.NewReader(open(t, "noderank.csv")).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range w.Orders {
		if !slices.Equal(o.Jobs, given[o.Seed]) {
			t.Errorf("seed %d: %d arrivals are not the %d of the authors", o.Seed, len(o.Jobs), len(given[o.Seed]))
		}
		for node, row := range ranks[1:] {
			if row[i+1] != strconv.Itoa(o.Rank[node]) {
				t.Errorf("seed %d: node %d has rank %d, the authors' is %s", o.Seed, node, o.Rank[node], row[i+1])
				break
			}
		}
	}
}

// TestYardsticksAsPublished: on the trace of its authors FGD comes to the
// allocation that they published, and so does best fit, within three of the
// standard deviations that they give (0.08 and 0.13).
func TestYardsticksAsPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seeds of each yardstick")
	}
	published := map[replay.Policy][3]float64{"fgd": {95.23, 95.39, 0.24}, "best-fit": {92.86, 93.08, 0.39}}
	results, err := replay.Run(t.Context(), openb(t, "default", "42-51"), []replay.Policy{"fgd", "best-fit"}, match.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		want := published[r.Policy]
		t.Logf("%s: %.2f at 100, %.2f at 130", r.Policy, r.Alloc[100], r.Alloc[130])
		if math.Abs(r.Alloc[100]-want[0]) > want[2] || math.Abs(r.Alloc[130]-want[1]) > want[2] {
			t.Errorf("%s: %.2f at 100 and %.2f at 130, published are %.2f and %.2f", r.Policy, r.Alloc[100], r.Alloc[130], want[0], want[1])
		}
	}
}

// TestChurnOnOpenb: where tasks come and go, waste refuses clearly less than
// FGD. make churn has more orders and more to compare with.
func TestChurnOnOpenb(t *testing.T) {
	if testing.Short() {
		t.Skip("some 80,000 tasks under each of two strategies, twice")
	}
	for _, load := range []float64{0.98, 1.03} {
		w := openb(t, "default", "1")
		w.SetChurn([]int64{1}, load)
		results, err := replay.Run(t.Context(), w, []replay.Policy{"waste", "fgd"}, match.Config{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if waste, fgd := results[0].Runs[0].Lost, results[1].Runs[0].Lost; waste > fgd-0.2 {
			t.Errorf("load %v: %.2f %% are lost, %.2f by FGD", load, waste, fgd)
		}
	}
}

// TestAllocationOnOpenb holds the strategies to what they are worth on the
// public trace: GPU allocation in % when 100 and 130 % have arrived, and when
// the first task with devices is refused.
func TestAllocationOnOpenb(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seeds of each strategy")
	}
	atLeast := map[replay.Policy][3]float64{
		"rings": {94.0, 94.3, 93.5},
		"waste": {95.7, 95.9, 95.0},
	}
	w := openb(t, "default", "42-51")
	results, err := replay.Run(t.Context(), w, []replay.Policy{"rings", "waste"}, match.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Logf("%s: %.2f at 100, %.2f at 130, first refusal at %.2f", r.Policy, r.Alloc[100], r.Alloc[130], r.FirstRefusal)
		for i, got := range []float64{r.Alloc[100], r.Alloc[130], r.FirstRefusal} {
			if want := atLeast[r.Policy][i]; got < want {
				t.Errorf("%s: %.2f, want at least %.2f", r.Policy, got, want)
			}
		}
	}
}
