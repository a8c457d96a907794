package match

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

// on tells which demand is on which agent, in the order of the offers.
func (b *bench) on() string {
	b.Helper()
	var out []string
	for _, o := range b.offered() {
		for range max(o.Units, 1) {
			out = append(out, string(o.Demand)+":"+b.names[o.Agent])
		}
	}
	return fmt.Sprint(out)
}

// TestMatchGolden is the golden case of the strategy's docstring.
func TestMatchGolden(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Match})
	b.agent("x", `{"cpus":8}`)
	b.agent("y", `{"cpus":4}`)
	f := b.framework("f", "default")
	for _, deadline := range []int{300, 120, 30} {
		b.demand(f, fmt.Sprintf(`{"id":"%d","count":1,"runtime":60,"deadline":%d,"resources":{"cpus":4}}`, deadline, deadline))
	}
	if got := b.on(); got != "[120:x 300:x 30:y]" {
		t.Errorf("matched %s", got)
	}
}

// TestScoresOfMatch computes S and Q of one pair by hand.
func TestScoresOfMatch(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Match, Matching: &Matching{A: 1, B: 10, C: 100, D: 1000, E: 10000}})
	b.agentWith("x", `{"cpus":8,"mem":100,"bandwidth":1000}`, map[string]string{"cpu_mhz": "3000", "net_mbps": "100", "unit_cost": "0.5"})
	b.agentWith("y", `{"cpus":16,"mem":50}`, map[string]string{"cpu_mhz": "1500", "net_mbps": "many"})
	f := b.framework("f", "default")
	s := b.ask(f, `{"id":"d","count":1,"price":30,"runtime":10,"deadline":20,"resources":{"cpus":2,"mem":50}}`)
	by := b.placers[offers.Match].strategy.(*twoSided)
	by.align(b.Matcher)
	d := s.d
	d.arrived = b.now
	w := by.wish(d, b.now.Add(6*time.Second), means{})
	w.lean(4000, 50) // a half of the cpus that the batch asks for and all of its memory
	near := func(what string, got, want float64) {
		t.Helper()
		if got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("alpha", w.alpha, 1.0/3)
	x, y := by.host(b.agents[b.ids["x"]]), by.host(b.agents[b.ids["y"]])
	// P = 1 (1/3 0.5 + 2/3 1) + 1; L = (6/8 + 50/100 + 1) / 3
	near("S on x", x.wanted(&w), 1.0/6+2.0/3+1+10*(0.75+0.5+1)/3)
	// y tells no network: it has the mean, which is the 100 of x. P = 0.5 (1/3 1 + 2/3 0.5) + 1; L = (14/16 + 0) / 2
	near("S on y", y.wanted(&w), 0.5*(1.0/3+1.0/3)+1+10*(14.0/16)/2)
	// Q = 100 30/10 + 1000 ln(14/10) - 10000 10 0.5; the cost that y does not tell is the mean, 0.5 too.
	near("Q on x", w.worth-w.seconds*x.cost, 300+1000*0.3364722366212129-50000)
	near("cost of y", y.cost, 0.5)
	if late := by.wish(d, b.now.Add(11*time.Second), means{}); !late.late || w.late {
		t.Error("14 s are enough for 10, and 9 are not")
	}
}

// TestNeutralValues: who tells no deadline or runtime stands in the middle.
func TestNeutralValues(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Match})
	b.agent("a", `{"cpus":1}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"fill","count":1,"resources":{"cpus":1}}`)
	fill := b.launch(b.offered()[0], map[string]string{"fill": `{"cpus":1}`}).Launches[0].Task.Ref()
	for _, text := range []string{`"id":"none"`, `"id":"urgent","runtime":10,"deadline":12`, `"id":"easy","runtime":10,"deadline":1200`, `"id":"no runtime","deadline":8`, `"id":"missed","runtime":10,"deadline":9`} {
		b.demand(f, `{`+text+`,"count":1,"resources":{"cpus":1}}`)
	}
	b.offered()
	order := ""
	for range 5 {
		b.Ended(fill)
		o := b.offered()[0]
		order += string(o.Demand) + ", "
		fill = b.launch(o, map[string]string{"t" + fmt.Sprint(len(order)): `{"cpus":1}`}).Launches[0].Task.Ref()
	}
	// What has a runtime of 10 on the mean has less time than that in 8 s: it may
	// still make it, for all that is known.
	if want := "no runtime, urgent, none, easy, missed, "; order != want {
		t.Errorf("served %s, want %s", order, want)
	}
}

// TestWindow: what comes within the window of the first is matched with it, what
// comes alone waits no longer than the window, and a later one opens the next.
func TestWindow(t *testing.T) {
	const window = 50 * time.Millisecond
	b := newBench(t, Config{Placement: offers.Match, Window: window})
	b.agent("x", `{"cpus":8}`)
	b.agent("y", `{"cpus":4}`)
	f := b.framework("f", "default")
	unit := func(id string) {
		b.demand(f, `{"id":"`+id+`","count":1,"runtime":60,"deadline":`+id+`,"resources":{"cpus":4}}`)
	}
	unit("300")
	if got := b.on(); got != "[]" {
		t.Fatalf("offered %s while the window is open", got)
	}
	if at, some := b.Next(); !some || !at.Equal(b.now.Add(window)) {
		t.Fatalf("it is due at %v, %v, want the end of the window", at, some)
	}
	b.now = b.now.Add(window / 2)
	unit("120")
	b.demand(f, `{"id":"now","count":1,"placement":"rings","resources":{"cpus":4},"constraints":["name==x"]}`)
	if got := b.on(); got != "[now:x]" {
		t.Fatalf("offered %s, want what does not wait for a batch", got)
	}
	b.now = b.now.Add(window / 2)
	if got := b.on(); got != "[120:x 300:y]" {
		t.Fatalf("offered %s at the end of the window", got)
	}
	b.demand(f, `{"id":"300","count":0,"resources":{}}`)
	b.demand(f, `{"id":"120","count":0,"resources":{}}`)
	unit("80")
	b.offered()
	if at, _ := b.Next(); !at.Equal(b.now.Add(window)) {
		t.Fatalf("the next window ends at %v", at)
	}
	b.demand(f, `{"id":"80","count":0,"resources":{}}`)
	b.now = b.now.Add(window)
	if got := b.on(); got != "[]" {
		t.Fatalf("offered %s of what was withdrawn while it was gathered", got)
	}
	if at, some := b.Next(); some && !at.After(b.now) {
		t.Fatalf("something is due at %v, and nothing waits", at)
	}
}

// TestWhoWaitsIsMatchedAtOnce: room that comes back goes to the best of all that
// wait and of those that are gathered, without another window.
func TestWhoWaitsIsMatchedAtOnce(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Match, Window: time.Minute})
	b.agent("a", `{"cpus":4}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"fill","count":1,"placement":"rings","resources":{"cpus":4}}`)
	fill := b.launch(b.offered()[0], map[string]string{"fill": `{"cpus":4}`}).Launches[0].Task.Ref()
	b.demand(f, `{"id":"waits","count":1,"runtime":60,"deadline":600,"resources":{"cpus":4}}`)
	b.offered()
	b.now = b.now.Add(time.Minute)
	b.offered()
	b.demand(f, `{"id":"urgent","count":1,"runtime":60,"deadline":61,"resources":{"cpus":4}}`)
	b.Ended(fill)
	if got := b.on(); got != "[urgent:a]" {
		t.Fatalf("offered %s, want the more urgent of both", got)
	}
}

// TestFairShareDecidesWhoEnters: what a framework pays or how urgent it is earns
// it no more than its share.
func TestFairShareDecidesWhoEnters(t *testing.T) {
	for name, c := range map[string]struct {
		rich, poor offers.Role
		want       map[string]int
	}{
		"equal":          {"rich", "poor", map[string]int{"rich": 6, "poor": 6}},
		"by weight":      {"rich", "heavy", map[string]int{"rich": 3, "poor": 9}},
		"within a quota": {"bound", "poor", map[string]int{"rich": 2, "poor": 10}},
	} {
		b := newBench(t, Config{Placement: offers.Match})
		for i := range 3 {
			b.agent(fmt.Sprint("a", i), `{"cpus":4,"mem":64}`)
		}
		b.RoleChanged("heavy", &offers.RoleSettings{Weight: 3})
		b.RoleChanged("bound", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": 2000}}})
		names := map[offers.FrameworkID]string{b.framework("rich", c.rich): "rich", b.framework("poor", c.poor): "poor"}
		for id, who := range names {
			for i := range 12 {
				price := ""
				if who == "rich" {
					price = `"price":1000000,"runtime":1,"deadline":1.1,`
				}
				b.demand(id, fmt.Sprintf(`{"id":"d%d","count":1,%s"resources":{"cpus":1}}`, i, price))
			}
		}
		got := map[string]int{}
		for _, o := range b.offered() {
			got[names[o.Framework]] += o.Units
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: units are offered to %v, want %v", name, got, c.want)
		}
	}
}

// TestProgressiveFillingWhateverTheStrategy is the golden case of ALGORITHMS
// section 2 from demands to offers.
func TestProgressiveFillingWhateverTheStrategy(t *testing.T) {
	for _, p := range offers.Placements() {
		b := newBench(t, Config{Placement: p})
		b.agent("a", `{"cpus":9,"mem":18}`)
		frameworks := map[offers.FrameworkID]string{b.framework("A", "a"): "A", b.framework("B", "b"): "B"}
		for id, name := range frameworks {
			b.demand(id, `{"id":"d","count":9,"resources":`+map[string]string{"A": `{"cpus":1,"mem":4}`, "B": `{"cpus":3,"mem":1}`}[name]+`}`)
		}
		got := map[string]int{}
		for _, o := range b.offered() {
			got[frameworks[o.Framework]] += o.Units
		}
		if got["A"] != 3 || got["B"] != 2 {
			t.Errorf("%s: A gets %d units and B %d, want 3 and 2", p, got["A"], got["B"])
		}
	}
}

// TestOthersBesideABatch: a demand of another strategy that found no room because
// units had entered gets what they left.
func TestOthersBesideABatch(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":3}`)
	b.agent("b", `{"cpus":3}`)
	f, g := b.framework("f", "f"), b.framework("g", "g")
	b.demand(f, `{"id":"large","count":2,"placement":"match","resources":{"cpus":2}}`)
	b.demand(g, `{"id":"small","count":3,"resources":{"cpus":1}}`)
	units := map[offers.DemandID]int{}
	for _, o := range b.offered() {
		units[o.Demand] += o.Units
	}
	if units["large"] != 1 || units["small"] != 3 {
		t.Fatalf("offered are %v, want one large unit, three small ones", units)
	}
}

// TestNothingWaitsBesideRoom: after every turn of drawn demands no unit waits
// that fits somewhere, and none is gathered for longer than the window.
func TestNothingWaitsBesideRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.IntRange(0, 2).Draw(t, "window")) * 50 * time.Millisecond
		b := newBench(t, Config{Placement: offers.Match, Window: window})
		for i := range rapid.IntRange(1, 5).Draw(t, "agents") {
			b.agentWith(fmt.Sprint("a", i), inventory(t), map[string]string{"rack": rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack")})
		}
		var ids []offers.FrameworkID
		for i := range rapid.IntRange(1, 3).Draw(t, "frameworks") {
			ids = append(ids, b.framework(fmt.Sprint("f", i), rapid.SampledFrom(someRoles).Draw(t, "role")))
		}
		var running []offers.TaskRef
		for n := range rapid.IntRange(1, 30).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "framework")
			text := fmt.Sprintf(`"id":"d%d","count":%d,"resources":%s,"runtime":%d,"deadline":%d,"price":%d`, n, rapid.IntRange(1, 4).Draw(t, "count"), asks(t),
				rapid.IntRange(0, 3).Draw(t, "runtime"), rapid.IntRange(0, 6).Draw(t, "deadline"), rapid.IntRange(0, 9).Draw(t, "price"))
			if some := rapid.SampledFrom([]string{"", "", `"rack==r1"`, `"distinct agent"`, `"at most 2 per rack"`, `"distinct rack","rack==r1"`}).Draw(t, "constraints"); some != "" {
				text += `,"constraints":[` + some + `]`
			}
			if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
				text += fmt.Sprintf(`,"placement":"%s"`, rapid.SampledFrom(offers.Placements()).Draw(t, "placement"))
			}
			b.demand(id, "{"+text+"}")
			if len(running) > 0 && rapid.Bool().Draw(t, "end") {
				b.Ended(running[0])
				running = running[1:]
			}
			b.now = b.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "pause")) * 20 * time.Millisecond)
			for _, o := range b.offered() {
				task := offers.Task{ID: offers.TaskID(o.ID), Resources: o.Unit}
				for _, l := range b.Accept(o.Framework, []offers.OfferID{o.ID}, []Draft{{Task: task}}, 0, func(offers.TaskID) bool { return false }, b.now).Launches {
					running = append(running, l.Task.Ref())
				}
			}
			b.offered() // what an accept of fewer tasks than units gave back
			b.nothingFits(t)
			b.withinLimits(t)
		}
	})
}

// withinLimits fails where more units of a demand are together than it allows,
// counted anew from the offers and tasks that there are.
func (b *bench) withinLimits(t *rapid.T) {
	for _, f := range b.frameworks {
		for id, d := range f.demands {
			on := map[*agent]int{}
			for _, o := range b.book.OfFramework(f.id) {
				if o.Demand == id {
					on[b.agents[o.Agent]] += o.Units
				}
			}
			for task := range b.tasks.Below(trie.Path{}) {
				if task.of.Demand == id && task.of.Framework == f.id {
					on[task.agent]++
				}
			}
			for _, c := range d.spec.Constraints {
				together := map[string]int{}
				for a, n := range on {
					if under, has := c.Together(&a.info.Agent); has && c.Limit() > 0 {
						if together[under] += n; together[under] > c.Limit() {
							t.Fatalf("%s has %d units together under %s, and %s", id, together[under], under, c)
						}
					}
				}
			}
		}
	}
}

// TestBatchKeepsToLimits: a unit that may not be beside another one of its demand
// goes elsewhere, to an agent that one which is less urgent would have liked, too.
func TestBatchKeepsToLimits(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Match})
	for _, a := range []struct{ name, rack, cpus string }{{"x", "r1", "8"}, {"y", "r1", "8"}, {"z", "r2", "4"}} {
		b.agentWith(a.name, `{"cpus":`+a.cpus+`}`, map[string]string{"rack": a.rack})
	}
	f := b.framework("f", "default")
	b.demand(f, `{"id":"urgent","count":2,"runtime":60,"deadline":70,"resources":{"cpus":4},"constraints":["distinct rack"]}`)
	b.demand(f, `{"id":"easy","count":4,"runtime":60,"deadline":600,"resources":{"cpus":4}}`)
	if got := b.on(); got != "[urgent:x urgent:z easy:x easy:y easy:y]" {
		t.Errorf("matched %s", got)
	}
}

// nothingFits fails where a demand waits for what there is.
func (b *bench) nothingFits(t *rapid.T) {
	for _, f := range b.frameworks {
		for id, d := range f.demands {
			if d.gathered && !b.now.Before(d.arrived.Add(b.config.Window)) {
				t.Fatalf("%s of %v is gathered at %v", id, d.arrived, b.now)
			}
			if d.shape == nil {
				continue
			}
			if found := b.find(d); found.agent != nil {
				t.Fatalf("%s waits, and fits on %s", id, b.names[found.agent.id])
			}
		}
	}
}
