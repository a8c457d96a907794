package lead

import (
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// sendReady sends what the matcher decided.
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
	c.sendOffers(r.Offers)
}

// How many bytes of offers one message has at most, as offerWeight counts them, and with
// those of a gang, which are to come together. It is well below wire.MaxMessage,
// since texts grow when they are encoded.
const (
	offersWeight = 512 << 10
	gangWeight   = wire.MaxMessage / 2
)

// sendOffers sends the offers of a turn, those of a framework in as few messages as it
// takes.
func (c *Core) sendOffers(list []*offers.Offer) {
	type bundle struct {
		peer   Peer // nil: the framework is not there
		offers []wire.Offer
		weight int
	}
	send := func(b *bundle) {
		b.peer.Send(&wire.OffersMessage{Offers: b.offers}, "")
		b.offers, b.weight = nil, 0
	}
	byFramework := map[offers.FrameworkID]*bundle{}
	var order []*bundle
	for _, o := range list {
		b := byFramework[o.Framework]
		if b == nil {
			b = new(bundle)
			if s := c.frameworks[o.Framework]; s != nil {
				b.peer = s.peer
				order = append(order, b)
			}
			byFramework[o.Framework] = b
		}
		if b.peer == nil {
			continue
		}
		one := c.wireOffer(o)
		weight, last, most := offerWeight(&one), len(b.offers)-1, offersWeight
		if last >= 0 && b.offers[last].DemandID == o.Demand && c.match.OfGang(o) {
			most = gangWeight
		}
		if last >= 0 && b.weight+weight > most {
			send(b)
		}
		b.offers, b.weight = append(b.offers, one), b.weight+weight
	}
	for _, b := range order {
		send(b)
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

// offerWeight is about how many bytes an offer takes in a message.
func offerWeight(o *wire.Offer) int {
	weight := 512 + len(o.DemandID) + len(o.Agent.Name) + len(o.Agent.Host) + len(o.Agent.Address) + 16*len(o.Resources.Ports)
	for name, value := range o.Agent.Attributes {
		weight += len(name) + len(value) + 6
	}
	for class, d := range o.Resources.Devices {
		weight += len(class) + 64
		for _, id := range d.IDs {
			weight += len(id) + 20 // and what is free of it
		}
	}
	return weight
}
