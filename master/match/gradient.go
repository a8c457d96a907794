package match

import "github.com/ringmaster-project/ringmaster/rings"

// gradient walks the agents that have enough of every kind in the order of the
// rings of the demand's kind. A demand that names no device would strand the
// devices of an agent whose cpus it takes, so it visits agents without a free
// byte on any device first, and the others after them from the outermost ring
// down: the more is left beside idle devices, the longer they stay usable.
//
// Source: ALGORITHMS section 7.2; the order of the second part is ours (openb,
// seeds 42..51, allocation at 130 % arrived: 94.0 with the reach obeyed there,
// 94.4 from outside).
type gradient struct {
	s      *search
	cursor rings.Cursor
	bare   bool // agents without free devices are visited, the rest is still to come
	spared bool // those without have been visited
}

// gradient sets out to walk; a search walks one at a time.
func (s *search) gradient() *gradient {
	g := &s.walk
	*g = gradient{s: s, bare: s.d.bareNeed != nil}
	need := s.d.need
	if g.bare {
		need = s.d.bareNeed
	}
	g.walk(s.m.index.Candidates(rings.Kind(s.d.column), need))
	return g
}

func (g *gradient) walk(c rings.Cursor) {
	if g.cursor = c; g.s.passes() {
		g.cursor.Pass(g.s.d.owner.passes)
	}
}

// next returns the next agent, nil when there is none left.
func (g *gradient) next() *agent {
	if slot, ok := g.step(); ok {
		return g.s.m.bySlot[slot]
	}
	return nil
}

// step returns the slot of the next agent; false when there is none left.
func (g *gradient) step() (slot int, ok bool) {
	s := g.s
	for {
		slot, ok = g.cursor.Step()
		if !ok && g.cursor.Passed() {
			s.refused = true
			s.met |= 1 << byRefusal
		}
		switch {
		case !ok && g.bare:
			g.bare, g.spared = false, true
			g.walk(s.m.index.Outermost(rings.Kind(s.d.column), s.d.need))
		case ok && g.spared && g.cursor.Free()[s.m.kinds.bare()] > 0:
		default:
			return slot, ok
		}
	}
}
