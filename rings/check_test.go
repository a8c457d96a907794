package rings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check exposes check to the black-box tests.
func (x *Index) Check() error { return x.check() }

// Asleep is how many trees are asleep.
func (x *Index) Asleep() int {
	n := 0
	for k := range x.trees {
		if x.trees[k].asleep {
			n++
		}
	}
	return n
}

// check verifies every invariant of the index.
func (x *Index) check() error {
	if len(x.ids) != len(x.slots)+len(x.spare) {
		return fmt.Errorf("%d slots for %d agents and %d spare", len(x.ids), len(x.slots), len(x.spare))
	}
	for id, slot := range x.slots {
		if x.ids[slot] != id {
			return fmt.Errorf("slot %d of agent %q belongs to %q", slot, id, x.ids[slot])
		}
	}
	for _, slot := range x.spare {
		if x.ids[slot] != "" {
			return fmt.Errorf("spare slot %d belongs to %q", slot, x.ids[slot])
		}
	}
	if err := x.checkLots(); err != nil {
		return err
	}
	for k := range x.trees {
		x.trees[k].catchUp()
		if err := x.trees[k].check(); err != nil {
			return fmt.Errorf("kind %s: %w", x.layouts[k].Name, err)
		}
	}
	return nil
}

// checkLots verifies who is in which lot, and that lots are found by what they have.
func (x *Index) checkLots() error {
	found := map[int32]bool{}
	for at, p := range x.places {
		switch {
		case p.lot == none:
		case found[p.lot] || p.hash != hash(x.vector(p.lot)) || x.find(x.vector(p.lot), p.hash) != p.lot:
			return fmt.Errorf("place %d: lot %d is not to be found by what it has", at, p.lot)
		default:
			found[p.lot] = true
		}
	}
	if x.taken != len(found) || x.many() != len(found)+len(x.ended) || 2*x.taken > len(x.places) {
		return fmt.Errorf("%d lots of %d in %d places are found, %d are counted and %d have ended", len(found), x.many(), len(x.places), x.taken, len(x.ended))
	}
	if err := x.checkFresh(); err != nil {
		return err
	}
	x.arrangeAll()
	agents := 0
	for lot := range int32(x.many()) {
		lanes := make([]uint64, x.words)
		if pack(lanes, x.vector(lot)); found[lot] && !slices.Equal(lanes, x.lanes(lot)) {
			return fmt.Errorf("lot %d: the lanes are %x, not %x", lot, x.lanes(lot), lanes)
		}
		n, err := x.checkMembers(lot)
		if err != nil {
			return fmt.Errorf("lot %d: %w", lot, err)
		}
		if found[lot] != (n > 0) {
			return fmt.Errorf("lot %d of %d agents is found: %v", lot, n, found[lot])
		}
		agents += n
	}
	if agents != len(x.slots) {
		return fmt.Errorf("%d of %d agents are in lots", agents, len(x.slots))
	}
	return nil
}

// checkFresh verifies the agents that are not in order yet.
func (m *members) checkFresh() error {
	for lot, c := range m.inLot {
		n, latest := int32(0), none
		for slot := c.fresh; slot != none; slot = m.nodes[slot].right {
			if nd := m.nodes[slot]; nd.lot != int32(lot) || nd.up != listed || nd.left != int32(latest) {
				return fmt.Errorf("lot %d: the fresh agent %q is out of place", lot, m.ids[slot])
			}
			n, latest = n+1, int(slot)
		}
		if n != c.waiting || n >= mostFresh || n > 0 && !m.anyFresh {
			return fmt.Errorf("lot %d: %d agents are fresh, %d are counted", lot, n, c.waiting)
		}
	}
	return nil
}

// checkMembers verifies the order and the shape of one lot's agents.
func (m *members) checkMembers(lot int32) (n int, err error) {
	if root := m.inLot[lot].root; root != none && m.nodes[root].up != none {
		return 0, errors.New("the root has a node above it")
	}
	for slot := m.inLot[lot].first; slot != none; slot = m.next(slot) {
		nd, id := m.nodes[slot], string(m.ids[slot])
		n++
		if nd.lot != lot || nd.order != eight(id, len(m.common)) || !strings.HasPrefix(id, m.common) {
			return n, fmt.Errorf("agent %q after %q has order %x in lot %d", id, m.common, nd.order, nd.lot)
		}
		for _, kid := range []int32{nd.left, nd.right} {
			if kid != none && (m.nodes[kid].up != slot || weight(kid) > weight(slot)) {
				return n, fmt.Errorf("agent %q: the node below is not", id)
			}
		}
		if nd.left != none && m.ids[nd.left] >= m.ids[slot] || nd.right != none && m.ids[nd.right] <= m.ids[slot] {
			return n, fmt.Errorf("agent %q is out of order", id)
		}
		if next := m.next(slot); next != none && m.ids[next] <= m.ids[slot] {
			return n, fmt.Errorf("agent %q comes after %q", m.ids[next], id)
		}
	}
	return n, nil
}

// check verifies one tree: its order, its shape, its tops, and that it files
// exactly the lots that have the kind.
func (t *tree) check() error {
	w := treeWalk{tree: t}
	if t.head(t.root).parent != none {
		return errors.New("the root has a parent")
	}
	if _, err := w.node(t.root); err != nil {
		return err
	}
	if w.leaves+len(t.spareLeaves) != len(t.leaves) || w.inners+len(t.spareInners) != len(t.inners) {
		return fmt.Errorf("%d leaves and %d inner nodes reached, %d and %d spare, of %d and %d",
			w.leaves, w.inners, len(t.spareLeaves), len(t.spareInners), len(t.leaves), len(t.inners))
	}
	filed := 0
	for lot := range int32(t.many()) {
		own := t.vector(lot)[t.kind]
		has := t.files(own) || own == 0 && *t.homeOf(lot) != none // not since it is exhausted
		if has != (*t.homeOf(lot) != none) {
			return fmt.Errorf("lot %d: has the kind %v, home %d", lot, has, *t.homeOf(lot))
		}
		if has {
			filed++
		}
	}
	if filed != len(w.order) {
		return fmt.Errorf("%d agents have the kind, %d are filed", filed, len(w.order))
	}
	for i := 1; i < len(w.order); i++ {
		if a, b := w.order[i-1], w.order[i]; t.inFull(a, b) >= 0 {
			return fmt.Errorf("lots %d and %d are out of order", a, b)
		}
	}
	return nil
}

// inFull compares two agents by all that they have, without the keys.
func (t *tree) inFull(a, b int32) int {
	v, w := t.vector(a), t.vector(b)
	return cmp.Or(cmp.Compare(v[t.kind], w[t.kind]), cmp.Compare(v[t.other], w[t.other]), slices.Compare(v, w))
}

type treeWalk struct {
	*tree
	leaves, inners   int
	depth, leafDepth int
	order            []int32
}

// node verifies what is under a node and returns its true tops.
func (w *treeWalk) node(id int32) ([]uint64, error) {
	h := w.head(id)
	keys, lots := w.entries(id)
	tops := make([]uint64, w.words)
	if h.n > room(id) || h.n == 0 && id != w.root || !isLeaf(id) && h.n < 2 && id == w.root {
		return nil, fmt.Errorf("node %d has %d entries", id, h.n)
	}
	for i, key := range keys {
		if i < int(h.n) && w.entry(id, i) != w.entryOf(lots[i]) || i >= int(h.n) && key != unused {
			return nil, fmt.Errorf("node %d: entry %d is not its agent's", id, i)
		}
	}
	if !isLeaf(id) {
		w.inners++
		return tops, w.under(id, tops)
	}
	w.leaves++
	if w.leafDepth == 0 {
		w.leafDepth = w.depth + 1
	}
	if w.leafDepth != w.depth+1 {
		return nil, fmt.Errorf("leaf %d at depth %d, others at %d", id, w.depth, w.leafDepth-1)
	}
	for _, lot := range lots[:h.n] {
		if *w.homeOf(lot) != id {
			return nil, fmt.Errorf("lot %d is in leaf %d, its home is %d", lot, id, *w.homeOf(lot))
		}
		lift(tops, w.lanes(lot))
	}
	w.order = append(w.order, lots[:h.n]...)
	return tops, nil
}

func (w *treeWalk) under(id int32, tops []uint64) error {
	for i, kid := range w.kids(id) {
		below := w.head(kid)
		if below.parent != id || below.n > 0 && w.entry(kid, 0) != w.entry(id, i) {
			return fmt.Errorf("node %d: child %d (node %d) has another parent or another first entry", id, i, kid)
		}
		w.depth++
		real, err := w.node(kid)
		w.depth--
		if err != nil {
			return err
		}
		lift(tops, real)
		claimed := w.topsOf(id, i)
		if lift(slices.Clone(claimed), real) {
			return fmt.Errorf("node %d: child %d claims at most %x, has %x", id, i, claimed, real)
		}
		for j := range int(below.n) {
			if !isLeaf(kid) && lift(slices.Clone(claimed), w.topsOf(kid, j)) {
				return fmt.Errorf("node %d: child %d claims less than its child %d", id, i, j)
			}
		}
	}
	return nil
}
