package faults

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/linear"
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
	healed  bool          // no faults any more
	early   time.Duration // the least and the most that any clock differed from now
	ahead   time.Duration
	written int   // values for stores
	clients int   // runs of agents and frameworks
	tokens  int   // handed out
	err     error // the first promise that was broken
	report  Report

	raft       *consensus
	net        *network
	judge      *judge
	heard      *linear.Recorder
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

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// queue is a heap of events, the next one first. It is not container/heap,
// which allocates for each event that comes and goes.
type queue []event

func (q *queue) push(e event) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *queue) pop() event {
	h := *q
	first, n := h[0], len(h)-1
	h[0], h[n] = h[n], event{}
	h = h[:n]
	*q = h
	for i := 0; ; {
		next := 2*i + 1
		if next >= n {
			return first
		}
		if next+1 < n && h[next+1].before(&h[next]) {
			next++
		}
		if !h[next].before(&h[i]) {
			return first
		}
		h[i], h[next] = h[next], h[i]
		i = next
	}
}

// after plans do.
func (w *world) after(d time.Duration, do func()) {
	w.seq++
	w.queue.push(event{w.now + max(d, 0), w.seq, do})
}

// until lets everything happen that is planned up to end.
func (w *world) until(end time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= end && w.err == nil {
		e := w.queue.pop()
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
	line := strings.TrimRight(fmt.Sprintf("%12.6f %-9s %s", w.now.Seconds(), who, fmt.Sprintf(format, args...)), " ") + "\n"
	if _, err := io.WriteString(w.options.Trace, line); err != nil && w.err == nil {
		w.err = fmt.Errorf("write the trace: %w", err)
	}
}

// client names one run of an agent or a framework.
func (w *world) client() string {
	w.clients++
	return fmt.Sprintf("c%d", w.clients)
}

// token returns what an agent has random text for.
func (w *world) token() string {
	w.tokens++
	return fmt.Sprintf("k%d", w.tokens)
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

// calmly lengthens d where all takes longer.
func (w *world) calmly(d time.Duration) time.Duration {
	return d * time.Duration(1+w.rng.IntN(w.options.Calm))
}

func pick[T any](w *world, from []T) T { return from[w.rng.IntN(len(from))] }
