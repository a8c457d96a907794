package load_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/load"
)

const ms = time.Millisecond

func TestSummary(t *testing.T) {
	trace := load.Trace{
		Demands: []load.DemandTimes{{Stated: 1 * ms, Offered: 5 * ms}, {Stated: 2 * ms, Offered: 4 * ms}, {Stated: 9 * ms}},
		Tasks: []load.TaskTimes{
			{Accept: 10 * ms, Accepted: 30 * ms, Running: 50 * ms, Finished: 400 * ms},
			{Accept: 20 * ms, Accepted: 25 * ms, Running: 100 * ms, Finished: 200 * ms},
			{Accept: 20 * ms, Accepted: 40 * ms},
		},
	}
	want := load.Summary{
		Accepted: 75, Running: 20, Finished: 5, // 3 in 40 ms, 2 in 100 ms, 2 in 400 ms
		DemandToOffer:    &load.Latency{P50: 2 * ms, P99: 4 * ms, Max: 4 * ms},
		AcceptToAccepted: &load.Latency{P50: 20 * ms, P99: 20 * ms, Max: 20 * ms},
		AcceptToRunning:  &load.Latency{P50: 40 * ms, P99: 80 * ms, Max: 80 * ms},
	}
	if got := trace.Summary(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
	if got := (&load.Trace{Declined: []time.Duration{20 * ms, 10 * ms}}).Summary(); !reflect.DeepEqual(got, load.Summary{Declined: 100}) {
		t.Errorf("%+v; want 100 declined and nothing else", got)
	}
}

// TestLatencies holds quantiles to what they mean, counted one by one.
func TestLatencies(t *testing.T) {
	for n := 1; n <= 300; n++ {
		draw := rand.New(rand.NewPCG(uint64(n), 0))
		var trace load.Trace
		for range n {
			trace.Demands = append(trace.Demands, load.DemandTimes{Stated: 1, Offered: 2 + time.Duration(draw.IntN(50))})
		}
		l := trace.Summary().DemandToOffer
		for percent, got := range map[int]time.Duration{50: l.P50, 99: l.P99, 100: l.Max} {
			within, below := 0, 0
			for _, d := range trace.Demands {
				if took := d.Offered - d.Stated; took <= got {
					within++
					if took < got {
						below++
					}
				}
			}
			if within*100 < n*percent || below*100 >= n*percent {
				t.Fatalf("of %d: %d don't pass the %d %% quantile and %d are below", n, within, percent, below)
			}
		}
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		runs []int
		want int
	}{{[]int{7}, 7}, {[]int{9, 1}, 1}, {[]int{5, 9, 1}, 5}, {[]int{4, 3, 2, 1}, 2}} {
		if got := load.Middle(c.runs, func(n int) int { return n }); got != c.want {
			t.Errorf("the middle of %v is %d; want %d", c.runs, got, c.want)
		}
	}
}
