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
	for slot, id := range x.ids {
		if id != "" && (x.order[slot] != eight(string(id), len(x.common)) || !strings.HasPrefix(string(id), x.common)) {
			return fmt.Errorf("slot %d: the order of %q after %q is %x", slot, id, x.common, x.order[slot])
		}
		lanes := make([]uint64, x.words)
		if pack(lanes, x.vector(int32(slot))); id != "" && !slices.Equal(lanes, x.lanes(int32(slot))) {
			return fmt.Errorf("slot %d: the lanes are %x, not %x", slot, x.lanes(int32(slot)), lanes)
		}
	}
	for k := range x.trees {
		x.trees[k].catchUp()
		if err := x.trees[k].check(); err != nil {
			return fmt.Errorf("kind %s: %w", x.layouts[k].Name, err)
		}
	}
	return nil
}

// check verifies one tree: its order, its shape, its tops, and that it files
// exactly the agents that have the kind.
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
	for slot := range int32(len(t.ids)) {
		own := t.vector(slot)[t.kind]
		has := t.files(own) || own == 0 && *t.homeOf(slot) != none // not since it is exhausted
		if has != (*t.homeOf(slot) != none) {
			return fmt.Errorf("slot %d: has the kind %v, home %d", slot, has, *t.homeOf(slot))
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
			return fmt.Errorf("slots %d and %d are out of order", a, b)
		}
	}
	return nil
}

// inFull compares two agents by all that they have, without the keys.
func (t *tree) inFull(a, b int32) int {
	v, w := t.vector(a), t.vector(b)
	return cmp.Or(cmp.Compare(v[t.kind], w[t.kind]), cmp.Compare(v[t.other], w[t.other]), slices.Compare(v, w), cmp.Compare(t.ids[a], t.ids[b]))
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
	keys, slots := w.entries(id)
	tops := make([]uint64, w.words)
	if h.n > room(id) || h.n == 0 && id != w.root || !isLeaf(id) && h.n < 2 && id == w.root {
		return nil, fmt.Errorf("node %d has %d entries", id, h.n)
	}
	for i, key := range keys {
		if i < int(h.n) && w.entry(id, i) != w.entryOf(slots[i]) || i >= int(h.n) && key != unused {
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
	for _, slot := range slots[:h.n] {
		if *w.homeOf(slot) != id {
			return nil, fmt.Errorf("slot %d is in leaf %d, its home is %d", slot, id, *w.homeOf(slot))
		}
		lift(tops, w.lanes(slot))
	}
	w.order = append(w.order, slots[:h.n]...)
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
