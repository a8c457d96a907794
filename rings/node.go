package rings

import (
	"math"
	"slices"
)

const (
	// leafWidth is how many entries a leaf holds at most: few, because a lot
	// that moves has half of two leaves shifted in every kind, and on a large
	// cluster each line of them is a miss.
	leafWidth = 32
	// width is how many children an inner node has at most. Inner nodes are few
	// and stay in caches, so they are wide, and the tree is low: a million lots
	// are at four levels.
	width = 64
	// block is how many keys share a cache line.
	block = 8
	// none is no node.
	none = math.MinInt32
)

// head is what is known of a node beside its entries. Nodes are named by where
// they lie: leaf i by i, inner node i by ^i, so that no reference is a pointer
// and the collector passes over them all.
type head struct {
	parent int32
	n      int32
	// loose says that the parent's tops for this node may be too high.
	loose bool
}

// leaf has lots for entries, ascending by [tree.before]. Only the first n of
// its head count; beyond them key is unused, see [below].
type leaf struct {
	key [leafWidth]int64
	lot [leafWidth]int32
}

// inner has the least lots of its children for entries.
type inner struct {
	key [width]int64
	lot [width]int32
	// kids are the children, one per entry.
	kids [width]int32
}

// A key is what a lot has of the tree's kind and of the tree's other, in one
// word: it settles nearly all comparisons without the lots' vectors, and where
// two keys differ the vectors differ the same way. Amounts that are too large for
// their part of the word share the greatest key there is, and are compared in
// full.
const (
	otherBits = 20 // holds a millionth, and one more
	otherMost = 1<<otherBits - 1
	ownMost   = 1<<(63-otherBits) - 1
	// clipped is the key of all amounts of ownMost or more.
	clipped = ownMost << otherBits
	// unused fills keys beyond the entries; it is above any.
	unused = math.MaxInt64
)

// keyOf is the key of a lot that has so much of the tree's kind, and of its
// other, which is no less than absent.
func keyOf(own, other int64) int64 {
	if own >= ownMost {
		return clipped
	}
	return own<<otherBits | min(other+1, otherMost)
}

// own is what the lot of a key has of the tree's kind.
func (t *tree) own(key int64, lot int32) int64 {
	if key < clipped {
		return key >> otherBits
	}
	return t.vector(lot)[t.kind]
}

// leastKey is no more than the key of any lot that has the amount.
func leastKey(amount int64) int64 { return min(amount, ownMost) << otherBits }

// entry is a lot's place in the order of one kind.
type entry struct {
	key int64
	lot int32
}

func isLeaf(id int32) bool { return id >= 0 }

func (t *tree) head(id int32) *head {
	if isLeaf(id) {
		return &t.leafHeads[id]
	}
	return &t.innerHeads[^id]
}

// entries are those of a node, in its full width.
func (t *tree) entries(id int32) (keys []int64, lots []int32) {
	if isLeaf(id) {
		nd := &t.leaves[id]
		return nd.key[:], nd.lot[:]
	}
	nd := &t.inners[^id]
	return nd.key[:], nd.lot[:]
}

func (t *tree) entry(id int32, i int) entry {
	keys, lots := t.entries(id)
	return entry{keys[i], lots[i]}
}

func (t *tree) put(id int32, i int, e entry) {
	keys, lots := t.entries(id)
	keys[i], lots[i] = e.key, e.lot
}

// insert puts an entry in at i.
func (t *tree) insert(id int32, i int, e entry) {
	h := t.head(id)
	keys, lots := t.entries(id)
	copy(keys[i+1:h.n+1], keys[i:h.n])
	copy(lots[i+1:h.n+1], lots[i:h.n])
	keys[i], lots[i] = e.key, e.lot
	h.n++
}

// extract takes the entry at i out.
func (t *tree) extract(id int32, i int) {
	h := t.head(id)
	keys, lots := t.entries(id)
	copy(keys[i:h.n-1], keys[i+1:h.n])
	copy(lots[i:h.n-1], lots[i+1:h.n])
	h.n--
	keys[h.n] = unused
}

// find is the position of a lot that is known to be in a leaf. By lot, not
// by order: the lot's vector has already changed when it is looked for.
func (t *tree) find(id int32, lot int32) int {
	return slices.Index(t.leaves[id].lot[:t.leafHeads[id].n], lot)
}

// kids are the children of an inner node.
func (t *tree) kids(id int32) []int32 { return t.inners[^id].kids[:t.innerHeads[^id].n] }

// indexOf is the position of a child that is known to be in an inner node.
func (t *tree) indexOf(id, kid int32) int { return slices.Index(t.kids(id), kid) }

// insertKid makes a node a child at i; its tops are still to be measured.
func (t *tree) insertKid(id int32, i int, kid int32) {
	n := int(t.innerHeads[^id].n)
	kids := &t.inners[^id].kids
	copy(kids[i+1:n+1], kids[i:n])
	kids[i] = kid
	tops := t.allTops(id)
	copy(tops[(i+1)*t.words:], tops[i*t.words:n*t.words])
	t.head(kid).parent = id
	t.insert(id, i, t.entry(kid, 0))
}

// extractKid takes the child at i out.
func (t *tree) extractKid(id int32, i int) {
	n := int(t.innerHeads[^id].n)
	kids := &t.inners[^id].kids
	copy(kids[i:n-1], kids[i+1:n])
	tops := t.allTops(id)
	copy(tops[i*t.words:], tops[(i+1)*t.words:n*t.words])
	t.extract(id, i)
}

// below is how many keys are less than one. In a large index a node is rarely in
// a cache, and a binary search would wait for one line after another. Here no load
// waits for another's outcome, nor for how many keys there are, so that the lines
// come together; hence the unused filling.
func below(keys []int64, key int64) int {
	full := 0
	for i := block - 1; i < len(keys); i += block {
		full += less(keys[i], key)
	}
	count := full * block
	if count == len(keys) {
		return count
	}
	for _, k := range keys[count : count+block] {
		count += less(k, key)
	}
	return count
}

// less is 1 if a is less than b, else 0, of amounts that are not below
// absent; without a branch, which would have to be guessed before the load is done.
func less(a, b int64) int { return int(uint64(a-b) >> 63) }
