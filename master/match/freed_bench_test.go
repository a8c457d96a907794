package match

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// BenchmarkFreed is what a unit that comes free costs while many demands of
// different shapes wait for it, each of which it would suit: one task ends, a
// turn is made, and what was offered is accepted. The demands wait for room on
// 1,000 full agents, or for a quota of half of them. Two of the three searches are for
// more units of the demand that was served.
//
// When all of them were woken it took as many searches as there are shapes, and with
// 50,000 of them 150 ms and 250,000 allocations for room, 50 ms and 55,000 for a quota;
// now 40 and 20 microseconds and 23 allocations, on 2 busy shared cores (amd64, go1.26).
func BenchmarkFreed(b *testing.B) {
	for _, waits := range []string{"room", "quota"} {
		for _, shapes := range []int{100, 1000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/shapes=%d", waits, shapes), func(b *testing.B) { benchmarkFreed(b, shapes, waits == "quota") })
		}
	}
}

func benchmarkFreed(b *testing.B, shapes int, quota bool) {
	const agents, cpus, frameworks = 1000, 4, 50
	s := newBench(b, Config{OfferTimeout: time.Hour})
	for i := range agents {
		s.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":"1TiB"}`, cpus))
	}
	if quota {
		s.RoleChanged("crowd", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": agents * cpus * 1000 / 2}}})
	}
	s.crowd(frameworks, shapes)
	running := s.fill(nil)
	before := s.counters.Decisions
	b.ReportAllocs()
	for b.Loop() {
		s.Ended(running[0])
		if running = s.fill(running[1:]); len(running) == 0 {
			b.Fatal("nobody runs")
		}
	}
	b.ReportMetric(float64(s.counters.Decisions-before)/float64(b.N), "searches/op")
	if err := s.check(); err != nil {
		b.Fatal(err)
	}
}

// crowd has frameworks of one role want more units of 1 cpu than there will ever be,
// in so many shapes.
func (b *bench) crowd(frameworks, shapes int) {
	const many = 1 << 30
	ids := make([]offers.FrameworkID, frameworks)
	for i := range ids {
		ids[i] = b.framework(fmt.Sprint("f", i), "crowd")
	}
	for k := range shapes {
		count := many
		d := offers.Demand{ID: offers.DemandID(fmt.Sprint("d", k)), Count: &count}
		d.Resources.Amounts[offers.CPUs], d.Resources.Amounts[offers.Mem] = 1000, int64(1+k)<<10
		b.Demand(ids[k%frameworks], d)
	}
}

// fill ends turns until there is nothing more to decide, has all offers accepted and
// appends the tasks that run then.
func (b *bench) fill(running []offers.TaskRef) []offers.TaskRef {
	for more := true; more; {
		r := b.Ready(b.now)
		more = r.More
		for _, o := range r.Offers {
			drafts := make([]Draft, o.Units)
			for i := range drafts {
				id := offers.TaskID(fmt.Sprint(o.ID, ".", i))
				drafts[i].Task = offers.Task{ID: id, Resources: o.Unit}
				running = append(running, offers.TaskRef{Framework: o.Framework, Task: id})
			}
			b.Accept(o.Framework, []offers.OfferID{o.ID}, drafts, 0, func(offers.TaskID) bool { return false }, b.now)
		}
	}
	return running
}
