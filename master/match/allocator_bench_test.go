package match

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// BenchmarkAllocator is this matcher in the shapes of the benchmarks of Mesos'
// allocator (src/tests/hierarchical_allocator_*), so that figures stand side by
// side. A cycle is everything from an idle cluster to the last offer; what the
// frameworks answer is not in it. All times are the processor's, collector
// included, which runs as seldom as in a master; memory is the heap that is in use
// in the end.
//
//	make allocator
func BenchmarkAllocator(b *testing.B) {
	for _, agents := range []int{1000, 5000, 10_000, 20_000, 50_000} {
		for _, frameworks := range []int{1, 50, 100, 500, 1000, 3000, 6000} {
			shape := fmt.Sprintf("agents=%d/frameworks=%d", agents, frameworks)
			b.Run("decline/"+shape, func(b *testing.B) { benchmarkRounds(b, agents, frameworks, declines) })
			b.Run("suppress/"+shape, func(b *testing.B) { benchmarkRounds(b, agents, frameworks, suppresses) })
		}
	}
	b.Run("quota/agents=3000/roles=3000", benchmarkQuota)
	b.Run("multiframework", benchmarkMulti)
}

// allocation is a bench that counts what its turns cost.
type allocation struct {
	*bench
	frameworks []offers.FrameworkID
	spent      time.Duration
	percent    int // of what was in use that may be allocated until the next collection
}

func newAllocation(b *testing.B) *allocation {
	a := &allocation{bench: newBench(b, Config{OfferTimeout: 1000 * time.Hour}), percent: percentOfMaster()}
	before := debug.SetGCPercent(a.percent)
	b.Cleanup(func() { debug.SetGCPercent(before) })
	return a
}

// allocate returns the offers of a cycle, which may take several turns.
func (a *allocation) allocate() []*offers.Offer {
	var all []*offers.Offer
	before := processorTime()
	for more := true; more; {
		r := a.Ready(a.now)
		all, more = append(all, r.Offers...), r.More
	}
	a.spent += processorTime() - before
	if p := percentOfMaster(); p != a.percent { // there was a collection
		a.percent = p
		debug.SetGCPercent(p)
	}
	a.now = a.now.Add(time.Second)
	return all
}

// took returns what was spent since it was called last, in seconds.
func (a *allocation) took() float64 {
	s := a.spent.Seconds()
	a.spent = 0
	return s
}

// enter adds n online agents that have the inventory.
func (a *allocation) enter(n int, has offers.Inventory) {
	for i := range n {
		id := offers.AgentID(fmt.Sprintf("a%06d-3f9c", i))
		a.AgentChanged(&state.Agent{State: offers.AgentActive, Agent: offers.Agent{ID: id, Name: string(id), Total: has}})
		a.AgentOnline(id, true)
	}
}

// join adds an online framework of a role.
func (a *allocation) join(role offers.Role) offers.FrameworkID {
	id := offers.FrameworkID(fmt.Sprintf("f%06d-77aa", len(a.frameworks)))
	a.FrameworkKnown(&state.Framework{ID: id, Role: role})
	a.FrameworkOnline(id, true)
	a.frameworks = append(a.frameworks, id)
	return id
}

// rounds is how often every offer is answered in vain.
const rounds = 100

// The frameworks of benchmarkRounds either refuse what they are offered, for
// good, or 5 % more of them suppress in every fifth round.
type answer int

const (
	declines answer = iota
	suppresses
)

// benchmarkRounds offers whole agents, a part of each of which is taken and its
// ports in fragments, to frameworks that take nothing.
func benchmarkRounds(b *testing.B, agents, frameworks int, how answer) {
	for range b.N {
		a := newAllocation(b)
		has := offers.Inventory{Ports: offers.Ports{{First: 31000, Last: 32000}}}
		has.Amounts = offers.Amounts{offers.CPUs: 24_000, offers.Mem: 4096 << 20, offers.Disk: 4096 << 20}
		a.enter(agents, has)
		for range frameworks {
			a.join("default")
		}
		taken := offers.Holding{Amounts: offers.Amounts{offers.CPUs: 16_000, offers.Mem: 2014 << 20, offers.Disk: 1024 << 20}}
		for i := range 16 {
			first := uint16(31000 + i*1000/16)
			taken.Ports = append(taken.Ports, offers.PortRange{First: first, Last: first + 1})
		}
		n := 0
		for id, agent := range a.agents {
			t := state.NewTask(&state.TaskRecord{Framework: a.frameworks[n%frameworks], Agent: id, Holding: taken, Spec: offers.Task{ID: offers.TaskID(fmt.Sprint("t", n))}}, nil)
			a.placeTask(agent, t, agent.room.Claim)
			a.moved(agent)
			n++
		}
		for _, f := range a.frameworks {
			a.Demand(f, offers.Demand{ID: "any"})
		}
		worst := 0.0
		for round := range rounds {
			if how == suppresses && round%5 == 0 {
				for _, f := range a.frameworks[frameworks*round/rounds : frameworks*(round+5)/rounds] {
					a.Suppress(f)
				}
			}
			made := a.allocate()
			switch round {
			case 0:
				if len(made) != agents {
					b.Fatalf("%d offers of %d agents", len(made), agents)
				}
				b.ReportMetric(a.took(), "first-s")
			case rounds - 1:
				b.ReportMetric(a.took(), "last-s")
			default:
				worst = max(worst, a.took())
			}
			refuse := 24 * time.Hour
			if how == suppresses {
				refuse = 0
			}
			for _, o := range made {
				a.Decline(o.Framework, []offers.OfferID{o.ID}, refuse, a.now)
			}
		}
		b.ReportMetric(worst, "worst-s")
		b.ReportMetric(liveMiB(), "MiB")
		runtime.KeepAlive(a)
	}
}

// benchmarkQuota offers 3,000 agents to 3,000 roles: 2,500 with a quota of half
// an agent and 500 with one of two agents; and then once more, when everything
// is offered already.
func benchmarkQuota(b *testing.B) {
	for range b.N {
		a := newAllocation(b)
		agent := offers.Amounts{offers.CPUs: 2000, offers.Mem: 2048 << 20, offers.Disk: 2048 << 20}
		a.enter(3000, offers.Inventory{Amounts: agent})
		for i := range 3000 {
			role, q := offers.Role(fmt.Sprint("role", i)), offers.QuotaAmounts{}
			for k, n := range agent {
				if q[offers.Scalar(k).String()] = n / 2; i >= 2500 {
					q[offers.Scalar(k).String()] = n * 2
				}
			}
			a.RoleChanged(role, &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Guarantee: q, Limit: q}})
			a.Demand(a.join(role), offers.Demand{ID: "any"})
		}
		b.ReportMetric(float64(len(a.allocate())), "offers")
		b.ReportMetric(a.took(), "full-s")
		if idle := a.allocate(); len(idle) > 0 {
			b.Fatalf("%d offers of nothing", len(idle))
		}
		b.ReportMetric(a.took(), "idle-s")
	}
}

// benchmarkMulti launches what the MultiFramework mix has: 554 frameworks with
// 19,500 tasks on 80 agents. The time is that of everything, accepts included.
func benchmarkMulti(b *testing.B) {
	unused := func(offers.TaskID) bool { return false }
	for range b.N {
		a := newAllocation(b)
		a.enter(80, offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 64_000, offers.Mem: 488_000e6}})
		perOffer, todo := map[offers.FrameworkID]int{}, 0
		before := processorTime()
		for _, kind := range []struct {
			role                                              string
			frameworks, tasks, milliCPUs, megabytes, perOffer int
		}{
			{"a", 4, 4000, 70, 400, 100},
			{"", 500, 5, 100, 4000, 1},
			{"c", 50, 20, 1000, 1000, 5},
		} {
			for i := range kind.frameworks {
				role := offers.Role("b")
				if kind.role != "" {
					role = offers.Role(fmt.Sprint(kind.role, i))
				}
				f := a.join(role)
				perOffer[f] = kind.perOffer
				todo += kind.tasks
				a.Demand(f, offers.Demand{ID: "d", Count: &kind.tasks, Resources: offers.Resources{
					Amounts: offers.Amounts{offers.CPUs: int64(kind.milliCPUs), offers.Mem: int64(kind.megabytes) * 1e6},
				}})
			}
		}
		cycles := 0
		for ; todo > 0; cycles++ {
			made := a.allocate()
			if len(made) == 0 {
				b.Fatalf("nothing is offered and %d tasks are left", todo)
			}
			for _, o := range made {
				drafts := make([]Draft, min(o.Units, perOffer[o.Framework]))
				for i := range drafts {
					drafts[i].Task = offers.Task{ID: offers.TaskID("t" + strconv.Itoa(todo)), Resources: o.Unit}
					todo--
				}
				if acc := a.Accept(o.Framework, []offers.OfferID{o.ID}, drafts, 0, unused, a.now); len(acc.Launches) != len(drafts) {
					b.Fatalf("%d of %d tasks launched: %v %v", len(acc.Launches), len(drafts), acc.Errors, acc.Updates)
				}
			}
		}
		b.ReportMetric((processorTime() - before).Seconds(), "all-s")
		b.ReportMetric(float64(cycles), "cycles")
	}
}

// liveMiB is the heap that is in use.
func liveMiB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
