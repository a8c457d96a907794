package load

import (
	"cmp"
	"slices"
	"time"
)

// Trace is when everything happened, counted from the first demand; 0 is
// never. It is in no order.
type Trace struct {
	Demands  []DemandTimes
	Tasks    []TaskTimes
	Dropped  int             // launches that never came to an agent, not among Tasks
	Declined []time.Duration // each offer
}

// DemandTimes are the moments of one demand.
type DemandTimes struct {
	Stated  time.Duration
	Offered time.Duration // the first offer for it
}

// TaskTimes are the moments of one task, each as the framework saw it.
type TaskTimes struct {
	Accept   time.Duration // it was launched in an offer
	Accepted time.Duration // that was durable
	Running  time.Duration
	Finished time.Duration
}

// Summary is what a load took.
type Summary struct {
	// Tasks a second, from the first demand until the last of them was.
	Accepted, Running, Finished float64
	Declined                    float64 // offers a second, likewise
	Dropped                     int     // launches that others made up for

	DemandToOffer    *Latency // of each demand's first offer
	AcceptToAccepted *Latency // of each task
	AcceptToRunning  *Latency // of each task
}

// Latency is how long something took, of those that came so far: half of them
// no longer than P50, 99 of 100 no longer than P99.
type Latency struct{ P50, P99, Max time.Duration }

// Summary tells what t took. Latencies of what never happened are nil.
func (t *Trace) Summary() Summary {
	accepted := func(t TaskTimes) time.Duration { return t.Accepted }
	running := func(t TaskTimes) time.Duration { return t.Running }
	accept := func(t TaskTimes) time.Duration { return t.Accept }
	return Summary{
		Accepted: rate(t.Tasks, accepted),
		Running:  rate(t.Tasks, running),
		Finished: rate(t.Tasks, func(t TaskTimes) time.Duration { return t.Finished }),
		Dropped:  t.Dropped,
		Declined: rate(t.Declined, func(at time.Duration) time.Duration { return at }),
		DemandToOffer: latency(t.Demands,
			func(d DemandTimes) time.Duration { return d.Stated }, func(d DemandTimes) time.Duration { return d.Offered }),
		AcceptToAccepted: latency(t.Tasks, accept, accepted),
		AcceptToRunning:  latency(t.Tasks, accept, running),
	}
}

// rate returns how many a second there were until the last.
func rate[T any](all []T, at func(T) time.Duration) float64 {
	n, last := 0, time.Duration(0)
	for _, one := range all {
		if d := at(one); d > 0 {
			n, last = n+1, max(last, d)
		}
	}
	if n == 0 {
		return 0
	}
	return float64(n) / last.Seconds()
}

// latency returns how long it took from one moment to a later one.
func latency[T any](all []T, from, to func(T) time.Duration) *Latency {
	var took []time.Duration
	for _, one := range all {
		if end := to(one); end > 0 {
			took = append(took, end-from(one))
		}
	}
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	return &Latency{P50: quantile(took, 50), P99: quantile(took, 99), Max: took[len(took)-1]}
}

// quantile returns the least of sorted that so many % of them don't pass (the
// nearest rank).
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// Middle returns which of runs is in the middle by what they are compared
// with, the lower one of an even number.
func Middle[T any, K cmp.Ordered](runs []T, by func(T) K) T {
	sorted := slices.SortedStableFunc(slices.Values(runs), func(a, b T) int { return cmp.Compare(by(a), by(b)) })
	return sorted[(len(sorted)-1)/2]
}
