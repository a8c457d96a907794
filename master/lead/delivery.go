package lead

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/heap"
)

// delivery is the updates that frameworks have not acknowledged: for each
// task a queue in order, of which only the head is under way. It lives as
// long as a leadership; what must outlive it is in the agents' outboxes and,
// for ends, in the replicated state. Not safe for concurrent use.
type delivery struct {
	name        string // of the leadership
	made        uint64
	outboxes    map[offers.TaskRef]*outbox
	byFramework map[offers.FrameworkID]*flow
	last        reportBook              // of living tasks
	over        map[offers.TaskRef]bool // tasks whose ends were acknowledged, which is on its way to a majority
	resends     heap.Heap[*flow]
}

// outbox is the updates of one task.
//
// Invariant: queue is not empty and has outboxMost at most.
type outbox struct {
	ref   offers.TaskRef
	queue []delivered
	sends int    // of the head, in a row
	first uint64 // its first sending in its flow
	last  uint64 // and the last, 0 while it is not under way
}

// delivered is one update and where its acknowledgement goes.
type delivered struct {
	status    offers.Status
	fromAgent bool // its agent resends it until it hears of the acknowledgement
}

func newDelivery(name string) *delivery {
	return &delivery{
		resends:     heap.New(dueBefore, func(f *flow) *int { return &f.at }),
		name:        name,
		outboxes:    map[offers.TaskRef]*outbox{},
		byFramework: map[offers.FrameworkID]*flow{},
		last:        newReportBook(),
		over:        map[offers.TaskRef]bool{},
	}
}

// makeID returns an update id for a status that the master makes itself.
func (d *delivery) makeID() offers.UpdateID {
	d.made++
	return offers.UpdateID(fmt.Sprintf("m%s-%d", d.name, d.made))
}

// outboxMost is how many updates of one task wait. A task has a handful of states
// and its agent may come and go; what is beyond comes of an agent that makes them up.
const outboxMost = 64

// add queues an update unless it is queued already or comes after the end, be
// that acknowledged: the agent may not have heard so;
// the outbox is returned when the update became its head. In a full one it takes
// the place of the last, which is returned then: how the task is now, and how it
// ended, is told all the same, and in order.
func (d *delivery) add(ref offers.TaskRef, s offers.Status, fromAgent bool) (head *outbox, passed *delivered) {
	if d.over[ref] {
		return nil, nil
	}
	if s.State.Terminal() {
		d.last.forget(ref)
	} else {
		d.last.set(ref, s)
	}
	b := d.outboxes[ref]
	if b == nil {
		b = &outbox{ref: ref}
		d.outboxes[ref] = b
		f := d.byFramework[ref.Framework]
		if f == nil {
			f = newFlow(ref.Framework)
			d.byFramework[ref.Framework] = f
		}
		f.outboxes[ref] = b
	}
	for i, q := range b.queue {
		if q.status.UpdateID == s.UpdateID || q.status.State.Terminal() {
			b.queue[i].fromAgent = q.fromAgent || fromAgent && q.status.UpdateID == s.UpdateID
			return nil, nil
		}
	}
	b.dropPassed(s)
	if last := len(b.queue) - 1; last+1 == outboxMost {
		full := b.queue[last]
		passed, b.queue = &full, b.queue[:last]
	}
	b.queue = append(b.queue, delivered{s, fromAgent})
	if len(b.queue) > 1 {
		return nil, passed
	}
	return b, nil
}

// skipToEnd drops what waits of a task before its end. It returns that, and the
// outbox when the end became its head.
func (d *delivery) skipToEnd(ref offers.TaskRef) (head *outbox, skipped []delivered) {
	b := d.outboxes[ref]
	if b == nil {
		return nil, nil
	}
	last := len(b.queue) - 1
	if last == 0 || !b.queue[last].status.State.Terminal() {
		return nil, nil
	}
	skipped, b.queue = b.queue[:last], b.queue[last:]
	d.pause(b)
	b.sends = 0
	return b, skipped
}

// dropPassed makes way for the newest report of a task's condition, however
// often that changes while its framework is away. The agent has dropped the
// older one, too. The head stays: it may be under way.
func (b *outbox) dropPassed(s offers.Status) {
	kind := offers.Passing(s.State, s.Reason, s.Healthy)
	if kind == "" {
		return
	}
	for at := len(b.queue) - 1; at > 0; at-- {
		older := b.queue[at].status
		switch offers.Passing(older.State, older.Reason, older.Healthy) {
		case "":
			return
		case kind:
			b.queue = slices.Delete(b.queue, at, at+1)
			return
		}
	}
}

// acknowledge ends the head of a task's queue if it is that update. It returns
// what was acknowledged and the outbox when more waits in it.
func (d *delivery) acknowledge(ref offers.TaskRef, id offers.UpdateID, now time.Time) (done delivered, next *outbox, ok bool) {
	b := d.outboxes[ref]
	if b == nil || b.queue[0].status.UpdateID != id {
		return delivered{}, nil, false
	}
	done, b.queue = b.queue[0], b.queue[1:]
	d.byFramework[ref.Framework].acknowledged(b, now)
	d.pause(b)
	b.sends = 0
	if len(b.queue) == 0 {
		d.drop(b)
		return done, nil, true
	}
	return done, b, true
}

// forget drops everything about a task.
func (d *delivery) forget(ref offers.TaskRef) {
	d.last.forget(ref)
	if b := d.outboxes[ref]; b != nil {
		d.pause(b)
		d.drop(b)
	}
}

func (d *delivery) drop(b *outbox) {
	delete(d.outboxes, b.ref)
	f := d.byFramework[b.ref.Framework]
	delete(f.outboxes, b.ref)
	if len(f.outboxes) == 0 {
		delete(d.byFramework, b.ref.Framework)
	}
}

// sent notes that the head went out and when it goes out again.
func (d *delivery) sent(b *outbox, now time.Time) {
	f := d.byFramework[b.ref.Framework]
	f.send(b, now)
	d.plan(f)
}

// pause stops resending until sent is called again.
func (d *delivery) pause(b *outbox) {
	b.last = 0
	d.plan(d.byFramework[b.ref.Framework])
}

// due returns the outboxes whose head is to be sent again now; each must be
// answered with sent or pause.
func (d *delivery) due(now time.Time) []*outbox {
	var out []*outbox
	for d.resends.Len() > 0 && !d.resends.First().due.After(now) {
		f := d.resends.First()
		out = f.take(out, now)
		d.plan(f)
	}
	return out
}

// next returns when the next head is due, and whether there is one.
func (d *delivery) next() (time.Time, bool) {
	if d.resends.Len() == 0 {
		return time.Time{}, false
	}
	return d.resends.First().due, true
}

// pauseAll stops resending to a framework that is not connected.
func (d *delivery) pauseAll(id offers.FrameworkID) {
	f := d.byFramework[id]
	if f == nil {
		return
	}
	for _, b := range f.outboxes {
		b.sends, b.last = 0, 0
	}
	d.plan(f)
}

// forgetFramework drops every update for a framework that is no more.
func (d *delivery) forgetFramework(id offers.FrameworkID) {
	if f := d.byFramework[id]; f != nil {
		for ref := range f.outboxes {
			d.forget(ref)
		}
	}
}

// waiting returns the outboxes of a framework in the order of its task ids.
func (d *delivery) waiting(id offers.FrameworkID) []*outbox {
	f := d.byFramework[id]
	if f == nil {
		return nil
	}
	out := slices.Collect(maps.Values(f.outboxes))
	slices.SortFunc(out, func(a, b *outbox) int { return strings.Compare(string(a.ref.Task), string(b.ref.Task)) })
	return out
}

func compareRefs(a, b offers.TaskRef) int {
	return cmp.Or(cmp.Compare(a.Framework, b.Framework), cmp.Compare(a.Task, b.Task))
}
