package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// BenchmarkTasks reports what `ringmaster tasks` takes of a cluster with 100,000
// that run: until the first row is there, until the last one is, and its own and the
// master's processor time for it.
//
//	make bench BENCH='Tasks$' BENCHTIME=5x PACKAGES=./cli
func BenchmarkTasks(b *testing.B) {
	const many = 100_000
	c := newCluster(b, 1, 0)
	fleet(b, c.http[0], "--count", "1000", "--resources", "cpus=16,mem=64GiB", "--task-time", "10h")
	stayIn(b, c, many)
	for _, args := range [][]string{{"tasks"}, {"tasks", "-o", "wide"}, {"tasks", "-o", "json"}, {"tasks", "--state", "failed"}, {"tasks", "t77777"}, {"status"}} {
		b.Run(fmt.Sprint(args), func(b *testing.B) {
			var first, own time.Duration
			before, lines := cpuTicks(b, c.masters["m1"].cmd.Process.Pid), 0
			for b.Loop() {
				began := time.Now()
				cmd := exec.Command("ringmaster", args...)
				cmd.Env = append(os.Environ(), "RINGMASTER_MASTERS="+c.http[0])
				out, err := cmd.StdoutPipe()
				if err != nil {
					b.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				one := make([]byte, 1)
				if _, err := io.ReadFull(out, one); err != nil {
					b.Fatal(err)
				}
				first += time.Since(began)
				lines = countLines(b, out)
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
				own += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "first-ms")
			b.ReportMetric(float64(own.Milliseconds())/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(cpuTicks(b, c.masters["m1"].cmd.Process.Pid)-before)*10/float64(b.N), "master-cpu-ms")
			b.ReportMetric(float64(lines), "lines")
		})
	}
}

func countLines(b *testing.B, r io.Reader) (lines int) {
	b.Helper()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		for _, c := range buf[:n] {
			if c == '\n' {
				lines++
			}
		}
		if err == io.EOF {
			return lines
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// stayIn has so many tasks run on a cluster until the benchmark ends.
func stayIn(b *testing.B, c *cluster, many int) {
	b.Helper()
	ctx, end := context.WithCancel(context.Background())
	client, err := framework.Connect(ctx, framework.Config{Masters: c.http, Info: wire.FrameworkInfo{Name: "many"}})
	if err != nil {
		b.Fatal(err)
	}
	tasks := make([]offers.Task, many)
	for n := range tasks {
		tasks[n] = offers.Task{ID: offers.TaskID(fmt.Sprintf("t%d", n)), Name: "stays", Command: &offers.Command{Argv: []string{"true"}},
			Resources: offers.Resources{Amounts: offers.Amounts{offers.CPUs: 100, offers.Mem: 128 << 20}}}
	}
	running, all := 0, make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = framework.RunBatch(ctx, client, tasks, framework.BatchOptions{OnUpdate: func(u framework.BatchUpdate) {
			if u.Status.State == offers.Running {
				if running++; running == many {
					close(all)
				}
			}
		}}) // until it is ended
	}()
	b.Cleanup(func() { end(); <-ended; client.Close() })
	select {
	case <-all:
	case <-time.After(3 * time.Minute):
		b.Fatal("they do not all run")
	}
}
