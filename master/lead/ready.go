package lead

import (
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// sendReady sends what the matcher decided, one message a framework.
func (c *Core) sendReady(r match.Ready) {
	if len(r.Offers)+len(r.Rescinds) > 0 {
		c.dirty = true
	}
	for _, rescind := range r.Rescinds {
		if s := c.frameworks[rescind.Framework]; s != nil {
			s.peer.Send(&wire.Rescind{OfferIDs: rescind.Offers, Reason: rescind.Reason}, "")
		}
	}
	for _, h := range r.Hopeless {
		if s := c.frameworks[h.Framework]; s != nil {
			s.peer.Send(&wire.Waiting{DemandID: h.Demand, Stopped: h.Stopped, Message: h.Why}, "")
		}
	}
	byFramework := map[offers.FrameworkID]*wire.OffersMessage{}
	var order []offers.FrameworkID
	for _, o := range r.Offers {
		m := byFramework[o.Framework]
		if m == nil {
			m = &wire.OffersMessage{}
			byFramework[o.Framework] = m
			order = append(order, o.Framework)
		}
		m.Offers = append(m.Offers, c.wireOffer(o))
	}
	for _, id := range order {
		if s := c.frameworks[id]; s != nil {
			s.peer.Send(byFramework[id], "")
		}
	}
}

// wireOffer returns an offer as its framework sees it.
func (c *Core) wireOffer(o *offers.Offer) wire.Offer {
	ring := o.Ring
	out := wire.Offer{ID: o.ID, Resources: wire.MakeOffered(o), DemandID: o.Demand, Ring: &ring, Expires: o.Expires.UTC()}
	if a := c.state().Agent(o.Agent); a != nil {
		out.Agent = wire.OfferAgent{ID: a.ID, Name: a.Name, Host: a.Host, Address: a.Address, Attributes: a.Attributes}
		if out.Agent.Attributes == nil {
			out.Agent.Attributes = map[string]string{}
		}
	}
	return out
}
