package match

import (
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/heap"
)

// fair keeps everyone who shares the cluster in a tree and says who is next.
//
//	root ─┬─ eng (w 2) ─┬─ .  ── framework f1, f2     f: children of eng itself
//	      │             └─ ml ── . ── framework f3
//	      └─ ops ── . ── framework f4
//
// Siblings are compared with siblings: the lowest dominant share over weight
// first, then the fewest allocations, then the name. Only nodes with somebody
// to serve below them stand in their parent's heap, so next is O(depth) and
// every change O(depth * log siblings). A change of the totals re-sorts lazily.
//
// Source: dominant resource fairness (Ghodsi et al., NSDI 2011), hierarchical
// as in ALGORITHMS section 2.
type fair struct {
	root     *node
	total    []int64
	excluded []bool
	stale    bool // keys are of older totals
}

// node is a role, or a framework where leaf is set.
//
// Invariants: alloc is the sum of the children's on every inner node; at is
// the position in the parent's ready heap or -1; a node is in it exactly when
// it is a waiting leaf or has a non-empty heap itself; no two of a heap are stale.
type node struct {
	name     string
	parent   *node
	children map[string]*node
	ready    heap.Heap[*node] // the waiting children
	at       int
	leaf     *framework

	weight float64
	alloc  sums    // fair kinds, offers counted
	count  uint64  // allocations ever made
	key    float64 // dominant share / weight, unless it is stale
	stale  bool    // it is to be found out before the node is compared

	quota quota
}

func newFair(kindCount int, excluded []bool) *fair {
	return &fair{root: newNode("", nil, kindCount), total: make([]int64, kindCount), excluded: excluded}
}

func newNode(name string, parent *node, kindCount int) *node {
	return &node{name: name, parent: parent, at: -1, weight: 1,
		children: map[string]*node{}, ready: heap.New(beforeNode, placeOfNode), alloc: newSums(kindCount), quota: newQuota(kindCount)}
}

// ownName is the child of a role that its own frameworks hang under, so that
// they stand beside its child roles as one.
const ownName = "."

// role returns the node of a role, made where it is missing.
func (f *fair) role(r offers.Role) *node {
	n := f.root
	for _, part := range r.Parts() {
		n = f.child(n, part)
	}
	return n
}

// find returns the node of a role, or nil.
func (f *fair) find(r offers.Role) *node {
	n := f.root
	for _, part := range r.Parts() {
		if n = n.children[part]; n == nil {
			return nil
		}
	}
	return n
}

func (f *fair) child(n *node, name string) *node {
	c := n.children[name]
	if c == nil {
		c = newNode(name, n, len(f.total))
		n.children[name] = c
	}
	return c
}

// enter adds a leaf for a framework under its role.
func (f *fair) enter(role offers.Role, name string, leaf *framework) *node {
	n := f.child(f.child(f.role(role), ownName), name)
	n.leaf = leaf
	return n
}

// prune removes n and its ancestors as far as nothing hangs on them.
func (f *fair) prune(n *node) {
	for n != f.root && len(n.children) == 0 && n.leaf == nil && n.weight == 1 && n.quota.none() && !slices.ContainsFunc(n.alloc.n, func(x int64) bool { return x != 0 }) {
		f.sleep(n)
		delete(n.parent.children, n.name)
		n = n.parent
	}
}

// setTotal replaces what the cluster has.
func (f *fair) setTotal(total []int64) {
	copy(f.total, total)
	f.stale = true
}

// setWeight changes a role's weight.
func (f *fair) setWeight(n *node, weight float64) {
	n.weight = weight
	f.rekey(n)
}

// allocate adds delta (negative to give back) to a leaf and its ancestors.
// counted says whether it is an allocation in the sense of the ties.
func (f *fair) allocate(leaf *node, delta []int64, counted bool) {
	for n := leaf; n != nil; n = n.parent {
		for k, d := range delta {
			n.alloc.add(k, d)
		}
		if counted {
			n.count++
		}
		f.rekey(n)
	}
	for n := leaf; n.parent != nil; n = n.parent {
		n.settle()
	}
}

// tryOut makes an allocation, or takes one back as if it had never been.
func (f *fair) tryOut(leaf *node, delta []int64, made bool) {
	for n := leaf; n != nil && !made; n = n.parent {
		n.count--
	}
	f.allocate(leaf, delta, made)
}

// rekey recomputes a node's place among its siblings. Where it waits alone, or
// not at all, that is left until it is compared: divisions are most of what an
// allocation costs, on each level.
func (f *fair) rekey(n *node) {
	n.stale = true
	if n.at >= 0 && n.parent.ready.Len() > 1 {
		f.weigh(n)
		n.parent.ready.Fix(n)
	}
}

// freshen finds out the key of a node that is to be compared.
func (f *fair) freshen(n *node) {
	if n.stale {
		f.weigh(n)
	}
}

// weigh computes the key of a node.
func (f *fair) weigh(n *node) {
	n.key, _ = f.share(n)
	n.key /= n.weight
	n.stale = false
}

// share returns the dominant share of a node and its kind, -1 for none.
func (f *fair) share(n *node) (share float64, kind int) {
	kind = -1
	for k, a := range n.alloc.n {
		if a <= 0 || f.total[k] <= 0 || f.excluded[k] {
			continue
		}
		if s := float64(a) / float64(f.total[k]); s > share {
			share, kind = s, k
		}
	}
	return share, kind
}

// partingOf returns the children of the nearest that is above both, one of which a is
// or is under, and the other b: those that fair share compares. a and b are leaves, and
// not the same.
func partingOf(a, b *node) (ofA, ofB *node) {
	for d := a.depth() - b.depth(); d != 0; {
		if d > 0 {
			a, d = a.parent, d-1
		} else {
			b, d = b.parent, d+1
		}
	}
	for a.parent != b.parent {
		a, b = a.parent, b.parent
	}
	return a, b
}

func (n *node) depth() (d int) {
	for ; n.parent != nil; n = n.parent {
		d++
	}
	return d
}

// keyWith returns what the key of a node would be with so much more, or with sign
// -1 less.
func (f *fair) keyWith(n *node, delta []int64, sign int64) float64 {
	var most float64
	for k, a := range n.alloc.n {
		if a = stoppedPlus(a, sign*delta[k]); a > 0 && f.total[k] > 0 && !f.excluded[k] {
			most = max(most, float64(a)/float64(f.total[k]))
		}
	}
	return most / n.weight
}

// wake puts a leaf, and whoever is above it, among those to serve.
func (f *fair) wake(leaf *node) {
	for n := leaf; n.parent != nil && n.at < 0; n = n.parent {
		if ready := &n.parent.ready; ready.Len() > 0 {
			f.freshen(ready.First()) // which may be stale while it is alone
			f.freshen(n)
		}
		n.parent.ready.Push(n)
	}
}

// sleep takes a node out; its ancestors leave with their last child.
func (f *fair) sleep(leaf *node) {
	for n := leaf; n.parent != nil && n.at >= 0; n = n.parent {
		n.parent.ready.Remove(n)
		if n.parent.ready.Len() > 0 {
			return
		}
	}
}

// next returns the leaf whose turn it is, or nil when nobody waits.
func (f *fair) next() *framework {
	if f.stale {
		f.resort(f.root)
		f.stale = false
	}
	n := f.root
	for n.leaf == nil {
		if n.ready.Len() == 0 {
			return nil
		}
		n = n.ready.First()
	}
	return n.leaf
}

// waiting appends the frameworks below n that have somebody to serve, those
// whose turn is near rather first.
func (f *fair) waiting(n *node, out []*framework) []*framework {
	if n.leaf != nil {
		return append(out, n.leaf)
	}
	for _, c := range n.ready.All() {
		out = f.waiting(c, out)
	}
	return out
}

func (f *fair) resort(n *node) {
	for _, c := range n.children {
		f.weigh(c)
		f.resort(c)
	}
	n.ready.Rebuild()
}

func placeOfNode(n *node) *int { return &n.at }

func beforeNode(a, b *node) bool {
	switch { // all of cmp.Or is found out before it chooses
	case a.key != b.key:
		return a.key < b.key
	case a.count != b.count:
		return a.count < b.count
	}
	return a.name < b.name
}
