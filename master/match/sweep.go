package match

import "github.com/ringmaster-project/ringmaster/offers"

// sweep goes through the shapes that wait and wakes those that an agent suits now
// which has more room than before. Demands in lines it gives hope, for the same agents.
//
//	agents that grew   a1 a7 a9                      those that grow meanwhile
//	shapes             s1 s2 s3 s4 │ s5 s6 s7 s8     are for the next sweep
//	                   next ───────┘ ◀── this way
//
// What a turn spends on it is bounded: with many shapes and many agents a sweep goes on
// in the next turns. A shape that so many agents might suit that to hold it against
// each would cost more than to search for it is woken without, and fair share sees to it
// that these searches keep nobody else waiting, see lap.
//
// Invariants: shapes[i].place is i; agents are of use where next is not 0 or somebody hopes.
type sweep struct {
	shapes []*shape
	next   int // shapes before it are still to be held against agents
	agents []*agent

	// Of those that hope, see there.
	hoping bool
	looks  int     // at demands and agents, left for this turn
	most   int     // agents that a demand is held against
	free   []int64 // at least the most that one of agents has of each column
}

// maxSwept bounds how often a shape is held against an agent in one turn: each
// costs some tens of nanoseconds, and more with constraints. Where there are
// so many shapes that each could be held against less than leastSwept agents a turn, it
// is held against so many.
const (
	maxSwept   = 200_000
	leastSwept = 16
)

func (w *sweep) enter(s *shape) {
	s.place = len(w.shapes)
	w.shapes = append(w.shapes, s)
}

// leave takes a shape out. The last takes its place, which may be held against the
// agents twice.
func (w *sweep) leave(s *shape) {
	end := len(w.shapes) - 1
	last := w.shapes[end]
	w.shapes[s.place], last.place = last, s.place
	w.shapes[end] = nil
	w.shapes = w.shapes[:end]
	w.next = min(w.next, end)
}

// wakeParked activates the demands for which something changed since the last
// turn. It reports whether there is more of that than a turn may do.
func (m *Matcher) wakeParked() (more bool) {
	w := &m.parked.sweep
	if w.next == 0 && !w.hoping && (len(m.grown) > 0 || m.parked.quotaMoved) {
		m.beginSweep()
	}
	most := mostSwept(len(w.shapes))
	for left := maxSwept; left > 0 && w.next > 0; {
		w.next--
		s := w.shapes[w.next]
		wakes, held := s.suited(w.agents, most)
		if left -= held; wakes {
			m.wakeShape(s)
		}
	}
	w.looks = maxSwept
	return w.next > 0 || len(m.grown) > 0 || m.parked.quotaMoved
}

// beginSweep takes over the agents that grew.
func (m *Matcher) beginSweep() {
	w := &m.parked.sweep
	clear(w.agents)
	w.agents, m.grown, w.next = m.grown, w.agents[:0], len(w.shapes)
	for _, a := range w.agents {
		a.grew = false
	}
	w.hoping, w.most = true, mostSwept(m.parked.inLines)
	w.glance(m.kinds.columns())
	m.inspire()
	m.parked.quotaMoved = false
	for d := range m.parked.quota {
		m.activate(d)
	}
	for d, ceiling := range m.parked.capped {
		if m.fair.headroom(d.owner.node, m.free.n, m.search.head); more(m.search.head, ceiling) {
			m.activate(d)
		}
	}
}

// mostSwept returns against how many agents each of those that wait is held.
func mostSwept(waiting int) int { return max(maxSwept/max(waiting, 1), leastSwept) }

// suited reports whether a shape is to be woken for one of agents that grew, and
// against how many of them it was held. A gang is held against all: to search for one
// costs as much as for all of its units.
func (s *shape) suited(agents []*agent, most int) (wakes bool, held int) {
	if s.missing == 0 {
		return suited(agents, s.need, s.meets, most)
	}
	for i, a := range agents {
		if a.slot >= 0 && covers(a.columns, s.need) && meetsAll(s.meets, a) && s.due(a) {
			return true, i + 1
		}
	}
	return false, max(len(agents), 1)
}

// suited reports whether a demand is to be woken for one of agents that grew, or because
// they are more than most, and against how many of them it was held.
func suited(agents []*agent, need []int64, meets []offers.Constraint, most int) (wakes bool, held int) {
	for i, a := range agents {
		if i >= most {
			return true, i
		}
		if a.slot >= 0 && covers(a.columns, need) && meetsAll(meets, a) {
			return true, i + 1
		}
	}
	return false, max(len(agents), 1)
}
