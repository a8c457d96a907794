package match

import (
	"errors"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Draft is one task of an accept as it arrived: Err says what is wrong with
// it, if it could not be read or is not valid; Task.ID is then set if known.
type Draft struct {
	Task offers.Task
	Err  error
}

// Acceptance is what an accept came to.
type Acceptance struct {
	Offers   []offers.OfferID // that it used up
	Errors   []*offers.Error  // to be sent, each once
	Updates  []offers.Status  // dropped and rejected tasks
	Launches []state.Launch   // room is held for them; to be made durable

	ended []*offers.Offer
	from  []*demand   // of each of them, that they used units of; nil: none
	last  *state.Task // of Launches
}

// MadeFor returns the offer out of which the i-th launch came.
func (a *Acceptance) MadeFor(i int) *offers.Offer { return a.ended[madeFor(a.ended, i)] }

// Accept ends the offers that are named and have not expired by now, and holds
// room for the tasks that fit. What the tasks don't use goes back at once.
// inUse tells whether the framework may not use a task id now. If a launch
// can't be made durable the shell says so with LaunchFailed.
func (m *Matcher) Accept(id offers.FrameworkID, ids []offers.OfferID, drafts []Draft, refuse time.Duration, inUse func(offers.TaskID) bool, now time.Time) Acceptance {
	m.expire(now)
	if f := m.frameworks[id]; f != nil {
		f.answered = now
	}
	var out Acceptance
	ended, err := m.book.Consume(id, ids)
	how := OfferAccepted
	if err != nil {
		how = OfferDeclined // its framework has given it up
	}
	for _, o := range ended {
		// The agent moves once the tasks have taken their room: most take all that
		// was offered, and then it need not move at all.
		if a := m.giveBack(o); err != nil {
			m.freed(a)
		}
		m.ended(o, how, "")
	}
	if err != nil {
		out.drop(drafts, err, inUse, now)
		return out
	}
	m.counters.Accepted += uint64(len(ended))
	out.ended = ended
	a := m.agents[ended[0].Agent]
	var room *offers.Room // in which the tasks must fit; nil where a task takes all
	if !takesAll(ended, drafts) {
		room = insideOffers(a, ended)
	}
	out.Launches = make([]state.Launch, 0, len(drafts))
	var seen map[offers.TaskID]bool // of several
	if len(drafts) > 1 {
		seen = make(map[offers.TaskID]bool, len(drafts))
	}
	for i := range drafts {
		d := &drafts[i]
		switch id := d.Task.ID; {
		case d.Err != nil && id == "":
			out.Errors = append(out.Errors, offers.Errorf(offers.BadTask, "%s", d.Err))
		case seen[id] || inUse(id):
			out.Errors = append(out.Errors, offers.Errorf(offers.TaskIDInUse, "task id %s is in use", id))
		case d.Err != nil:
			out.Updates = append(out.Updates, report(id, offers.Rejected, offers.ReasonBadTask, d.Err.Error(), now))
		default:
			m.launch(&out, room, a, ended[madeFor(ended, len(out.Launches))], &d.Task, now)
		}
		if seen != nil {
			seen[d.Task.ID] = true
		}
	}
	rest := unused(room, &out)
	if rest.Zero() {
		m.moved(a)
	} else {
		m.freed(a)
	}
	for _, o := range ended {
		out.Offers = append(out.Offers, o.ID)
	}
	m.used(&out)
	if f := m.frameworks[id]; f != nil {
		m.refuse(f, a, &rest, now, refuse)
	}
	return out
}

// drop answers an accept of offers of which one is gone: none of its tasks is launched.
func (a *Acceptance) drop(drafts []Draft, err error, inUse func(offers.TaskID) bool, now time.Time) {
	for _, d := range drafts {
		switch id := d.Task.ID; {
		case id == "":
		case inUse(id): // perhaps by this very accept, sent once more: that task is not dropped
			a.Errors = append(a.Errors, offers.Errorf(offers.TaskIDInUse, "task id %s is in use", id))
		default:
			a.Updates = append(a.Updates, report(id, offers.Dropped, offers.ReasonOfferGone, err.Error(), now))
		}
	}
	a.Errors = append(a.Errors, asError(err))
}

// madeFor returns which offer the next task after so many uses a unit of: they are
// used in their order, and what passes all of them is of the last.
func madeFor(ended []*offers.Offer, launched int) int {
	for i, o := range ended {
		if launched < o.Units {
			return i
		}
		launched -= o.Units
	}
	return len(ended) - 1
}

// takesAll reports whether an accept is one task that asks for just what the
// only unit of its only offer was, as most are. Then it holds what the offer held,
// which was planned by the same rules.
func takesAll(ended []*offers.Offer, drafts []Draft) bool {
	return len(ended) == 1 && ended[0].Units == 1 && len(drafts) == 1 && drafts[0].Err == nil && drafts[0].Task.Resources.Equal(&ended[0].Unit)
}

// insideOffers returns the room in which the tasks of an accept must fit.
func insideOffers(a *agent, ended []*offers.Offer) *offers.Room {
	var all offers.Holding
	for _, o := range ended {
		all = join(all, o.Held)
	}
	return offers.Inside(a.room.Total(), all)
}

// unused returns what the tasks of an accept have left of the room that they were
// to fit in.
func unused(room *offers.Room, accepted *Acceptance) offers.Holding {
	switch {
	case room != nil:
		return room.Rest()
	case len(accepted.Launches) == 0: // its id was in use
		return accepted.ended[0].Held
	}
	return offers.Holding{}
}

// launch holds room for one task, or rejects it. room is what is left of the
// offers; nil where the task takes all of o.
func (m *Matcher) launch(out *Acceptance, room *offers.Room, a *agent, o *offers.Offer, t *offers.Task, now time.Time) {
	var policy offers.Policy
	if d := m.demandOf(o); d != nil {
		policy = d.spec.DevicePolicy
	}
	h := o.Held
	if room != nil {
		var short string
		if h, short = room.Plan(t.Resources, a.policies(policy)); short != "" {
			out.Updates = append(out.Updates, report(t.ID, offers.Rejected, offers.ReasonTooLarge, "the task asks for more "+short+" than its offer has left", now))
			return
		}
		if err := room.Take(h); err != nil {
			panic("match: planned room that is not there: " + err.Error())
		}
	}
	var role offers.Role
	if f := m.frameworks[o.Framework]; f != nil {
		role = f.role
	}
	out.Launches = append(out.Launches, state.Launch{Task: state.TaskRecord{Framework: o.Framework, Agent: a.id, Role: role, Demand: o.Demand, Policy: policy, Spec: *t, Holding: h, Created: now.UTC()}})
	out.last = state.NewTask(&out.Launches[len(out.Launches)-1].Task, out.last)
	m.placeTask(a, out.last, func(h offers.Holding) {
		if err := a.room.Take(h); err != nil {
			panic("match: an offer held room that is not there: " + err.Error())
		}
	})
}

// used lowers the counts of the demands by the tasks launched out of their
// offers, in the order of the offers; what passes the units of all of them
// counts for the last. A demand of which nothing is left is gone, unless one of
// its launches comes to nothing, see Decided.
func (m *Matcher) used(out *Acceptance) {
	launched := len(out.Launches)
	out.from = make([]*demand, len(out.ended))
	for i, o := range out.ended {
		d := m.demandOf(o)
		if d == nil || !d.counted() {
			continue
		}
		n := min(launched, o.Units)
		if i == len(out.ended)-1 {
			n = launched
		}
		launched -= n
		n = min(n, d.left)
		d.left, d.sent, out.from[i] = d.left-n, d.sent+n, d
		if d.left == 0 {
			m.rescindDemand(d, "demand_met")
			m.withdraw(d)
			d.owner.met[d.spec.ID] = d
			continue
		}
		m.shrink(d)
		if !d.wants() {
			m.rest(d)
		}
	}
}

// Decided says what the i-th launch of an accept came to: whether it is durable, or
// has come to nothing and so used nothing of its demand, which stands again where
// its framework has not said otherwise since.
func (m *Matcher) Decided(a *Acceptance, i int, durable bool) {
	d := a.from[madeFor(a.ended, i)]
	if d == nil || d.sent == 0 {
		return
	}
	d.sent--
	f, id := d.owner, d.spec.ID
	switch {
	case durable:
		if d.sent == 0 && f.met[id] == d {
			delete(f.met, id)
		}
		return
	case f.met[id] == d:
		delete(f.met, id)
		d.spread = m.spreadOut(f, &d.spec)
		f.demands[id] = d
		m.standing++
	case f.demands[id] != d:
		return
	}
	d.left++
	m.activate(d)
}

// Decline ends offers and hides what they held, for so long, from the
// framework that declined them. Unknown offers are passed over.
func (m *Matcher) Decline(id offers.FrameworkID, ids []offers.OfferID, refuse time.Duration, now time.Time) {
	f := m.frameworks[id]
	if f != nil {
		f.answered = now
	}
	for _, oid := range ids {
		o, ok := m.book.Get(oid)
		if !ok || o.Framework != id || f == nil {
			continue
		}
		m.counters.Declined++
		m.book.End(o)
		a := m.giveBack(o)
		m.freed(a)
		m.ended(o, OfferDeclined, "")
		m.refuse(f, a, &o.Held, now, refuse)
	}
}

func report(id offers.TaskID, s offers.State, reason, message string, now time.Time) offers.Status {
	return offers.Status{Task: id, State: s, Reason: reason, Message: message, Time: now.UTC()}
}

func asError(err error) *offers.Error {
	var known *offers.Error
	if errors.As(err, &known) {
		return known
	}
	return offers.Errorf(offers.Internal, "%s", err)
}
