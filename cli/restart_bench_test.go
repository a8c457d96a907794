package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
)

// BenchmarkAgentRestart kills an agent with SIGKILL that runs 200 tasks, lets
// half of them end meanwhile, and reports how long a new agent takes from the
// start of its process until all have been reported: those that ended with
// their ends at the framework, the others as running by the masters.
//
//	make bench BENCH=AgentRestart BENCHTIME=5x PACKAGES=./cli
func BenchmarkAgentRestart(b *testing.B) {
	const half = 100
	c := newCluster(b, 1, 1)
	l := newLoad(b, c, offers.Resources{Amounts: offers.Amounts{offers.CPUs: 20, offers.Mem: 16 << 20}})
	stay, gate := newGate(b, "stay"), newGate(b, "gate")
	l.run(half, waiting(stay))
	var back []time.Duration
	for b.Loop() {
		b.StopTimer()
		l.run(half, waiting(gate))
		c.agents[0].kill(b)
		awaitExits(b, gate, filepath.Join(c.dir, "a1", "run"), half)
		b.StartTimer()
		started := time.Now()
		c.agents[0].start(b)
		ended := 0
		l.until("the ends of tasks", func(e framework.Event) bool {
			if u, ok := e.(framework.Updated); ok && u.Status.State == offers.Failed && u.Status.ExitCode != nil && *u.Status.ExitCode == 3 {
				ended++
			}
			return ended == half
		})
		l.reconcile(half)
		back = append(back, time.Since(started))
	}
	b.Logf("from start to reported: %v", back)
	quantiles(b, "reported", back)
}

// newGate returns a pipe for tasks to wait at; at the end it lets all go on.
func newGate(b *testing.B, name string) string {
	b.Helper()
	gate := filepath.Join(b.TempDir(), name)
	if err := unix.Mkfifo(gate, 0o666); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { release(b, gate) })
	return gate
}

// waiting is a task that fails once it may go on.
func waiting(gate string) *offers.Command {
	return &offers.Command{Shell: "read line < " + gate + "; exit 3"}
}

// release lets everybody go on who waits at a gate.
func release(b *testing.B, gate string) {
	b.Helper()
	f, err := os.OpenFile(gate, os.O_WRONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.ENXIO): // nobody waits
	case err != nil:
		b.Error(err)
	default:
		f.Close()
	}
}

// awaitExits releases all who wait at a gate, also those who get there only
// now, until so many shims have recorded an end.
func awaitExits(b *testing.B, gate, dir string, n int) {
	b.Helper()
	for end := time.Now().Add(patience); ; <-time.After(20 * time.Millisecond) {
		release(b, gate)
		folders, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			b.Fatal(err)
		}
		ended := 0
		for _, folder := range folders {
			if record.Read(folder, record.ExitFile, new(record.Exit)) == nil {
				ended++
			}
		}
		if ended >= n {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%d tasks have ended; want %d", ended, n)
		}
	}
}

// reconcile asks until the masters know so many tasks to run on agents that
// are there.
func (l *load) reconcile(n int) {
	l.b.Helper()
	for running := -1; running != n; {
		l.client.Reconcile()
		running = 0
		l.until("an answer", func(e framework.Event) bool {
			if u, ok := e.(framework.Updated); ok && u.Status.State == offers.Running && u.Status.Reason == offers.ReasonReconciliation {
				running++
			}
			_, done := e.(framework.Reconciled)
			return done
		})
	}
}
