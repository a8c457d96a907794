package master

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// shownOffer is an outstanding offer: what its framework sees, and whose it is.
type shownOffer struct {
	wire.Offer
	Framework offers.FrameworkID `json:"framework_id"`
	AgentID   offers.AgentID     `json:"agent_id"`
}

func (p *picture) showOffer(o *offers.Offer) any {
	out := shownOffer{
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
	l, err := newLister(r)
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
	return l.page("offers"), nil
}

// shownRings is the rings of one kind, cpus in cores.
type shownRings struct {
	Name  string      `json:"name"`
	Lower json.Number `json:"lower"`
	Rings []shownRing `json:"rings"`
}

type shownRing struct {
	Index  int              `json:"index"`
	From   json.Number      `json:"from"`
	To     *json.Number     `json:"to"` // null for the outermost
	Agents []shownRingAgent `json:"agents"`
}

type shownRingAgent struct {
	ID   offers.AgentID `json:"id"`
	Name string         `json:"name"`
	Free json.Number    `json:"free"`
}

// listRings has all of a kind on one page; ?resource= asks for one kind.
func (a *api) listRings(r *http.Request, p *picture) (any, error) {
	out := []shownRings{}
	for _, set := range p.Match.Rings {
		if given(r.URL.Query().Get("resource"), set.Name) {
			continue
		}
		amount := func(n int64) json.Number { return showKind(set.Name, n) }
		kind := shownRings{Name: set.Name, Lower: amount(set.Lower), Rings: []shownRing{}}
		for _, ring := range set.Rings {
			one := shownRing{Index: ring.Index, From: amount(ring.From), Agents: []shownRingAgent{}}
			if ring.To >= 0 {
				to := amount(ring.To)
				one.To = &to
			}
			for _, ag := range ring.Agents {
				one.Agents = append(one.Agents, shownRingAgent{ag.ID, p.agentName(ag.ID), amount(ag.Free)})
			}
			kind.Rings = append(kind.Rings, one)
		}
		out = append(out, kind)
	}
	return map[string]any{"resources": out}, nil
}
