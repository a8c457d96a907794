package rings

import "github.com/ringmaster-project/ringmaster/offers"

// members are the agents of all lots, by slot, those of a lot in the order of their
// ids: a binary search tree for each lot that is a heap by what [weight] makes of
// the slots, so that it is as if its agents had come in random order. Nearly all lots
// have a handful of agents, and some may have all there are; neither costs memory
// beside the agents' own. Whoever comes is fresh until somebody asks who is first in
// the lot: most leave before, and to find their places would be waiting for memory.
//
// Source: C. Aragon, R. Seidel, "Randomized search trees", FOCS 1989.
type members struct {
	// ids is empty where the slot is spare.
	ids []offers.AgentID
	// common is what all ids ever seen begin with.
	common   string
	nodes    []member
	inLot    []company
	anyFresh bool // some lot may have fresh agents
}

// company is the agents of a lot. Where nobody is meant slots are none.
type company struct {
	// first and root are of those in order.
	first, root int32
	// fresh is who came last of those that are not in order yet, and waiting how
	// many these are.
	fresh, waiting int32
}

// mostFresh bounds what a question may have to put in order of each lot.
const mostFresh = 64

// member is an agent in its lot.
type member struct {
	// order is the eight bytes of the id after what is common, the first the highest:
	// they tell nearly all ids apart without reading the strings.
	order uint64
	// lot is none where the slot is spare.
	lot int32
	// up is listed for the fresh, of whom left came next and right before.
	up, left, right int32
}

// listed is no slot, and not none.
const listed = none + 1

// weight puts slots in an order that has nothing to do with that of ids.
func weight(slot int32) uint32 {
	n := uint32(slot+1) * 0x9e3779b1
	return (n ^ n>>15) * 0x85ebca77
}

// before reports whether the id of a slot is less than that of another.
func (m *members) before(a, b int32) bool {
	if x, y := m.nodes[a].order, m.nodes[b].order; x != y {
		return x < y
	}
	return m.ids[a] < m.ids[b]
}

// alone reports whether an agent is its lot's only one.
func (m *members) alone(slot int32) bool {
	nd := &m.nodes[slot]
	if nd.left != none || nd.right != none {
		return false
	}
	c := &m.inLot[nd.lot]
	return nd.up == listed && c.root == none || nd.up == none && c.fresh == none
}

// enlist puts an agent that is in no lot into one.
func (m *members) enlist(slot, lot int32) {
	for len(m.inLot) <= int(lot) {
		m.inLot = append(m.inLot, company{none, none, none, 0})
	}
	nd, c := &m.nodes[slot], &m.inLot[lot]
	nd.lot, nd.up, nd.left, nd.right = lot, listed, none, c.fresh
	if c.fresh != none {
		m.nodes[c.fresh].left = slot
	}
	c.fresh, m.anyFresh = slot, true
	if c.waiting++; c.waiting == mostFresh {
		m.arrange(c)
	}
}

// leader is the agent of a lot whose id is the least.
func (m *members) leader(lot int32) int32 {
	c := &m.inLot[lot]
	if c.fresh != none {
		m.arrange(c)
	}
	return c.first
}

// arrangeAll puts all agents in order.
func (m *members) arrangeAll() {
	if !m.anyFresh {
		return
	}
	for lot := range m.inLot {
		m.arrange(&m.inLot[lot])
	}
	m.anyFresh = false
}

// arrange puts the fresh agents of a lot in order.
func (m *members) arrange(c *company) {
	for slot := c.fresh; slot != none; {
		before := m.nodes[slot].right
		m.insert(c, slot)
		slot = before
	}
	c.fresh, c.waiting = none, 0
}

// insert puts an agent into the order.
func (m *members) insert(c *company, slot int32) {
	nd := &m.nodes[slot]
	nd.up, nd.left, nd.right = none, none, none
	below, least := &c.root, true
	for *below != none {
		nd.up = *below
		if m.before(slot, nd.up) {
			below = &m.nodes[nd.up].left
		} else {
			below, least = &m.nodes[nd.up].right, false
		}
	}
	if *below = slot; least {
		c.first = slot
	}
	for nd.up != none && weight(slot) > weight(nd.up) {
		m.rotate(slot)
	}
}

// dismiss takes an agent out of its lot, and reports whether it was the last.
func (m *members) dismiss(slot int32) (last bool) {
	nd := &m.nodes[slot]
	c := &m.inLot[nd.lot]
	if nd.up == listed {
		m.unlist(c, nd)
	} else {
		m.extract(c, slot)
	}
	nd.lot = none
	return c.root == none && c.fresh == none
}

// unlist takes a fresh agent out.
func (m *members) unlist(c *company, nd *member) {
	if nd.left != none {
		m.nodes[nd.left].right = nd.right
	} else {
		c.fresh = nd.right
	}
	if nd.right != none {
		m.nodes[nd.right].left = nd.left
	}
	c.waiting--
}

// extract takes an agent out of the order.
func (m *members) extract(c *company, slot int32) {
	if c.first == slot {
		c.first = m.next(slot)
	}
	nd := &m.nodes[slot]
	for nd.left != none && nd.right != none {
		if weight(nd.left) > weight(nd.right) {
			m.rotate(nd.left)
		} else {
			m.rotate(nd.right)
		}
	}
	kid := nd.left
	if kid == none {
		kid = nd.right
	}
	m.replace(slot, kid)
}

// rotate has a node change places with the one above it.
func (m *members) rotate(slot int32) {
	nd := &m.nodes[slot]
	above := nd.up
	up := &m.nodes[above]
	m.replace(above, slot)
	kid := &nd.right
	if up.left == slot {
		up.left = *kid
	} else {
		kid = &nd.left
		up.right = *kid
	}
	if *kid != none {
		m.nodes[*kid].up = above
	}
	*kid, up.up = above, slot
}

// replace puts a node, or none, below the one that is above another, in its place.
func (m *members) replace(slot, by int32) {
	nd := &m.nodes[slot]
	switch {
	case nd.up == none:
		m.inLot[nd.lot].root = by
	case m.nodes[nd.up].left == slot:
		m.nodes[nd.up].left = by
	default:
		m.nodes[nd.up].right = by
	}
	if by != none {
		m.nodes[by].up = nd.up
	}
}

// next is the agent of the same lot whose id comes next, or none, where all of them are
// in order.
func (m *members) next(slot int32) int32 {
	if at := m.nodes[slot].right; at != none {
		for m.nodes[at].left != none {
			at = m.nodes[at].left
		}
		return at
	}
	up := m.nodes[slot].up
	for up != none && m.nodes[up].right == slot {
		slot, up = up, m.nodes[up].up
	}
	return up
}
