package match

import (
	"cmp"
	"slices"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// matching settles a batch: units propose to agents, agents keep the best.
//
//	units, best first   propose in their order of S     agents keep by Q what fits
//	u1 ──────────────▶ x y z                            x: u1 u3
//	u2 ─────▶ y x z        what is pushed out           y: u2
//	u3 ──▶ x y z           proposes again, lower down   z:
//
// An agent goes through what it holds and the new unit in the order of Q and
// keeps each that still fits. A unit never proposes twice to an agent, so with m
// units and n agents there are at most m n proposals. Proposals that would be
// refused are not made but counted as refused.
//
// With units of one size the result is stable (no unit and agent would both
// rather have each other) and the best stable one for the units, in whatever
// order they propose: that it is one after the other and not in rounds changes
// nothing (McVitie and Wilson, CACM 1971). With several sizes an agent that
// pushes out a large unit may have room again for small ones that it refused, so
// who is left over tries once more outside of the batch.
//
// Source: ALGORITHMS section 5, after Gale and Shapley, 1962.
type matching struct {
	hosts     []host
	proposals int // that were made
}

// bid is one unit in a batch.
type bid struct {
	*wish
	order  int     // in which it came, which decides between equals
	at     int     // the host that holds it, -1: none
	after  float64 // S of the host that it proposed to last
	behind int     // that host; those before it in the order of S have refused
	held   offers.Holding
	takes  []int64 // by fair kind, what it counts for while it is not settled
}

// host is one agent in a batch.
type host struct {
	agent  *agent       // not to be looked at while the batch is solved
	info   *state.Agent // as it was then
	number int          // among the hosts
	room   *offers.Room // with what it holds
	free   offers.Amounts
	held   []*bid // best first
	cost   float64

	// S is base + α cores + β memory - Σ load (amount of loads).
	base, cores, memory float64
	load                [len(loads)]float64
}

// wanted returns S.
func (h *host) wanted(w *wish) float64 {
	s := h.base + w.alpha*h.cores + w.beta*h.memory
	for i, k := range loads {
		s -= h.load[i] * float64(w.amounts[k])
	}
	return s
}

// better compares two units in the eyes of an agent of that cost: negative where
// a comes first.
func better(a, b *bid, cost float64) int {
	return cmp.Or(a.compare(b.wish, cost), cmp.Compare(a.order, b.order))
}

// compare compares two wishes by Q.
func (w *wish) compare(other *wish, cost float64) int {
	switch {
	case w.late == other.late:
		return cmp.Compare(other.worth-other.seconds*cost, w.worth-w.seconds*cost)
	case other.late:
		return -1
	}
	return 1
}

// settle finds agents for units that come best first.
func (m *matching) settle(bids []*bid) {
	for _, b := range bids {
		b.at, b.behind = -1, -1
	}
	for _, b := range bids {
		if b.wish.vain {
			continue
		}
		for out := []*bid{b}; len(out) > 0; {
			last := len(out) - 1
			next := out[last]
			out = append(out[:last], m.propose(next)...)
		}
		b.wish.vain = b.at < 0 && b.behind < 0
	}
}

// propose has a unit propose to the best agent that takes it, and returns the
// units that are pushed out there.
func (m *matching) propose(b *bid) (out []*bid) {
	best, at, place := 0.0, -1, 0
	for i := range m.hosts {
		h := &m.hosts[i]
		s := h.wanted(b.wish)
		if at >= 0 && s <= best || b.behind >= 0 && (s > b.after || s == b.after && i <= b.behind) || b.barred != nil && b.barred[i] {
			continue
		}
		if p, takes := h.takes(b); takes {
			best, at, place = s, i, p
		}
	}
	if at < 0 {
		b.at = -1
		return nil
	}
	m.proposals++
	b.at, b.after, b.behind = at, best, at
	out = m.hosts[at].take(b, place)
	for _, o := range out {
		o.at = -1
	}
	return out
}

// takes says whether an agent would keep a unit, and in which place among those
// that it holds.
func (h *host) takes(b *bid) (place int, ok bool) {
	if b.bounds.full(h.number) {
		return 0, false
	}
	place = len(h.held)
	if !h.fits(b) {
		freed := h.free
		for place > 0 && better(b, h.held[place-1], h.cost) < 0 {
			place--
			freed = freed.Plus(h.held[place].amounts)
		}
		if place == len(h.held) || !inside(b.amounts, freed) {
			return 0, false
		}
		return place, !b.exact || h.fitsBehind(b, place)
	}
	for place > 0 && better(b, h.held[place-1], h.cost) < 0 {
		place--
	}
	return place, true
}

// fits says whether there is room for a unit beside all that are held.
func (h *host) fits(b *bid) bool {
	return inside(b.amounts, h.free) && (!b.exact || h.room.Short(b.d.spec.Resources) == "")
}

// fitsBehind says whether there would be without those from a place on.
func (h *host) fitsBehind(b *bid, place int) bool {
	for _, o := range h.held[place:] {
		h.room.Give(o.held)
	}
	short := h.room.Short(b.d.spec.Resources)
	for _, o := range h.held[place:] {
		h.room.Claim(o.held)
	}
	return short == ""
}

// take gives a unit its place and returns those that no longer fit.
func (h *host) take(b *bid, place int) (out []*bid) {
	behind := slices.Clone(h.held[place:])
	h.held = h.held[:place]
	for _, o := range behind {
		h.room.Give(o.held)
		h.free = h.free.Plus(o.amounts)
		o.bounds.add(h.number, -1)
	}
	for _, o := range append([]*bid{b}, behind...) {
		if !h.fits(o) || !h.keep(o) {
			out = append(out, o)
		}
	}
	return out
}

// keep holds room for a unit.
func (h *host) keep(b *bid) bool {
	held, short := h.room.Plan(b.d.spec.Resources, func(class string) offers.Policy {
		return cmp.Or(b.d.spec.DevicePolicy, h.info.Policy(class))
	})
	if short != "" || h.room.Take(held) != nil {
		return false
	}
	b.held, h.free = held, h.free.Minus(b.amounts)
	h.held = append(h.held, b)
	b.bounds.add(h.number, 1)
	return true
}

// inside reports whether amounts are there of every kind that is asked.
func inside(asked, free offers.Amounts) bool {
	for k, n := range asked {
		if n > 0 && n > free[k] {
			return false
		}
	}
	return true
}
