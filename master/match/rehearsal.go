package match

import "slices"

// rehearsal is units of a demand that are taken on trial, one after the other as
// they are found. Kept, they are as if hold had taken them; given back, as if
// nobody had.
type rehearsal struct {
	m     *Matcher
	d     *demand
	grown int // the agents that had grown before
	taken []taken
}

// taken is a unit that was found, and what it takes.
type taken struct {
	found
	take []int64 // by fair kind
}

func (m *Matcher) rehearse(d *demand) *rehearsal {
	return &rehearsal{m: m, d: d, grown: len(m.grown)}
}

// take takes what was found last.
func (r *rehearsal) take(f found) {
	r.taken = append(r.taken, taken{f, slices.Clone(r.m.search.take)})
	r.m.take(r.d, &f)
}

// undo gives everything back, the last unit first.
func (r *rehearsal) undo() {
	m, d := r.m, r.d
	for _, t := range slices.Backward(r.taken) {
		t.agent.room.Give(t.holding)
		if t.agent.counted {
			for k := range t.take {
				t.take[k] = -t.take[k]
			}
			m.fair.tryOut(d.owner.node, t.take, false)
		}
		m.moved(t.agent)
		d.spread.add(t.agent, -1)
	}
	for _, a := range m.grown[r.grown:] {
		a.grew = false
	}
	m.grown = m.grown[:r.grown]
}
