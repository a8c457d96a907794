package rings

import (
	"cmp"
	"slices"
	"sort"
)

// tree orders the lots that have one kind by what they have free of it, then
// by the first measure, then by what they have free of the other kinds. A B+tree
// whose separators are the least lots of the children themselves: a separator
// therefore moves with its lot and no copy of a vector is kept.
type tree struct {
	*table
	kind Kind
	// other is the second part of a key: the first measure; without one the
	// first kind that is not this one; without that, kind itself.
	other Kind

	// The nodes, and which of them are spare. What belongs together has the same
	// position, and lies in slices of its own because it is not read together.
	leafHeads   []head
	leaves      []leaf
	innerHeads  []head
	inners      []inner
	spareLeaves []int32
	spareInners []int32
	// tops, of the words of a vector for each child, are no less than the lanes
	// of any lot under the child, and no more than the node's own tops in its
	// parent. They may be too high until tightened, never too low.
	tops []uint64
	// root is always a node, a leaf while everything fits into one. No other
	// node is ever empty.
	root int32

	// moving is the lot on its way from one leaf to another (gone if
	// it need not be filed again), and at how far down it has come; at is
	// none when nothing is on its way. Only [Index.refile] sees them set.
	moving entry
	gone   bool
	at     int32

	// late are the lots that are not filed as their vectors are now, each
	// once and marked in isLate by lot. While there are any the tree is
	// deferring, and nothing but catchUp may look at its order.
	late      []int32
	isLate    []bool
	deferring bool
	// asleep says that the tree is deferring and that nothing in it is to be
	// relied on, until [tree.wake].
	asleep bool
	// lastAsked is which question to the index was the last for this tree.
	lastAsked uint64

	// exhausted says that lots that have the kind and nothing free of it are
	// filed too, as somebody asked who comes to them, at the question exhaustedAsked.
	// See [tree.fileExhausted].
	exhausted      bool
	exhaustedAsked uint64

	// touched only keeps loads alive whose purpose is the cache.
	touched int64
}

// newTree returns the empty tree of a kind; measure is the first one, or
// negative.
func newTree(shared *table, kind, measure Kind) tree {
	t := tree{table: shared, kind: kind, at: none}
	switch {
	case measure >= 0:
		t.other = measure
	case kind == 0 && shared.kinds > 1:
		t.other = 1
	}
	t.root = t.grow(true)
	return t
}

func (t *tree) homeOf(lot int32) *int32 { return &t.home[int(lot)*t.kinds+int(t.kind)] }

// entryOf is where the lot's present vector belongs.
func (t *tree) entryOf(lot int32) entry {
	v := t.vector(lot)
	return entry{key: keyOf(v[t.kind], v[t.other]), lot: lot}
}

// compare puts two lots in order.
func (t *tree) compare(e, f entry) int {
	if e.key != f.key {
		return cmp.Compare(e.key, f.key)
	}
	return t.tie(e.lot, f.lot)
}

// tie compares two lots of equal keys.
func (t *tree) tie(a, b int32) int {
	v, w := t.vector(a), t.vector(b)
	switch {
	case v[t.kind] != w[t.kind]:
		return cmp.Compare(v[t.kind], w[t.kind])
	case v[t.other] != w[t.other]:
		return cmp.Compare(v[t.other], w[t.other])
	}
	return slices.Compare(v, w)
}

// rank is how many entries of the node come before e.
func (t *tree) rank(id int32, e entry) int {
	keys, lots := t.entries(id)
	lo := below(keys, e.key)
	if lo == len(keys) || keys[lo] != e.key {
		return lo
	}
	return lo + sort.Search(below(keys, e.key+1)-lo, func(i int) bool { return t.tie(lots[lo+i], e.lot) >= 0 })
}

// files says whether the tree has a place for a lot with so much of the kind.
func (t *tree) files(own int64) bool { return own > 0 || own == 0 && t.exhausted }

// concerned says whether the lot belongs into the tree or is filed there still.
func (t *tree) concerned(lot int32) bool {
	return t.files(t.vector(lot)[t.kind]) || *t.homeOf(lot) != none
}

// greatest is the most that a lot in the tree has of its kind, absent where
// there is none.
func (t *tree) greatest() int64 {
	id := t.root
	for !isLeaf(id) {
		id = t.inners[^id].kids[t.innerHeads[^id].n-1]
	}
	n := t.leafHeads[id].n
	if n == 0 {
		return absent
	}
	return t.vector(t.leaves[id].lot[n-1])[t.kind]
}

// touchHome loads the leaf that the lot is in, see [Index.refile].
func (t *tree) touchHome(lot int32) {
	if home := *t.homeOf(lot); home != none {
		t.touch(home)
	}
}

// touch loads what is read of a node whether keys are equal or not.
func (t *tree) touch(id int32) {
	sum := int64(0)
	if isLeaf(id) {
		nd := &t.leaves[id]
		for i := 0; i < leafWidth; i += block {
			sum += nd.key[i]
		}
		for i := 0; i < leafWidth; i += 2 * block {
			sum += int64(nd.lot[i])
		}
	} else {
		nd := &t.inners[^id]
		for i := 0; i < width; i += block {
			sum += nd.key[i]
		}
	}
	t.touched += sum
}

// leave takes the lot out of its leaf, unless its present vector belongs
// there too; grown says that it has more of some kind than it had. What
// remains to be done is left in moving, for aim, descend and settle.
func (t *tree) leave(lot int32, grown bool) {
	t.moving, t.at = t.entryOf(lot), none
	t.gone = !t.files(t.vector(lot)[t.kind])
	home := *t.homeOf(lot)
	if home == none {
		return
	}
	at := t.find(home, lot)
	t.leafHeads[home].loose = true
	if !t.gone && t.moveInside(home, at, t.moving) {
		t.gone = true
		if grown {
			t.raise(home, lot)
		}
		return
	}
	t.delete(home, at)
}

// moveInside moves the entry at a position of a leaf to where e belongs, if
// that is strictly inside the same leaf, which can be told without its
// neighbours. The ends are left to the way from the root.
func (t *tree) moveInside(id int32, at int, e entry) bool {
	nd := &t.leaves[id]
	first, last := 0, int(t.leafHeads[id].n)-1
	if at == first {
		first++
	}
	if at == last {
		last--
	}
	before := func(i int) bool { return t.compare(entry{nd.key[i], nd.lot[i]}, e) < 0 }
	if first >= last || !before(first) || before(last) {
		return false
	}
	to := at
	for ; to < last && before(to+1); to++ {
		nd.key[to], nd.lot[to] = nd.key[to+1], nd.lot[to+1]
	}
	if to == at {
		for ; to > first && !before(to-1); to-- {
			nd.key[to], nd.lot[to] = nd.key[to-1], nd.lot[to-1]
		}
	}
	nd.key[to], nd.lot[to] = e.key, e.lot
	if at == 0 {
		t.lead(id)
	}
	return true
}

// aim sets out from the root with the moving lot, if there is one.
func (t *tree) aim() {
	if !t.gone {
		t.at = t.root
	}
}

// descend goes one level down towards the leaf for the moving lot, and tells
// the node on the way that it is coming; false when it has arrived.
func (t *tree) descend() bool {
	if t.at == none || isLeaf(t.at) {
		return false
	}
	i := t.rank(t.at, t.moving) - 1
	if i < 0 {
		i = 0
		t.put(t.at, i, t.moving)
	}
	lift(t.topsOf(t.at, i), t.lanes(t.moving.lot))
	t.at = t.inners[^t.at].kids[i]
	t.touch(t.at)
	return true
}

// settle files the moving lot in the leaf it has come to.
func (t *tree) settle() {
	if t.at == none {
		return
	}
	if t.leafHeads[t.at].n == leafWidth {
		t.split(t.at)
		for t.aim(); t.descend(); {
		}
	}
	t.insert(t.at, t.rank(t.at, t.moving), t.moving)
	*t.homeOf(t.moving.lot) = t.at
	t.at = none
}

// delete takes the entry at a position of a leaf out.
func (t *tree) delete(id int32, at int) {
	*t.homeOf(t.leaves[id].lot[at]) = none
	t.extract(id, at)
	if at == 0 && t.leafHeads[id].n > 0 {
		t.lead(id)
	}
	t.shrunk(id)
}

// lead tells the ancestors that the first entry of a node is another one.
func (t *tree) lead(id int32) {
	e := t.entry(id, 0)
	for up := t.head(id).parent; up != none; id, up = up, t.head(up).parent {
		i := t.indexOf(up, id)
		t.put(up, i, e)
		if i > 0 {
			return
		}
	}
}
