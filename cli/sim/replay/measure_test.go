package replay

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/match"
)

// TestFragments is worked by hand: of two devices 300 and 1000 thousandths are
// free; the usual tasks ask for half a device, for two, and for none.
func TestFragments(t *testing.T) {
	tasks := []Task{{CPU: 1000, GPUs: 1, Slice: 500}, {CPU: 1000, GPUs: 2, Slice: Whole}, {CPU: 1000}, {CPU: 1000, GPUs: 1, Slice: 500}}
	f := newFGD(tasks)
	node := Node{CPU: 4000, GPUs: 2}
	h := &newHosts([]Node{node})[0]
	h.take(&Task{GPUs: 1, Slice: 700}, []int{0})
	// Half a device can't use the 300, two devices and none can't use anything.
	if got, want := f.fragments(h), 0.5*300+0.25*1300+0.25*1300; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v thousandths are fragments, want %v", got, want)
	}
	before := h.version
	// A half on the second device leaves 300 and 500: 0.5*300 + 0.25*800 + 0.25*800.
	want := math.Trunc(100 / (1 + math.Exp(-(800.0-550.0)/1000)))
	if score, device := f.score(h, &tasks[0]); score != want || device != 1 {
		t.Errorf("score %v on device %d, want %v on 1", score, device, want)
	}
	if h.version != before || h.devices[1] != Whole || h.cpu != 4000 {
		t.Errorf("scoring has changed the host: %+v", h)
	}
}

// TestYardsticksChoose: three nodes, of which each yardstick takes another.
func TestYardsticksChoose(t *testing.T) {
	w := &Workload{
		Nodes: []Node{{Name: "first", CPU: 5000, Mem: 500}, {Name: "large", CPU: 10000, Mem: 1000}, {Name: "closest", CPU: 3000, Mem: 300}},
		Tasks: []Task{{CPU: 2000, Mem: 100}},
	}
	order := &Order{Jobs: oneByOne([]int{0}), Rank: []int{0, 1, 2}}
	for name, want := range map[string]string{FirstFit: "first", BestFit: "closest", DotProduct: "large"} {
		y := newYard(name, w, order)
		y.ask(0)
		if got := y.serve(0); len(got) != 1 || w.Nodes[got[0].node].Name != want {
			t.Errorf("%s takes %v, want %s", name, got, want)
		}
	}
}

// TestPolicyNames: all that can be named is known, once each.
func TestPolicyNames(t *testing.T) {
	names := strings.FieldsFunc(strings.Replace(strings.Replace(PolicyNames(), "and as yardsticks", "", 1), " or ", ",", 1), func(r rune) bool { return r == ',' || r == ' ' })
	policies, err := ParsePolicies(names)
	if err != nil || len(policies) < 8 {
		t.Fatalf("%v: %v, %v", names, policies, err)
	}
	for _, bad := range [][]string{nil, {""}, {"best"}, {"rings", "rings"}, {"fgd", "waste", "fgd"}} {
		if _, err := ParsePolicies(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestDeal: everyone gets the same, nobody more than wanted, and nothing is left
// while somebody wants more.
func TestDeal(t *testing.T) {
	for _, c := range []struct {
		sum          float64
		wanted, want []float64
	}{
		{1, []float64{1, 1}, []float64{0.5, 0.5}},
		{1, []float64{1, 0.2}, []float64{0.8, 0.2}},
		{0.9, []float64{0.5, 0.1, 0.7}, []float64{0.4, 0.1, 0.4}},
		{1, []float64{0.1, 0.2}, []float64{0.1, 0.2}},
	} {
		got := deal(c.sum, c.wanted)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("%v among %v gives %v, want %v", c.sum, c.wanted, got, c.want)
				break
			}
		}
	}
}

// TestFairnessOff: one role has 6 of 8 cpus and another that wants 4 has 2: 2 of
// 8 are with the wrong one.
func TestFairnessOff(t *testing.T) {
	order := &Order{Jobs: []Job{{Role: "a"}, {Role: "b"}}}
	f := newFairness(order, amounts{8000, 0, 0})
	f.has("a", amounts{6000}, 1)
	f.has("b", amounts{2000}, 1)
	if got := f.off(); got != 0 {
		t.Errorf("%v %% are unfair while nobody wants more", got)
	}
	f.wants("b", amounts{2000}, 1)
	if got := f.off(); math.Abs(got-25) > 1e-9 {
		t.Errorf("%v %% are unfair, want 25", got)
	}
}

// TestStranded: of a node with 1 of 4 cpus and half a device free nothing is of
// use to a task with 2 cpus, and the cpu is to one without a device.
func TestStranded(t *testing.T) {
	w := &Workload{Nodes: []Node{{CPU: 4000, Mem: 100, GPUs: 1}}, Tasks: []Task{{CPU: 2000, GPUs: 1, Slice: 500}, {CPU: 1000}}}
	hosts := newHosts(w.Nodes)
	l := newLosses(w)
	if got := l.stranded(hosts, total(w.Nodes)); got != [kindCount]float64{} {
		t.Errorf("%v is stranded on an empty node", got)
	}
	hosts[0].take(&Task{CPU: 3000, GPUs: 1, Slice: 500}, []int{0})
	if got, want := l.stranded(hosts, total(w.Nodes)), [kindCount]float64{12.5, 0, 50}; got != want {
		t.Errorf("stranded %v, want %v", got, want)
	}
}

// TestChurnIsAsHeavyAsItSays: what is asked for at a time is the load times what
// there is, over orders of any seed, and the same seed brings the same.
func TestChurnIsAsHeavyAsItSays(t *testing.T) {
	nodes := make([]Node, 50)
	for i := range nodes {
		nodes[i] = Node{CPU: 64000, Mem: 1000, GPUs: 8}
	}
	tasks := []Task{{CPU: 1000, GPUs: 1, Slice: 500}, {CPU: 1000, GPUs: 4, Slice: Whole}, {CPU: 1000}}
	var held float64 // device hours
	const seeds = 20
	for seed := range int64(seeds) {
		o := MakeChurn(seed, 0.9, nodes, tasks)
		for _, j := range o.Jobs {
			held += float64(tasks[j.Task].GPU()) * j.Run.Hours()
		}
		if again := MakeChurn(seed, 0.9, nodes, tasks); !slices.Equal(o.Jobs, again.Jobs) || !slices.Equal(o.Rank, again.Rank) {
			t.Fatalf("seed %d brings another order the second time", seed)
		}
	}
	if load := held / seeds / churnSpan.Hours() / (50 * 8 * Whole); math.Abs(load-0.9) > 0.02 {
		t.Errorf("the load is %.3f, want 0.9", load)
	}
}

// careless is an allocator that puts everything on the first node.
type careless struct{ job int }

func (c *careless) ask(job int)                   { c.job = job }
func (c *careless) drop(int)                      {}
func (c *careless) end(int)                       {}
func (c *careless) serve(time.Duration) []started { return []started{{c.job, spot{node: 0}}} }

// TestTheRecorderChecks: a placement without room ends the run with an error,
// whoever made it.
func TestTheRecorderChecks(t *testing.T) {
	w := &Workload{Nodes: []Node{{Name: "n", CPU: 1000, Mem: 10}}, Tasks: []Task{{CPU: 600}}}
	order := &Order{Seed: 3, Jobs: oneByOne([]int{0, 0}), Rank: []int{0}}
	_, err := play(t.Context(), w, order, &careless{}, func(int) {})
	if err == nil || !strings.Contains(err.Error(), "seed 3: node n was given job 1") {
		t.Errorf("%v", err)
	}
	w.Tasks[0] = Task{CPU: 1, Models: []string{"other"}}
	if _, err := play(t.Context(), w, order, &careless{}, func(int) {}); err == nil {
		t.Error("a node of a model that is not allowed is taken")
	}
}

// TestPrioritiesWithinARole: of the tasks of a shape that wait in a role, the
// one of the highest priority takes the offer, under the master's allocator and
// under a yardstick.
func TestPrioritiesWithinARole(t *testing.T) {
	hour := time.Hour
	w := Workload{Nodes: []Node{{CPU: 1000, Mem: 10}}, Tasks: []Task{{CPU: 1000}}}
	w.SetJobs([]int64{1}, []Job{
		{Arrive: 0, Run: hour}, {Arrive: 1, Run: hour, Priority: -1}, {Arrive: 2, Run: hour}, {Arrive: 3, Run: hour, Priority: 2},
	})
	for _, p := range []Policy{"rings", BestFit} {
		results, err := Run(t.Context(), w, []Policy{p}, match.Config{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		// 0 at once, then 3, 2 and 1: they wait 0, 1, 2 and 3 hours.
		if r := results[0].Runs[0]; r.Placed != 4 || r.WaitP50.Round(time.Minute) != hour || r.WaitP99.Round(time.Minute) != 3*hour {
			t.Errorf("%s: %d placed, waits of %v and %v", p, r.Placed, r.WaitP50, r.WaitP99)
		}
	}
}
