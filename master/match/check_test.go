package match

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

// check verifies the matcher's invariants.
func (b *bench) check() error {
	m := b.Matcher
	alloc := map[offers.FrameworkID][]int64{}
	add := func(id offers.FrameworkID, h *offers.Holding) {
		if alloc[id] == nil {
			alloc[id] = make([]int64, m.kinds.fair())
		}
		v := make([]int64, m.kinds.fair())
		m.kinds.amounts(h, v)
		for k := range v {
			alloc[id][k] = stoppedPlus(alloc[id][k], v[k])
		}
	}
	free, total := make([]int64, m.kinds.fair()), make([]int64, m.kinds.fair())
	for id, a := range m.agents {
		room := offers.NewRoom(a.info.Total)
		var used offers.Holding
		for _, t := range a.tasks {
			used = join(used, *t.held)
			// An agent that came back smaller has tasks that pass its room.
			if err := room.Take(*t.held); err != nil && !b.shrunk[id] {
				return fmt.Errorf("agent %s: task %s passes its room: %w", id, t.ref(), err)
			} else if err != nil {
				room.Claim(*t.held)
			}
			if a.counted {
				add(t.of.Framework, t.held)
			}
		}
		for _, o := range m.book.OfAgent(id) {
			if err := room.Take(o.Held); err != nil {
				return fmt.Errorf("agent %s: offer %s passes its room: %w", id, o.ID, err)
			}
			add(o.Framework, &o.Held)
		}
		if seen := m.viewAgent(a).Used; seen.Amounts != used.Amounts || !slices.Equal(seen.Ports, used.Ports) || len(seen.Devices) != len(used.Devices) {
			return fmt.Errorf("agent %s: %v is shown as used, by its tasks %v", id, seen, used)
		}
		if room.Used() != a.room.Used() {
			return fmt.Errorf("agent %s: %v is used, by its offers and tasks %v", id, a.room.Used(), room.Used())
		}
		if a.counted {
			v := make([]int64, m.kinds.fair())
			inventory := a.room.Total()
			m.kinds.inventory(&inventory, v)
			for k := range v {
				total[k] = stoppedPlus(total[k], v[k])
			}
		}
		for k, n := range a.fair {
			if a.slot >= 0 {
				free[k] = stoppedPlus(free[k], n)
			}
		}
		fresh := &agent{id: a.id, info: a.info, room: a.room}
		m.fit(fresh)
		m.kinds.read(fresh)
		if inIndex := m.index.Free(id); a.slot >= 0 && (!slices.Equal(inIndex, fresh.columns) || !slices.Equal(a.fair, fresh.fair)) {
			return fmt.Errorf("agent %s: the rings have %v and %v, the room %v and %v", id, inIndex, a.fair, fresh.columns, fresh.fair)
		}
	}
	for i := range m.gauges {
		for _, a := range m.bySlot {
			if a == nil {
				continue
			}
			fresh := gauge{}
			if fresh.read(a, i); m.gauges[i][a.slot] != fresh {
				return fmt.Errorf("agent %s: its gauge of class %d is %+v, by its room %+v", a.id, i, m.gauges[i][a.slot], fresh)
			}
		}
	}
	if !slices.Equal(total, m.total.n) || !slices.Equal(free, m.free.n) {
		return fmt.Errorf("total %v free %v, by the agents %v and %v", m.total.n, m.free.n, total, free)
	}
	pending, waiting, refusals, standing := map[string]int{}, 0, 0, 0
	for id, f := range m.frameworks {
		for _, r := range f.refused {
			for ; r != nil; r = r.elder {
				refusals++
			}
		}
		standing += len(f.demands)
		for _, d := range f.demands {
			for _, by := range d.stopped {
				pending[by]++
			}
			if len(d.stopped) > 0 {
				waiting++
			}
		}
		want := alloc[id]
		if want == nil {
			want = make([]int64, m.kinds.fair())
		}
		if !slices.Equal(f.node.alloc.n, want) {
			return fmt.Errorf("framework %s: allocated %v, holds %v", id, f.node.alloc.n, want)
		}
		if err := m.checkDemands(f); err != nil {
			return err
		}
		if err := m.checkRefusals(f); err != nil {
			return err
		}
		if err := m.checkPasses(f); err != nil {
			return err
		}
	}
	if standing != m.standing {
		return fmt.Errorf("%d demands stand, and %d are counted", standing, m.standing)
	}
	if refusals != m.refusals.Len() {
		return fmt.Errorf("%d refusals are waited for, and the frameworks have %d", m.refusals.Len(), refusals)
	}
	if err := m.parked.check(); err != nil {
		return err
	}
	if err := m.checkClaims(); err != nil {
		return err
	}
	if waiting != m.parked.waiting {
		return fmt.Errorf("%d demands wait, and %d are counted", waiting, m.parked.waiting)
	}
	if !maps.Equal(pending, m.parked.pending) {
		return fmt.Errorf("demands are stopped by %v, counted are %v", pending, m.parked.pending)
	}
	return m.fair.check(m.fair.root)
}

// check looks for every shape in the sweep.
func (p *parked) check() error {
	w := &p.sweep
	if len(w.shapes) != len(p.shapes) || w.next > len(w.shapes) {
		return fmt.Errorf("%d shapes wait, the sweep has %d, and goes on before %d with %d agents", len(p.shapes), len(w.shapes), w.next, len(w.agents))
	}
	for d := range p.capped {
		if d.shape == nil || d.counted() {
			return fmt.Errorf("demand %s waits for a quota to leave more of an agent, and not for all of one", d.spec.ID)
		}
	}
	inLines := 0
	for f := range p.lined {
		for _, d := range f.demands {
			if d.line != nil {
				inLines++
			}
		}
	}
	if inLines != p.inLines {
		return fmt.Errorf("%d demands stand in lines, counted are %d", inLines, p.inLines)
	}
	for i, s := range w.shapes {
		if s.place != i || len(s.demands) == 0 {
			return fmt.Errorf("shape %d of the sweep thinks it is %d, and has %d demands", i, s.place, len(s.demands))
		}
	}
	return nil
}

// checkClaims looks for the demands that claim in the lists.
func (m *Matcher) checkClaims() error {
	for id, f := range m.frameworks {
		if (len(f.claims) > 0) != slices.Contains(m.claims.frameworks, f) || (len(f.tried) > 0) != slices.Contains(m.claims.tried, f) {
			return fmt.Errorf("framework %s has %d claims and %d that were tried, and is not listed so", id, len(f.claims), len(f.tried))
		}
		for _, d := range f.demands {
			n := 0
			for _, other := range slices.Concat(f.claims, f.tried) {
				if other == d {
					n++
				}
			}
			if n > 1 || d.claims != (n == 1) {
				return fmt.Errorf("demand %s stands in %d lists of claims, and thinks %v", d.spec.ID, n, d.claims)
			}
			if parked := d.parked(); m.config.OfferGrace > 0 && parked && !f.suppressed && n == 0 && !d.gang() {
				return fmt.Errorf("demand %s waits and claims nothing", d.spec.ID)
			}
		}
	}
	return nil
}

// checkRefusals looks for what a framework refuses where it is to be found.
func (m *Matcher) checkRefusals(f *framework) error {
	numbers := 0
	for number := range len(f.refusing) * 64 {
		if f.refusing.Has(number) {
			numbers++
		}
	}
	if numbers != len(f.refused) {
		return fmt.Errorf("framework %s refuses room of %d agents, and %d are marked", f.id, len(f.refused), numbers)
	}
	for a, r := range f.refused {
		if m.agents[a.id] != a || !f.refusing.Has(a.number) {
			return fmt.Errorf("framework %s refuses room of agent %s, which is not known or not marked", f.id, a.id)
		}
		count := 0
		for ; r != nil; r = r.elder {
			if count++; r.framework != f || r.agent != a || m.refusals.All()[r.at] != r {
				return fmt.Errorf("framework %s does not wait for the end of a refusal on agent %s", f.id, a.id)
			}
		}
		if count > maxRefusals {
			return fmt.Errorf("framework %s has %d refusals on agent %s", f.id, count, a.id)
		}
	}
	return nil
}

// checkPasses holds what a framework passes to what it refused, as if all offers
// were given back.
func (m *Matcher) checkPasses(f *framework) error {
	for slot := range len(f.passes) * 64 {
		if !f.passes.Has(slot) {
			continue
		}
		if slot >= len(m.bySlot) || m.bySlot[slot] == nil {
			return fmt.Errorf("framework %s passes slot %d, where nobody is", f.id, slot)
		}
		a := m.bySlot[slot]
		free, held := slices.Clone(a.fair), make([]int64, m.kinds.fair())
		for _, o := range m.book.OfAgent(a.id) {
			m.kinds.amounts(&o.Held, held)
			for k, n := range held {
				free[k] = stoppedPlus(free[k], n)
			}
		}
		if !f.hidden(a, free) {
			return fmt.Errorf("framework %s passes agent %s, which has %v without offers, and refused %v", f.id, a.id, free, f.refused[a])
		}
	}
	return nil
}

func (m *Matcher) checkDemands(f *framework) error {
	if _, lined := m.parked.lined[f]; lined != (f.room.root != nil || f.quota.root != nil) {
		return fmt.Errorf("framework %s has demands in lines and is not known to, or has none", f.id)
	}
	if f.hope.on && f.node.at < 0 && !f.vain.aside {
		return fmt.Errorf("framework %s hopes and is not among those to serve", f.id)
	}
	out := map[offers.DemandID]int{}
	for _, o := range m.book.OfFramework(f.id) {
		out[o.Demand] += o.Units
	}
	for id, d := range f.demands {
		if err := m.checkSpread(d); err != nil {
			return err
		}
		if d.counted() && (d.out != out[id] || d.out > d.left) {
			return fmt.Errorf("demand %s: %d units out by its count, %d by the book, %d left", id, d.out, out[id], d.left)
		}
		if d.at >= 0 && d.parked() {
			return fmt.Errorf("demand %s is active and parked", id)
		}
		if parked := d.parked(); parked != (len(d.stopped) > 0) {
			return fmt.Errorf("demand %s: parked is %v, stopped by %v", id, parked, d.stopped)
		}
		if d.wants() && d.at < 0 && !d.parked() && !d.gathered && !(d.puzzled && m.batch.away != nil) {
			return fmt.Errorf("demand %s wants something and nobody knows", id)
		}
	}
	for node := f.node; node.parent != nil; node = node.parent {
		for k, limit := range node.quota.limit {
			for _, o := range m.book.OfFramework(f.id) {
				v := make([]int64, m.kinds.fair())
				m.kinds.amounts(&o.Held, v)
				if limit >= 0 && node.alloc.n[k] > limit && v[k] > 0 {
					return fmt.Errorf("role %s has %d of a limit of %d and offers of it out", node.name, node.alloc.n[k], limit)
				}
			}
		}
	}
	return nil
}

// checkSpread counts a demand's units anew.
func (m *Matcher) checkSpread(d *demand) error {
	fresh := newSpread(&d.spec)
	if fresh == nil {
		return nil
	}
	for _, o := range m.book.OfFramework(d.owner.id) {
		if o.Demand == d.spec.ID {
			fresh.add(m.agents[o.Agent], o.Units)
		}
	}
	for t := range m.tasks.Below(trie.Path{string(d.owner.id)}) {
		if t.of.Demand == d.spec.ID {
			fresh.add(t.agent, 1)
		}
	}
	if !maps.Equal(fresh.units, d.spread.units) || !reflect.DeepEqual(fresh.together, d.spread.together) {
		return fmt.Errorf("demand %s: its units are counted as %v, there are %v", d.spec.ID, d.spread.together, fresh.together)
	}
	return nil
}
