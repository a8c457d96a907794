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
	if t.nodes[t.root].parent != none {
		return errors.New("the root has a parent")
	}
	if _, err := w.node(t.root); err != nil {
		return err
	}
	if w.nodes+len(t.spare) != len(t.nodes) {
		return fmt.Errorf("%d nodes reached and %d spare of %d", w.nodes, len(t.spare), len(t.nodes))
	}
	filed := 0
	for slot := range int32(len(t.ids)) {
		has := t.vector(slot)[t.kind] != absent
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
		a, b := w.order[i-1], w.order[i]
		x, y := t.entryOf(a), t.entryOf(b)
		if cmp.Or(cmp.Compare(x.own, y.own), cmp.Compare(x.next, y.next), t.tie(a, b)) >= 0 {
			return fmt.Errorf("slots %d and %d are out of order", a, b)
		}
	}
	return nil
}

type treeWalk struct {
	*tree
	nodes, depth, leafDepth int
	order                   []int32
}

// node verifies what is under a node and returns its true tops.
func (w *treeWalk) node(id int32) ([]int64, error) {
	nd := w.tree.nodes[id]
	w.nodes++
	tops := slices.Repeat([]int64{absent}, w.kinds)
	if nd.n > width || nd.n == 0 && id != w.root || !nd.leaf() && nd.n < 2 && id == w.root {
		return nil, fmt.Errorf("node %d has %d entries", id, nd.n)
	}
	for i := range int(nd.n) {
		if nd.entry(i) != w.entryOf(nd.slot[i]) {
			return nil, fmt.Errorf("node %d: entry %d is not its agent's", id, i)
		}
	}
	if nd.leaf() {
		if w.leafDepth == 0 {
			w.leafDepth = w.depth + 1
		}
		if w.leafDepth != w.depth+1 {
			return nil, fmt.Errorf("leaf %d at depth %d, others at %d", id, w.depth, w.leafDepth-1)
		}
		for _, slot := range nd.slot[:nd.n] {
			if *w.homeOf(slot) != id {
				return nil, fmt.Errorf("slot %d is in leaf %d, its home is %d", slot, id, *w.homeOf(slot))
			}
			lift(tops, w.vector(slot))
		}
		w.order = append(w.order, nd.slot[:nd.n]...)
		return tops, nil
	}
	return tops, w.kids(id, nd, tops)
}

func (w *treeWalk) kids(id int32, nd *node, tops []int64) error {
	for i, kid := range nd.kids[:nd.n] {
		below := w.tree.nodes[kid]
		if below.parent != id || below.n > 0 && below.entry(0) != nd.entry(i) {
			return fmt.Errorf("node %d: child %d (node %d) has another parent or another first entry", id, i, kid)
		}
		w.depth++
		real, err := w.node(kid)
		w.depth--
		if err != nil {
			return err
		}
		lift(tops, real)
		claimed := nd.tops[i*w.kinds : (i+1)*w.kinds]
		if lift(slices.Clone(claimed), real) {
			return fmt.Errorf("node %d: child %d claims at most %d, has %d", id, i, claimed, real)
		}
		if !below.leaf() {
			for j := range int(below.n) {
				if lift(slices.Clone(claimed), below.tops[j*w.kinds:(j+1)*w.kinds]) {
					return fmt.Errorf("node %d: child %d claims less than its child %d", id, i, j)
				}
			}
		}
	}
	return nil
}
