package match

import (
	"fmt"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// muster places all that is left of a gang, or parks it: either every unit is
// offered at the end of this turn, or none is.
//
//	parked ◀── one finds no room: all are given back ──┐
//	   │ as many units might have come as were missing │
//	   └──────────▶ its turn ─▶ its units, one by one ─┴─▶ all offered ─▶ all accepted
//	                   ▲                                        │
//	                   └─── all taken back: one was declined, ──┘
//	                        rescinded or used in part, or its time is over
//
// So a gang holds nothing while it waits, and what is outstanding of it is
// always all that is left of it. Its turn it has when fair share gives its
// framework one; the units of a turn are searched for as single ones are, by the same
// strategy, within the same quotas, limits and refusals. What was accepted before the
// rest was taken back runs on, and the gang is what is left.
//
// The units are alike, so that whichever agents are taken first, as many find
// room in the end. Limits that cross each other (by rack and by zone, say) are the
// exception: there a gang may be passed over that would fit otherwise.
func (m *Matcher) muster(d *demand) {
	if stopped, missing := m.outright(d); len(stopped) > 0 {
		m.parkGang(d, stopped, missing)
		return
	}
	r := m.rehearse(d)
	for len(r.taken) < d.left {
		m.mustered++
		f := m.seek(d)
		if f.agent == nil {
			stopped := m.stopped(d, f) // while the others have theirs
			r.undo()
			m.parkGang(d, stopped, int64(d.left-len(r.taken)))
			return
		}
		r.take(f)
	}
	for _, t := range r.taken {
		m.promise(d, &t.found)
	}
}

// outright finds out without a look at any agent that the units can't all be
// placed, since they come to more cpus, memory and so on than is free or may be
// given in all: what stops the gang, and how many units too many it has at the
// least.
func (m *Matcher) outright(d *demand) (stopped []string, missing int64) {
	left, head := int64(d.left), m.search.head
	m.fair.headroom(d.owner.node, m.free.n, head)
	quota := false
	for k, n := range d.spec.Resources.Amounts {
		switch {
		case n == 0 || head[k]/n >= left:
		case m.free.n[k]/n >= left:
			quota = true
		default:
			stopped, missing = append(stopped, m.kinds.fairName(k)), max(missing, left-m.free.n[k]/n)
		}
	}
	if quota && len(stopped) == 0 {
		stopped = []string{stopQuota}
	}
	return stopped, missing
}

// OfGang reports whether an offer is one of a gang's, which are made in one turn, one
// behind the other, and are to be told together.
func (m *Matcher) OfGang(o *offers.Offer) bool {
	d := m.demandOf(o)
	return d != nil && d.gang()
}

// parkGang parks a gang until as many units as are missing might have found room.
func (m *Matcher) parkGang(d *demand, stopped []string, missing int64) {
	if slices.Equal(stopped, []string{stopQuota}) {
		m.parkForQuota(d)
		return
	}
	m.park(d, stopped)
	d.shape.missing = missing
}

// due reports whether a shape is worth a look when an agent that has room for one
// of it grew. A gang is when so many units more might fit as were missing: fewer
// than that agents with more room can't have brought about.
func (s *shape) due(a *agent) bool {
	if s.missing > 0 {
		s.missing -= atMost(a.columns, s.need)
	}
	return s.missing <= 0
}

// atMost bounds the units that fit into what is free of the scalars and of whole
// devices; the columns of slices are of the largest device alone.
func atMost(free, need []int64) int64 {
	most := int64(offers.MaxGang)
	for k, n := range need {
		if slice := k >= scalars && (k-scalars)%2 == 1; n > 0 && !slice {
			most = min(most, free[k]/n)
		}
	}
	return most
}

// reunite takes back what is outstanding of gangs that lost a part of it.
func (m *Matcher) reunite() {
	for _, d := range m.loose {
		if d.owner.demands[d.spec.ID] == d && d.out > 0 && d.out < d.left {
			m.rescindDemand(d, "gang_broken")
		}
	}
	m.loose = nil
}

// tooVast says why no agents that are known could ever hold all that is left of a
// gang together, "" where they could. It costs O(agents + units) once an epoch.
func (m *Matcher) tooVast(d *demand) string {
	if !d.gang() {
		return ""
	}
	if d.vastOf != m.epoch {
		d.vast, d.vastOf = "", m.epoch
		if n := m.holdable(d); n < d.left {
			d.vast = fmt.Sprintf("all agents that are known hold %d of the %d units of the gang, with nothing else on them", n, d.left)
		}
	}
	return d.vast
}

// holdable returns how many of the units that are left of d the known agents
// could hold with nothing else on them. Each limit is held to for itself: no
// more could be held under all of them.
func (m *Matcher) holdable(d *demand) int {
	spreads := spreadsOf(&d.spec)
	held := make([]int, len(spreads))
	for _, a := range m.agents {
		m.search.looks++
		if !meets(d, a) || !covers(m.kinds.all(a), d.need) {
			continue
		}
		room := offers.NewRoom(a.info.Total)
		for more := true; more; {
			h, short := room.Plan(d.spec.Resources, a.policies(d.spec.DevicePolicy))
			if more = false; short != "" || room.Take(h) != nil {
				break
			}
			for i, s := range spreads {
				if held[i] < d.left && s.full(a) < 0 {
					s.add(a, 1)
					held[i]++
					more = true
				}
			}
		}
		if slices.Min(held) == d.left {
			break
		}
	}
	return slices.Min(held)
}

// spreadsOf returns an empty spread for each limit, or the one that has none.
func spreadsOf(spec *offers.Demand) []*spread {
	var out []*spread
	for _, c := range spec.Constraints {
		if c.Limit() > 0 {
			out = append(out, newSpread(&offers.Demand{Constraints: []offers.Constraint{c}}))
		}
	}
	if out == nil {
		return []*spread{nil}
	}
	return out
}
