package rings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// absent stands in a vector for a kind that the agent does not have.
const absent = -1

// Index is the ring sets of all kinds over one set of agents. It belongs to
// one goroutine; lookups write to it too (see [Cursor]). Make one with [New].
type Index struct {
	// Static after New.
	layouts []Layout

	lots
	members
	slots map[offers.AgentID]int32
	// spare are the slots of removed agents, to be used before new ones.
	spare []int32
	// trees has one tree per kind that is no measure, over the lots that have
	// the kind; see [tree.files].
	trees []tree
	// going are those in which a lot is on its way, while [Index.refile] runs.
	going []*tree
	// row is where a vector is put in order that is not in the index yet.
	row []int64
	// version counts changes, so that a cursor notices that it is stale.
	version uint64
}

// New returns an empty index with one ring set per layout.
func New(layouts []Layout) (*Index, error) {
	if len(layouts) == 0 {
		return nil, errors.New("ring layouts: the list is empty")
	}
	measure := slices.IndexFunc(layouts, func(l Layout) bool { return l.Measure })
	shared := &table{kinds: len(layouts), words: (len(layouts) + lanesEach - 1) / lanesEach}
	x := &Index{lots: newLots(shared), slots: make(map[offers.AgentID]int32), row: make([]int64, len(layouts))}
	for k, l := range layouts {
		if err := l.Validate(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(layouts[:k], func(o Layout) bool { return o.Name == l.Name }) {
			return nil, fmt.Errorf("ring layout %q: Name is used twice", l.Name)
		}
		if measure >= 0 && k > measure && !l.Measure {
			return nil, fmt.Errorf("ring layout %q: it comes after a measure", l.Name)
		}
		l.Bounds = slices.Clone(l.Bounds)
		l.step = l.equallyWide()
		x.layouts = append(x.layouts, l)
		if !l.Measure {
			x.trees = append(x.trees, newTree(shared, Kind(k), Kind(measure)))
		}
	}
	return x, nil
}

// Len is the number of agents.
func (x *Index) Len() int { return len(x.slots) }

// Free is what the agent has free per kind, -1 for a kind it does not have;
// nil for an unknown agent. It is the index's own memory: to be read only, and
// only until the next change.
func (x *Index) Free(id offers.AgentID) []int64 {
	slot, ok := x.slots[id]
	if !ok {
		return nil
	}
	return x.FreeAt(int(slot))
}

// FreeAt is [Index.Free] for a caller who holds the slot of an agent.
func (x *Index) FreeAt(slot int) []int64 { return x.vector(x.nodes[slot].lot) }

// Ring is the ring of a kind, from 1, that holds agents with that amount of it.
func (x *Index) Ring(kind Kind, amount int64) int { return x.layouts[kind].holding(amount) }

// Set files the agent, new or known and not "", under what it has free: one amount per
// kind and measure, negative for a kind it does not have. It returns the agent's slot: a
// small number that stays the agent's until [Index.Remove] and may then go to
// another, so that a caller can keep its own records in a slice.
func (x *Index) Set(id offers.AgentID, free []int64) (slot int) {
	s, ok := x.slots[id]
	if !ok {
		s = x.admit(id)
	}
	x.Move(int(s), free)
	return int(s)
}

// Move is [Index.Set] for a caller who holds the slot. It spares the hashing,
// which at many agents costs as much as moving in one kind. The slot of a
// removed agent panics, since it would be found again as a candidate.
func (x *Index) Move(slot int, free []int64) {
	from := x.nodes[slot].lot
	if from == none {
		panic(fmt.Sprintf("rings: slot %d belongs to no agent", slot))
	}
	if len(free) != x.kinds {
		panic(fmt.Sprintf("rings: agent %q has %d amounts in an index of %d kinds", x.ids[slot], len(free), x.kinds))
	}
	had := x.vector(from)
	changed, grown := false, false
	for k, amount := range free {
		amount = max(amount, absent)
		changed = changed || amount != had[k]
		grown = grown || amount > had[k]
		x.row[k] = amount
	}
	if !changed {
		return
	}
	x.version++
	hash := hash(x.row)
	to := x.find(x.row, hash)
	if to == none && x.alone(int32(slot)) { // its lot goes with it
		x.erase(from)
		x.write(from, x.row, hash)
		x.refile(from, grown)
		return
	}
	x.part(int32(slot))
	if to == none {
		to = x.begin(x.row, hash)
		x.refile(to, true)
	}
	x.enlist(int32(slot), to)
}

// part takes an agent out of its lot, which ends if it was the last.
func (x *Index) part(slot int32) {
	if lot := x.nodes[slot].lot; x.dismiss(slot) {
		x.end(lot)
		x.refile(lot, false)
	}
}

// refile brings all trees into line with a lot's changed vector. Step by
// step in all trees, rather than tree by tree: in a large index nearly every
// node is a cache miss, and the misses of one step overlap because the trees do
// not depend on each other. A tree that nobody asks puts it off, see late.go.
func (x *Index) refile(lot int32, grown bool) {
	going := x.going[:0]
	for k := range x.trees {
		if t := &x.trees[k]; !t.asleep && t.concerned(lot) && !t.defers(lot) {
			t.touchHome(lot)
			going = append(going, t)
		}
	}
	x.going = going
	for _, t := range going {
		t.leave(lot, grown)
		t.aim()
	}
	for down := true; down; {
		down = false
		for _, t := range going {
			down = t.descend() || down
		}
	}
	for _, t := range going {
		t.settle()
	}
}

// Remove forgets the agent; an unknown one is no error.
func (x *Index) Remove(id offers.AgentID) {
	slot, ok := x.slots[id]
	if !ok {
		return
	}
	x.version++
	x.part(slot)
	delete(x.slots, id)
	x.ids[slot] = ""
	x.spare = append(x.spare, slot)
}

// admit gives a new agent a slot, without any kind yet.
func (x *Index) admit(id offers.AgentID) int32 {
	slot := int32(len(x.ids))
	if n := len(x.spare); n > 0 {
		slot, x.spare = x.spare[n-1], x.spare[:n-1]
		x.ids[slot] = id
	} else {
		x.ids, x.nodes = append(x.ids, id), append(x.nodes, member{})
	}
	x.slots[id] = slot
	x.rank(slot)
	for k := range x.row {
		x.row[k] = absent
	}
	hash := hash(x.row)
	lot := x.find(x.row, hash)
	if lot == none {
		lot = x.begin(x.row, hash)
	}
	x.enlist(slot, lot)
	return slot
}
