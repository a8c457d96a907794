package faults

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// epoch is when every run begins.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// world is everything that exists in one run, and its time.
type world struct {
	options Options
	rng     *rand.Rand
	now     time.Duration // since epoch
	queue   queue
	seq     uint64
	healed  bool  // no faults any more
	err     error // the first promise that was broken
	report  Report

	raft       *consensus
	net        *network
	judge      *judge
	masters    []*master
	agents     []*agent
	frameworks []*framework
}

// event is something that happens at a time; those of one time happen in the
// order in which they were planned.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*q = old[:len(old)-1]
	return e
}

// after plans do.
func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + max(d, 0), w.seq, do})
}

// until lets everything happen that is planned up to end.
func (w *world) until(end time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= end && w.err == nil {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		w.report.Steps++
		e.do()
	}
	w.now = end
}

// broken notes that a promise is broken; the first one ends the run.
func (w *world) broken(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%s: "+format, append([]any{w.now}, args...)...)
		w.tell("BROKEN", format, args...)
	}
}

// tell adds a line to the trace.
func (w *world) tell(who, format string, args ...any) {
	if w.options.Trace == nil {
		return
	}
	line := fmt.Sprintf("%12.6f %-9s %s\n", w.now.Seconds(), who, fmt.Sprintf(format, args...))
	if _, err := io.WriteString(w.options.Trace, line); err != nil && w.err == nil {
		w.err = fmt.Errorf("write the trace: %w", err)
	}
}

// fault counts one.
func (w *world) fault(kind string) { w.report.Faults[kind]++ }

// mix adds bytes to the hash of the run (FNV-1a).
func (w *world) mix(data []byte) {
	h := w.report.Hash ^ uint64(w.now)
	for _, b := range data {
		h = (h ^ uint64(b)) * 1099511628211
	}
	w.report.Hash = h
}

// Chances. All of them draw from the one source of the run.

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)+1))
}

// spread draws between low and high so that every order of magnitude is as
// likely as another.
func (w *world) spread(low, high time.Duration) time.Duration {
	d := low
	for d < high && w.chance(0.8) {
		d *= 2
	}
	return w.between(d/2, min(d, high))
}

func pick[T any](w *world, from []T) T { return from[w.rng.IntN(len(from))] }
