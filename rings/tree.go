package rings

import (
	"cmp"
	"slices"
	"sort"
)

// tree orders the agents that have one kind by what they have free of it, then
// by the first measure, then by what they have free of the other kinds, then by
// id. A B+tree whose
// separators are the least agents of the children themselves: a separator
// therefore moves with its agent and no copy of a vector is kept.
type tree struct {
	*table
	kind Kind
	// other is the kind of [node]'s next: the first measure; without one the
	// first kind that is not this one; without that, kind itself.
	other Kind
	// nodes by id; nil where the id is spare, so that memory goes back.
	nodes []*node
	spare []int32
	// root is always a node, a leaf while everything fits into one. No other
	// node is ever empty.
	root int32

	// moving is the agent on its way from one leaf to another (own is absent if
	// it need not be filed again), and leaf how far down it has come; leaf is
	// none when nothing is on its way. Only [Index.refile] sees them set.
	moving entry
	leaf   int32

	// late are the agents that are not filed as their vectors are now, each
	// once and marked in isLate by slot. While there are any the tree is
	// deferring, and nothing but catchUp may look at its order.
	late      []int32
	isLate    []bool
	deferring bool
	// lastAsked is which question to the index was the last for this tree.
	lastAsked uint64

	// touched only keeps loads alive whose purpose is the cache.
	touched int64
}

// newTree returns the empty tree of a kind; measure is the first one, or
// negative.
func newTree(shared *table, kind, measure Kind) tree {
	t := tree{table: shared, kind: kind, leaf: none}
	switch {
	case measure >= 0:
		t.other = measure
	case kind == 0 && shared.kinds > 1:
		t.other = 1
	}
	t.root = t.grow(true)
	return t
}

// grow returns a new empty node.
func (t *tree) grow(leaf bool) int32 {
	nd := &node{parent: none}
	for i := range nd.own {
		nd.own[i] = unused
	}
	if !leaf {
		nd.kids, nd.tops = new([width]int32), make([]int64, width*t.kinds)
	}
	if n := len(t.spare); n > 0 {
		id := t.spare[n-1]
		t.spare = t.spare[:n-1]
		t.nodes[id] = nd
		return id
	}
	t.nodes = append(t.nodes, nd)
	return int32(len(t.nodes) - 1)
}

func (t *tree) release(id int32) {
	t.nodes[id] = nil
	t.spare = append(t.spare, id)
}

func (t *tree) homeOf(slot int32) *int32 { return &t.home[int(slot)*t.kinds+int(t.kind)] }

// entryOf is where the agent's present vector belongs.
func (t *tree) entryOf(slot int32) entry {
	v := t.vector(slot)
	return entry{own: v[t.kind], next: v[t.other], slot: slot}
}

// before says whether the entry at i of a node comes before another agent's.
func (t *tree) before(nd *node, i int, e entry) bool {
	if nd.own[i] != e.own {
		return nd.own[i] < e.own
	}
	if nd.next[i] != e.next {
		return nd.next[i] < e.next
	}
	return t.tie(nd.slot[i], e.slot) < 0
}

// tie compares two agents equal in own and next. Neither need be left out: they
// are equal.
func (t *tree) tie(a, b int32) int {
	v, w := t.vector(a), t.vector(b)
	for k, amount := range v {
		if amount != w[k] {
			return cmp.Compare(amount, w[k])
		}
	}
	if t.order[a] != t.order[b] {
		return cmp.Compare(t.order[a], t.order[b])
	}
	return cmp.Compare(t.ids[a], t.ids[b])
}

// rank is how many entries of the node come before e.
func (t *tree) rank(nd *node, e entry) int {
	lo, n := nd.below(e.own), int(nd.n)
	if lo == n || nd.own[lo] != e.own {
		return lo
	}
	hi := n
	if e.own < unused {
		hi = nd.below(e.own + 1)
	}
	lo, hi = nd.among(lo, hi, e.next)
	for lo < hi {
		mid := (lo + hi) / 2
		if t.tie(nd.slot[mid], e.slot) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// upTo is how many entries of the node come before e or have all that e's agent
// has.
func (t *tree) upTo(nd *node, e entry) int {
	lo, hi := nd.below(e.own), int(nd.n)
	if e.own < unused {
		hi = nd.below(e.own + 1)
	}
	lo, hi = nd.among(lo, hi, e.next)
	more := sort.Search(hi-lo, func(i int) bool {
		return slices.Compare(t.vector(nd.slot[lo+i]), t.vector(e.slot)) > 0
	})
	return lo + more
}

// concerned says whether the agent has the kind or is filed in the tree still.
func (t *tree) concerned(slot int32) bool {
	return t.vector(slot)[t.kind] != absent || *t.homeOf(slot) != none
}

// touchHome loads the leaf that the agent is in, see [Index.refile].
func (t *tree) touchHome(slot int32) {
	if home := *t.homeOf(slot); home != none {
		t.touch(t.nodes[home])
	}
}

// touch loads the parts of a node that will be asked for first.
func (t *tree) touch(nd *node) {
	sum := int64(nd.n)
	for i := 0; i < width; i += block {
		sum += nd.own[i]
	}
	t.touched += sum
}

// leave takes the agent out of its leaf, unless its present vector belongs
// there too; grown says that it has more of some kind than it had. What
// remains to be done is left in moving, for aim, descend and settle.
func (t *tree) leave(slot int32, grown bool) {
	e, home := t.entryOf(slot), *t.homeOf(slot)
	t.moving, t.leaf = e, none
	if home == none {
		return
	}
	nd := t.nodes[home]
	at := nd.find(slot)
	nd.loose = true
	if e.own != absent && t.moveInside(nd, at, e) {
		t.moving.own = absent
		if grown {
			t.raise(home, t.vector(slot))
		}
		return
	}
	t.delete(home, at)
}

// moveInside moves the entry at a position of a leaf to where e belongs, if
// that is strictly inside the same leaf, which can be told without its
// neighbours. The ends are left to the way from the root.
func (t *tree) moveInside(nd *node, at int, e entry) bool {
	last := int(nd.n) - 1
	if at > 0 && at < last && t.before(nd, at-1, e) && !t.before(nd, at+1, e) {
		nd.put(at, e)
		return true
	}
	first := 0
	if at == first {
		first++
	}
	if at == last {
		last--
	}
	if first >= last || !t.before(nd, first, e) || t.before(nd, last, e) {
		return false
	}
	nd.close(at)
	to := t.rank(nd, e)
	nd.open(to)
	nd.put(to, e)
	if at == 0 {
		t.lead(*t.homeOf(e.slot))
	}
	return true
}

// aim sets out from the root with the moving agent, if there is one.
func (t *tree) aim() {
	if t.moving.own != absent {
		t.leaf = t.root
	}
}

// descend goes one level down towards the leaf for the moving agent, and tells
// the node on the way that it is coming; false when it has arrived.
func (t *tree) descend() bool {
	if t.leaf == none || t.nodes[t.leaf].leaf() {
		return false
	}
	nd, e := t.nodes[t.leaf], t.moving
	i := t.rank(nd, e) - 1
	if i < 0 {
		i = 0
		nd.put(i, e)
	}
	lift(nd.tops[i*t.kinds:(i+1)*t.kinds], t.vector(e.slot))
	t.leaf = nd.kids[i]
	t.touch(t.nodes[t.leaf])
	return true
}

// settle files the moving agent in the leaf it has come to.
func (t *tree) settle() {
	if t.leaf == none {
		return
	}
	e, nd := t.moving, t.nodes[t.leaf]
	if nd.n == width {
		t.split(t.leaf)
		for t.aim(); t.descend(); {
		}
		nd = t.nodes[t.leaf]
	}
	at := t.rank(nd, e)
	nd.open(at)
	nd.put(at, e)
	*t.homeOf(e.slot) = t.leaf
	t.leaf = none
}

// delete takes the entry at a position of a leaf out.
func (t *tree) delete(id int32, at int) {
	nd := t.nodes[id]
	*t.homeOf(nd.slot[at]) = none
	nd.close(at)
	if at == 0 && nd.n > 0 {
		t.lead(id)
	}
	t.shrunk(id)
}

// lead tells the ancestors that the first entry of a node is another one.
func (t *tree) lead(id int32) {
	nd := t.nodes[id]
	e := nd.entry(0)
	for nd.parent != none {
		up := t.nodes[nd.parent]
		i := up.indexOf(id)
		up.put(i, e)
		if i > 0 {
			return
		}
		id, nd = nd.parent, up
	}
}
