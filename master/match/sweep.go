package match

// sweep goes through the shapes that wait and wakes those that an agent suits now
// which has more room than before.
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
// Invariants: shapes[i].place is i; agents is empty where next is 0.
type sweep struct {
	shapes []*shape
	next   int // shapes before it are still to be held against agents
	agents []*agent
	spare  []*agent // room for the next ones that grow
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
	left := maxSwept
	for left > 0 && (w.next > 0 || len(m.grown) > 0) {
		if w.next == 0 {
			m.beginSweep()
		}
		most := max(maxSwept/max(len(w.shapes), 1), leastSwept)
		for left > 0 && w.next > 0 {
			w.next--
			s := w.shapes[w.next]
			wakes, held := s.suited(w.agents, most)
			if left -= held; wakes {
				m.wakeShape(s)
			}
		}
		if w.next == 0 {
			clear(w.agents)
			w.spare, w.agents = w.agents[:0], nil
		}
	}
	if m.parked.quotaMoved {
		m.parked.quotaMoved = false
		for d := range m.parked.quota {
			m.activate(d)
		}
	}
	return w.next > 0 || len(m.grown) > 0
}

// beginSweep takes over the agents that grew.
func (m *Matcher) beginSweep() {
	w := &m.parked.sweep
	w.agents, m.grown, w.next = m.grown, w.spare, len(w.shapes)
	w.spare = nil
	for _, a := range w.agents {
		a.grew = false
	}
}

// suited reports whether a shape is to be woken for one of agents that grew, and
// against how many of them it was held. A gang is held against all: to search for one
// costs as much as for all of its units.
func (s *shape) suited(agents []*agent, most int) (wakes bool, held int) {
	for i, a := range agents {
		if i >= most && s.missing == 0 {
			return true, i
		}
		if a.slot >= 0 && covers(a.columns, s.need) && meetsAll(s.meets, a) && s.due(a) {
			return true, i + 1
		}
	}
	return false, max(len(agents), 1)
}
