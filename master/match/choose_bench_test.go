package match

import (
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// BenchmarkChoose is the part of BenchmarkDecisions that is the strategy's own:
// which agent a demand goes to, on a cluster that does not change meanwhile.
func BenchmarkChoose(b *testing.B) {
	for _, placement := range []offers.Placement{offers.Rings, offers.Waste} {
		for _, agents := range []int{1213, 60650} {
			b.Run(fmt.Sprintf("%s/agents=%d", placement, agents), func(b *testing.B) {
				l := &load{bench: openbLike(b, placement, agents), demands: stream(1 << 14)}
				l.id = l.framework("f", "default")
				for len(l.running) < agents*4 {
					l.turn(500)
				}
				for range 10 * agents / 500 {
					l.turn(500)
					l.end(500)
				}
				var all []*demand
				for i := range 4096 {
					spec := l.demands[i]
					spec.ID = offers.DemandID(fmt.Sprint("c", i))
					l.Demand(l.id, spec)
					d := l.frameworks[l.id].demands[spec.ID]
					l.compile(d)
					all = append(all, d)
				}
				found, before := 0, processorTime()
				b.ResetTimer()
				for i := range b.N {
					d := all[i%len(all)]
					l.search.begin(l.Matcher, d)
					if l.search.prefer(d.placer.strategy) != nil {
						found++
					}
				}
				b.ReportMetric(float64((processorTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/choice")
				b.ReportMetric(100*float64(found)/float64(b.N), "%-found")
			})
		}
	}
}
