package match

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// said writes the reasons of a trail.
func said(t *Trail) string {
	var out []string
	for _, r := range t.Reasons {
		text := fmt.Sprint(r.Agents, " ", r.Code)
		if r.What != "" {
			text += " " + r.What
		}
		if r.Asked > 0 {
			text += fmt.Sprintf(" %d<%d", r.Most, r.Asked)
		}
		for _, l := range r.Also {
			text += fmt.Sprintf(" and %s %d<%d", l.Kind, l.Most, l.Asked)
		}
		out = append(out, text)
	}
	return fmt.Sprint(out)
}

// explained explains a wish of a role that no framework has.
func (b *bench) explained(text string) Explanation {
	b.Helper()
	var d offers.Demand
	if err := d.UnmarshalJSON([]byte(text)); err != nil {
		b.Fatal(err)
	}
	e := b.Explain("", "default", d, 100)
	if err := b.check(); err != nil {
		b.Fatal(err)
	}
	return e
}

// TestEveryReasonIsNamed: each agent is counted once, under what speaks against
// it first, with the most that those agents have.
func TestEveryReasonIsNamed(t *testing.T) {
	b := newBench(t, Config{})
	b.agentWith("far", `{"cpus":8,"mem":80}`, map[string]string{"rack": "r2"})
	b.agentWith("small", `{"cpus":2,"mem":80}`, map[string]string{"rack": "r1"})
	b.agentWith("tiny", `{"cpus":1,"mem":80}`, map[string]string{"rack": "r1"})
	b.agentWith("busy", `{"cpus":8,"mem":80}`, map[string]string{"rack": "r1"})
	b.agentWith("away", `{"cpus":8,"mem":80}`, map[string]string{"rack": "r1"})
	b.agentWith("near", `{"cpus":8,"mem":80,"ports":["31000"]}`, map[string]string{"rack": "r1"})
	b.agentWith("wide", `{"cpus":64,"mem":80}`, map[string]string{"rack": "r1"})
	f := b.framework("f", "default")
	b.demand(f, `{"id":"busy","resources":{"cpus":1},"constraints":["name==busy"]}`)
	b.offered()
	b.AgentOnline(b.ids["away"], false)

	e := b.explained(`{"id":"d","count":1,"resources":{"cpus":4},"constraints":["rack==r1"]}`)
	const want = `[2 too_small cpus 2000<4000 1 constraint rack==r1 1 not_reached 1 short cpus 0<4000 1 state away]`
	if got := said(e.Found); got != want {
		t.Errorf("reasons %s\nwant    %s", got, want)
	}
	if len(e.Places) != 1 || b.names[e.Places[0].Agent] != "near" || e.Found.Winner.Agent != e.Places[0].Agent {
		t.Errorf("places %+v, winner %+v; want near", e.Places, e.Found.Winner)
	}
	var next []string
	for _, l := range e.Found.Next {
		next = append(next, b.names[l.Agent])
	}
	if fmt.Sprint(next) != "[wide]" {
		t.Errorf("after near come %v, want wide", next)
	}
	e = b.explained(`{"id":"d","count":1,"resources":{"cpus":4,"ports":[31001]},"constraints":["rack==r1"]}`)
	if e.Missing != 1 || e.Found != nil || fmt.Sprint(e.Missed.Stopped) != "[constraint ports]" {
		t.Errorf("31001 is found at %+v, stopped by %v", e.Places, e.Missed)
	}
	e = b.explained(`{"id":"d","count":1,"resources":{"devices":{"npu":{"count":1}}}}`)
	if got := said(e.Missed); e.Kind != "" || fmt.Sprint(e.Missed.Stopped) != "[npu]" || got != "[6 too_small npu 1 state away]" {
		t.Errorf("of a class that nobody has: %s, stopped by %v", got, e.Missed.Stopped)
	}
}

// TestEveryKindIsNamed: of what an agent has too little all is said, and what it
// could never have before what it has not at the moment.
func TestEveryKindIsNamed(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":8,"mem":80}`)
	b.agent("b", `{"cpus":8,"mem":80}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"fill","resources":{"cpus":1},"constraints":["name==a"]}`)
	b.offered()
	for _, c := range []struct{ demand, want string }{
		{`"resources":{"cpus":9,"mem":90}`, "[2 too_small cpus 8000<9000 and mem 80<90]"},
		{`"resources":{"cpus":8,"mem":90}`, "[2 too_small mem 80<90]"},
		{`"resources":{"cpus":7,"mem":70}`, "[1 short cpus 0<7000 and mem 0<70]"},
		{`"resources":{"cpus":9,"devices":{"npu":{"count":1},"tpu":{"count":1}}}`, "[2 too_small npu and tpu 0<0 and cpus 8000<9000]"},
	} {
		e := b.explained(`{"id":"d","count":1,` + c.demand + `}`)
		trail := e.Missed
		if trail == nil {
			trail = e.Found
		}
		if got := said(trail); got != c.want {
			t.Errorf("%s: %s, want %s", c.demand, got, c.want)
		}
	}
}

// TestPlanIsWhatComes: the places of several units are those that they get.
func TestPlanIsWhatComes(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":5}`)
	b.agent("b", `{"cpus":6}`)
	e := b.explained(`{"id":"d","count":7,"resources":{"cpus":2}}`)
	got := ""
	for _, p := range e.Places {
		got += fmt.Sprint(b.names[p.Agent], " ", p.Units, " ")
	}
	if got != "a 2 b 3 " || e.Missing != 2 || e.Units != 7 || said(e.Missed) != "[2 short cpus 1000<2000]" {
		t.Errorf("places %s, %d missing: %s", got, e.Missing, said(e.Missed))
	}
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":7,"resources":{"cpus":2}}`)
	if got := b.places(); got != "[a b]" {
		t.Errorf("offered are %s", got)
	}
	stated, known := b.ExplainStated(f, "d", 1)
	if !known || stated.Units != 2 || stated.Missing != 2 || fmt.Sprint(b.View().Pending) != "map[cpus:1]" {
		t.Errorf("of the stated demand %+v; pending %v", stated, b.View().Pending)
	}
	if _, known := b.ExplainStated(f, "e", 1); known {
		t.Error("a demand that nobody stated is explained")
	}
}

// TestQuotaIsNamed: what a limit forbids is no want of room.
// TestSuppressedIsNamed: agents suit what a suppressed framework wants, and it
// waits all the same; a wish of somebody else is not concerned.
func TestSuppressedIsNamed(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("near", `{"cpus":8,"mem":80}`)
	f := b.framework("f", "default")
	b.Suppress(f)
	b.demand(f, `{"id":"d","count":2,"resources":{"cpus":2}}`)
	b.demand(f, `{"id":"vast","count":1,"resources":{"cpus":20}}`)
	b.offered()
	e, known := b.ExplainStated(f, "d", 10)
	if !known || !e.Suppressed || len(e.Places) != 1 || e.Found == nil {
		t.Errorf("explained %+v, %t", e, known)
	}
	if got, want := b.stopped(), "[d:[suppressed] vast:[suppressed]]"; got != want {
		t.Errorf("waiting %s, want %s", got, want)
	}
	if e := b.explained(`{"id":"d","count":1,"resources":{"cpus":2}}`); e.Suppressed {
		t.Errorf("a wish of nobody is suppressed: %+v", e)
	}
	b.Revive(f)
	b.offered()
	if e, _ := b.ExplainStated(f, "d", 10); e.Suppressed || e.Units != 0 {
		t.Errorf("revived %+v", e)
	}
	if got, want := b.stopped(), "[vast:[cpus]]"; got != want {
		t.Errorf("revived, waiting %s, want %s", got, want)
	}
	b.Suppress(f)
	b.offered()
	if got, want := b.stopped(), "[vast:[suppressed]]"; got != want {
		t.Errorf("suppressed again, waiting %s, want %s", got, want)
	}
}

// stopped writes what waits and why.
func (b *bench) stopped() string {
	var out []string
	for _, w := range b.Waiting(WaitingOf{}) {
		out = append(out, fmt.Sprint(w.Demand.ID, ":", w.Stopped))
	}
	return fmt.Sprint(out)
}

func TestQuotaIsNamed(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":8}`)
	b.RoleChanged("default", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": 3000}}})
	e := b.explained(`{"id":"d","count":2,"resources":{"cpus":2}}`)
	if e.Missing != 1 || said(e.Missed) != "[1 quota]" || fmt.Sprint(e.Missed.Stopped) != "[quota]" {
		t.Errorf("over the limit: %d missing, %+v", e.Missing, e.Missed)
	}
}

// TestExplainedIsWhatIsOffered: over drawn scenes and all strategies the next
// unit goes where the explanation said, and where it said why nobody, nobody
// gets it; and an explanation leaves nothing behind.
func TestExplainedIsWhatIsOffered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMarket(t)
		for range rapid.IntRange(0, 6).Draw(t, "more agents") {
			m.newAgent(t)
		}
		actions := []func(*rapid.T){m.demands, m.demands, m.accept, m.devices, m.goOnline, m.endTask, m.setRole}
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			rapid.SampledFrom(actions).Draw(t, "step")(t)
			m.turn(t)
		}
		m.ended(m.outstanding(func(issued) bool { return true })...)
		for _, f := range m.frameworks {
			m.FrameworkOnline(f, true) // so that nobody else waits
			m.counts[f] = map[offers.DemandID]int{}
		}
		m.Matcher.config.Window = 0
		f := m.someone(t)
		for _, placement := range offers.Placements() {
			units := rapid.IntRange(1, 5).Draw(t, "units")
			m.demand(f, fmt.Sprintf(`{"id":"asked","count":%d,"resources":%s,"placement":"%s"}`, units, asks(t), placement))
			m.counts[f]["asked"] = units
			before := m.seen()
			e, _ := m.ExplainStated(f, "asked", 3)
			if after := m.seen(); !reflect.DeepEqual(before, after) {
				t.Fatalf("%s: an explanation has changed what there is", placement)
			}
			m.holds(t, e, units)
			planned := map[offers.AgentID]int{}
			for _, p := range e.Places {
				planned[p.Agent] += p.Units
			}
			m.turn(t)
			offered := map[offers.AgentID]int{}
			for _, id := range m.outstanding(func(o issued) bool { return o.demand == "asked" }) {
				offered[m.out[id].agent] += m.out[id].units
			}
			if placement == offers.Match { // a batch may put the units of a demand elsewhere than one by one
				planned, offered = countUnits(planned), countUnits(offered)
			}
			if !reflect.DeepEqual(planned, offered) {
				t.Fatalf("%s: explained %v, offered %v", placement, planned, offered)
			}
			m.demand(f, `{"id":"asked","count":0}`)
			m.turn(t)
		}
	})
}

// countUnits forgets where they are.
func countUnits(on map[offers.AgentID]int) map[offers.AgentID]int {
	all := map[offers.AgentID]int{}
	for _, n := range on {
		all[""] += n
	}
	return all
}

// seen is the view with grants in their order, which says nothing.
func (m *market) seen() *View {
	v := m.View()
	for _, a := range v.Agents {
		for _, h := range []offers.Holding{a.Used, a.Offered} {
			for _, held := range h.Devices {
				slices.SortFunc(held.Grants, func(a, b offers.Grant) int {
					return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.Share, b.Share))
				})
			}
		}
	}
	return v
}

// holds verifies that an explanation makes sense in itself.
func (m *market) holds(t *rapid.T, e Explanation, units int) {
	placed := 0
	for _, p := range e.Places {
		placed += p.Units
	}
	if e.Units != units || placed+e.Missing != units || (e.Found != nil) != (placed > 0) || (e.Missed != nil) != (e.Missing > 0) {
		t.Fatalf("%d units: %+v", units, e)
	}
	for _, trail := range []*Trail{e.Found, e.Missed} {
		if trail == nil {
			continue
		}
		sum := trail.Suited
		for _, r := range trail.Reasons {
			sum += r.Agents
		}
		if sum != trail.Agents || len(trail.Looked) != min(3, trail.LookedAt) || (trail.Winner == nil) != (len(trail.Stopped) > 0) {
			t.Fatalf("%d of %d agents have a reason or suit: %+v", sum, trail.Agents, trail)
		}
		if slices.ContainsFunc(trail.Next, func(l Look) bool { return l.Agent == trail.Winner.Agent }) {
			t.Fatalf("the winner comes next, too: %+v", trail)
		}
	}
}
