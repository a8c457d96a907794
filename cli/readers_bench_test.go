package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkEventReaders reports what a master takes that commits 100 changes
// each second, without and with 50 readers of its events; each iteration is a
// second.
//
//	make bench BENCH=EventReaders BENCHTIME=10x PACKAGES=./cli
func BenchmarkEventReaders(b *testing.B) {
	for _, readers := range []int{0, 1, 50} {
		b.Run(fmt.Sprint("readers=", readers), func(b *testing.B) {
			dir := b.TempDir()
			d := launch(b, dir, "m1", "master", "--http", "127.0.0.1:0", "--raft", "127.0.0.1:0", "--data-dir", dir+"/data")
			at := d.await(b)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var heard atomic.Int64
			for range readers {
				hearEvents(ctx, b, at, &heard)
			}
			begin, from := cpuTicks(b, d.cmd.Process.Pid), time.Now()
			changes := int64(0)
			for b.Loop() {
				changes += changeFor(b, at, time.Second)
			}
			const tick = 10 // milliseconds, on every Linux that Go runs on
			took := time.Since(from).Seconds()
			b.ReportMetric(float64((cpuTicks(b, d.cmd.Process.Pid)-begin)*tick)/took, "cpu-ms/s")
			b.ReportMetric(float64(changes)/took, "events/s")
			<-time.After(time.Second) // what is on its way
			if got := heard.Load(); got != changes*int64(readers) {
				b.Errorf("%d readers have had %d of %d events", readers, got, changes)
			}
		})
	}
}

// hearEvents reads events in a goroutine until ctx ends, and counts changes.
func hearEvents(ctx context.Context, b *testing.B, at string, heard *atomic.Int64) {
	b.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/v1/events", nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer resp.Body.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := resp.Body.Read(buf)
			heard.Add(int64(strings.Count(string(buf[:n]), `"type":"role_set"`)))
			if err != nil {
				return
			}
		}
	}()
}

// changeFor orders 100 changes a second.
func changeFor(b *testing.B, at string, d time.Duration) (changes int64) {
	b.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); changes++ {
		<-tick.C
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPut, at+"/v1/roles/eng", strings.NewReader(`{"weight": 2}`))
		if err != nil {
			b.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // only the status counts
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status)
		}
	}
	return changes
}
