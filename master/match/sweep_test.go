package match

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// storm has frameworks state demands for 1 cpu, each of a shape of its own.
func (b *bench) storm(frameworks, each int, constraint string) {
	b.Helper()
	for i := range frameworks {
		f := b.framework(fmt.Sprintf("storm-%d", i), "default")
		for k := range each {
			b.demand(f, fmt.Sprintf(`{"id":"d%d","resources":{"cpus":1},"count":1,"constraints":["rack%sr%d-%d"]}`, k, constraint, i, k))
		}
	}
}

// served ends turns until a framework is offered something, and returns how many.
func (b *bench) served(f offers.FrameworkID) (turns int, o *offers.Offer) {
	b.Helper()
	for turns = 1; turns <= 1000; turns++ {
		r := b.Ready(b.now)
		for _, o := range r.Offers {
			if o.Framework == f {
				return turns, o
			}
		}
		if !r.More {
			break
		}
	}
	b.Fatalf("%s is offered nothing in %d turns", f, turns)
	return 0, nil
}

// settled ends turns until there is nothing more to decide.
func (b *bench) settled() {
	b.Helper()
	for b.Ready(b.now).More {
	}
	if err := b.check(); err != nil {
		b.Fatal(err)
	}
}

// cycle has a framework want half a cpu, get it, run a task there and end it.
func (b *bench) cycle(f offers.FrameworkID, n int) (turns int) {
	b.Helper()
	b.demand(f, fmt.Sprintf(`{"id":"p%d","resources":{"cpus":0.5},"count":1}`, n))
	turns, o := b.served(f)
	id := fmt.Sprintf("t%d", n)
	b.launch(o, map[string]string{id: `{"cpus":0.5}`})
	b.Ended(offers.TaskRef{Framework: f, Task: offers.TaskID(id)})
	return turns
}

// TestFreedRoomIsHeldAgainstConstraints: a shape is searched for again when an agent
// that meets its constraints has more room, and not for others.
func TestFreedRoomIsHeldAgainstConstraints(t *testing.T) {
	b := newBench(t, Config{})
	for i := range 100 {
		b.agentWith(fmt.Sprintf("a%d", i), `{"cpus":16}`, map[string]string{"rack": fmt.Sprintf("r%d", i)})
	}
	probe := b.framework("probe", "default")
	b.storm(10, 200, "==") // r0-0 and so on, which nobody has
	b.settled()
	before := b.counters.Decisions
	for n := range 5 {
		b.cycle(probe, n)
		b.settled()
	}
	if n := b.counters.Decisions - before; n != 5 {
		t.Errorf("five demands that are served and ended take %d searches, others wait for what nobody has", n)
	}

	b.demand(probe, `{"id":"all","resources":{"cpus":16},"count":100}`)
	b.settled()
	late := b.framework("late", "default")
	b.demand(late, `{"id":"d","resources":{"cpus":1},"count":1,"constraints":["rack==r7"]}`)
	b.settled()
	for _, name := range []string{"a6", "a7"} {
		b.Decline(probe, []offers.OfferID{b.book.OfAgent(b.ids[name])[0].ID}, time.Hour, b.now)
		b.settled()
		if got := len(b.book.OfFramework(late)); (got == 1) != (name == "a7") {
			t.Errorf("after room on %s came up there are %d offers to who waits for room on a7", name, got)
		}
	}
}

// TestASweepGoesOnInTheNextTurns: so many shapes and agents that grew are held against
// each other in several turns, and who is to have that room has it in the end.
func TestASweepGoesOnInTheNextTurns(t *testing.T) {
	const agents, shapes = 20, maxSwept/leastSwept + 1000
	b := newBench(t, Config{Placement: offers.LeastRequested})
	for i := range agents {
		b.agent(fmt.Sprintf("a%d", i), `{"cpus":16}`)
	}
	owner := b.framework("owner", "default")
	b.demand(owner, fmt.Sprintf(`{"id":"all","resources":{"cpus":15},"count":%d}`, agents))
	b.settled()
	probe := b.framework("probe", "default")
	b.demand(probe, `{"id":"d","resources":{"cpus":14},"count":1}`)
	b.settled()
	storm := b.framework("storm", "default")
	for k := range shapes {
		b.demand(storm, fmt.Sprintf(`{"id":"d%d","resources":{"cpus":%d.%03d},"count":1}`, k, 16+k/999, 1+k%999))
	}
	b.settled()
	for _, o := range b.book.OfFramework(owner) {
		b.Decline(owner, []offers.OfferID{o.ID}, time.Hour, b.now)
	}
	if turns, _ := b.served(probe); turns != 2 {
		t.Errorf("it is served in turn %d", turns)
	}
	b.settled()
	if w := &b.parked.sweep; w.next > 0 || w.hoping {
		t.Errorf("%d shapes are left, and somebody hopes is %v", w.next, w.hoping)
	}
}
