package match

import (
	"github.com/ringmaster-project/ringmaster/offers"
)

// quota bounds one role with everything below it.
//
// A limit is a ceiling on alloc, offers counted. A guarantee is room held back
// from everyone else until the role has used it: what a node holds back is the
// larger of what its own guarantee still lacks and what its children hold
// back together, kind by kind.
type quota struct {
	limit     []int64 // -1: none
	guarantee []int64 // 0: none
	held      []int64 // held back for this node and its descendants
	below     sums    // sum of the children's held
	set       bool    // limit or guarantee is set here
	limited   bool    // limit is
	reserves  bool    // a guarantee was ever set here or below; else held and below are nothing
}

func newQuota(kindCount int) quota {
	q := quota{
		limit: make([]int64, kindCount), guarantee: make([]int64, kindCount),
		held: make([]int64, kindCount), below: newSums(kindCount),
	}
	for k := range q.limit {
		q.limit[k] = -1
	}
	return q
}

func (q *quota) none() bool { return !q.set }

// setQuota replaces a role's quota; kinds that the cluster does not know bound
// nothing until it does.
func (n *node) setQuota(k *kinds, from offers.Quota) {
	for i := range n.quota.limit {
		n.quota.limit[i], n.quota.guarantee[i] = -1, 0
	}
	for name, amount := range from.Limit {
		if i := k.fairNamed(name); i >= 0 {
			n.quota.limit[i] = amount
		}
	}
	for name, amount := range from.Guarantee {
		if i := k.fairNamed(name); i >= 0 {
			n.quota.guarantee[i] = amount
		}
	}
	n.quota.set, n.quota.limited = len(from.Limit)+len(from.Guarantee) > 0, len(from.Limit) > 0
	for at := n; at != nil && len(from.Guarantee) > 0; at = at.parent {
		at.quota.reserves = true
	}
	for at := n; at.parent != nil; at = at.parent {
		at.settle()
	}
}

// settle recomputes what n holds back and tells its parent the difference.
func (n *node) settle() {
	q := &n.quota
	if !q.reserves {
		return
	}
	for k := range q.held {
		held := max(q.guarantee[k]-n.alloc.n[k], q.below.n[k], 0)
		n.parent.quota.below.add(k, held-q.held[k])
		q.held[k] = held
	}
}

// headroom writes into out the most that a leaf may be given more of each
// kind: what is free in the cluster less what is held back for roles that are
// not above the leaf, and never more than any limit above it leaves. It may be
// negative.
func (f *fair) headroom(leaf *node, free []int64, out []int64) {
	copy(out, free)
	for n := leaf; n.parent != nil; n = n.parent {
		for k := 0; k < len(out) && n.parent.quota.reserves; k++ {
			out[k] = stoppedPlus(out[k], n.quota.held[k]-n.parent.quota.below.n[k])
		}
	}
	for n := leaf; n.parent != nil; n = n.parent {
		for k := 0; k < len(out) && n.quota.limited; k++ {
			if limit := n.quota.limit[k]; limit >= 0 {
				out[k] = min(out[k], limit-n.alloc.n[k])
			}
		}
	}
}
