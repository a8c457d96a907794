package match

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestApartIsTheSame: a batch that is solved elsewhere, while nothing happens,
// comes to the offers that it comes to at once.
func TestApartIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, apart := newBench(t, Config{Placement: offers.Match}), newBench(t, Config{Placement: offers.Match, Apart: 1})
		both := []*bench{at, apart}
		for i := range rapid.IntRange(1, 6).Draw(t, "agents") {
			total, rack := inventory(t), rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack")
			for _, b := range both {
				b.agentWith(fmt.Sprint("a", i), total, map[string]string{"rack": rack})
			}
		}
		var roles []offers.Role
		for range rapid.IntRange(1, 3).Draw(t, "frameworks") {
			roles = append(roles, rapid.SampledFrom(someRoles).Draw(t, "role"))
		}
		var ids [2][]offers.FrameworkID
		for i, b := range both {
			for n, role := range roles {
				ids[i] = append(ids[i], b.framework(fmt.Sprint("f", n), role))
			}
		}
		for n := range rapid.IntRange(1, 20).Draw(t, "demands") {
			of, text := rapid.IntRange(0, len(roles)-1).Draw(t, "framework"), someDemand(t, n)
			for i, b := range both {
				b.demand(ids[i][of], text)
			}
		}
		want := at.on()
		for p := apart.Ready(apart.now).Puzzle; p != nil; {
			p.Solve()
			apart.Solved(p)
			p = nil
		}
		apart.Ready(apart.now)
		if got := apart.all(); got != at.all() {
			t.Fatalf("solved apart it comes to %s, at once to %s (%s)", got, at.all(), want)
		}
	})
}

// someDemand draws a demand.
func someDemand(t *rapid.T, n int) string {
	constraints := []string{"", "", `"rack==r1"`, `"distinct agent"`, `"at most 2 per rack"`}[n%5] // what an earlier demand of the id launched counts, too
	return fmt.Sprintf(`{"id":"d%d","count":%d,"resources":%s,"runtime":%d,"deadline":%d,"price":%d,"constraints":[%s]}`, n, rapid.IntRange(1, 4).Draw(t, "count"), asks(t),
		rapid.IntRange(0, 3).Draw(t, "runtime"), rapid.IntRange(0, 6).Draw(t, "deadline"), rapid.IntRange(0, 9).Draw(t, "price"), constraints)
}

// all tells which demand has how many units offered on which agent.
func (b *bench) all() string {
	units := map[string]int{}
	for _, o := range b.book.All() {
		units[fmt.Sprint(b.frameworks[o.Framework].role, o.Framework, o.Demand, b.names[o.Agent])] += o.Units
	}
	return fmt.Sprint(units)
}

// TestWhatHappensWhileAPuzzleIsAway: whatever comes, goes, ends or is refused
// meanwhile, nothing is given twice and no limit is passed, and once all is solved
// nothing waits beside room. Under the race detector it also holds that a puzzle
// touches nothing of the matcher.
func TestWhatHappensWhileAPuzzleIsAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, Config{Placement: offers.Match, Apart: 1 + rapid.IntRange(0, 6).Draw(t, "apart")})
		agents := rapid.IntRange(1, 5).Draw(t, "agents")
		for i := range agents {
			b.agentWith(fmt.Sprint("a", i), inventory(t), map[string]string{"rack": rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack")})
		}
		var ids []offers.FrameworkID
		for i := range rapid.IntRange(1, 3).Draw(t, "frameworks") {
			ids = append(ids, b.framework(fmt.Sprint("f", i), rapid.SampledFrom(someRoles).Draw(t, "role")))
		}
		var running []offers.TaskRef
		var away *Puzzle
		var solving sync.WaitGroup
		turn := func() {
			r := b.Ready(b.now)
			if r.Puzzle != nil && away != nil {
				t.Fatal("two puzzles are away")
			}
			if p := r.Puzzle; p != nil {
				away = p
				solving.Go(p.Solve)
			}
			if err := b.check(); err != nil {
				t.Fatal(err)
			}
			b.withinLimits(t)
			for _, o := range r.Offers {
				if b.agents[o.Agent].slot < 0 {
					t.Fatalf("%s is offered, which is away", b.names[o.Agent])
				}
			}
		}
		back := func() {
			solving.Wait()
			b.Solved(away)
			away = nil
			turn()
		}
		for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "framework")
			name := fmt.Sprint("a", rapid.IntRange(0, agents-1).Draw(t, "agent"))
			switch rapid.IntRange(0, 12).Draw(t, "what") {
			case 0, 1, 2, 3:
				b.demand(id, someDemand(t, n%10))
			case 4:
				b.demand(id, fmt.Sprintf(`{"id":"d%d","count":0,"resources":{}}`, n%10))
			case 5:
				b.AgentOnline(b.ids[name], rapid.Bool().Draw(t, "agent online"))
			case 6:
				b.FrameworkOnline(id, rapid.Bool().Draw(t, "online"))
				b.FrameworkOnline(id, true)
			case 7:
				b.Suppress(id)
			case 8:
				b.Revive(id)
			case 9:
				if len(running) > 0 {
					b.Ended(running[0])
					running = running[1:]
				}
			case 10:
				for _, o := range b.book.OfFramework(id) {
					b.Decline(id, []offers.OfferID{o.ID}, time.Second, b.now)
				}
				b.now = b.now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "pause")) * time.Second)
			default:
				for _, o := range b.book.OfFramework(id) {
					task := offers.Task{ID: offers.TaskID(o.ID), Resources: o.Unit}
					for _, l := range b.Accept(id, []offers.OfferID{o.ID}, []Draft{{Task: task}}, 0, func(offers.TaskID) bool { return false }, b.now).Launches {
						running = append(running, l.Task.Ref())
					}
				}
			}
			turn()
			if away != nil && rapid.IntRange(0, 2).Draw(t, "solved") == 0 {
				back()
			}
		}
		for range 100 {
			if turn(); away == nil {
				break
			}
			back()
		}
		if away != nil {
			t.Fatal("there is always another puzzle")
		}
		b.nothingFits(t)
	})
}

// TestAloneBesideAPuzzle: what comes alone while a large batch is solved is offered
// at the end of its window, and another large one after the first.
func TestAloneBesideAPuzzle(t *testing.T) {
	const window = 50 * time.Millisecond
	b := newBench(t, Config{Placement: offers.Match, Window: window, Apart: 6})
	b.agent("x", `{"cpus":8}`)
	b.agent("y", `{"cpus":8}`)
	f := b.framework("f", "default")
	unit := func(id string, count int) {
		b.demand(f, fmt.Sprintf(`{"id":"%s","count":%d,"resources":{"cpus":1}}`, id, count))
	}
	unit("many", 4)
	unit("with it", 1)
	b.offered()
	b.now = b.now.Add(window)
	first := b.Ready(b.now)
	if first.Puzzle == nil || len(first.Offers) > 0 {
		t.Fatalf("offered are %v, and no puzzle", first.Offers)
	}
	b.activate(b.frameworks[f].demands["with it"])
	if got := b.on(); got != "[]" {
		t.Fatalf("offered while its puzzle is away is %s", got)
	}
	unit("alone", 1)
	b.offered()
	b.now = b.now.Add(window)
	if got := b.on(); got != "[alone:x]" {
		t.Fatalf("offered at the end of its window is %s", got)
	}
	unit("more", 4)
	b.offered()
	b.now = b.now.Add(window)
	if r := b.Ready(b.now); r.Puzzle != nil || len(r.Offers) > 0 {
		t.Fatalf("while one puzzle is away %v is offered, and another is made: %v", r.Offers, r.Puzzle != nil)
	}
	first.Puzzle.Solve()
	b.Solved(first.Puzzle)
	second := b.Ready(b.now)
	if len(second.Offers) == 0 || second.Puzzle == nil {
		t.Fatalf("once it is solved %v is offered, and the next is made: %v", second.Offers, second.Puzzle != nil)
	}
}
