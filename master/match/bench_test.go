package match

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// BenchmarkUnit is the whole way of one unit through the matcher: its turn in
// fair-share order, the search, the offer, the accept of one task, its end.
// On 2 busy shared cores (amd64, go1.26) a unit took 12 microseconds at 1,000
// and 11 to 19 at 10,000 agents.
func BenchmarkUnit(b *testing.B) {
	for _, agents := range []int{1000, 10000} {
		for _, frameworks := range []int{1, 100} {
			b.Run(fmt.Sprintf("agents=%d/frameworks=%d", agents, frameworks), func(b *testing.B) {
				benchmarkUnit(b, agents, frameworks)
			})
		}
	}
}

func benchmarkUnit(b *testing.B, agents, frameworks int) {
	s := newBench(b, Config{OfferTimeout: time.Hour})
	for i := range agents {
		s.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":"%dGiB"}`, 4+i%29, 16+i%49))
	}
	ids := make([]offers.FrameworkID, frameworks)
	for i := range ids {
		ids[i] = s.framework(fmt.Sprint("f", i), offers.Role(fmt.Sprint("r", i%10)))
	}
	var r offers.Resources
	r.Amounts[offers.CPUs], r.Amounts[offers.Mem] = 1000, 1<<30
	one := 1
	free := func(offers.TaskID) bool { return false }
	var running []offers.TaskRef
	b.ResetTimer()
	b.ReportAllocs()
	for i := range b.N {
		f := ids[i%frameworks]
		s.Demand(f, offers.Demand{ID: "d", Resources: r, Count: &one})
		for _, o := range s.Ready(s.now).Offers {
			task := offers.Task{ID: offers.TaskID(fmt.Sprint("t", i)), Resources: r}
			acc := s.Accept(o.Framework, []offers.OfferID{o.ID}, []Draft{{Task: task}}, 0, free, s.now)
			running = append(running, acc.Launches[0].Task.Ref())
		}
		if len(running) > agents {
			s.Ended(running[0])
			running = running[1:]
		}
	}
}

// BenchmarkView is the picture that readers get, for which the loop waits, of
// 10,000 agents that run 20 tasks each.
func BenchmarkView(b *testing.B) {
	s := newBench(b, Config{OfferTimeout: time.Hour})
	f := s.framework("f", "eng")
	for i := range 10_000 {
		s.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":"%dGiB"}`, 40+i%29, 160+i%49))
	}
	var r offers.Resources
	r.Amounts[offers.CPUs], r.Amounts[offers.Mem] = 1000, 1<<30
	count := 200_000
	s.Demand(f, offers.Demand{ID: "d", Resources: r, Count: &count})
	free := func(offers.TaskID) bool { return false }
	for n := 0; n < count; {
		for _, o := range s.Ready(s.now).Offers {
			drafts := make([]Draft, o.Units)
			for i := range drafts {
				drafts[i].Task = offers.Task{ID: offers.TaskID(fmt.Sprint("t", n)), Resources: r}
				n++
			}
			s.Accept(o.Framework, []offers.OfferID{o.ID}, drafts, 0, free, s.now)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		s.View()
	}
}
