package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// explanationView is an answer of GET /v1/explain about one demand.
type explanationView struct {
	Framework string      `json:"framework_id"`
	Demand    string      `json:"demand_id"`
	Role      string      `json:"role"`
	Placement string      `json:"placement"`
	Prefers   string      `json:"prefers"`
	Kind      string      `json:"kind"`
	Gang      bool        `json:"gang"`
	Units     int         `json:"units"`
	Places    []placeView `json:"places"`
	Missing   int         `json:"missing"`
	Untried   int         `json:"untried"`
	Found     *trailView  `json:"found"`
	Missed    *trailView  `json:"missed"`
}

// site is an agent as an explanation names it.
type site struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Host string `json:"host"`
}

type placeView struct {
	Agent site `json:"agent"`
	Units int  `json:"units"`
	Ring  struct {
		Resource string `json:"resource"`
		Index    int    `json:"index"`
	} `json:"ring"`
}

type trailView struct {
	Agents   int          `json:"agents"`
	LookedAt int          `json:"looked_at"`
	Suited   int          `json:"suited"`
	Looked   []lookView   `json:"looked"`
	Reasons  []reasonView `json:"reasons"`
	Winner   *lookView    `json:"winner"`
	Next     []lookView   `json:"next"`
	Stopped  []string     `json:"stopped"`
	Never    string       `json:"never"`
}

type lookView struct {
	Agent   site        `json:"agent"`
	Ring    int         `json:"ring"`
	Free    json.Number `json:"free"`
	Score   *float64    `json:"score"`
	Against *reasonView `json:"against"`
}

type reasonView struct {
	Code   string       `json:"code"`
	What   string       `json:"what"`
	Agents int          `json:"agents"`
	Asked  *json.Number `json:"asked"`
	Most   *json.Number `json:"most"`
}

func drawExplanation(p *page, e explanationView) {
	units := fmt.Sprint(e.Units)
	switch {
	case e.Units == 0:
		units = "none: all of them are launched or offered"
	case e.Missing > 0 && e.Gang:
		units += fmt.Sprintf(" of a gang, %d of them without a place: none is offered before all have one", e.Missing)
	case e.Missing > 0:
		units += fmt.Sprintf(", %d of them without a place", e.Missing)
	case e.Untried > 0:
		units += fmt.Sprintf(", the last %d not tried", e.Untried)
	}
	rings := ""
	if e.Kind != "" {
		rings = ", in the rings of " + e.Kind
	}
	p.fields("demand", e.Demand, "framework", e.Framework, "role", e.Role, "placement", e.Placement+": "+e.Prefers+rings, "units", units)
	if len(e.Places) > 0 {
		var rows []row
		for _, at := range e.Places {
			rows = append(rows, row{fmt.Sprint(at.Units), at.Agent.Name, at.Agent.Host, fmt.Sprintf("%s %d", at.Ring.Resource, at.Ring.Index)})
		}
		p.printf("\n")
		p.table(row{"UNITS", "AGENT", "HOST", "RING"}, rows)
	}
	if e.Found != nil {
		p.printf("\nHow the first unit finds its agent\n")
		e.draw(p, e.Found)
	}
	if e.Missed != nil {
		p.printf("\nWhy the next unit finds none: stopped by %s\n", strings.Join(e.Missed.Stopped, ", "))
		e.draw(p, e.Missed)
	}
}

func (e *explanationView) draw(p *page, t *trailView) {
	if t.Never != "" {
		p.printf("It waits for an agent that is not there: %s\n", t.Never)
	}
	p.printf("%d of %s looked at, %d suited\n", t.LookedAt, plural(t.Agents, "agent"), t.Suited)
	var rows []row
	add := func(what string, l *lookView, why string) {
		score := ""
		if l.Score != nil {
			score = strconv.FormatFloat(*l.Score, 'g', 5, 64)
		}
		rows = append(rows, row{what, l.Agent.Name, fmt.Sprint(l.Ring), kindAmount(e.Kind, l.Free), score, blank(why)})
	}
	if t.Winner != nil {
		add("wins", t.Winner, "")
	}
	for i := range t.Next {
		add("then", &t.Next[i], "")
	}
	for i, l := range t.Looked {
		if l.Against != nil {
			add(fmt.Sprintf("look %d", i+1), &t.Looked[i], l.Against.String())
		}
	}
	if len(rows) > 0 {
		p.table(row{"", "AGENT", "RING", "FREE", "SCORE", "WHY NOT"}, rows)
	}
	for i := range t.Reasons {
		p.printf("%s: %s\n", plural(t.Reasons[i].Agents, "agent"), &t.Reasons[i])
	}
}

// shortage says in one line why a search found nobody.
func (t *trailView) shortage() string {
	if t.Agents == 0 {
		return "no agent is known; see ringmaster agents"
	}
	var parts []string
	for i := range t.Reasons {
		parts = append(parts, fmt.Sprintf("%d of %s: %s", t.Reasons[i].Agents, plural(t.Agents, "agent"), &t.Reasons[i]))
	}
	return strings.Join(parts, "; ")
}

// String says what speaks against an agent. A code of a newer master is shown
// as it is.
func (r *reasonView) String() string {
	switch r.Code {
	case "state":
		if r.What == "away" {
			return "has no connection to the leader"
		}
		return "is " + r.What
	case "too_small":
		return "has " + r.atMost("in all")
	case "short":
		return "has " + r.atMost("free")
	case "constraint":
		return "not " + r.What
	case "limit":
		return r.What + " is reached there"
	case "ports":
		return "has not the ports free that are asked"
	case "devices":
		return "has not the " + r.What + " free that are asked together"
	case "quota":
		return "a quota, or what is guaranteed to other roles, stands against it; see ringmaster roles"
	case "refused":
		return "its framework declined it lately"
	case "preference":
		return "suits, and others meet more of what is preferred"
	case "not_reached":
		return "has room, and one was found before"
	}
	return strings.TrimSpace(r.Code + " " + r.What)
}

func (r *reasonView) atMost(where string) string {
	if r.Asked == nil || r.Most == nil {
		return fmt.Sprintf("not enough %s %s", r.What, where)
	}
	verb := "are"
	if *r.Asked == "1" {
		verb = "is"
	}
	return fmt.Sprintf("at most %s %s %s, %s %s asked", kindAmount(r.What, *r.Most), r.What, where, kindAmount(r.What, *r.Asked), verb)
}
