package agent_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// quantiles reports how long something took at the middle and near the end.
func quantiles(b *testing.B, took []time.Duration, what string) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms-"+what)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms-"+what)
}

// BenchmarkLaunchToRunning launches one task at a time, with the checkpoint,
// the cgroups and the isolation of the real thing, and reports how long it took
// from the launch leaving the master until the process ran, and until the
// master was told, which takes another commit of the checkpoint.
func BenchmarkLaunchToRunning(b *testing.B) {
	for _, parts := range []isolation.Parts{isolation.None, isolation.Default, isolation.All} {
		b.Run(parts.String(), func(b *testing.B) { launchToRunning(b, parts) })
	}
}

func launchToRunning(b *testing.B, parts isolation.Parts) {
	m := newMaster(b)
	c := config(b, b.TempDir(), m)
	c.Isolation = &parts
	run(b, c)
	l, _ := m.welcome("a1", 1)
	var running, told []time.Duration
	for b.Loop() {
		task := shell(offers.TaskID(fmt.Sprintf("t%d", len(told))), "exit 0")
		task.Resources.Amounts = offers.Amounts{100, 64 << 20}
		began := time.Now()
		l.launch(1, task)
		s := l.status(task.ID)
		if s.State != offers.Running {
			b.Fatalf("%+v", s)
		}
		running, told = append(running, s.Time.Sub(began)), append(told, time.Since(began))
		b.StopTimer()
		l.end(task.ID)
		b.StartTimer()
	}
	quantiles(b, running, "running")
	quantiles(b, told, "told")
}

// BenchmarkStarts keeps thirty tasks on their way and reports how many start,
// and end, in a second.
func BenchmarkStarts(b *testing.B) {
	m := newMaster(b)
	run(b, config(b, b.TempDir(), m))
	l, _ := m.welcome("a1", 1)
	launched := 0
	launch := func() {
		task := shell(offers.TaskID(fmt.Sprintf("t%d", launched)), "exit 0")
		task.Resources.Amounts = offers.Amounts{10, 16 << 20}
		launched++
		l.launch(1, task)
	}
	b.ResetTimer()
	for launched < min(b.N, 30) {
		launch()
	}
	for ended := 0; ended < b.N; {
		statuses, ok := l.receive().(*wire.Statuses)
		if !ok {
			continue
		}
		for _, s := range statuses.Statuses {
			l.acknowledge(s)
			if !s.State.Terminal() {
				continue
			}
			if s.State != offers.Finished {
				b.Fatalf("%+v", s)
			}
			if ended++; launched < b.N {
				launch()
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "starts/s")
}

// BenchmarkFiftyPerSecond launches at that pace and reports how long it took
// from a launch to its running status.
func BenchmarkFiftyPerSecond(b *testing.B) {
	m := newMaster(b)
	run(b, config(b, b.TempDir(), m))
	l, _ := m.welcome("a1", 1)
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	sent := make([]time.Time, b.N)
	go func() {
		for n := range sent {
			<-pace.C
			task := shell(offers.TaskID(fmt.Sprintf("t%d", n)), "exit 0")
			task.Resources.Amounts = offers.Amounts{10, 16 << 20}
			sent[n] = time.Now()
			l.launch(1, task)
		}
	}()
	var took []time.Duration
	for ended := 0; ended < b.N; {
		statuses, ok := l.receive().(*wire.Statuses)
		if !ok {
			continue
		}
		for _, s := range statuses.Statuses {
			var n int
			if _, err := fmt.Sscanf(string(s.Task), "t%d", &n); err != nil {
				b.Fatal(err)
			}
			l.acknowledge(s)
			switch s.State {
			case offers.Running:
				took = append(took, time.Since(sent[n]))
			case offers.Finished:
				ended++
			default:
				b.Fatalf("%+v", s)
			}
		}
	}
	quantiles(b, took, "told")
}

// BenchmarkContainerStart starts two containers in turn: as docker run -d does
// it, with a create and a start, and by an agent, from the launch leaving the
// master to the running status arriving there. It reports the median of the
// one, and that of how much longer the other took right after it, which on a busy
// host is mostly how much one start differs from the next; and the median of what
// an agent takes itself, beside the engine's own time for its create and start.
// docker.BenchmarkStart says what of that the checkpoint has no part in.
func BenchmarkContainerStart(b *testing.B) {
	real := dockertest.Open(b)
	image := real.Image("ringmaster-bench")
	m, zero := newMaster(b), offers.Duration(0)
	c, proxy := config(b, folder(b), m), dockertest.NewProxy(b, real)
	c.DockerSocket = proxy.Socket
	run(b, c)
	l, _ := m.welcome("a1", 1)
	var engine atomic.Int64
	proxy.After(func(request string, took time.Duration) {
		if request == "POST create" || request == "POST start" {
			engine.Add(int64(took))
		}
	})
	var bare, more, own []time.Duration
	for b.Loop() {
		one := real.RunDetached(image, b.TempDir(), "sleep=1000s")
		task := inImage(offers.TaskID(fmt.Sprint("t", len(bare))), image, "sleep=1000s")
		engine.Store(0)
		begin := time.Now()
		l.launch(1, task)
		s := l.status(task.ID)
		took := time.Since(begin)
		bare, more, own = append(bare, one), append(more, took-one), append(own, took-time.Duration(engine.Load()))
		if s.State != offers.Running {
			b.Fatalf("%+v", s)
		}
		l.say(&wire.KillTask{Term: 1, TaskRef: ref(task.ID), Grace: &zero})
		l.end(task.ID)
	}
	for what, all := range map[string][]time.Duration{"bare": bare, "overhead": more, "own": own} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, what+"-p50-ms")
	}
}
