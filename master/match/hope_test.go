package match

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// twins are two matchers to which the same happens. Before each turn of the second one
// everybody in a line is woken for whom something changed.
type twins struct {
	both       [2]*bench
	frameworks []offers.FrameworkID
	agents     []string
	out        []*offers.Offer // of the first; the second's are alike
	running    []offers.TaskRef
	tasks      int
}

// each has something happen to both.
func (w *twins) each(do func(b *bench)) {
	for _, b := range w.both {
		do(b)
	}
}

// turn ends turns until there is nothing more to decide, and holds what was offered and
// taken back by one against the other.
func (w *twins) turn(t *rapid.T) {
	var said [2]string
	for i, b := range w.both {
		b.Claim(b.now)
		var out []*offers.Offer
		for more := true; more; {
			if i == 1 {
				b.wakeAllSuited()
			}
			r := b.Ready(b.now)
			more = r.More
			for _, o := range r.Offers {
				said[i] += fmt.Sprintf("%s to %s for %s on %s: %d of %v\n", o.ID, o.Framework, o.Demand, o.Agent, o.Units, o.Held)
			}
			out = append(out, r.Offers...)
			said[i] += fmt.Sprintln(r.Rescinds)
		}
		if err := b.check(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			w.out = append(w.out, out...)
		}
	}
	if said[0] != said[1] {
		t.Fatalf("who waits is woken by and by:\n%sall are woken:\n%s", said[0], said[1])
	}
	w.out = slices.DeleteFunc(w.out, func(o *offers.Offer) bool { _, there := w.both[0].book.Get(o.ID); return !there })
}

// wakeAllSuited wakes at once whom a turn would by and by. What a turn begins with,
// it does before.
func (b *bench) wakeAllSuited() {
	b.expire(b.now)
	b.reunite()
	b.endRefusals(b.now)
	changed := len(b.grown) > 0 || b.parked.quotaMoved
	for _, f := range b.frameworks {
		for _, d := range f.demands {
			if d.line == nil {
				continue
			}
			if suits, _ := suited(b.grown, d.need, d.meets(), len(b.grown)); suits || d.quota && changed {
				b.activate(d)
			}
		}
	}
}

func newTwins(t *rapid.T, placements []offers.Placement) *twins {
	w := &twins{}
	config := Config{OfferTimeout: 20 * time.Second, OfferGrace: 3 * time.Second, Placement: rapid.SampledFrom(placements).Draw(t, "placement"), Prematch: Prematch{Workers: 2}}
	for i := range w.both {
		w.both[i] = newBench(t, config)
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "agents") {
		has, name := inventory(t), fmt.Sprint("a", i)
		w.agents = append(w.agents, name)
		w.each(func(b *bench) { b.agentWith(name, has, map[string]string{"rack": fmt.Sprint("r", i%2)}) })
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "frameworks") {
		role := rapid.SampledFrom(someRoles).Draw(t, "role")
		w.each(func(b *bench) {
			id := b.framework(fmt.Sprint("f", i), role)
			if b == w.both[0] {
				w.frameworks = append(w.frameworks, id)
			}
		})
	}
	return w
}

// demand has somebody state, replace or withdraw a demand.
func (w *twins) demand(t *rapid.T, placements []offers.Placement) {
	f := rapid.SampledFrom(w.frameworks).Draw(t, "framework")
	text := fmt.Sprintf(`{"id":"d%d","resources":%s`, rapid.IntRange(0, 19).Draw(t, "demand"), asks(t))
	count := rapid.IntRange(-1, 6).Draw(t, "count")
	if count >= 0 {
		text += fmt.Sprintf(`,"count":%d`, count)
		if count > 0 && rapid.IntRange(0, 5).Draw(t, "gang") == 0 {
			text += `,"gang":10`
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "its own") == 0 {
		text += fmt.Sprintf(`,"placement":"%s"`, rapid.SampledFrom(placements).Draw(t, "placement"))
	}
	if c := rapid.SampledFrom([]string{"", "", "", "rack==r0", "distinct agent", "at most 2 per agent"}).Draw(t, "constraint"); c != "" && (count >= 0 || c == "rack==r0") {
		text += fmt.Sprintf(`,"constraints":["%s"]`, c)
	}
	w.each(func(b *bench) { b.demand(f, text+"}") })
}

// answer has an offer accepted, by tasks of all its units or fewer, or declined.
func (w *twins) answer(t *rapid.T) {
	if len(w.out) == 0 {
		return
	}
	at := rapid.IntRange(0, len(w.out)-1).Draw(t, "offer")
	o := w.out[at]
	w.out = slices.Delete(w.out, at, at+1)
	refuse := time.Duration(rapid.IntRange(0, 5).Draw(t, "refuse")) * time.Second
	if rapid.IntRange(0, 3).Draw(t, "declines") == 0 {
		w.each(func(b *bench) { b.Decline(o.Framework, []offers.OfferID{o.ID}, refuse, b.now) })
		return
	}
	var drafts []Draft
	for range rapid.IntRange(0, max(o.Units, 1)).Draw(t, "tasks") {
		r := o.Unit
		if o.Units == 0 {
			r.Amounts[offers.CPUs] = 100
		}
		w.tasks++
		drafts = append(drafts, Draft{Task: offers.Task{ID: offers.TaskID(fmt.Sprint("t", w.tasks)), Resources: r}})
	}
	w.each(func(b *bench) {
		a := b.Accept(o.Framework, []offers.OfferID{o.ID}, slices.Clone(drafts), refuse, func(offers.TaskID) bool { return false }, b.now)
		for i := range a.Launches {
			b.Decided(&a, i, true)
			if b == w.both[0] {
				w.running = append(w.running, a.Launches[i].Task.Ref())
			}
		}
	})
}

func (w *twins) end(t *rapid.T) {
	if len(w.running) == 0 {
		return
	}
	at := rapid.IntRange(0, len(w.running)-1).Draw(t, "task")
	ref := w.running[at]
	w.running = slices.Delete(w.running, at, at+1)
	w.each(func(b *bench) { b.Ended(ref) })
}

func (w *twins) role(t *rapid.T) {
	role := rapid.SampledFrom(someRoles).Draw(t, "role")
	settings := &offers.RoleSettings{Weight: float64(rapid.IntRange(1, 3).Draw(t, "weight"))}
	amount := offers.QuotaAmounts{"cpus": int64(rapid.IntRange(0, 20).Draw(t, "cpus")) * 1000}
	if rapid.Bool().Draw(t, "gpus too") {
		amount["gpu"] = int64(rapid.IntRange(0, 100).Draw(t, "gpu"))
	}
	switch rapid.IntRange(0, 2).Draw(t, "quota") {
	case 1:
		settings.Quota.Limit = amount
	case 2:
		settings.Quota.Guarantee = amount
	}
	w.each(func(b *bench) { b.RoleChanged(role, settings) })
}

// agent has one go or come, or take no more.
func (w *twins) agent(t *rapid.T) {
	name, on := rapid.SampledFrom(w.agents).Draw(t, "agent"), rapid.IntRange(0, 2).Draw(t, "there") > 0
	if rapid.Bool().Draw(t, "closes") {
		why := map[bool]string{false: "its disk is full"}[on]
		w.each(func(b *bench) { b.AgentClosed(b.ids[name], why) })
		return
	}
	w.each(func(b *bench) { b.AgentOnline(b.ids[name], on) })
}

// TestHopeServesAsIfAllWereWoken: whatever happens, the same is offered to the same in
// the same order as where everybody who waits is woken before each turn.
func TestHopeServesAsIfAllWereWoken(t *testing.T) {
	for name, placements := range map[string][]offers.Placement{
		"one strategy":     {offers.Rings},
		"several":          {offers.Rings, offers.Waste, offers.LeastRequested, offers.MostBalanced, offers.Match},
		"those with lines": {offers.Rings, offers.Waste},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := newTwins(t, placements)
				demand := func(t *rapid.T) { w.demand(t, placements) }
				for range rapid.IntRange(0, 40).Draw(t, "demands") {
					demand(t)
				}
				actions := map[string]func(*rapid.T){
					"demand": demand, "demand 2": demand, "demand 3": demand, "answer": w.answer, "answer 2": w.answer, "answer 3": w.answer,
					"end": w.end, "end 2": w.end, "role": w.role, "agent": w.agent, "turn": w.turn, "turn 2": w.turn,
					"suppress": func(t *rapid.T) {
						f := rapid.SampledFrom(w.frameworks).Draw(t, "framework")
						w.each(func(b *bench) { b.Suppress(f) })
					},
					"revive": func(t *rapid.T) {
						f := rapid.SampledFrom(w.frameworks).Draw(t, "framework")
						w.each(func(b *bench) { b.Revive(f) })
					},
					"time": func(t *rapid.T) {
						span := time.Duration(rapid.IntRange(1, 8).Draw(t, "seconds")) * time.Second
						again := rapid.Bool().Draw(t, "claims again")
						w.each(func(b *bench) {
							if b.now = b.now.Add(span); again {
								b.ClaimAgain()
							}
						})
					},
				}
				for range 4 {
					t.Repeat(actions)
				}
				for _, f := range w.frameworks {
					w.each(func(b *bench) { b.Revive(f) })
				}
				w.turn(t)
			})
		})
	}
}

// TestAUnitThatComesFreeWakesWhoTakesIt: however many it would suit, and however many
// wait for the quota that it was part of. The others are searched for when it is their
// turn, by and by until all were served.
func TestAUnitThatComesFreeWakesWhoTakesIt(t *testing.T) {
	for _, quota := range []bool{false, true} {
		t.Run(fmt.Sprintf("quota=%v", quota), func(t *testing.T) {
			const agents, shapes = 4, 200
			b := newBench(t, Config{})
			for i := range agents {
				b.agent(fmt.Sprint("a", i), map[bool]string{false: `{"cpus":1,"mem":"1GiB"}`, true: `{"cpus":9,"mem":"1GiB"}`}[quota])
			}
			if quota {
				b.RoleChanged("crowd", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": agents * 1000}}})
			}
			for i := range 5 {
				f := b.framework(fmt.Sprint("f", i), "crowd")
				for k := range shapes / 5 {
					b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":{"cpus":1,"mem":%d}}`, k, 1+5*k+i))
				}
			}
			running := b.fill(nil)
			for served := agents; served < shapes; served++ {
				before := b.counters.Decisions
				b.Ended(running[0])
				running = b.fill(running[1:])
				if n := b.counters.Decisions - before; n != 1 || len(running) != agents {
					t.Fatalf("unit %d takes %d searches, and %d run then", served, n, len(running))
				}
			}
		})
	}
}

// TestTheEldestIsSoughtInSeveralTurns: so many demands of which only their constraints
// tell that nobody suits are looked at in several turns, and who is behind them is served
// in the end, as is who would have been the next to be looked at in the first.
func TestTheEldestIsSoughtInSeveralTurns(t *testing.T) {
	const agents, demands, next = 20, maxSwept/leastSwept + 1000, (maxSwept + leastSwept - 2) / (leastSwept - 1)
	for _, place := range []int{next, demands} {
		b := newBench(t, Config{})
		for i := range agents {
			b.agent(fmt.Sprint("a", i), `{"cpus":16}`)
		}
		owner, f := b.framework("owner", "default"), b.framework("f", "default")
		b.demand(owner, fmt.Sprintf(`{"id":"all","resources":{"cpus":16},"count":%d}`, agents))
		b.settled()
		for k := range demands + 1 {
			constraint := fmt.Sprintf(`,"constraints":["rack==r%d"]`, k)
			if k == place {
				constraint = ""
			}
			b.demand(f, fmt.Sprintf(`{"id":"d%d","resources":{"cpus":1},"count":1%s}`, k, constraint))
		}
		b.settled()
		for _, o := range b.book.OfFramework(owner)[:leastSwept-1] {
			b.Decline(owner, []offers.OfferID{o.ID}, time.Hour, b.now)
		}
		before := b.counters.Decisions
		turns, o := b.served(f)
		if turns != 2 || o.Demand != offers.DemandID(fmt.Sprint("d", place)) || b.counters.Decisions != before+2 {
			t.Errorf("at %d %s is served in turn %d after %d searches", place, o.Demand, turns, b.counters.Decisions-before)
		}
		b.settled()
	}
}
