package match

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// hosts is the make-up of the cluster of openb, and shapes roughly that of its
// tasks: how many of each.
var hosts = []struct{ count, cpus, mem, gpus int }{
	{549, 96, 384, 8}, {387, 104, 512, 2}, {107, 16, 120, 2}, {39, 128, 768, 8}, {28, 32, 128, 4}, {22, 64, 256, 2},
	{21, 96, 768, 8}, {19, 8, 32, 1}, {17, 96, 384, 4}, {9, 48, 368, 4}, {7, 64, 256, 8}, {8, 8, 60, 2},
}

var shapes = []struct{ count, cpus, mem, gpus, milli int }{
	{3911, 8, 30, 1, 1000}, {1088, 8, 16, 0, 0}, {1078, 10, 24, 1, 810}, {750, 6, 12, 1, 470}, {328, 4, 10, 1, 320},
	{253, 8, 20, 1, 650}, {140, 3, 8, 1, 230}, {128, 6, 12, 1, 460}, {75, 6, 16, 1, 590}, {74, 2, 6, 1, 160}, {44, 64, 256, 8, 1000},
}

const deviceBytes = 1000 * 80 << 20

// openbLike returns a bench of about so many agents under a strategy.
func openbLike(b *testing.B, placement offers.Placement, agents int) *bench {
	s := newBench(b, Config{OfferTimeout: time.Hour, Placement: placement})
	var all []int
	for i, h := range hosts {
		for range h.count * agents / 1213 {
			all = append(all, i)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for n, i := range rnd.Perm(len(all)) {
		h := hosts[all[i]]
		v := offers.Inventory{Amounts: offers.Amounts{offers.CPUs: int64(h.cpus) * 1000, offers.Mem: int64(h.mem) << 30}}
		c := offers.DeviceClass{Name: "gpu"}
		for d := range h.gpus {
			c.Devices = append(c.Devices, offers.Device{ID: fmt.Sprint(d), Capacity: deviceBytes})
		}
		v.Classes = append(v.Classes, c)
		id := offers.AgentID(fmt.Sprintf("a%06d-3f9c", n))
		s.AgentChanged(&state.Agent{State: offers.AgentActive, Agent: offers.Agent{ID: id, Name: string(id), Total: v}})
		s.AgentOnline(id, true)
	}
	return s
}

// stream draws demands of one unit in the proportions of shapes.
func stream(n int) []offers.Demand {
	rnd := rand.New(rand.NewPCG(2, 2))
	var all []int
	for i, s := range shapes {
		for range s.count {
			all = append(all, i)
		}
	}
	one := 1
	out := make([]offers.Demand, n)
	for i := range out {
		s := shapes[all[rnd.IntN(len(all))]]
		d := offers.Demand{ID: offers.DemandID(fmt.Sprint("d", i)), Count: &one}
		// Nearly every task of the trace asks for cpus of its own size.
		d.Resources.Amounts = offers.Amounts{offers.CPUs: int64(s.cpus)*1000 - rnd.Int64N(50)*20, offers.Mem: int64(s.mem) << 30}
		switch {
		case s.milli == 1000:
			d.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: s.gpus}}
		case s.gpus > 0:
			d.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: int64(s.milli) * deviceBytes / 1000}}
		}
		out[i] = d
	}
	return out
}

// BenchmarkDecisions is what one decision costs on a cluster of which about
// two thirds are taken: a demand's turn in fair-share order, what is learned
// from it, the search, the devices, the room, the rings and the draft of the
// offer. How the demand came and how the offer goes is not timed; BenchmarkUnit
// has it all. The metric is by the time that the processor spent, so that
// neighbours do not count, and memory and garbage are as in a master. The
// strategies that read every agent are not asked to fill the large cluster.
func BenchmarkDecisions(b *testing.B) {
	for _, placement := range offers.Placements() {
		sizes := []int{1213, 60650}
		if placement != offers.Rings && placement != offers.Waste {
			sizes = sizes[:1]
		}
		for _, agents := range sizes {
			b.Run(fmt.Sprintf("%s/agents=%d", placement, agents), func(b *testing.B) {
				l := &load{bench: openbLike(b, placement, agents), demands: stream(1 << 14)}
				l.id = l.framework("f", "default")
				for len(l.running) < agents*4 {
					l.turn(500)
				}
				defer debug.SetGCPercent(collectAsMaster())
				warm()
				l.spent = 0
				b.ResetTimer()
				made := 0
				for made < b.N {
					made += l.turn(500)
					l.end(500)
				}
				b.ReportMetric(float64(made)/l.spent.Seconds(), "decisions/s")
			})
		}
	}
}

// collectAsMaster has garbage collected as seldom as a master does, for what is in
// use now. It returns how it was.
func collectAsMaster() (before int) {
	runtime.GC()
	return debug.SetGCPercent(percentOfMaster())
}

// warm has the memory resident that is allocated between two collections, as a
// master's is that has run for a minute: a page costs more when it is first
// touched than a decision.
func warm() {
	garbage := make([]byte, 512<<20)
	for n := 0; n < len(garbage); n += os.Getpagesize() {
		garbage[n] = 1
	}
	runtime.GC()
}

// percentOfMaster is how much a master lets be allocated between two collections
// (cli/collector.go), as GOGC has it: twice of what was in use at the last one, 384
// MiB at least and 512 at most.
func percentOfMaster() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	inUse := max(live[0].Value.Uint64(), 4<<20)
	return int(max(min(max(2*inUse, 384<<20), 512<<20), inUse/2) * 100 / inUse)
}

// load keeps a bench busy.
type load struct {
	*bench
	id      offers.FrameworkID
	demands []offers.Demand
	next    int
	running []offers.TaskRef
	spent   time.Duration // of the processor, on decisions
}

// turn makes n decisions and launches what comes of them.
func (l *load) turn(n int) int {
	for range n {
		l.Demand(l.id, l.demands[l.next%len(l.demands)])
		l.next++
	}
	l.drafts = drafts{byPlace: map[draftKey]*offers.Offer{}}
	l.fresh = nil // as by Ready
	l.wakeParked()
	l.round++
	before := processorTime()
	made := 0
	l.backlogs = nil
	l.beginBatch()
	for f := l.fair.next(); f != nil || l.closeBatch(); f = l.fair.next() {
		if f == nil {
			l.round++
			continue
		}
		l.learn(f.active[0].d)
		l.serve(f.active[0].d)
		made++
	}
	l.spent += processorTime() - before
	for _, o := range l.drafts.inOrder {
		o.Expires = l.now.Add(time.Hour)
		l.book.Issue(o)
		task := offers.Task{ID: offers.TaskID(o.ID), Resources: o.Unit}
		acc := l.Accept(l.id, []offers.OfferID{o.ID}, []Draft{{Task: task}}, 0, func(offers.TaskID) bool { return false }, l.now)
		l.running = append(l.running, acc.Launches[0].Task.Ref())
	}
	return made
}

// end ends n tasks, here and there.
func (l *load) end(n int) {
	rnd := rand.New(rand.NewPCG(3, uint64(l.next)))
	for range min(n, len(l.running)) {
		i := rnd.IntN(len(l.running))
		l.Ended(l.running[i])
		l.running[i] = l.running[len(l.running)-1]
		l.running = l.running[:len(l.running)-1]
	}
}

// processorTime is what this process has used so far.
func processorTime() time.Duration { return processorTimeOf(syscall.RUSAGE_SELF) }

// processorTimeOf is that of this process or of this thread.
func processorTimeOf(whose int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(whose, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPrematch is what pre-matchers make of a strategy that reads every
// agent: units placed per second of a clock, by turns of 512 demands of as many
// shapes, in one matcher; run it with -cpu 2.
func BenchmarkPrematch(b *testing.B) {
	for _, workers := range []int{0, 1, 2} {
		b.Run(fmt.Sprintf("agents=10000/workers=%d", workers), func(b *testing.B) {
			s := newBench(b, Config{OfferTimeout: time.Hour, Placement: offers.LeastRequested, Prematch: atOnce(workers)})
			for i := range 10_000 {
				s.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":"%dGiB"}`, 4+i%29, 16+i%49))
			}
			f := s.framework("f", "default")
			one := 1
			made := 0
			b.ResetTimer()
			for made < b.N {
				b.StopTimer()
				s.FrameworkOnline(f, false) // its offers go back
				s.FrameworkOnline(f, true)
				for i := range 512 {
					var r offers.Resources
					r.Amounts[offers.CPUs], r.Amounts[offers.Mem] = int64(100+i), int64(1+i%7)<<28
					s.Demand(f, offers.Demand{ID: offers.DemandID(fmt.Sprint("d", i)), Resources: r, Count: &one})
				}
				b.StartTimer()
				made += len(s.Ready(s.now).Offers)
			}
			b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "units/s")
		})
	}
}

// BenchmarkFollower is what a follower saves its leader where a strategy reads
// every agent: what the leader's own thread spends on a unit, by turns of 512
// demands of so many shapes; run it with -cpu 2. What the follower spends is left
// out, and the sending of frames.
func BenchmarkFollower(b *testing.B) {
	for _, shapes := range []int{512, 8} {
		for _, followers := range []int{0, 1} {
			b.Run(fmt.Sprintf("agents=10000/shapes=%d/followers=%d", shapes, followers), func(b *testing.B) {
				benchmarkFollower(b, shapes, followers)
			})
		}
	}
}

func benchmarkFollower(b *testing.B, shapes, followers int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := newBench(b, Config{OfferTimeout: time.Hour, Placement: offers.LeastRequested, Prematch: Prematch{Workers: 1}})
	for i := range 10_000 {
		s.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":"%dGiB"}`, 4+i%29, 16+i%49))
	}
	f := s.framework("f", "default")
	for range followers {
		follower := newRunning(1)
		defer follower.leave(b)
		s.FollowerJoined(follower)
		defer s.FollowerLeft(follower)
	}
	var spent time.Duration
	made := 0
	b.ResetTimer()
	for made < b.N {
		b.StopTimer()
		s.FrameworkOnline(f, false) // its offers go back
		s.FrameworkOnline(f, true)
		s.manyShapes(f, 512, shapes)
		b.StartTimer()
		before := processorTimeOf(syscall.RUSAGE_THREAD)
		made += len(s.Ready(s.now).Offers)
		spent += processorTimeOf(syscall.RUSAGE_THREAD) - before
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(made), "leader-us/unit")
	b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "units/s")
	b.ReportMetric(100*float64(s.counters.Afar)/float64(made), "%-by-lists")
}

// BenchmarkBatch is one turn that matches 10,000 demands, no two of them alike,
// with 1,000 agents: their turns in fair-share order, the proposals, the room and
// the offers. Loads are what the demands ask for of what is free. On 2 busy
// shared cores (amd64, go1.26) the metric, which is by the time that the
// processor spent, was 0.4 s at a load of 0.5, 0.6 s at 1 and 0.5 s at 3.
func BenchmarkBatch(b *testing.B) {
	for _, load := range []float64{0.5, 1, 3} {
		b.Run(fmt.Sprintf("load=%v", load), func(b *testing.B) {
			var spent time.Duration
			for range b.N {
				s := heavyBatch(b, load, 0)
				before := processorTime()
				r := s.Ready(s.now)
				spent += processorTime() - before
				b.ReportMetric(float64(len(r.Offers)), "offers")
			}
			b.ReportMetric(spent.Seconds()/float64(b.N), "s/batch")
		})
	}
}

// heavyBatch is a bench where 10,000 demands, no two of them alike, wait for 1,000
// agents.
func heavyBatch(b *testing.B, load float64, apart int) *bench {
	b.Helper()
	one := 1
	s := newBench(b, Config{OfferTimeout: time.Hour, Placement: offers.Match, Apart: apart})
	for i := range 1000 {
		s.agentWith(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":"%dGiB"}`, 32+i%3*16, 128+i%5*32),
			map[string]string{"cpu_mhz": fmt.Sprint(2000 + i*7%1500), "unit_cost": fmt.Sprint(0.001 * float64(i%9))})
	}
	f := s.framework("f", "default")
	rnd := rand.New(rand.NewPCG(6, 6))
	for i := range 10_000 {
		d := offers.Demand{ID: offers.DemandID(fmt.Sprint("d", i)), Count: &one, Price: rnd.Float64() * 100,
			Runtime: offers.Duration(time.Second * time.Duration(20+rnd.IntN(600)))}
		d.Deadline = offers.Duration(float64(d.Runtime) * (1.5 + 5*rnd.Float64()))
		d.Resources.Amounts = offers.Amounts{offers.CPUs: int64(load * (1000 + float64(rnd.IntN(7600)))), offers.Mem: int64(load * float64(1<<30+rnd.Int64N(30<<30)))}
		s.Demand(f, d)
	}
	return s
}

// BenchmarkPause is how long the turns around a batch of 10,000 demands and 1,000
// agents keep the loop: all of it in one turn, and with the puzzle solved apart the
// longer one of the turns before and after. Both are measured in every round. On 2
// busy shared cores (amd64, go1.26) it was 13 times shorter, 89 ms and 1.2 s.
func BenchmarkPause(b *testing.B) {
	var once, apart []float64
	for range b.N {
		s := heavyBatch(b, 1, 0)
		before := time.Now()
		s.Ready(s.now)
		once = append(once, time.Since(before).Seconds())

		s = heavyBatch(b, 1, 1)
		before = time.Now()
		p := s.Ready(s.now).Puzzle
		longest := time.Since(before)
		p.Solve()
		s.Solved(p)
		before = time.Now()
		s.Ready(s.now)
		apart = append(apart, max(longest, time.Since(before)).Seconds())
	}
	slices.Sort(once)
	slices.Sort(apart)
	middle := len(once) / 2
	b.ReportMetric(1000*once[middle], "ms/at-once")
	b.ReportMetric(1000*apart[middle], "ms/apart")
	b.ReportMetric(once[middle]/apart[middle], "times-shorter")
}

// BenchmarkLongestTurn is the longest turn that a strategy that reads all agents
// needs for a backlog of 10,000 demands of 100 shapes, when 1,000 agents become free.
// Turns are cut by how many agents were looked at: on 2 busy shared cores (amd64,
// go1.26) the longest of `balance` took 59 ms of 1.4 s, the time of all 76, and
// before they were cut nearly all of it.
func BenchmarkLongestTurn(b *testing.B) {
	for _, p := range []offers.Placement{offers.Balance, offers.LeastRequested} {
		b.Run(string(p), func(b *testing.B) {
			var longest, sum time.Duration
			turns := 0
			for range b.N {
				s := newBench(b, Config{OfferTimeout: time.Hour, Placement: p})
				for i := range 1000 {
					s.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":"%dGiB"}`, 32+i%3*16, 128+i%5*32))
				}
				f := s.framework("f", "default")
				one := 1
				for i := range 10_000 {
					d := offers.Demand{ID: offers.DemandID(fmt.Sprint("d", i)), Count: &one}
					d.Resources.Amounts = offers.Amounts{offers.CPUs: int64(1000 + i%10*700), offers.Mem: int64(1<<30 + i%100/10*3<<30)}
					s.Demand(f, d)
				}
				for more := true; more; turns++ {
					before := time.Now()
					more = s.Ready(s.now).More
					longest, sum = max(longest, time.Since(before)), sum+time.Since(before)
				}
			}
			b.ReportMetric(float64(longest.Milliseconds()), "ms/longest")
			b.ReportMetric(float64(sum.Milliseconds())/float64(b.N), "ms/all")
			b.ReportMetric(float64(turns)/float64(b.N), "turns")
		})
	}
}
