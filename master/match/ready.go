package match

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Ready is what the shell has to do after a turn.
type Ready struct {
	Offers   []*offers.Offer // issued; to be read only, and only before the next call
	Rescinds []Rescind
	Ends     []OfferEnd // of offers, before any of Offers was issued; only while that is followed
	Waits    []Waiting  // what waits now, if it did not before or for something else; only while that is followed
	Hopeless []Hopeless // each demand once
	// More says that there is more to decide: the turn was cut to keep the
	// loop responsive.
	More     bool
	Puzzle   *Puzzle // to be solved, beside the loop, and then handed to Solved; nil: none
	Searches uint64  // for an agent, in this turn
}

// Rescind takes offers of one framework back.
type Rescind struct {
	Framework offers.FrameworkID
	Offers    []offers.OfferID
	Reason    string
}

// maxDecisions bounds the searches of one turn, and turnLooks the agents that are
// looked at one by one: a strategy that reads all of them takes a few tenths of a
// microsecond for each.
const (
	maxDecisions = 5000
	turnLooks    = 100_000
)

// drafts are the offers that a turn puts together: units of one demand that
// land on one agent become one offer.
type drafts struct {
	byPlace map[draftKey]*offers.Offer
	inOrder []*offers.Offer
}

type draftKey struct {
	demand *demand
	agent  *agent
}

// Ready ends what has expired, serves who waits in fair-share order, and
// returns what came of it since the last call.
func (m *Matcher) Ready(now time.Time) Ready {
	m.now, m.backlogs = now, nil
	for _, d := range m.fresh {
		d.arrived = now
	}
	m.fresh = nil
	m.mustered = 0
	m.expire(now)
	m.reunite()
	m.endRefusals(now)
	more := m.wakeParked()
	m.hear()
	m.prematch.begin()
	m.beginBatch()
	m.drafts = drafts{byPlace: map[draftKey]*offers.Offer{}}
	m.round++
	r, before, looked := Ready{}, m.counters.Decisions, m.looks()
	m.settleSolved()
	m.serveClaims()
	for n := 0; ; n++ {
		f := m.fair.next()
		if f == nil && m.nextLap() {
			continue
		}
		if f == nil && m.closeBatch() {
			m.round++
			m.inspire() // also those that were looked at while its units counted as placed
			continue
		}
		if f == nil {
			m.parked.sweep.hoping = false
			break
		}
		serve, cut := m.beckon(f)
		if cut {
			r.More = true
			m.closeBatch()
			break
		}
		if !serve {
			continue
		}
		if r.More = n+m.mustered >= maxDecisions+m.batch.size() || m.looks()-looked >= turnLooks && f.active[0].d.list.stale(&m.prematch); r.More {
			m.closeBatch()
			break
		}
		d, looks := f.active[0].d, m.looks()
		if m.serve(d); d.parked() {
			m.noteVain(f, m.looks()-looks)
		}
	}
	r.More = r.More || more
	for _, o := range m.drafts.inOrder {
		r.Offers = append(r.Offers, m.book.Issue(o))
		m.counters.Issued++
	}
	m.drafts = drafts{}
	m.prematch.end()
	m.inform()
	r.Rescinds, m.rescinds = m.rescinds, nil
	r.Hopeless, m.hopeless = m.hopeless, nil
	r.Puzzle, m.sends = m.sends, nil
	r.Ends, r.Waits = m.overheard()
	r.Searches = m.counters.Decisions - before
	return r
}

// looks returns at how many agents was looked ever, by all pre-matchers together
// as if by one after the other.
func (m *Matcher) looks() int {
	sum := m.search.looks
	for i := range m.prematch.searches {
		sum += m.prematch.searches[i].looks
	}
	return sum
}

// Next returns when something is due that no input announces: an offer
// expires, a refusal ends, there is something to claim, or the window of a batch is over.
func (m *Matcher) Next() (time.Time, bool) {
	at, ok := m.book.NextExpiry()
	if m.refusals.Len() > 0 && (!ok || m.refusals.First().until.Before(at)) {
		at, ok = m.refusals.First().until, true
	}
	if claim, waits := m.nextClaim(); waits && (!ok || claim.Before(at)) {
		at, ok = claim, true
	}
	if b := &m.batch; len(b.gathered) > 0 && (!ok || b.closes.Before(at)) {
		return b.closes, true
	}
	return at, ok
}

// serve finds room for one unit of d, or parks it.
func (m *Matcher) serve(d *demand) {
	m.compile(d)
	if m.batched(d) {
		m.enter(d)
		return
	}
	if d.form.failed == m.round {
		m.park(d, d.form.why)
		return
	}
	if d.gang() {
		m.muster(d)
		return
	}
	f := m.seek(d)
	switch {
	case f.agent != nil:
		m.hold(m.letPass(d, &f), &f)
	case f.quota:
		m.parkForQuota(d)
	default:
		stopped := m.stopped(d, f)
		if !f.refused {
			d.form.failed, d.form.why = m.round, stopped
		}
		m.park(d, stopped)
		if f.ceiling != nil {
			m.parked.capped[d] = f.ceiling
		}
	}
}

// seek searches for one unit of d as a decision that counts.
func (m *Matcher) seek(d *demand) found {
	m.counters.Decisions++
	d.placer.searches++
	return m.find(d)
}

// hold takes what was found for d and drafts or extends the offer.
func (m *Matcher) hold(d *demand, f *found) {
	m.take(d, f)
	m.promise(d, f)
}

// take takes the room of what was found last.
func (m *Matcher) take(d *demand, f *found) {
	if err := f.agent.room.Take(f.holding); err != nil {
		panic("match: found room that is not there: " + err.Error())
	}
	if f.agent.counted {
		m.fair.allocate(d.owner.node, m.search.take, true)
	}
	m.moved(f.agent)
	d.spread.add(f.agent, 1)
}

// promise drafts or extends the offer of what was taken.
func (m *Matcher) promise(d *demand, f *found) {
	o := m.draft(d, f)
	d.knownStop = nil
	if !d.counted() {
		return
	}
	o.Unit = d.spec.Resources
	o.Units++
	d.out++
	if !d.wants() {
		m.rest(d)
	}
}

// draft returns the offer that holds what was found, a new one or one that it
// extends. The only unit of a demand, as most are, shares its offer with none and
// need not be found again, nor need one of all that is left of an agent.
func (m *Matcher) draft(d *demand, f *found) *offers.Offer {
	key, only := draftKey{d, f.agent}, !d.counted() || d.left == 1
	if !only {
		if o := m.drafts.byPlace[key]; o != nil {
			o.Held = join(o.Held, f.holding)
			return o
		}
	}
	life := m.config.OfferTimeout
	if d.gang() {
		life = min(life, d.spec.Gang.Std())
	}
	o := &offers.Offer{Framework: d.owner.id, Demand: d.spec.ID, Agent: f.agent.id, Ring: f.ring, Held: f.holding, Stated: d.arrived, Issued: m.now, Expires: m.now.Add(life)}
	if !only {
		m.drafts.byPlace[key] = o
	}
	m.drafts.inOrder = append(m.drafts.inOrder, o)
	return o
}

// join adds two holdings on one agent.
func join(a, b offers.Holding) offers.Holding {
	a.Amounts = a.Amounts.Plus(b.Amounts)
	a.Ports = a.Ports.Plus(b.Ports)
	a.Devices = a.Devices.Plus(b.Devices)
	return a
}

// release gives back what an offer held that has left the book.
func (m *Matcher) release(o *offers.Offer) { m.freed(m.giveBack(o)) }

// giveBack does so and returns the agent, which the rings still have as it was.
func (m *Matcher) giveBack(o *offers.Offer) *agent {
	a := m.agents[o.Agent]
	a.room.Give(o.Held)
	m.charge(o.Framework, a, &o.Held, -1, false)
	if d := m.demandOf(o); d != nil {
		d.out -= o.Units
		d.spread.add(a, -o.Units)
		if d.gang() {
			m.loose = append(m.loose, d)
		}
		m.activate(d)
	}
	return a
}

// end takes an offer out of the book if it is still there, and releases it.
func (m *Matcher) end(o *offers.Offer) {
	if _, there := m.book.Get(o.ID); there {
		m.book.End(o)
	}
	m.release(o)
}

// expire ends the offers whose time has come.
func (m *Matcher) expire(now time.Time) {
	for _, o := range m.book.Expired(now) {
		m.counters.Expired++
		m.end(o)
		m.ended(o, OfferExpired, "")
		m.tell(o, "expired")
	}
}

// demandOf returns the demand that an offer was made for, if it still stands.
func (m *Matcher) demandOf(o *offers.Offer) *demand {
	f := m.frameworks[o.Framework]
	if f == nil {
		return nil
	}
	return f.demands[o.Demand]
}

// rescind takes offers back and says so to their frameworks.
func (m *Matcher) rescind(list []*offers.Offer, reason string) {
	for _, o := range list {
		m.counters.Rescinded++
		m.end(o)
		m.ended(o, OfferRescinded, reason)
		m.tell(o, reason)
	}
}

func (m *Matcher) rescindDemand(d *demand, reason string) {
	if d.counted() && d.out == 0 {
		return // its framework may have thousands of others to go through
	}
	var list []*offers.Offer
	for _, o := range m.book.OfFramework(d.owner.id) {
		if o.Demand == d.spec.ID {
			list = append(list, o)
		}
	}
	m.rescind(list, reason)
}

// shrink takes the youngest offers of a demand back until what is offered is
// no more than what is left of it.
func (m *Matcher) shrink(d *demand) {
	if d.out <= d.left {
		return
	}
	list := m.book.OfFramework(d.owner.id)
	for i := len(list) - 1; i >= 0 && d.out > d.left; i-- {
		if list[i].Demand == d.spec.ID {
			m.rescind(list[i:i+1], "demand_met")
		}
	}
}

// tell collects a rescind for the next Ready.
func (m *Matcher) tell(o *offers.Offer, reason string) {
	if n := len(m.rescinds); n > 0 && m.rescinds[n-1].Framework == o.Framework && m.rescinds[n-1].Reason == reason {
		m.rescinds[n-1].Offers = append(m.rescinds[n-1].Offers, o.ID)
		return
	}
	m.rescinds = append(m.rescinds, Rescind{o.Framework, []offers.OfferID{o.ID}, reason})
}
