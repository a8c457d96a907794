package rings

import (
	"iter"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Ring is one ring of one kind, for display.
type Ring struct {
	// Number counts from 1.
	Number int
	// From is the least amount of the ring and To the first beyond it; To says
	// nothing where the ring is Open. Ring 1 also holds what is below its From.
	From, To int64
	Open     bool
}

// Kinds are the names of the kinds that have rings, by [Kind].
func (x *Index) Kinds() iter.Seq2[Kind, string] {
	return func(yield func(Kind, string) bool) {
		for k := range x.trees {
			if !yield(Kind(k), x.layouts[k].Name) {
				return
			}
		}
	}
}

// Rings are the rings of a kind, innermost first.
func (x *Index) Rings(kind Kind) iter.Seq[Ring] {
	bounds := x.layouts[kind].Bounds
	return func(yield func(Ring) bool) {
		for i, from := range bounds {
			r := Ring{Number: i + 1, From: from, Open: i == len(bounds)-1}
			if !r.Open {
				r.To = bounds[i+1]
			}
			if !yield(r) {
				return
			}
		}
	}
}

// Agents are the agents of one ring of a kind, closest first, with what they
// have free of the kind. The index must not change during the iteration.
func (x *Index) Agents(kind Kind, ring int) iter.Seq2[offers.AgentID, int64] {
	return func(yield func(offers.AgentID, int64) bool) {
		x.trees[kind].prepare(0)
		l := &x.layouts[kind]
		c := Cursor{x: x, kind: kind, version: x.version}
		c.pack()
		c.seek(l.first(ring), l.last(ring))
		for {
			a, ok := c.Next()
			if !ok || !yield(a.Agent, a.Free[kind]) {
				return
			}
		}
	}
}
