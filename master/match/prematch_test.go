package match

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// atOnce runs every job on a goroutine of its worker, the workers' jobs in any
// order.
func atOnce(workers int) Prematch {
	return Prematch{Workers: workers, Run: func(jobs int, job func(worker, i int)) {
		queue := make(chan int, jobs)
		for _, i := range rand.Perm(jobs) {
			queue <- i
		}
		close(queue)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range queue {
					job(w, i)
				}
			})
		}
		wg.Wait()
	}}
}

// TestPrematchEqualsSerial: with any number of pre-matchers, however they are
// scheduled, everybody is offered exactly what searches one by one would give.
func TestPrematchEqualsSerial(t *testing.T) {
	var all Counters
	rapid.Check(t, func(t *rapid.T) {
		config := Config{Placement: rapid.SampledFrom([]offers.Placement{offers.LeastRequested, offers.MostBalanced}).Draw(t, "placement")}
		serial := newBench(t, config)
		config.Prematch = atOnce(rapid.IntRange(1, 3).Draw(t, "workers"))
		parallel := newBench(t, config)
		both := []*bench{serial, parallel}
		for i := range rapid.IntRange(1, 40).Draw(t, "agents") {
			total := inventory(t)
			for _, b := range both {
				b.agent(fmt.Sprint("a", i), total)
			}
		}
		quota := offers.Quota{Limit: offers.QuotaAmounts{"cpus": rapid.Int64Range(1, 60).Draw(t, "limit") * 1000}}
		var frameworks []offers.FrameworkID
		for i := range rapid.IntRange(1, 3).Draw(t, "frameworks") {
			role := someRoles[i]
			for _, b := range both {
				if id := b.framework(fmt.Sprint("f", i), role); b == serial {
					frameworks = append(frameworks, id)
				}
			}
		}
		for _, b := range both {
			b.RoleChanged("eng", &offers.RoleSettings{Weight: 1, Quota: quota})
		}
		for round := range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for i := range rapid.IntRange(1, 30).Draw(t, "demands") {
				f := rapid.SampledFrom(frameworks).Draw(t, "framework")
				text := fmt.Sprintf(`{"id":"r%dd%d","count":%d,"resources":%s`, round, i, rapid.IntRange(1, 6).Draw(t, "count"), asks(t))
				text += rapid.SampledFrom([]string{"}", "}", `,"constraints":["distinct agent"]}`, `,"constraints":["name!=a1","at most 2 per agent"]}`, `,"preferences":[{"condition":"name~a1.*","weight":-1}]}`, `,"gang":"30s"}`}).Draw(t, "more")
				for _, b := range both {
					b.demand(f, text)
				}
			}
			a, b := serial.Ready(serial.now), parallel.Ready(parallel.now)
			if got, want := told(b.Offers), told(a.Offers); !slices.Equal(got, want) {
				t.Fatalf("round %d: with pre-matchers\n%v\none by one\n%v", round, got, want)
			}
			for _, b := range both {
				if err := b.check(); err != nil {
					t.Fatal(err)
				}
			}
			if len(a.Offers) > 0 {
				o := rapid.SampledFrom(a.Offers).Draw(t, "declined")
				framework, id := o.Framework, o.ID
				for _, b := range both {
					b.Decline(framework, []offers.OfferID{id}, 5*time.Second, b.now)
				}
			}
		}
		all.Prematched += parallel.counters.Prematched
		all.Conflicts += parallel.counters.Conflicts
	})
	if all.Prematched <= all.Conflicts || all.Conflicts == 0 {
		t.Errorf("%d units were pre-matched, the best agent of %d had changed", all.Prematched, all.Conflicts)
	}
}

// TestTurnEndsAfterItsLists: a turn that has looked at enough agents ends, but not
// before those were served whose lists it made and would drop.
func TestTurnEndsAfterItsLists(t *testing.T) {
	b := newBench(t, Config{Placement: offers.LeastRequested, Prematch: atOnce(1)})
	for i := range 2 * turnLooks / listsAhead {
		b.agent(fmt.Sprint("a", i), `{"cpus":8,"mem":"8GiB"}`)
	}
	f := b.framework("f", "default")
	b.manyShapes(f, 3*listsAhead, 3*listsAhead)
	if r := b.Ready(b.now); len(r.Offers) != listsAhead || !r.More {
		t.Errorf("the first turn makes %d offers and has more to do: %v", len(r.Offers), r.More)
	}
}

// told is what a framework sees of offers.
func told(list []*offers.Offer) []string {
	var out []string
	for _, o := range list {
		out = append(out, fmt.Sprint(o.ID, " ", o.Framework, " ", o.Demand, " ", o.Agent, " ", o.Units, " ", o.Held, " ", o.Ring))
	}
	return out
}

// TestPrematchKeepsATieDecided: which of two kinds that weigh the same a demand
// is looked up by is decided when its first turn comes; looking ahead to a later
// one does not decide it anew.
func TestPrematchKeepsATieDecided(t *testing.T) {
	for workers := range 2 {
		b := newBench(t, Config{Placement: offers.LeastRequested, Prematch: atOnce(workers)})
		b.agent("a", `{"cpus":1,"mem":3,"devices":{"gpu":{"ids":["x"],"capacity":[8]}}}`)
		f := b.framework("f", "default")
		b.demand(f, `{"id":"first","count":1,"resources":{"mem":1}}`)
		b.demand(f, `{"id":"tied","count":1,"resources":{"cpus":1,"mem":3}}`)
		o := b.offered()[0]
		b.Decline(f, []offers.OfferID{o.ID}, 5*time.Second, b.now)
		b.demand(f, `{"id":"last","count":1,"resources":{"devices":{"gpu":{"memory":8}}}}`)
		if got := told(b.offered()); len(got) == 0 || !strings.Contains(got[0], "tied") || !strings.HasSuffix(got[0], "{mem 1}") {
			t.Errorf("%d pre-matchers: offered are %q", workers, got)
		}
	}
}
