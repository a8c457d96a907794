package lead

import (
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
)

// tellUpdate tells those who listen to events how a living task is, if that is
// news. Its end is an event of its own once it is committed.
func (c *Core) tellUpdate(ref offers.TaskRef, s *offers.Status) {
	t := c.state().Task(ref)
	if s.State.Terminal() || t != nil && t.End != nil {
		return
	}
	if last, known := c.delivery.last.of(ref); known && last.State == s.State && same(last.Healthy, s.Healthy) {
		return
	}
	e := events.Event{
		Type: events.TaskUpdated, Time: s.Time, Framework: ref.Framework, Task: ref.Task, Agent: s.Agent,
		State: string(s.State), Reason: s.Reason, Message: events.Clip(s.Message), Healthy: s.Healthy,
	}
	if t != nil {
		e.Role = t.Role
	}
	c.told = append(c.told, e)
}

func same(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

// Follow says whether what becomes of offers, and what waits, is to be told from
// now on.
func (c *Core) Follow(on bool) {
	c.follows = on
	c.match.Follow(on)
}

// outcomes are the events of how offers end.
var outcomes = map[match.Outcome]events.Type{
	match.OfferAccepted: events.OfferAccepted, match.OfferDeclined: events.OfferDeclined,
	match.OfferRescinded: events.OfferRescinded, match.OfferExpired: events.OfferExpired,
}

// tellOffers tells those who listen what became of offers, and which are new.
func (c *Core) tellOffers(r *match.Ready) {
	if !c.follows {
		return
	}
	for _, end := range r.Ends {
		e := c.ofOffer(outcomes[end.Outcome], end.Offer)
		e.Reason = end.Reason
		c.told = append(c.told, e)
	}
	for _, o := range r.Offers {
		e := c.ofOffer(events.OfferMade, o)
		ring := o.Ring
		e.Deadline, e.Ring = o.Expires.UTC(), &ring
		c.told = append(c.told, e)
	}
}

// maxReasoned bounds the demands of a turn for which all agents are gone
// through; the others tell by what kinds they are stopped.
const maxReasoned = 8

// tellWaits tells those who listen what waits, and why.
func (c *Core) tellWaits(r *match.Ready) {
	for n, w := range r.Waits {
		e := events.Event{
			Type: events.DemandWaiting, Time: c.wall(), Framework: w.Framework, Demand: w.Demand.ID, Role: w.Role,
			Stopped: w.Stopped,
		}
		if w.Demand.Count != nil {
			e.Count = &w.Left
		}
		if n < maxReasoned {
			if why, _ := c.match.ExplainStated(w.Framework, w.Demand.ID, 0); why.Missed != nil {
				e.Reasons, e.Message = ShowReasons(why.Missed), why.Missed.Never
			}
		}
		c.told = append(c.told, e)
	}
}

func (c *Core) ofOffer(what events.Type, o *offers.Offer) events.Event {
	room := events.Room(o.Held.Amounts)
	e := events.Event{
		Type: what, Time: c.wall(), Offer: o.ID, Demand: o.Demand, Framework: o.Framework, Agent: o.Agent,
		Resources: &room, Devices: o.Held.Devices.Map(),
	}
	if f := c.state().Framework(o.Framework); f != nil {
		e.Role = f.Role
	}
	return e
}
