package rings

import (
	"math"
	"slices"
)

const (
	// width is how many entries a node holds at most. 64 keeps a million agents
	// at four levels while a shift inside a leaf stays in a few cache lines.
	width = 64
	// block is how many amounts share a cache line.
	block = 8
	// none is no node.
	none = -1
)

// node is a leaf (kids is nil), whose entries are agents, or an inner node,
// whose entries are the least agents of its children. Pointers come first, so
// that the collector stops reading early.
type node struct {
	// kids are the children's ids, in order; one per entry.
	kids *[width]int32
	// tops[i*kinds+k] is no less than the greatest free amount of kind k under
	// child i, and no more than this node's own entry in its parent. It may be
	// too high until tightened, never too low.
	tops []int64

	parent int32
	n      int32
	// loose says that the parent's tops for this node may be too high.
	loose bool

	// slot, own and next describe the entries, ascending by [tree.before]; only
	// the first n count. own is the amount in the tree's kind, next the amount
	// in the tree's other: together they settle nearly all comparisons
	// without reading the agents' vectors. Beyond n own is unused, see
	// [node.below].
	slot [width]int32
	own  [width]int64
	next [width]int64
}

// unused fills own beyond the entries.
const unused = math.MaxInt64

// entry is an agent's place in the order of one kind.
type entry struct {
	own, next int64
	slot      int32
}

func (nd *node) leaf() bool { return nd.kids == nil }

func (nd *node) entry(i int) entry { return entry{nd.own[i], nd.next[i], nd.slot[i]} }

func (nd *node) put(i int, e entry) { nd.own[i], nd.next[i], nd.slot[i] = e.own, e.next, e.slot }

// open makes room for an entry at i.
func (nd *node) open(i int) {
	n := int(nd.n)
	copy(nd.own[i+1:n+1], nd.own[i:n])
	copy(nd.next[i+1:n+1], nd.next[i:n])
	copy(nd.slot[i+1:n+1], nd.slot[i:n])
	nd.n++
}

// close takes the entry at i out.
func (nd *node) close(i int) {
	n := int(nd.n)
	copy(nd.own[i:n-1], nd.own[i+1:n])
	copy(nd.next[i:n-1], nd.next[i+1:n])
	copy(nd.slot[i:n-1], nd.slot[i+1:n])
	nd.own[n-1] = unused
	nd.n--
}

// find is the position of a slot that is known to be in the leaf. By slot, not
// by order: the agent's vector has already changed when it is looked for.
func (nd *node) find(slot int32) int { return slices.Index(nd.slot[:nd.n], slot) }

// indexOf is the position of a child that is known to be in the node.
func (nd *node) indexOf(kid int32) int { return slices.Index(nd.kids[:nd.n], kid) }

// below is how many entries have less than the amount in the tree's kind. In a
// large index the node is rarely in a cache, and a binary search would wait for
// one line after another. Here no load waits for another's outcome, nor for n,
// so that the lines come together; hence the unused filling.
func (nd *node) below(amount int64) int {
	full := 0
	for i := block - 1; i < width; i += block {
		full += less(nd.own[i], amount)
	}
	if full == width/block {
		return width
	}
	count := full * block
	for _, own := range nd.own[count : count+block] {
		count += less(own, amount)
	}
	return count
}

// among narrows a range of entries equal in own to those equal in next too.
func (nd *node) among(lo, hi int, next int64) (int, int) {
	first, end := lo, lo
	for _, other := range nd.next[lo:hi] {
		first += less(other, next)
		end += 1 - less(next, other)
	}
	return first, end
}

// less is 1 if a is less than b, else 0, of amounts that are not below
// absent; without a branch, which would have to be guessed before the load is done.
func less(a, b int64) int { return int(uint64(a-b) >> 63) }

// openKid makes room for a child at i, with all that goes with it.
func (nd *node) openKid(i, kinds int) {
	n := int(nd.n)
	copy(nd.kids[i+1:n+1], nd.kids[i:n])
	copy(nd.tops[(i+1)*kinds:], nd.tops[i*kinds:n*kinds])
	nd.open(i)
}

// closeKid takes the child at i out.
func (nd *node) closeKid(i, kinds int) {
	n := int(nd.n)
	copy(nd.kids[i:n-1], nd.kids[i+1:n])
	copy(nd.tops[i*kinds:], nd.tops[(i+1)*kinds:n*kinds])
	nd.close(i)
}
