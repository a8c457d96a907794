package master

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// question is what an explanation is asked of: a demand that stands, one that
// could be stated, or with neither all that wait.
type question struct {
	framework offers.FrameworkID // whose; "" for a wish of a framework that is not there
	role      offers.Role        // its role then
	demand    offers.DemandID
	wish      *offers.Demand
	looked    int             // agents to name one by one
	page      match.WaitingOf // of all that wait
}

// answered is a question's answer, of one moment.
type answered struct {
	state       *state.State
	explanation *match.Explanation // nil: no such demand stands, or all were asked for
	waiting     []match.Waiting
}

// explain answers in the loop, between two turns.
func (l *loop) explain(ctx context.Context, q question) (answered, error) {
	return aside(ctx, l, func(core *lead.Core) answered { return q.ask(core, l.replica.State()) })
}

func (q *question) ask(core *lead.Core, s *state.State) answered {
	out := answered{state: s}
	switch {
	case q.wish != nil:
		e := core.Explain(q.framework, q.role, *q.wish, q.looked)
		out.explanation = &e
	case q.demand == "":
		out.waiting = core.Waiting(q.page)
	default:
		if e, known := core.ExplainStated(q.framework, q.demand, q.looked); known {
			out.explanation = &e
		}
	}
	return out
}

// explain serves GET /v1/explain: why a demand goes where it goes, or waits.
func (a *api) explain(w http.ResponseWriter, r *http.Request) error {
	s, err := a.memory(r.Context())
	if err != nil {
		return a.elsewhere(w, r, err)
	}
	l, err := newLister(r, "demands")
	if err != nil {
		return err
	}
	q, err := readQuestion(r.URL.Query(), &picture{State: s})
	if err != nil {
		return err
	}
	q.page = match.WaitingOf{Framework: q.framework, Role: q.role, Most: l.limit + 1} // one tells that there is a next page
	framework, demand, _ := strings.Cut(l.after, " ")
	q.page.AfterFramework, q.page.AfterDemand = offers.FrameworkID(framework), offers.DemandID(demand)
	got, err := a.loop.explain(r.Context(), q)
	if err != nil {
		return a.elsewhere(w, r, err)
	}
	p := &picture{State: got.state}
	switch {
	case got.explanation != nil:
		return write(w, p.showExplanation(&q, got.explanation))
	case q.demand != "":
		return &statusError{http.StatusNotFound, offers.Errorf(offers.BadDemand, "framework %s has no demand %.100q", q.framework, q.demand)}
	}
	return write(w, p.showWaiting(l, got.waiting))
}

func readQuestion(in url.Values, p *picture) (q question, err error) {
	q.demand, q.role, q.looked = offers.DemandID(in.Get("demand")), offers.Role(in.Get("role")), shown.DefaultLooked
	if text := in.Get("framework"); text != "" {
		f, err := p.findFramework(text)
		if err != nil {
			return q, err
		}
		if q.framework = f.ID; f.Removed {
			return q, offers.Errorf(offers.UnknownFramework, "the framework %s is removed: it has no demands", f.ID)
		}
	}
	if text := in.Get("looked"); text != "" {
		if q.looked, err = strconv.Atoi(text); err != nil || q.looked < 0 || q.looked > shown.MaxLooked {
			return q, offers.Errorf(offers.BadMessage, "looked is %.60q; 0 to %d", text, shown.MaxLooked)
		}
	}
	text := in.Get("wish")
	switch {
	case text != "" && q.demand != "":
		return q, offers.Errorf(offers.BadMessage, "demand and wish can't stand together: the one names a demand that stands, the other is one")
	case q.demand != "" && q.framework == "":
		return q, offers.Errorf(offers.BadMessage, "framework is missing: demand %.100q of which one?", q.demand)
	case text == "":
		return q, nil
	case q.framework != "" && q.role != "":
		return q, offers.Errorf(offers.BadMessage, "framework and role can't stand together: a framework has its role")
	case q.framework == "" && q.role == "":
		q.role = lead.DefaultRole
	}
	q.wish = new(offers.Demand)
	if err := json.Unmarshal([]byte(text), q.wish); err != nil {
		return q, offers.Errorf(offers.BadDemand, "wish: %s", err)
	}
	if q.wish.Count != nil && *q.wish.Count == 0 {
		return q, offers.Errorf(offers.BadDemand, "wish: count is 0; there is nothing to explain of a demand that is withdrawn")
	}
	return q, nil
}

func (p *picture) showWaiting(l *lister, list []match.Waiting) any {
	for i := range list {
		d := &list[i]
		if !l.add(string(d.Framework)+" "+string(d.Demand.ID), func() any {
			out := shown.Waiting{
				Framework: d.Framework, Demand: d.Demand.ID, Role: d.Role, Resources: d.Demand.Resources,
				Constraints: d.Demand.Constraints, Stopped: d.Stopped,
			}
			if d.Demand.Count != nil {
				out.Count = &d.Left
			}
			return out
		}) {
			break
		}
	}
	return l.page()
}

func (p *picture) showExplanation(q *question, e *match.Explanation) any {
	out := shown.Explanation{
		Framework: q.framework, Demand: q.demand, Role: e.Role, Placement: e.Placement, Prefers: e.Prefers, Kind: e.Kind,
		Gang: e.Gang, Suppressed: e.Suppressed, Units: e.Units, Places: []shown.Place{}, Missing: e.Missing, Untried: e.Untried,
		Found: p.showTrail(e.Kind, e.Found), Missed: p.showTrail(e.Kind, e.Missed),
	}
	if q.wish != nil {
		out.Demand = q.wish.ID
	}
	for _, place := range e.Places {
		out.Places = append(out.Places, shown.Place{Agent: p.thing(place.Agent), Units: place.Units, Ring: place.Ring})
	}
	return out
}

func (p *picture) thing(id offers.AgentID) shown.AgentRef {
	out := shown.AgentRef{ID: id}
	if a := p.State.Agent(id); a != nil {
		out.Name, out.Host = a.Name, a.Host
	}
	return out
}

func (p *picture) showTrail(kind string, t *match.Trail) *shown.Trail {
	if t == nil {
		return nil
	}
	out := &shown.Trail{
		Agents: t.Agents, LookedAt: t.LookedAt, Suited: t.Suited, Looked: p.showLooks(kind, t.Looked),
		Reasons: lead.ShowReasons(t), Next: p.showLooks(kind, t.Next), Stopped: t.Stopped, Never: t.Never,
	}
	if t.Winner != nil {
		out.Winner = &p.showLooks(kind, []match.Look{*t.Winner})[0]
	}
	return out
}

func (p *picture) showLooks(kind string, list []match.Look) []shown.Look {
	out := []shown.Look{}
	for _, l := range list {
		one := shown.Look{Agent: p.thing(l.Agent), Ring: l.Ring, Free: showKind(kind, l.Free), Sum: l.Sum, Score: l.Score}
		if l.Against != nil {
			one.Against = &events.Against{Code: l.Against.Code, What: l.Against.What}
		}
		out = append(out, one)
	}
	return out
}
