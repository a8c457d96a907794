package match

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// claims are the demands that found no room, of frameworks that may have what others
// with a higher share were offered and leave unanswered.
//
// An offer is left to its framework for the grace of the configuration. From then on
// it is taken back when a demand waits that would fit with it, of a framework that
// fair share would serve first even if it had one unit more and the offer's that much
// less. What is taken back is offered to the other before it is anybody's turn: one
// who is left with nothing of a large offer may come first, and would have it again.
// So nothing goes back and forth, and who has no more than its share keeps its offers
// for their whole life. Who answers other offers, and gangs, which were promised a
// time, are left theirs for so many times as long as patience says: they may have much
// to go through.
//
// Each demand is tried once when it was parked and again after every ClaimAgain. Those
// that are withdrawn meanwhile stay in the lists until these are twice as long as there
// are demands. A framework that wants no offers claims nothing. Hopeless demands stand
// in the lists, since an agent may come back larger, and are passed over while they are.
//
// Invariants: a framework stands in frameworks exactly when it has claims, and in
// tried when it has tried ones; a demand is in one of its framework's lists at most,
// once, as demand.claims says.
type claims struct {
	frameworks []*framework // those of which demands are to be tried, in turn
	tried      []*framework // those of which demands were tried and found nothing
	after      time.Time    // nothing is tried before
	holders    []*framework // scratch of Claim: who leaves offers unanswered, the highest share first
	won        []*demand    // those for which offers were taken back since the last Ready
	looks      int          // that the present Claim has left
	rounds     uint64       // demands ever tried
}

// Bounds of what one Claim does: agents and offers that are looked at, in all and for a
// demand, and demands of a framework. The next one follows after the pause.
const (
	maxClaimLooks = 10_000
	claimLooks    = 128
	claimsEach    = 4
	passesEach    = 256 // of a framework: demands that wait no more, or are hopeless
	claimPause    = 20 * time.Millisecond
	patience      = 10
	spareClaims   = 16 // of a framework beside twice its demands
)

// claim notes a demand that was parked.
func (m *Matcher) claim(d *demand) {
	if m.config.OfferGrace == 0 || d.claims || d.owner.suppressed || d.gang() {
		return
	}
	if f := d.owner; len(f.claims)+len(f.tried) > 2*len(f.demands)+spareClaims {
		m.dropClaims(f, func(d *demand) bool {
			d.claims = f.demands[d.spec.ID] == d // one that was met may come back, see Decided
			return !d.claims
		})
	}
	d.claims = true
	m.enterClaim(d)
}

// dropClaims takes demands out of the lists of a framework.
func (m *Matcher) dropClaims(f *framework, gone func(*demand) bool) {
	c, out := &m.claims, func(other *framework) bool { return other == f }
	if len(f.claims) > 0 {
		if f.claims = slices.DeleteFunc(f.claims, gone); len(f.claims) == 0 {
			c.frameworks = slices.DeleteFunc(c.frameworks, out)
		}
	}
	if len(f.tried) > 0 {
		if f.tried = slices.DeleteFunc(f.tried, gone); len(f.tried) == 0 {
			c.tried = slices.DeleteFunc(c.tried, out)
		}
	}
}

func (m *Matcher) enterClaim(d *demand) {
	f := d.owner
	if f.claims = append(f.claims, d); len(f.claims) == 1 {
		m.claims.frameworks = append(m.claims.frameworks, f)
	}
}

// ClaimAgain has [Matcher.Claim] try again the demands for which it found nothing. It
// is to be called every second or so.
func (m *Matcher) ClaimAgain() {
	tried := m.claims.tried
	m.claims.tried = nil
	for _, f := range tried {
		again := f.tried
		f.tried = nil
		for _, d := range again {
			m.enterClaim(d)
		}
	}
}

// Claim takes back offers that were left unanswered for too long, for demands of
// frameworks with a lower share; the next Ready offers them what came up. It is to be called
// only while answers are heard soon after they came.
func (m *Matcher) Claim(now time.Time) {
	c := &m.claims
	if len(c.frameworks) == 0 || c.after.After(now) {
		return
	}
	if c.after = m.findHolders(now); len(c.holders) == 0 {
		return
	}
	c.looks, c.after = maxClaimLooks, now.Add(claimPause)
	for n := len(c.frameworks); n > 0 && c.looks > 0; n-- {
		f := c.frameworks[0]
		c.frameworks = c.frameworks[1:]
		m.claimFor(f, now)
		if len(f.claims) > 0 {
			c.frameworks = append(c.frameworks, f)
		}
	}
}

// nextClaim returns when there is something to claim; false where there is nothing.
func (m *Matcher) nextClaim() (time.Time, bool) {
	return m.claims.after, len(m.claims.frameworks) > 0
}

// findHolders finds who leaves offers unanswered, and returns when there may be others.
func (m *Matcher) findHolders(now time.Time) (next time.Time) {
	c, looks := &m.claims, maxClaimLooks
	c.holders, next = c.holders[:0], now.Add(m.config.OfferGrace)
	for _, f := range m.frameworks {
		for o := range m.book.EachOfFramework(f.id) { // the eldest first, which but for gangs are left for the shortest time
			until := m.leftUntil(f, o)
			if !until.After(now) {
				c.holders = append(c.holders, f)
				break
			}
			if until.Before(next) {
				next = until
			}
			if d := m.demandOf(o); d == nil || !d.gang() || looks <= 0 {
				break
			}
			looks--
		}
	}
	shares := make(map[*framework]float64, len(c.holders))
	for _, f := range c.holders {
		shares[f], _ = m.fair.share(f.node)
	}
	slices.SortFunc(c.holders, func(a, b *framework) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), strings.Compare(string(a.id), string(b.id)))
	})
	return next
}

// leftUntil returns until when an offer is left to its framework whoever waits.
func (m *Matcher) leftUntil(f *framework, o *offers.Offer) time.Time {
	until, late := o.Issued.Add(m.config.OfferGrace), o.Issued.Add(patience*m.config.OfferGrace)
	if answered := f.answered.Add(m.config.OfferGrace); answered.After(until) {
		until = answered
	}
	if d := m.demandOf(o); until.After(late) || d != nil && d.gang() {
		return late
	}
	return until
}

// claimFor tries some demands of a framework, until one has had offers taken back
// for it: with what these leave beside it others may be served.
func (m *Matcher) claimFor(f *framework, now time.Time) {
	c := &m.claims
	for tries, passes := claimsEach, passesEach; tries > 0 && passes > 0 && len(f.claims) > 0; {
		d := f.claims[0]
		f.claims = f.claims[1:]
		d.claims = false
		if f.demands[d.spec.ID] != d || !d.parked() {
			passes--
			continue // it waits no more
		}
		if m.forlorn(d) {
			passes--
		} else {
			tries--
			if list := m.claimable(d, now); list != nil {
				m.rescind(list, "fair_share")
				m.activate(d)
				c.after, c.won = now, append(c.won, d)
				return
			}
		}
		d.claims = true
		if f.tried = append(f.tried, d); len(f.tried) == 1 {
			c.tried = append(c.tried, f)
		}
	}
}

// forlorn reports whether d is hopeless at present. What that costs counts as looks.
func (m *Matcher) forlorn(d *demand) bool {
	f := d.form
	if f.never != "" && f.neverOf != m.epoch {
		m.compile(d)
		before := m.search.looks
		f.never, f.neverOf = m.never(d), m.epoch
		m.claims.looks -= m.search.looks - before
	}
	return f.never != ""
}

// serveClaims serves those for whom offers were taken back. Where that takes very long
// the others have their turn like all who wait; those of batches are matched with them.
func (m *Matcher) serveClaims() {
	looked := m.looks()
	for _, d := range m.claims.won {
		if d.at < 0 || !d.owner.online || d.owner.suppressed || m.looks()-looked >= turnLooks {
			continue
		}
		if m.compile(d); !m.batched(d) {
			m.serve(d)
		}
	}
	m.claims.won = nil
}

// claimable returns offers that d would fit with and may claim, nil where there are none
// or it fits without.
func (m *Matcher) claimable(d *demand, now time.Time) []*offers.Offer {
	m.compile(d)
	c, unit := &m.claims, m.speaksFor(d)
	m.fair.headroom(d.owner.node, m.free.n, m.search.head)
	if d.column < 0 || covers(m.search.head, unit) && len(d.spec.Constraints) == 0 && m.somebodyHas(d.need) {
		return nil
	}
	c.rounds++
	for left, h := claimLooks, 0; h < len(c.holders); h++ {
		holder := c.holders[h]
		if !m.mayClaim(d.owner, holder, unit) {
			continue
		}
		for o := range m.book.EachOfFramework(holder.id) {
			if left, c.looks = left-1, c.looks-1; left < 0 {
				return nil
			}
			if o.Issued.Add(m.config.OfferGrace).After(now) {
				break
			}
			a := m.agents[o.Agent]
			if a.claimed == c.rounds || m.leftUntil(holder, o).After(now) {
				continue
			}
			a.claimed = c.rounds
			if list := m.claimableOn(a, d, unit, now); list != nil {
				return list
			}
		}
	}
	return nil
}

// mayClaim reports whether fair share puts f with one unit more before or beside the
// holder with as much less.
func (m *Matcher) mayClaim(f, holder *framework, unit []int64) bool {
	if f == holder {
		return false
	}
	of, from := partingOf(f.node, holder.node)
	return m.fair.keyWith(of, unit, 1) <= m.fair.keyWith(from, unit, -1)
}

// claimableOn returns the offers on an agent without which a unit of d would fit
// there, all of which it may claim; nil where there are none.
func (m *Matcher) claimableOn(a *agent, d *demand, unit []int64, now time.Time) (list []*offers.Offer) {
	if a.slot < 0 || !meets(d, a) || d.spread.full(a) >= 0 || d.owner.hidden(a, unit) {
		return nil
	}
	fits := false
	for _, o := range m.book.OfAgent(a.id) {
		holder := m.frameworks[o.Framework]
		if m.leftUntil(holder, o).After(now) || !m.mayClaim(d.owner, holder, unit) {
			continue
		}
		a.room.Give(o.Held)
		list = append(list, o)
		if fits = a.room.Short(d.spec.Resources) == ""; fits {
			break
		}
	}
	all := list
	for i := len(all) - 2; i >= 0 && fits; i-- { // perhaps not all are needed
		if a.room.Claim(all[i].Held); a.room.Short(d.spec.Resources) == "" {
			list = slices.Delete(slices.Clone(list), i, i+1)
		} else {
			a.room.Give(all[i].Held)
		}
	}
	for _, o := range list {
		a.room.Claim(o.Held)
	}
	if !fits || !m.allowed(d, unit, a, list) {
		return nil
	}
	return list
}

// allowed reports whether quotas would let the framework of d have a unit without
// these offers.
func (m *Matcher) allowed(d *demand, unit []int64, a *agent, without []*offers.Offer) bool {
	free, held, moved := slices.Clone(m.free.n), make([]int64, len(m.free.n)), m.parked.quotaMoved
	for _, o := range without {
		m.charge(o.Framework, a, &o.Held, -1, false)
		m.kinds.amounts(&o.Held, held)
		for k, n := range held {
			free[k] = stoppedPlus(free[k], n)
		}
	}
	m.fair.headroom(d.owner.node, free, held)
	for _, o := range without {
		m.charge(o.Framework, a, &o.Held, 1, false)
	}
	m.parked.quotaMoved = moved // it did not
	for k, n := range unit {
		if n > 0 && n > held[k] {
			return false
		}
	}
	return true
}
