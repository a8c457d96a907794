package match

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// batch is what `match` solves as a whole. Demands that come are gathered until
// the window of the eldest is over; then, or when one that waited longer is
// woken, all of them and all that wait beside them take part:
//
//	gathered ─┐ window over
//	woken ────┼─▶ enter, in fair-share order ─▶ puzzle ─▶ held, offered
//	fresh ────┘   until the free room is         └─▶ served one by one, or parked
//	              spoken for
//
// Fair share says which framework enters the next unit, and quotas and what is
// free in the whole cluster how many; which of its own demands that is is up to
// Q. A unit that has entered counts in its framework's share, and not in its room,
// until the batch is settled. Where one framework is alone all its units enter,
// and who is better served decides alone.
//
// It belongs to one turn, but for what is gathered and what is solved elsewhere.
type batch struct {
	gathered []*demand // some of them may have left meanwhile, see demand.gathered
	closes   time.Time // the end of the eldest's window
	away     *Puzzle   // is being solved; nil: none is
	solved   *Puzzle   // was away, and is to be settled in this turn

	open   bool                 // units enter
	over   bool                 // it was settled in this turn: what is left is served one by one
	left   map[*demand]struct{} // likewise of the batch that was solved
	bids   []*bid
	aside  []*demand // what is free is spoken for
	parked []*demand // likewise, of other strategies
	queues map[*framework]*queue
}

// queue is the wishes of one framework, best first.
type queue struct {
	wishes []wish
	next   int // those before it have entered or stand aside
}

// maxBatch bounds the units that are matched in one turn.
const maxBatch = 10_000

// batched reports whether a demand is to be served by a batch. One with
// preferences is not, since they come before what an agent can do; nor is a gang.
func (m *Matcher) batched(d *demand) bool {
	_, matches := d.placer.strategy.(*twoSided)
	_, left := m.batch.left[d]
	return matches && d.single() && d.column >= 0 && !m.batch.over && !left
}

// size returns how many turns of this turn went into the batch.
func (b *batch) size() int { return len(b.bids) + len(b.aside) + len(b.left) }

// beginBatch starts a turn: when the window is over, what was gathered is active
// again.
func (m *Matcher) beginBatch() {
	m.batch = batch{gathered: m.batch.gathered, closes: m.batch.closes, away: m.batch.away, solved: m.batch.solved}
	if !m.batch.closes.After(m.now) {
		m.ungather()
	}
}

func (m *Matcher) ungather() {
	gathered := m.batch.gathered
	m.batch.gathered = nil
	for _, d := range gathered {
		if d.gathered {
			m.activate(d)
		}
	}
}

// passed notes that a demand of another strategy was parked while units that had
// entered were counted as if they were placed.
func (b *batch) passed(d *demand) {
	if b.open {
		b.parked = append(b.parked, d)
	}
}

// enter has the framework of d, whose turn it is, enter its best unit, or d be
// gathered while its window is open.
func (m *Matcher) enter(d *demand) {
	if !m.batch.open {
		if over := d.arrived.Add(m.config.Window); m.now.Before(over) {
			m.gather(d, over)
			return
		}
		m.openBatch(d.placer.strategy.(*twoSided))
	}
	w := m.batch.best(d.owner)
	take := m.speaksFor(w.d)
	m.fair.headroom(w.d.owner.node, m.free.n, m.search.head)
	if len(m.batch.bids) == maxBatch || !covers(m.search.head, take) {
		m.rest(w.d)
		m.batch.aside = append(m.batch.aside, w.d)
		return
	}
	m.speak(w.d, take, 1)
	m.batch.bids = append(m.batch.bids, &bid{wish: w, order: len(m.batch.bids), takes: take})
	if !w.d.wants() {
		m.rest(w.d)
	}
}

// gather takes a demand out of the turn until its window is over.
func (m *Matcher) gather(d *demand, over time.Time) {
	m.rest(d)
	if len(m.batch.gathered) == 0 || over.Before(m.batch.closes) {
		m.batch.closes = over
	}
	d.gathered = true
	m.batch.gathered = append(m.batch.gathered, d)
}

// speaksFor returns what a unit counts for until it is known where it goes: a
// whole device as the average of its class.
func (m *Matcher) speaksFor(d *demand) []int64 {
	take := make([]int64, m.kinds.fair())
	copy(take, d.spec.Resources.Amounts[:])
	for _, want := range d.asks {
		take[scalars+want.class] = m.asked(&d.spec.Resources, scalars+want.class)
	}
	return take
}

// speak counts a unit in its framework's share and against what is free, or with
// sign -1 no longer.
func (m *Matcher) speak(d *demand, take []int64, sign int64) {
	d.out += int(sign)
	v := m.fairTmp
	for k, n := range take {
		v[k] = sign * n
		m.free.add(k, -sign*n)
	}
	m.fair.tryOut(d.owner.node, v, sign > 0)
}

// openBatch has all enter that wait to be matched.
func (m *Matcher) openBatch(t *twoSided) {
	m.ungather()
	m.nextLap() // also of those that stepped aside
	t.align(m)
	m.batch.open, m.batch.queues = true, map[*framework]*queue{}
	var all []*demand
	for _, f := range m.fair.waiting(m.fair.root, nil) {
		for _, next := range f.active {
			if m.compile(next.d); m.batched(next.d) {
				all = append(all, next.d)
			}
		}
	}
	neutral := meansOf(all, m.now)
	for _, d := range all {
		q := m.batch.queues[d.owner]
		if q == nil {
			q = &queue{}
			m.batch.queues[d.owner] = q
		}
		q.wishes = append(q.wishes, t.wish(d, m.now, neutral))
	}
	for _, q := range m.batch.queues {
		slices.SortFunc(q.wishes, func(a, b wish) int { return cmp.Or(a.compare(&b, t.cost), cmp.Compare(a.d.age, b.d.age)) })
	}
}

// best returns the best wish of a framework that still waits.
func (b *batch) best(f *framework) *wish {
	q := b.queues[f]
	for q.wishes[q.next].d.at < 0 {
		q.next++
	}
	return &q.wishes[q.next]
}

// meansOf returns the neutral values among demands. It sums whole numbers, so
// that their order makes no difference.
func meansOf(all []*demand, now time.Time) (out means) {
	var sum, told int64
	for _, d := range all {
		if d.spec.Runtime > 0 {
			sum += d.spec.Runtime.Std().Milliseconds()
			told++
		}
	}
	if told > 0 {
		out.runtime = max(time.Duration(sum/told)*time.Millisecond, time.Millisecond)
	}
	sum, told = 0, 0
	for _, d := range all {
		if left, limited := leftOf(d, now); limited && left > 0 {
			sum += int64(math.Round(1e6 * math.Log(left.Seconds()/out.runtimeOf(d).Seconds())))
			told++
		}
	}
	out.slack = float64(sum) / 1e6 / float64(max(told, 1))
	return out
}
