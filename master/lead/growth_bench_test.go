package lead_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// BenchmarkGrowth is what a task costs the leader by the number of agents and by
// the number of tasks that run already: its demand, the search, the offer, the
// accept, the launch, two reports with their updates and acknowledgements, and
// all five commands on the replicated state. Connections, Raft and the disk, to
// which neither number matters, are not in it. Times are the processor's,
// collector included.
//
//	make bench-report
func BenchmarkGrowth(b *testing.B) {
	for _, agents := range []int{100, 1000, 5000, 10_000, 20_000, 50_000} {
		b.Run(fmt.Sprintf("of=agents/agents=%d/tasks=10000", agents), func(b *testing.B) { benchmarkGrowth(b, agents, 10_000) })
	}
	for _, tasks := range []int{10_000, 30_000, 100_000, 300_000, 1_000_000} {
		b.Run(fmt.Sprintf("of=tasks/agents=1000/tasks=%d", tasks), func(b *testing.B) { benchmarkGrowth(b, 1000, tasks) })
	}
}

func benchmarkGrowth(b *testing.B, agents, tasks int) {
	g := newGrowth(b, agents)
	for len(g.running) < tasks {
		g.launch(min(1000, tasks-len(g.running)))
	}
	runtime.GC()
	var spent time.Duration
	made := 0
	for b.Loop() {
		before := processorTime(b)
		g.launch(1000)
		g.end(1000)
		spent += processorTime(b) - before
		made += 1000
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(made), "us/task")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB")
	runtime.KeepAlive(g)
}

// growth is a scene that is kept at a size.
type growth struct {
	*scene
	author  *author
	hosts   []*host
	running []runningTask
	demands int
	tasks   int
	rnd     *rand.Rand
}

type runningTask struct {
	ref  offers.TaskRef
	id   offers.LaunchID
	host *host
}

func newGrowth(b *testing.B, agents int) *growth {
	g := &growth{scene: newScene(b), rnd: rand.New(rand.NewPCG(1, 1))}
	for i := range agents {
		h := &host{listener: &listener{TB: b}, l: g.scene}
		h.Agent = lead.NewAgent(h.listener)
		amounts := offers.Amounts{offers.CPUs: 1_000_000 + int64(i%29)*1000, offers.Mem: (1000 + int64(i%49)) << 30}
		h.self = offers.Agent{Name: fmt.Sprint("h", i), Host: "h", Total: offers.Inventory{Amounts: amounts}}
		h.hand(&wire.RegisterAgent{Agent: h.self})
		g.hosts = append(g.hosts, h)
	}
	g.commit()
	g.author = g.scene.author("")
	g.forget()
	return g
}

// launch brings n tasks as far as that the framework has acknowledged that they
// run.
func (g *growth) launch(n int) {
	g.demands++
	millis := 10 + g.rnd.Int64N(990)
	unit := fmt.Sprintf(`{"cpus":%g,"mem":"%dMiB"}`, float64(millis)/1000, 16<<g.rnd.IntN(4))
	demand := fmt.Sprintf(`{"id":"d%d","count":%d,"resources":%s}`, g.demands, n, unit)
	g.author.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(demand)}})
	for _, offered := range heard[*wire.OffersMessage](g.author.listener) {
		for _, o := range offered.Offers {
			accept := &wire.Accept{OfferIDs: []offers.OfferID{o.ID}}
			for range o.Resources.Amounts[offers.CPUs] / millis {
				g.tasks++
				accept.Tasks = append(accept.Tasks, json.RawMessage(fmt.Sprintf(`{"id":"t%d","resources":%s,"command":{"shell":"true"}}`, g.tasks, unit)))
			}
			g.author.hand(accept)
		}
	}
	g.commit()
	for _, h := range g.hosts {
		report := &wire.Statuses{}
		for _, l := range heard[*wire.Launch](h.listener) {
			for _, t := range l.Tasks {
				g.running = append(g.running, runningTask{offers.TaskRef{Framework: t.Framework, Task: t.Task.ID}, t.LaunchID, h})
				report.Statuses = append(report.Statuses, g.status(len(g.running)-1, offers.Running))
			}
		}
		if len(report.Statuses) > 0 {
			h.hand(report)
		}
	}
	g.acknowledge(n)
}

// end ends n of the tasks, here and there.
func (g *growth) end(n int) {
	reports := map[*host]*wire.Statuses{}
	for range n {
		i := g.rnd.IntN(len(g.running))
		h := g.running[i].host
		if reports[h] == nil {
			reports[h] = &wire.Statuses{}
		}
		reports[h].Statuses = append(reports[h].Statuses, g.status(i, offers.Finished))
		last := len(g.running) - 1
		g.running[i] = g.running[last]
		g.running = g.running[:last]
	}
	for h, r := range reports {
		h.hand(r)
	}
	g.acknowledge(n)
}

func (g *growth) status(i int, s offers.State) wire.TaskStatus {
	t := &g.running[i]
	return wire.TaskStatus{Framework: t.ref.Framework, LaunchID: t.id, Status: offers.Status{
		Task: t.ref.Task, State: s, Time: g.now, UpdateID: offers.UpdateID(fmt.Sprintf("%s-%s", t.ref.Task, s)),
	}}
}

// acknowledge has the framework acknowledge n updates.
func (g *growth) acknowledge(n int) {
	g.commit()
	updates := heard[*wire.Update](g.author.listener)
	if len(updates) != n {
		g.Fatalf("%d updates of %d tasks", len(updates), n)
	}
	for _, u := range updates {
		g.author.hand(&wire.Acknowledge{TaskID: u.Status.Task, UpdateID: u.Status.UpdateID})
	}
	g.commit()
	g.forget()
}

// forget drops what everybody was told.
func (g *growth) forget() {
	g.author.got, g.told = g.author.got[:0], nil
	for _, h := range g.hosts {
		h.got = h.got[:0]
	}
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTick is what an idle leader does every second, while whoever wants an
// offer waits.
func BenchmarkTick(b *testing.B) {
	for _, agents := range []int{100, 10_000} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) {
			g := newGrowth(b, agents)
			for b.Loop() {
				g.Tick()
			}
		})
	}
}
