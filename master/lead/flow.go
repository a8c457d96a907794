package lead

import (
	"cmp"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// pauses are after how long an update is sent again, by how often it was sent;
// the last one stays.
var pauses = [...]time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute}

// patience is how long a framework that acknowledges what was sent before an
// update may take for the next of that: what it has yet to come to is not sent
// again behind all the rest. Without this a framework, or a network, that is a
// second behind would be given more to do for it, and never come up again.
const patience = time.Second

// burst is how many updates are sent again to a framework within its patience,
// and beyond them one for each that it acknowledges. So one that is silent for a
// while, or that is not heard because the leader itself was held up, is not buried
// under all that waits. Nor is one that acknowledges at once what it knows already
// and later what it has yet to come to, which looks passed over then.
const burst = 100

// flow is what is under way to one framework. A connection keeps order, so what
// the framework acknowledges tells how far it has come:
//
//	sent   1  2  3  4  5  6  7  8        4 was acknowledged: seen is 4
//	       A  B     D     E  F  G        A and B were passed over, and go out again when their
//	                                     pause is over; E, F and G once it has not moved for patience
//
// Sending, acknowledging and giving up cost O(log frameworks).
type flow struct {
	framework offers.FrameworkID
	outboxes  map[offers.TaskRef]*outbox // all that wait
	under     [len(pauses)]line          // way, by how often it was sent; each in the order of time and number
	sent      uint64                     // so far
	seen      uint64                     // all that was sent up to here has reached the framework
	moved     time.Time                  // when it acknowledged something last
	left      int                        // of a burst
	filled    time.Time                  // when the burst began
	rest      time.Duration              // after which the next one may
	due       time.Time                  // when something is to be sent again
	at        int                        // in the heap, -1 where nothing is
}

// line is sendings in their order. One that is not its outbox's last is over.
type line []sending

type sending struct {
	outbox *outbox
	number uint64
	due    time.Time
}

func newFlow(id offers.FrameworkID) *flow {
	return &flow{framework: id, outboxes: map[offers.TaskRef]*outbox{}, left: burst, rest: patience, at: -1}
}

// send notes that the head of b goes out.
func (f *flow) send(b *outbox, now time.Time) {
	f.sent++
	if b.sends == 0 {
		b.first = f.sent
	}
	b.last = f.sent
	pause := min(b.sends, len(pauses)-1)
	b.sends++
	l := &f.under[pause]
	l.trim()
	*l = append(*l, sending{b, f.sent, now.Add(pauses[pause])})
}

// acknowledged notes that the framework has seen the head of b. Which of its
// sendings it answers is not known, so that only the first counts.
func (f *flow) acknowledged(b *outbox, now time.Time) {
	f.moved, f.seen = now, max(f.seen, b.first)
	f.left, f.rest = min(f.left+1, burst), patience
}

// earliest returns when something is to be sent again, zero for never.
func (f *flow) earliest() (next time.Time) {
	for i := range f.under {
		if at, ok := f.ready(&f.under[i]); ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// ready returns when the first of a line is to be sent again.
func (f *flow) ready(l *line) (at time.Time, ok bool) {
	if l.trim(); len(*l) == 0 {
		return at, false
	}
	first := (*l)[0]
	at = first.due
	if until := f.moved.Add(patience); first.number > f.seen && until.After(at) {
		at = until
	}
	if until := f.filled.Add(f.rest); f.left == 0 && until.After(at) {
		at = until
	}
	return at, true
}

// take appends what is to be sent again; nothing of it is under way then.
func (f *flow) take(out []*outbox, now time.Time) []*outbox {
	f.fill(now)
	for i := range f.under {
		l := &f.under[i]
		for at, ok := f.ready(l); ok && !at.After(now); at, ok = f.ready(l) {
			b := (*l)[0].outbox
			b.last = 0
			out = append(out, b)
			f.left--
		}
	}
	return out
}

// fill begins a burst if the last one is over. Each that was answered by nothing
// doubles the time until the next.
func (f *flow) fill(now time.Time) {
	if now.Before(f.filled.Add(f.rest)) {
		return
	}
	if f.left == 0 && f.moved.Before(f.filled) {
		f.rest = min(2*f.rest, pauses[len(pauses)-1])
	}
	f.left, f.filled = burst, now
}

// trim drops what is over from the front.
func (l *line) trim() {
	n := 0
	for n < len(*l) && (*l)[n].number != (*l)[n].outbox.last {
		n++
	}
	clear((*l)[:n])
	if *l = (*l)[n:]; len(*l) == 0 {
		*l = nil
	}
}

// dueBefore orders the flows with something under way by when they are due, then
// by framework.
func dueBefore(a, b *flow) bool {
	return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.framework, b.framework)) < 0
}

// plan puts a flow where it belongs after a change.
func (d *delivery) plan(f *flow) {
	f.due = f.earliest()
	d.resends.Plan(f, !f.due.IsZero())
}
