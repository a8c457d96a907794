package match

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// batch is what `match` solves as a whole. Demands that come are gathered until
// the window of the eldest is over; then, or when one that waited longer is
// woken, all of them and all that wait beside them take part:
//
//	gathered ─┐ window over
//	woken ────┼─▶ enter, in fair-share order ─▶ matching ─▶ held, offered
//	fresh ────┘   until the free room is         └─▶ served one by one, or parked
//	              spoken for
//
// Fair share says which framework enters the next unit, and quotas and what is
// free in the whole cluster how many; which of its own demands that is is up to
// Q. A unit that has entered counts in its framework's share, and not in its room,
// until the batch is settled. Where one framework is alone all its units enter,
// and who is better served decides alone.
//
// It belongs to one turn, but for what is gathered.
type batch struct {
	gathered []*demand // some of them may have left meanwhile, see demand.gathered
	closes   time.Time // the end of the eldest's window

	open   bool // units enter
	over   bool // it was settled in this turn: what is left is served one by one
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
	return matches && d.single() && d.column >= 0 && !m.batch.over
}

// size returns how many turns of this turn went into the batch.
func (b *batch) size() int { return len(b.bids) + len(b.aside) }

// beginBatch starts a turn: when the window is over, what was gathered is active
// again.
func (m *Matcher) beginBatch() {
	m.batch = batch{gathered: m.batch.gathered, closes: m.batch.closes}
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
	m.fair.headroom(w.d.owner.node, m.free, m.search.head)
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
		m.free[k] -= sign * n
	}
	m.fair.tryOut(d.owner.node, v, sign > 0)
}

// openBatch has all enter that wait to be matched.
func (m *Matcher) openBatch(t *twoSided) {
	m.ungather()
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

// closeBatch settles the batch and serves who was matched; false when there was
// none. What is left, and what found no room while others' units had entered, is
// active again.
func (m *Matcher) closeBatch() bool {
	b := &m.batch
	if !b.open {
		return false
	}
	b.open, b.over = false, true
	for _, bid := range b.bids {
		m.speak(bid.d, bid.takes, -1)
	}
	if len(b.bids) > 0 {
		m.enterRest()
		m.settle()
	}
	for _, bid := range b.bids {
		m.activate(bid.d)
	}
	for _, d := range slices.Concat(b.aside, b.parked) {
		m.activate(d)
	}
	return true
}

// enterRest has all units enter of a framework that is alone.
func (m *Matcher) enterRest() {
	b := &m.batch
	first := b.bids[0].d.owner
	other := func(d *demand) bool { return d.owner != first }
	if slices.ContainsFunc(b.bids, func(bid *bid) bool { return other(bid.d) }) || slices.ContainsFunc(b.aside, other) || slices.ContainsFunc(b.parked, other) {
		return
	}
	in := map[*demand]int{}
	for _, bid := range b.bids {
		in[bid.d]++
	}
	for i := range b.queues[first].wishes {
		w := &b.queues[first].wishes[i]
		for n := in[w.d]; n < w.d.left-w.d.out && len(b.bids) < maxBatch; n++ {
			b.bids = append(b.bids, &bid{wish: w, order: len(b.bids)})
		}
	}
}

// settle matches the units that have entered and drafts their offers.
func (m *Matcher) settle() {
	bids := m.batch.bids
	t := bids[0].d.placer.strategy.(*twoSided)
	slices.SortFunc(bids, func(a, b *bid) int { return better(a, b, t.cost) })
	var sum offers.Amounts
	for _, b := range bids {
		sum = sum.Plus(b.amounts)
	}
	hosts := m.hosts(t, bids)
	for _, b := range bids {
		b.lean(sum[offers.CPUs], sum[offers.Mem])
	}
	m.bar(bids, hosts)
	game := matching{hosts: hosts}
	game.settle(bids)
	for _, b := range bids {
		m.counters.Decisions++
		b.d.placer.searches++
		if b.at < 0 {
			continue
		}
		if f := m.findBy(b.d, only{hosts[b.at].agent}); f.agent != nil {
			m.hold(b.d, f)
		}
	}
}

// hosts returns the agents that may have room for some unit, by id.
func (m *Matcher) hosts(t *twoSided, bids []*bid) []host {
	least := slices.Clone(bids[0].d.need)
	for _, b := range bids {
		for c, n := range b.d.need {
			least[c] = min(least[c], n)
		}
	}
	var agents []*agent
	for _, a := range m.bySlot {
		if a != nil && covers(a.columns, least) {
			agents = append(agents, a)
		}
	}
	slices.SortFunc(agents, func(a, b *agent) int { return cmp.Compare(a.info.ID, b.info.ID) })
	hosts := make([]host, len(agents))
	for i, a := range agents {
		hosts[i] = t.host(a)
		hosts[i].number, hosts[i].room, hosts[i].free = i, a.room.Clone(), a.room.Free()
	}
	return hosts
}

// bar keeps units from the agents that don't meet their constraints, from those
// that their framework refused, and from passing their limits.
func (m *Matcher) bar(bids []*bid, hosts []host) {
	byConstraints, together := map[string][]bool{}, groups{}
	for _, b := range bids {
		d := b.d
		if b.bounds == nil {
			b.bounds = together.boundsOf(d.spread, hosts)
		}
		if b.barred != nil || len(d.spec.Constraints) == 0 && len(d.owner.refused) == 0 {
			continue
		}
		key := constraintsKey(&d.spec)
		barred := byConstraints[key]
		if barred == nil {
			barred = make([]bool, len(hosts))
			for i := range hosts {
				barred[i] = !meets(d, hosts[i].agent)
			}
			byConstraints[key] = barred
		}
		if b.barred = barred; len(d.owner.refused) == 0 {
			continue
		}
		b.barred = slices.Clone(barred)
		for i := range hosts {
			if a := hosts[i].agent; d.owner.refused[a.info.ID] != nil {
				b.barred[i] = m.findBy(d, only{a}).agent == nil
			}
		}
	}
}

func constraintsKey(d *offers.Demand) string {
	var key strings.Builder
	for i := range d.Constraints {
		key.WriteString(d.Constraints[i].String())
		key.WriteByte('\n')
	}
	return key.String()
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
