package match

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// whole fails where a part of a gang is offered, or where one waits for want of
// room that a naive count finds. What a refusal hides it leaves out: where the
// devices of an agent differ, that hangs on which of them is the next to be taken,
// and so on what others were given after the gang had its turn.
func (b *bench) whole(t rapid.TB) {
	t.Helper()
	for _, f := range b.frameworks {
		for id, d := range f.demands {
			if !d.gang() {
				continue
			}
			if d.out != 0 && d.out != d.left {
				t.Fatalf("%d units of the gang %s are offered, %d are left", d.out, id, d.left)
			}
			if d.shape == nil || !b.withinQuota(d) || slices.Contains(d.stopped, stopRefused) {
				continue
			}
			if b.naive(d) >= d.left {
				t.Fatalf("the gang %s waits for room, stopped by %v, and its %d units fit", id, d.stopped, d.left)
			}
		}
	}
}

func (b *bench) withinQuota(d *demand) bool {
	head := make([]int64, b.kinds.fair())
	b.fair.headroom(d.owner.node, b.free.n, head)
	for k, n := range d.spec.Resources.Amounts {
		if n*int64(d.left) > head[k] {
			return false
		}
	}
	return true
}

// naive counts how many units fit, agent by agent until it is full.
func (b *bench) naive(d *demand) (units int) {
	together := newSpread(&d.spec)
	if together != nil {
		for a, n := range d.spread.units {
			together.add(a, n)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.agents)) {
		a := b.agents[id]
		if a.slot < 0 || !meets(d, a) {
			continue
		}
		for room := a.room.Clone(); together.full(a) < 0 && units < d.left; units++ {
			h, short := room.Plan(d.spec.Resources, a.policies(d.spec.DevicePolicy))
			take := make([]int64, b.kinds.fair())
			b.kinds.amounts(&h, take)
			if short != "" || d.owner.hidden(a, take) || room.Take(h) != nil {
				break
			}
			together.add(a, 1)
		}
	}
	return units
}

// units returns how many units of each demand a turn offers.
func (b *bench) units() map[offers.DemandID]int {
	b.Helper()
	out := map[offers.DemandID]int{}
	for _, o := range b.offered() {
		out[o.Demand] += o.Units
	}
	b.whole(b)
	return out
}

// launchAll launches a task in every unit that is offered.
func (b *bench) launchAll(list []*offers.Offer, unit string) (running []offers.TaskRef) {
	b.Helper()
	for _, o := range list {
		tasks := map[string]string{}
		for n := range o.Units {
			tasks[fmt.Sprint(o.ID, ".", n)] = unit
		}
		for _, l := range b.launch(o, tasks).Launches {
			running = append(running, l.Task.Ref())
		}
	}
	return running
}

// TestGangIsAllOrNothing: under every strategy a gang that does not fit is not
// offered and leaves the room to others, and one that fits is offered in one turn.
func TestGangIsAllOrNothing(t *testing.T) {
	for _, p := range offers.Placements() {
		b := newBench(t, Config{Placement: p, Prematch: Prematch{Workers: 2}})
		for i := range 3 {
			b.agent(fmt.Sprint("a", i), `{"cpus":2}`)
		}
		f := b.framework("f", "default")
		b.demand(f, `{"id":"gang","count":4,"gang":"30s","resources":{"cpus":2}}`)
		b.demand(f, `{"id":"other","count":1,"resources":{"cpus":2}}`)
		if got := b.units(); fmt.Sprint(got) != "map[other:1]" {
			t.Errorf("%s: offered are %v beside a gang of 4 where 3 find room", p, got)
		}
		b.agent("a3", `{"cpus":2}`)
		if got := b.units(); len(got) > 0 {
			t.Errorf("%s: offered are %v of a gang of 4 where 3 find room", p, got)
		}
		b.demand(f, `{"id":"other","count":0}`)
		if got := b.units(); fmt.Sprint(got) != "map[gang:4]" {
			t.Errorf("%s: offered are %v, want the gang", p, got)
		}
	}
}

// TestGangGoesBackWhole: what is outstanding of a gang is taken back when a part
// of it is lost or its time is over, and what is left of it is the gang.
func TestGangGoesBackWhole(t *testing.T) {
	for name, c := range map[string]struct {
		lose   func(b *bench, list []*offers.Offer)
		reason string
		again  int
	}{
		"all accepted": {func(b *bench, list []*offers.Offer) {
			for i, o := range list {
				b.launch(o, map[string]string{fmt.Sprint("t", i): `{"cpus":2}`})
			}
		}, "", 0},
		"declined": {func(b *bench, list []*offers.Offer) {
			b.Decline(list[0].Framework, []offers.OfferID{list[0].ID}, 0, b.now)
		}, "gang_broken", 3},
		"used in part": {func(b *bench, list []*offers.Offer) {
			b.launch(list[0], nil)
		}, "gang_broken", 3},
		"declined after an accept": {func(b *bench, list []*offers.Offer) {
			b.launch(list[0], map[string]string{"t": `{"cpus":2}`})
			b.Decline(list[1].Framework, []offers.OfferID{list[1].ID}, 0, b.now)
		}, "gang_broken", 2},
		"time is over": {func(b *bench, list []*offers.Offer) {
			b.launch(list[0], map[string]string{"t": `{"cpus":2}`})
			b.now = b.now.Add(29 * time.Second)
			if r := b.Ready(b.now); len(r.Rescinds) > 0 {
				b.Errorf("a second before its time the gang is taken back: %v", r.Rescinds)
			}
			if due, _ := b.Next(); !due.Equal(b.now.Add(time.Second)) {
				b.Errorf("the gang is due at %v", due)
			}
			b.now = b.now.Add(time.Second)
		}, "expired", 2},
		"an agent goes away": {func(b *bench, list []*offers.Offer) {
			b.AgentOnline(list[0].Agent, false)
			b.agent("another", `{"cpus":2}`)
		}, "gang_broken", 3},
	} {
		b := newBench(t, Config{})
		for i := range 3 {
			b.agent(fmt.Sprint("a", i), `{"cpus":2}`)
		}
		b.demand(b.framework("f", "default"), `{"id":"gang","count":3,"gang":"30s","resources":{"cpus":2}}`)
		list := b.offered()
		if len(list) != 3 {
			t.Fatalf("%s: offered are %v", name, list)
		}
		c.lose(b, list)
		r := b.Ready(b.now)
		b.whole(t)
		reason, units := "", 0
		for _, rescind := range r.Rescinds {
			if reason = rescind.Reason; reason == c.reason {
				break
			}
		}
		for _, o := range r.Offers {
			units += o.Units
		}
		if reason != c.reason || units != c.again {
			t.Errorf("%s: taken back for %q, then %d units are offered; want %q and %d", name, reason, units, c.reason, c.again)
		}
	}
}

// TestGangWithinQuotaAndLimits: what bounds each unit bounds the gang.
func TestGangWithinQuotaAndLimits(t *testing.T) {
	b := newBench(t, Config{})
	for i, rack := range []string{"r1", "r1", "r2"} {
		b.agentWith(fmt.Sprint("a", i), `{"cpus":8}`, map[string]string{"rack": rack})
	}
	limited := &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": 3000}}}
	b.RoleChanged("small", limited)
	f := b.framework("f", "small")
	b.demand(f, `{"id":"much","count":4,"gang":"30s","resources":{"cpus":1}}`)
	b.demand(f, `{"id":"apart","count":3,"gang":"30s","resources":{"cpus":1},"constraints":["distinct rack"]}`)
	b.demand(f, `{"id":"near","count":3,"gang":"30s","resources":{"cpus":1},"constraints":["at most 2 per rack"]}`)
	if got := b.units(); fmt.Sprint(got) != "map[near:3]" {
		t.Fatalf("offered are %v, want the gang that the racks hold", got)
	}
	stopped := map[offers.DemandID][]string{}
	for _, w := range b.Waiting(WaitingOf{}) {
		stopped[w.Demand.ID] = w.Stopped
	}
	if got := fmt.Sprint(stopped); got != "map[apart:[limit] much:[quota]]" && got != "map[apart:[quota] much:[quota]]" {
		t.Fatalf("stopped by %s", got)
	}
	b.RoleChanged("small", &offers.RoleSettings{Weight: 1})
	if got := b.units(); fmt.Sprint(got) != "map[much:4]" {
		t.Errorf("without a quota %v is offered", got)
	}
}

// TestVastGang: a gang that all agents together could never hold is told so at
// once, and once.
func TestVastGang(t *testing.T) {
	for text, want := range map[string]string{
		`"count":6,"resources":{"cpus":2}`:                                      "",
		`"count":7,"resources":{"cpus":2}`:                                      "all agents that are known hold 6 of the 7 units of the gang, with nothing else on them",
		`"count":4,"resources":{"cpus":1},"constraints":["distinct agent"]`:     "all agents that are known hold 3 of the 4 units of the gang, with nothing else on them",
		`"count":5,"resources":{"cpus":1},"constraints":["at most 2 per rack"]`: "all agents that are known hold 4 of the 5 units of the gang, with nothing else on them",
		`"count":5,"resources":{"devices":{"gpu":{"memory":10}}}`:               "all agents that are known hold 4 of the 5 units of the gang, with nothing else on them",
		`"count":2,"resources":{"cpus":5}`:                                      "no agent that is known has 5 cpus (the largest has 4)",
	} {
		b := newBench(t, Config{})
		b.agentWith("a", `{"cpus":4}`, map[string]string{"rack": "r1"})
		b.agentWith("b", `{"cpus":4}`, map[string]string{"rack": "r1"})
		b.agentWith("c", `{"cpus":4,"devices":{"gpu":{"ids":["x","y"],"capacity":[24,24]}}}`, map[string]string{"rack": "r2"})
		f := b.framework("f", "default")
		b.demand(f, `{"id":"busy","count":12,"resources":{"cpus":1}}`)
		b.offered()
		b.demand(f, `{"id":"gang","gang":"30s",`+text+`}`)
		why := ""
		for n := range 2 {
			for _, h := range b.Ready(b.now).Hopeless {
				if n > 0 {
					t.Errorf("%s: told twice", text)
				}
				why = h.Why
			}
			b.demand(f, `{"id":"busy","count":12,"resources":{"cpus":1}}`)
		}
		if why != want {
			t.Errorf("%s: told %q, want %q", text, why, want)
		}
	}
}

// TestGangIsExplained: how many fit, and what stops the rest; nothing is taken.
func TestGangIsExplained(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":4,"mem":40}`)
	b.agent("b", `{"cpus":3,"mem":40}`)
	f := b.framework("f", "default")
	text := `{"id":"gang","count":4,"gang":"30s","resources":{"cpus":2,"mem":1}}`
	b.demand(f, text)
	for range 2 {
		stated, _ := b.ExplainStated(f, "gang", 10)
		for _, e := range []Explanation{stated, b.explained(text)} {
			if !e.Gang || e.Units != 4 || e.Missing != 1 || fmt.Sprint(e.Missed.Stopped) != "[cpus]" {
				t.Errorf("explained %+v, missed %+v", e, e.Missed)
			}
			if want := "all agents that are known hold 3 of the 4 units of the gang, with nothing else on them"; e.Missed.Never != want {
				t.Errorf("never: %q, want %q", e.Missed.Never, want)
			}
		}
		if got := b.units(); len(got) > 0 {
			t.Fatalf("offered are %v", got)
		}
	}
}

// TestGangWaitsAtNoCost: while fewer units find room than are missing a turn
// looks at no agent, and what is tried and given back wakes nobody.
func TestGangWaitsAtNoCost(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":10,"mem":10}`)
	b.agent("b", `{"cpus":10,"mem":10}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"busy","count":12,"resources":{"cpus":1,"mem":1}}`)
	running := b.launchAll(b.offered(), `{"cpus":1,"mem":1}`)
	b.demand(f, `{"id":"gang","count":7,"gang":"30s","resources":{"cpus":2,"mem":1}}`)
	first := b.Ready(b.now)
	if first.Searches > 5 {
		t.Errorf("%d searches for a gang of which 4 units find room", first.Searches)
	}
	searched := 0
	for n, ref := range running {
		b.Ended(ref)
		r := b.Ready(b.now)
		b.whole(t)
		if len(r.Offers) > 0 {
			if searched > 3 {
				t.Errorf("it was tried %d times before it was offered", searched)
			}
			return
		}
		if r.Searches > 0 {
			searched++
		}
		if again := b.Ready(b.now); again.Searches > 0 {
			t.Fatalf("after %d tasks ended a turn in which nothing happened makes %d searches", n+1, again.Searches)
		}
	}
	t.Error("with all tasks ended the gang is not offered")
}

// TestGangWaitsForAsManyAsAreMissing: room in pieces too small wakes it no sooner.
func TestGangWaitsForAsManyAsAreMissing(t *testing.T) {
	b := newBench(t, Config{})
	for i := range 5 {
		b.agent(fmt.Sprint("a", i), `{"cpus":3}`)
	}
	b.demand(b.framework("f", "default"), `{"id":"gang","count":7,"gang":"30s","resources":{"cpus":2}}`)
	for i, want := range []string{"6 searches, 0 offers", "0 searches, 0 offers", "0 searches, 0 offers", "7 searches, 7 offers"} {
		r := b.Ready(b.now)
		if got := fmt.Sprint(r.Searches, " searches, ", len(r.Offers), " offers"); got != want {
			t.Fatalf("turn %d: %s, want %s", i, got, want)
		}
		if i > 0 {
			b.agent(fmt.Sprint("more", i), `{"cpus":3}`)
		}
	}
}

// TestGangOutOfABacklog: no demand of balance lets a part of a gang pass.
func TestGangOutOfABacklog(t *testing.T) {
	b := newBench(t, Config{Placement: offers.Balance})
	b.agent("a", goldenAgent)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"job5","count":1,"resources":{"cpus":20,"mem":500,"devices":{"gpu":{"count":4}}}}`)
	b.demand(f, `{"id":"job2","count":1,"resources":{"cpus":30,"mem":400,"devices":{"gpu":{"count":2}}}}`)
	b.demand(f, `{"id":"job1","count":2,"gang":"30s","resources":{"cpus":40,"mem":200,"devices":{"gpu":{"count":2}}}}`)
	if got := b.units(); fmt.Sprint(got) != "map[job2:1 job5:1]" {
		t.Errorf("offered are %v", got)
	}
}

// TestGangsAgainstModel: as rooms come and go a gang is offered in the turn in
// which all its units fit by a naive count, and not before; and an explanation
// finds as many as that.
func TestGangsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, Config{Placement: rapid.SampledFrom(offers.Placements()).Draw(t, "placement"), Prematch: Prematch{Workers: 2}})
		for i := range rapid.IntRange(1, 5).Draw(t, "agents") {
			b.agentWith(fmt.Sprint("a", i), inventory(t), map[string]string{"rack": rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack")})
		}
		f := b.framework("f", "default")
		ask := asks(t)
		b.demand(f, fmt.Sprintf(`{"id":"busy","count":%d,"resources":%s}`, rapid.IntRange(1, 20).Draw(t, "busy"), ask))
		running := b.launchAll(b.offered(), ask)
		b.demand(f, `{"id":"busy","count":0}`)
		constraint := rapid.SampledFrom([]string{"", `"distinct agent"`, `"at most 2 per rack"`, `"rack==r1"`}).Draw(t, "constraint")
		b.demand(f, fmt.Sprintf(`{"id":"gang","count":%d,"gang":"60s","resources":%s,"constraints":[%s]}`, rapid.IntRange(1, 6).Draw(t, "count"), asks(t), constraint))
		for {
			d := b.frameworks[f].demands["gang"]
			fits := b.naive(d)
			e, _ := b.ExplainStated(f, "gang", 0)
			if e.Units-e.Missing != fits {
				t.Fatalf("%d units are explained to fit, %d do", e.Units-e.Missing, fits)
			}
			got := b.units()["gang"]
			if fits >= d.left && got != d.left || fits < d.left && got != 0 {
				t.Fatalf("%d units are offered of %d, of which %d fit", got, d.left, fits)
			}
			if got > 0 || len(running) == 0 {
				return
			}
			b.Ended(running[0])
			running = running[1:]
		}
	})
}
