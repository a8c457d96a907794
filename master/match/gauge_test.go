package match

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestGlance: where the gauges of an agent tell, they tell what its room does.
func TestGlance(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 17))
	b := newBench(t, Config{Placement: offers.Waste})
	f := b.framework("f", "default")
	for i := range 60 {
		b.agent(fmt.Sprint("a", i), unevenAgent(rnd))
	}
	asks := []string{`{"count":1}`, `{"count":2}`, `{"memory":190}`, `{"memory":470}`, `{"memory":810}`, `{"memory":100,"share":0.2}`, `{"share":0.3}`, `{"count":2,"memory":300}`}
	glanced, looked := map[string]int{}, 0
	for i := range 600 {
		ask, policy := asks[rnd.IntN(len(asks))], ""
		if rnd.IntN(3) == 0 {
			policy = `"device_policy":"spread",`
		}
		id := fmt.Sprint("d", i)
		b.demand(f, fmt.Sprintf(`{"id":%q,"count":1,%s"resources":{"cpus":%d,"devices":{"gpu":%s}}}`, id, policy, 1+rnd.IntN(4), ask))
		d := b.frameworks[f].demands[offers.DemandID(id)]
		b.compile(d)
		s, w := &b.search, b.waste()
		if s.begin(b.Matcher, d) >= 0 {
			t.Fatal("fair share stops a demand of the only framework")
		}
		w.begin(s)
		for slot, a := range b.bySlot {
			if !covers(a.columns, d.need) || !w.glance(s, slot) {
				looked++
				continue
			}
			if s.latest != nil {
				t.Fatalf("after a glance at %s the search holds what %s would give", a.info.Name, s.latest.info.Name)
			}
			got := w.cost(s, slot, a.columns)
			if !w.look(s, a) {
				t.Fatalf("%s suits %s at a glance only", a.info.Name, ask)
			}
			if want := w.cost(s, slot, a.columns); got != want {
				t.Fatalf("%s costs %s %v at a glance, and %v", a.info.Name, ask, got, want)
			}
			glanced[ask+policy]++
		}
		b.offered()
		if rnd.IntN(4) == 0 {
			b.FrameworkOnline(f, false)
			b.FrameworkOnline(f, true)
		}
		if err := b.check(); err != nil {
			t.Fatal(err)
		}
	}
	if len(glanced) != 10 || looked == 0 {
		t.Errorf("glances were at %v, and %d others were looked at", glanced, looked)
	}
}

// unevenAgent has up to ten devices, now and then not all alike.
func unevenAgent(rnd *rand.Rand) string {
	capacity := []int{1000, 1500}[rnd.IntN(2)]
	var ids, sizes []string
	for d := range 1 + rnd.IntN(10) {
		ids = append(ids, fmt.Sprintf("%q", fmt.Sprint("g", d)))
		if rnd.IntN(30) == 0 {
			capacity += 100
		}
		sizes = append(sizes, fmt.Sprint(capacity))
	}
	return fmt.Sprintf(`{"cpus":%d,"devices":{"gpu":{"ids":[%s],"capacity":[%s]}}}`, 8+rnd.IntN(40), strings.Join(ids, ","), strings.Join(sizes, ","))
}
