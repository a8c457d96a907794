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
	m      *Matcher
	d      *demand
	cursor rings.Cursor
	ring   int  // of the latest agent
	bare   bool // agents without free devices are visited, the rest is still to come
	spared bool // those without have been visited
}

func (s *search) gradient() gradient {
	g := gradient{m: s.m, d: s.d}
	kind := rings.Kind(s.d.column)
	if g.bare = s.d.bareNeed != nil; g.bare {
		g.cursor = s.m.index.Candidates(kind, s.d.bareNeed)
	} else {
		g.cursor = s.m.index.Candidates(kind, s.d.need)
	}
	return g
}

// next returns the next agent, nil when there is none left.
func (g *gradient) next() *agent {
	for {
		c, ok := g.cursor.Next()
		switch {
		case !ok && g.bare:
			g.bare, g.spared = false, true
			g.cursor = g.m.index.Outermost(rings.Kind(g.d.column), g.d.need)
		case !ok:
			return nil
		case g.spared && c.Free[g.m.kinds.bare()] > 0:
		default:
			g.ring = c.Ring
			return g.m.bySlot[c.Slot]
		}
	}
}
