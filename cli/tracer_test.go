package cli

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/ringmaster-project/ringmaster/offers"
)

// deadCollector takes nothing before it is revived, and fails then and now.
type deadCollector struct {
	mu    sync.Mutex
	got   int
	fails bool
	alive chan struct{}
}

func (d *deadCollector) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	select {
	case <-d.alive:
	case <-ctx.Done():
		return ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails {
		return errors.New("no room")
	}
	d.got += len(spans)
	return nil
}

func (d *deadCollector) Shutdown(context.Context) error { return nil }

// TestDeadCollectorHoldsUpNobody records more than may wait for a collector
// that takes nothing: Record returns at once, what is too much is dropped and
// counted, and the rest goes out when it can.
func TestDeadCollectorHoldsUpNobody(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
	synctest.Test(t, func(t *testing.T) {
		dead := &deadCollector{alive: make(chan struct{})}
		tr, err := newTracer(dead, &settings{name: "m1"}, "master", hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		defer tr.stop()
		count := func(why string, delivered, failed, dropped uint64) {
			t.Helper()
			if d, f, x := tr.Counts(); d != delivered || f != failed || x != dropped {
				t.Errorf("%s: %d are delivered, %d failed, %d dropped; want %d, %d, %d", why, d, f, x, delivered, failed, dropped)
			}
		}
		parent := tr.Root()
		if !parent.Sampled() || parent == tr.Root() {
			t.Fatalf("%q is no root", parent)
		}
		record := func(n int) {
			for range n {
				tr.Record(offers.Span{Name: "x", Parent: parent, Start: time.Now(), End: time.Now()})
			}
			synctest.Wait()
		}
		began := time.Now()
		record(25)
		count("nobody takes them", 0, 0, 15)
		if took := time.Since(began); took != 0 {
			t.Errorf("recording waited for %v", took)
		}
		time.Sleep(time.Minute) // the SDK gives an export 30 s
		count("nobody took them", 0, 10, 15)
		record(3)
		close(dead.alive)
		time.Sleep(time.Minute)
		count("somebody takes them", 3, 10, 15)
		dead.mu.Lock()
		dead.fails = true
		dead.mu.Unlock()
		record(2)
		time.Sleep(time.Minute)
		count("they are refused", 3, 12, 15)
	})
}

// TestSamplerDecides: what the sampler of the environment leaves out is no
// trace.
func TestSamplerDecides(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	tr, err := newTracer(&deadCollector{alive: make(chan struct{})}, &settings{}, "master", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.stop()
	if root := tr.Root(); root != "" {
		t.Errorf("it begins the trace %s", root)
	}
}

func TestWhenToTrace(t *testing.T) {
	for _, v := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"} {
		t.Setenv(v, "")
	}
	want := func(what string, want bool, s *settings) {
		t.Helper()
		if s.traces() != want {
			t.Errorf("%s: traces is %v", what, !want)
		}
	}
	want("nothing is said", false, &settings{})
	want("a collector is named", true, &settings{otlp: "http://c:4318"})
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:4318/v1/traces")
	want("a variable names one", true, &settings{})
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	want("nothing is to be exported", false, &settings{otlp: "http://c:4318"})
	t.Setenv("OTEL_TRACES_EXPORTER", "")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	want("it is disabled", false, &settings{otlp: "http://c:4318"})

	for text, url := range map[string]string{"http://c:4318": "http://c:4318/v1/traces", "https://c/": "https://c/v1/traces", "http://c/own/path": "http://c/own/path", "c:4318": "", "grpc://c": "", "http://": ""} {
		s := &settings{}
		err := otlpEndpoint(s, text)
		if (err == nil) != (url != "") || err == nil && tracesURL(s.otlp) != url {
			t.Errorf("%q is read as %q, %v", text, s.otlp, err)
		}
	}
}

// BenchmarkRecord hands spans to a collector that takes them at once.
func BenchmarkRecord(b *testing.B) {
	taken := &deadCollector{alive: make(chan struct{})}
	close(taken.alive)
	t, err := newTracer(taken, &settings{}, "master", hclog.NewNullLogger())
	if err != nil {
		b.Fatal(err)
	}
	defer t.stop()
	parent, now := t.Root(), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		t.Record(offers.Span{Name: "accept", Parent: parent, Start: now, End: now, Task: offers.TaskRef{Framework: "f00001-c0de", Task: "t"}, Agent: "a00001-c0de", Demand: "d"})
	}
}
