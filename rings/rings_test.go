package rings_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// golden is the worked case of the algorithm: rings [0,4) [4,8) [8,12) [12,inf).
func golden(t *testing.T, reach int) *rings.Index {
	x := newIndex(t, rings.Layout{Name: "cpus", Bounds: []int64{0, 4, 8, 12}, Reach: reach})
	for i, free := range []int64{3, 5, 7, 10, 13, 40} {
		x.Set(offers.AgentID(fmt.Sprintf("a%d", i+1)), []int64{free})
	}
	return x
}

func TestGolden(t *testing.T) {
	taken := func(x *rings.Index) {
		x.Set("a2", []int64{0})
		x.Set("a3", []int64{1})
	}
	asIs := func(*rings.Index) {}
	cases := []struct {
		name  string
		reach int
		with  func(*rings.Index)
		need  int64
		want  string
	}{
		{"too small in ring K is skipped", 3, asIs, 6, "a3@2 a4@3 a5@4 a6@4"},
		{"closest in ring K", 3, asIs, 5, "a2@2 a3@2 a4@3 a5@4 a6@4"},
		{"ring K empty, next ring", 3, taken, 4, "a4@3 a5@4 a6@4"},
		{"reach is passed, outermost ring", 3, asIs, 11, "a5@4 a6@4"},
		{"turns at the reach, then down", 2, taken, 6, "a5@4 a6@4 a4@3"},
		{"K beyond the reach comes first", 1, asIs, 9, "a4@3 a5@4 a6@4"},
		{"K beyond the reach, then down", 1, asIs, 6, "a3@2 a5@4 a6@4 a4@3"},
		{"nothing fits", 3, asIs, 41, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := golden(t, c.reach)
			c.with(x)
			if got := strings.Join(walk(x, 0, []int64{c.need}), " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			first, ok := x.Closest(0, []int64{c.need})
			if ok != (c.want != "") || ok && !strings.HasPrefix(c.want, string(first.Agent)+"@") {
				t.Errorf("Closest is %v %v, want the first of %q", first.Agent, ok, c.want)
			}
			if err := x.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTies(t *testing.T) {
	x := newIndex(t,
		rings.Layout{Name: "cpus", Bounds: []int64{0}, Reach: 1},
		rings.Layout{Name: "mem", Bounds: []int64{0}, Reach: 1},
		rings.Layout{Name: "gpu", Bounds: []int64{0}, Reach: 1})
	x.Set("e", []int64{4, 9, -1})
	x.Set("d", []int64{4, 8, 2})
	x.Set("c", []int64{4, 8, 1})
	x.Set("b", []int64{4, 8, 1})
	x.Set("a", []int64{4, 9, 0})
	if got, want := fmt.Sprint(walk(x, 0, []int64{4, 0, 0})), "[b@1 c@1 d@1 e@1 a@1]"; got != want {
		t.Errorf("by cpus: got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(walk(x, 2, []int64{0, 0, 0})), "[a@1 b@1 c@1 d@1]"; got != want {
		t.Errorf("by gpu: got %s, want %s", got, want)
	}
}

func TestBelowTheFirstBoundIsRingOne(t *testing.T) {
	x := newIndex(t, rings.Layout{Name: "mem", Bounds: []int64{10, 20}, Reach: 2})
	x.Set("a", []int64{3})
	if got := fmt.Sprint(walk(x, 0, []int64{2})); got != "[a@1]" {
		t.Errorf("got %s", got)
	}
	for id, free := range x.Agents(0, 1) {
		if id != "a" || free != 3 {
			t.Errorf("ring 1 shows %s with %d", id, free)
		}
	}
}

func TestGreatestAmount(t *testing.T) {
	x := newIndex(t, rings.Layout{Name: "mem", Bounds: []int64{0, 20}, Reach: 1})
	for i := range 200 {
		x.Set(offers.AgentID(fmt.Sprintf("a%03d", i)), []int64{math.MaxInt64})
	}
	got := walk(x, 0, []int64{math.MaxInt64})
	if len(got) != 200 || got[0] != "a000@2" || !slices.IsSorted(got) {
		t.Errorf("got %d candidates from %v", len(got), got[:1])
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}

func TestSkipRing(t *testing.T) {
	x := golden(t, 3)
	x.Set("a7", []int64{11})
	c := x.Candidates(0, []int64{5})
	c.SkipRing() // nothing to skip yet
	var got []string
	for a, ok := c.Next(); ok; a, ok = c.Next() {
		got = append(got, string(a.Agent))
		c.SkipRing()
	}
	if want := "a2 a4 a5"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestChangeEndsCursor(t *testing.T) {
	x := golden(t, 3)
	c := x.Candidates(0, []int64{5})
	c.Next()
	x.Set("a1", []int64{9})
	expectPanic(t, func() { c.Next() })
	expectPanic(t, c.SkipRing)
}

func TestMisuseOfMove(t *testing.T) {
	x := golden(t, 3)
	slot := x.Set("a2", []int64{6})
	expectPanic(t, func() { x.Move(slot, []int64{6, 7}) })
	x.Remove("a2")
	expectPanic(t, func() { x.Move(slot, []int64{6}) })
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}

func expectPanic(t rapid.TB, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}

func TestSlotsAreReused(t *testing.T) {
	x := golden(t, 3)
	slot := x.Set("a2", []int64{6})
	x.Remove("a2")
	x.Remove("nobody")
	if x.Free("a2") != nil || x.Len() != 5 {
		t.Errorf("a2 is still there: %d, Len %d", x.Free("a2"), x.Len())
	}
	if again := x.Set("a9", []int64{1}); again != slot {
		t.Errorf("slot %d, want %d again", again, slot)
	}
}

func TestView(t *testing.T) {
	x := golden(t, 3)
	var out strings.Builder
	for kind, name := range x.Kinds() {
		for r := range x.Rings(kind) {
			fmt.Fprintf(&out, "%s %d [%d,%d) open=%v", name, r.Number, r.From, r.To, r.Open)
			for id, free := range x.Agents(kind, r.Number) {
				fmt.Fprintf(&out, " %s=%d", id, free)
			}
			out.WriteString("\n")
		}
	}
	want := "cpus 1 [0,4) open=false a1=3\ncpus 2 [4,8) open=false a2=5 a3=7\n" +
		"cpus 3 [8,12) open=false a4=10\ncpus 4 [12,0) open=true a5=13 a6=40\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestNoAllocations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	x, list := buildCluster(t, mixedAgent, 20_000), demands(rnd)
	i := 0
	allocs := testing.AllocsPerRun(2000, func() {
		d := list[i]
		i++
		x.Closest(d.kind, d.need)
		c := x.Candidates(d.kind, d.need)
		for range 20 {
			c.Next()
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per lookup", allocs)
	}
}
