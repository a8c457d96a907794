package docker_test

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkStart starts containers of one kind in turn: as docker run -d does
// it, with a create and a start, and with this package, up to where it tells
// that the container runs. It reports the median of the one, and that of how
// much longer the other took right after it.
func BenchmarkStart(b *testing.B) {
	x := newBench(b)
	var bare, more []time.Duration
	for b.Loop() {
		one, other := x.real.RunDetached(x.image, sandbox(b), "sleep=1000s"), x.timed()
		bare, more = append(bare, one), append(more, other-one)
	}
	slices.Sort(bare)
	slices.Sort(more)
	middle := func(all []time.Duration) float64 { return float64(all[len(all)/2].Microseconds()) / 1000 }
	b.ReportMetric(middle(bare), "bare-p50-ms")
	b.ReportMetric(middle(more), "overhead-p50-ms")
}

func (b *bench) timed() (took time.Duration) {
	s := b.spec("f:t", "sleep=1000s")
	begin := time.Now()
	c := b.prepare(s)
	c.Open()
	if _, err := c.Wait(func() { took = time.Since(begin); c.Signal(true) }); err != nil {
		b.t.Fatal(err)
	}
	if err := c.Remove(); err != nil {
		b.t.Fatal(err)
	}
	return took
}
