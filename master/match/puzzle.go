package match

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Puzzle is a batch of which nobody knows yet who gets whom. A small one is
// solved at once. A large one, see [Config.Apart], is solved elsewhere, while the
// matcher goes on with everything else:
//
//	enter ─▶ Puzzle ─▶ Ready.Puzzle ─▶ Solve, beside the loop ─▶ Solved ─▶ Ready
//	          demands rest, their room is free                    units are held where
//	                                                              they still can be
//
// It is made of copies, so that it shows the agents as they were when it was made.
// Its arbiter is the search that decides everywhere: a unit goes where it was
// matched if the agent, quotas, limits and refusals allow it as they are by then.
// What has no place, or lost it to somebody who came meanwhile, is served one by
// one.
//
// One at a time is away. What enters meanwhile and is small is matched at once, so
// that nothing that comes alone waits for longer than the window; what is large
// waits for the one that is away.
type Puzzle struct {
	bids    []*bid
	game    matching
	waiting []*demand // are active again when it is settled, and served one by one
	next    []*demand // likewise, to make another puzzle
}

// Solve finds out who gets whom. It may run beside everything else, once.
func (p *Puzzle) Solve() { p.game.settle(p.bids) }

// Solved takes over a puzzle of [Ready] that was solved, for the next Ready.
func (m *Matcher) Solved(p *Puzzle) {
	if m.batch.away == p {
		m.batch.away, m.batch.solved = nil, p
	}
}

// closeBatch settles the batch and serves who was matched, or sends it away;
// false when there was none. What is left, and what found no room while others'
// units had entered, is active again when it is settled.
func (m *Matcher) closeBatch() bool {
	b := &m.batch
	if !b.open {
		return false
	}
	b.open, b.over = false, true
	for _, bid := range b.bids {
		m.speak(bid.d, bid.takes, -1)
	}
	p := &Puzzle{waiting: slices.Concat(b.aside, b.parked)}
	if len(b.bids) > 0 {
		m.enterRest()
		m.puzzle(p)
	}
	large := m.config.Apart > 0 && len(p.bids)*len(p.game.hosts) >= m.config.Apart
	switch {
	case !large:
		p.Solve()
		m.settle(p)
	case b.away == nil:
		p.waiting = m.setAside(p)
		b.away, m.sends = p, p
	default:
		b.away.next = append(b.away.next, m.setAside(p)...)
	}
	return true
}

// setAside has all demands of a puzzle rest until the one that is away is settled,
// and returns them.
func (m *Matcher) setAside(p *Puzzle) []*demand {
	all := p.waiting
	for _, b := range p.bids {
		all = append(all, b.d)
	}
	for _, d := range all {
		if _, matches := d.placer.strategy.(*twoSided); matches {
			m.rest(d)
			d.puzzled = true
		}
	}
	return all
}

// settleSolved settles the puzzle that was away.
func (m *Matcher) settleSolved() {
	p := m.batch.solved
	if p == nil {
		return
	}
	m.batch.solved, m.batch.left = nil, make(map[*demand]struct{}, len(p.waiting))
	for _, d := range p.next {
		d.puzzled = false
	}
	for _, d := range p.waiting {
		d.puzzled = false
		m.batch.left[d] = struct{}{}
	}
	m.settle(p)
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

// puzzle makes one of the units that have entered.
func (m *Matcher) puzzle(p *Puzzle) {
	bids := m.batch.bids
	t := bids[0].d.placer.strategy.(*twoSided)
	slices.SortFunc(bids, func(a, b *bid) int { return better(a, b, t.cost) })
	var sum offers.Amounts
	for _, b := range bids {
		sum = sum.Plus(b.amounts)
	}
	p.bids, p.game.hosts = bids, m.hosts(t, bids)
	for _, b := range bids {
		b.lean(sum[offers.CPUs], sum[offers.Mem])
	}
	m.bar(bids, p.game.hosts)
}

// settle drafts the offers of the units that were matched, as far as they still
// can be, and has all the others be active.
func (m *Matcher) settle(p *Puzzle) {
	for _, b := range p.bids {
		d := b.d
		if !m.serves(d) {
			continue
		}
		m.compile(d)
		m.counters.Decisions++
		d.placer.searches++
		if b.at < 0 {
			continue
		}
		a := p.game.hosts[b.at].agent
		if a.slot < 0 {
			continue
		}
		if f := m.findBy(d, only{a}); f.agent != nil {
			m.hold(d, &f)
		}
	}
	for _, b := range p.bids {
		m.activate(b.d)
	}
	for _, d := range slices.Concat(p.waiting, p.next) {
		m.activate(d)
	}
}

// serves reports whether a demand stands, wants something and is to be offered it.
func (m *Matcher) serves(d *demand) bool {
	f := d.owner
	return m.frameworks[f.id] == f && f.online && !f.suppressed && f.demands[d.spec.ID] == d && d.wants()
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
	slices.SortFunc(agents, func(a, b *agent) int { return cmp.Compare(a.id, b.id) })
	hosts := make([]host, len(agents))
	for i, a := range agents {
		hosts[i] = t.host(a)
		hosts[i].number, hosts[i].info, hosts[i].room, hosts[i].free = i, a.info, a.room.Clone(), a.room.Free()
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
			if a := hosts[i].agent; d.owner.refused[a] != nil {
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
