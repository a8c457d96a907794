package master

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func (p *picture) showOffer(o *offers.Offer) any {
	out := shown.Offer{
		Offer: wire.Offer{
			ID: o.ID, Agent: wire.OfferAgent{ID: o.Agent, Attributes: map[string]string{}}, Resources: wire.MakeOffered(o),
			DemandID: o.Demand, Expires: o.Expires.UTC(),
		},
		Framework: o.Framework, AgentID: o.Agent,
	}
	if o.Ring.Resource != "" {
		out.Ring = &o.Ring
	}
	if a := p.State.Agent(o.Agent); a != nil {
		out.Agent = wire.OfferAgent{ID: a.ID, Name: a.Name, Host: a.Host, Address: a.Address, Attributes: a.Attributes}
	}
	return out
}

func (a *api) listOffers(r *http.Request, p *picture) (any, error) {
	l, err := newLister(r, "offers")
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	for i := range p.Match.Offers {
		o := &p.Match.Offers[i]
		var framework string
		var role offers.Role
		if f := p.State.Framework(o.Framework); f != nil {
			framework, role = f.Name, f.Role
		}
		if given(q.Get("framework"), string(o.Framework), framework) || given(q.Get("role"), string(role)) ||
			given(q.Get("agent"), string(o.Agent), p.agentName(o.Agent)) {
			continue
		}
		// Ids count up without leading zeros: a longer one is younger.
		if !l.add(fmt.Sprintf("%03d%s", len(o.ID), o.ID), func() any { return p.showOffer(o) }) {
			break
		}
	}
	return l.page(), nil
}

// listRings has all of a kind on one page; ?resource= asks for one kind.
func (a *api) listRings(r *http.Request, p *picture) (any, error) {
	out, only := []shown.RingSet{}, r.URL.Query().Get("resource")
	stale, err := flag(r, "stale")
	if err == nil && !stale { // a copy holds no rings, whatever there are
		err = p.ringed(only)
	}
	if err != nil {
		return nil, err
	}
	for _, set := range p.Match.Rings {
		if given(only, set.Name) {
			continue
		}
		amount := func(n int64) json.Number { return showKind(set.Name, n) }
		kind := shown.RingSet{Name: set.Name, Lower: amount(set.Lower), Rings: []shown.Ring{}}
		for _, ring := range set.Rings {
			one := shown.Ring{Index: ring.Index, From: amount(ring.From), Agents: []shown.RingAgent{}}
			if ring.To >= 0 {
				to := amount(ring.To)
				one.To = &to
			}
			for _, ag := range ring.Agents {
				one.Agents = append(one.Agents, shown.RingAgent{ID: ag.ID, Name: p.agentName(ag.ID), Free: amount(ag.Free)})
			}
			kind.Rings = append(kind.Rings, one)
		}
		out = append(out, kind)
	}
	away := 0
	for ag := range p.State.Agents() {
		if ag.State == offers.AgentActive && !p.AgentOnline[ag.ID] {
			away++
		}
	}
	return shown.RingSets{Resources: out, Away: away}, nil
}

// ringed refuses a kind that there are no rings of.
func (p *picture) ringed(kind string) error {
	var names []string
	for _, set := range p.Match.Rings {
		names = append(names, set.Name)
	}
	switch {
	case !given(kind, names...):
		return nil
	case len(names) == 0:
		return &statusError{http.StatusNotFound, offers.Errorf(offers.BadMessage, "there are no rings of %.60q: no agent is here", kind)}
	}
	return &statusError{http.StatusNotFound, offers.Errorf(offers.BadMessage, "there are no rings of %.60q; there are %s", kind, strings.Join(names, ", "))}
}
