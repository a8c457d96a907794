package lead_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// BenchmarkReturn is what a new leader does until all agents are back that the
// last one had, with the tasks that they run: it begins from the state, and
// each agent registers in a turn of its own, the worst there is. The longest
// turn is reported too.
func BenchmarkReturn(b *testing.B) {
	for _, size := range []struct{ agents, tasks int }{{1000, 10_000}, {1000, 100_000}, {10_000, 10_000}, {10_000, 100_000}} {
		b.Run(fmt.Sprintf("agents=%d/tasks=%d", size.agents, size.tasks), func(b *testing.B) {
			g := newGrowth(b, size.agents)
			for len(g.running) < size.tasks {
				g.launch(1000)
			}
			listed := map[*host][]wire.AgentTask{}
			for _, r := range g.running {
				t := g.state.Task(r.ref)
				listed[r.host] = append(listed[r.host], wire.AgentTask{TaskRef: r.ref, LaunchID: r.id, State: offers.Running, Holding: *t.Holding})
			}
			ids := map[*host]offers.AgentID{}
			for _, h := range g.hosts {
				ids[h] = g.state.AgentNamed(h.self.Name).ID
			}
			longest := time.Duration(0)
			for b.Loop() {
				g.succeed()
				for _, h := range g.hosts {
					began := time.Now()
					h.Agent = lead.NewAgent(h.listener)
					self := h.self
					self.ID = ids[h]
					h.hand(&wire.RegisterAgent{Agent: self, Tasks: listed[h]})
					g.commit()
					longest = max(longest, time.Since(began))
					h.got = nil
				}
				g.forget()
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "longest-turn-ms")
		})
	}
}
