package cli_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// BenchmarkAcceptToRunning launches 50 tasks a second on a real master and a
// real agent, and reports how long it takes from the accept to the running
// status at the framework.
func BenchmarkAcceptToRunning(b *testing.B) {
	c := newCluster(b, 1, 1)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	client, err := framework.Connect(ctx, framework.Config{Masters: c.http, Info: wire.FrameworkInfo{Name: "bench"}})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	unit, count := offers.Resources{Amounts: offers.Amounts{offers.CPUs: 100, offers.Mem: 16 << 20}}, 100_000
	if err := client.Demand(offers.Demand{ID: "all", Resources: unit, Count: &count}); err != nil {
		b.Fatal(err)
	}
	offered, failed := make(chan offers.OfferID, 100), make(chan error, 1)
	accepted, running, ended := map[offers.TaskID]time.Time{}, map[offers.TaskID]time.Time{}, make(chan struct{})
	go func() {
		for left := b.N; left > 0; {
			e, err := client.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			switch e := e.(type) {
			case framework.Offered:
				for _, o := range e.Offers {
					offered <- o.ID
				}
			case framework.Accepted:
				for _, id := range e.Tasks {
					accepted[id] = time.Now()
				}
			case framework.Updated:
				if e.Status.State == offers.Running {
					running[e.Status.Task] = time.Now()
				}
				if e.Status.State.Terminal() {
					left--
				}
			}
		}
		close(ended)
	}()
	sent := make([]time.Time, b.N)
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	b.ResetTimer()
	for n := range b.N {
		<-pace.C
		task := offers.Task{ID: offers.TaskID(fmt.Sprintf("t%d", n)), Resources: unit, Command: &offers.Command{Argv: []string{"true"}}}
		select {
		case id := <-offered:
			sent[n] = time.Now()
			if err := client.Accept([]offers.OfferID{id}, task); err != nil {
				b.Fatal(err)
			}
		case err := <-failed:
			b.Fatal(err)
		}
	}
	select {
	case <-ended:
	case err := <-failed:
		b.Fatal(err)
	}
	report(b, "accepted", sent, accepted)
	report(b, "running", sent, running)
}

// report gives the quantiles of the time from sent to seen, of tasks t0, t1, ...
func report(b *testing.B, what string, sent []time.Time, seen map[offers.TaskID]time.Time) {
	b.Helper()
	var took []time.Duration
	for n := range sent {
		at, ok := seen[offers.TaskID(fmt.Sprintf("t%d", n))]
		if !ok {
			b.Fatalf("t%d was not seen %s", n, what)
		}
		took = append(took, at.Sub(sent[n]))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, what+"-p99-ms")
}

// BenchmarkIdleDev reports what a cluster of one takes that has nothing to do.
func BenchmarkIdleDev(b *testing.B) {
	needShim(b)
	dir := b.TempDir()
	d := launch(b, dir, "dev", "dev", "--http", "127.0.0.1:0", "--data-dir", dir+"/data")
	d.await(b)
	<-time.After(2 * time.Second) // its start is not idleness
	begin, from := cpuTicks(b, d.cmd.Process.Pid), time.Now()
	for b.Loop() {
		<-time.After(5 * time.Second)
	}
	const tick = 10 // milliseconds, on every Linux that Go runs on
	b.ReportMetric(float64((cpuTicks(b, d.cmd.Process.Pid)-begin)*tick)/time.Since(from).Seconds(), "cpu-ms/s")
	b.ReportMetric(residentMiB(b, d.cmd.Process.Pid), "RSS-MiB")
}

// cpuTicks is the time in user and system mode that a process has used.
func cpuTicks(tb testing.TB, pid int) int64 {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		tb.Fatal(err)
	}
	after := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.ParseInt(after[11], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	system, err := strconv.ParseInt(after[12], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return user + system
}

func residentMiB(tb testing.TB, pid int) float64 {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		tb.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		tb.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
