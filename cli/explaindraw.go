package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
)

func drawExplanation(p *page, e api.Explanation) {
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
	none := ""
	if e.Suppressed {
		none = "none: the framework said suppress; it gets offers again when it says revive"
	}
	rings := ""
	if e.Kind != "" {
		rings = ", in the rings of " + e.Kind
	}
	p.fields("demand", string(e.Demand), "framework", string(e.Framework), "role", string(e.Role), "placement", string(e.Placement)+": "+e.Prefers+rings, "units", units, "offers", none)
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
		drawSearch(p, e.Kind, e.Found)
	}
	if e.Missed != nil {
		p.printf("\nWhy the next unit finds none: stopped by %s\n", strings.Join(e.Missed.Stopped, ", "))
		drawSearch(p, e.Kind, e.Missed)
	}
}

// drawSearch writes one search in the rings of a kind.
func drawSearch(p *page, kind string, t *api.Trail) {
	if t.Never != "" {
		p.printf("It waits for an agent that is not there: %s\n", t.Never)
	}
	p.printf("%d of %s looked at, %d suited\n", t.LookedAt, plural(t.Agents, "agent"), t.Suited)
	var rows []row
	add := func(what string, l *api.Look, why string) {
		score := ""
		if l.Score != nil {
			score = strconv.FormatFloat(*l.Score, 'g', 5, 64)
		}
		rows = append(rows, row{what, l.Agent.Name, fmt.Sprint(l.Ring), kindAmount(kind, l.Free), score, blank(why)})
	}
	if t.Winner != nil {
		add("wins", t.Winner, "")
	}
	for i := range t.Next {
		add("then", &t.Next[i], "")
	}
	for i, l := range t.Looked {
		if l.Against != nil {
			add(fmt.Sprintf("look %d", i+1), &t.Looked[i], objection(&events.Reason{Against: *l.Against}))
		}
	}
	if len(rows) > 0 {
		p.table(row{"", "AGENT", "RING", "FREE", "SCORE", "WHY NOT"}, rows)
	}
	for i := range t.Reasons {
		p.printf("%s: %s\n", plural(t.Reasons[i].Agents, "agent"), objection(&t.Reasons[i]))
	}
}

// shortage says in one line why a search found nobody.
func shortage(t *api.Trail) string {
	if t.Agents == 0 {
		return "no agent is known; see ringmaster agents"
	}
	var parts []string
	for i := range t.Reasons {
		parts = append(parts, fmt.Sprintf("%d of %s: %s", t.Reasons[i].Agents, plural(t.Agents, "agent"), objection(&t.Reasons[i])))
	}
	return strings.Join(parts, "; ")
}

// objection says what speaks against an agent, or several. A code of a newer master
// is shown as it is.
func objection(r *events.Reason) string {
	has, is, takes, suits, it := "has ", "is ", "takes", "suits", "it"
	if r.Agents > 1 {
		has, is, takes, suits, it = "have ", "are ", "take", "suit", "them"
	}
	switch r.Code {
	case "state":
		if r.What == "away" {
			return has + "no connection to the leader"
		}
		return is + r.What
	case "closed":
		return takes + " no more tasks for now: " + r.What
	case "too_small":
		return has + allAtMost(r, "in all")
	case "short":
		return has + allAtMost(r, "free")
	case "constraint":
		return "not " + r.What
	case "limit":
		return r.What + " is reached there"
	case "ports":
		return has + "not the ports free that are asked"
	case "devices":
		return has + "not the " + r.What + " free that are asked together"
	case "quota":
		return "a quota, or what is guaranteed to other roles, stands against it; see ringmaster roles"
	case "refused":
		return "its framework declined " + it + " lately"
	case "preference":
		return suits + ", and others meet more of what is preferred"
	case "not_reached":
		return has + "room, and one was found before"
	}
	return strings.TrimSpace(r.Code + " " + r.What)
}

func allAtMost(r *events.Reason, where string) string {
	parts := []string{atMost(events.Lack{What: r.What, Asked: r.Asked, Most: r.Most}, where)}
	for i := range r.Also {
		parts = append(parts, atMost(r.Also[i], where))
	}
	return strings.Join(parts, ", and ")
}

func atMost(r events.Lack, where string) string {
	if r.Asked == nil || r.Most == nil {
		return "no " + r.What // nobody has
	}
	verb := "are"
	if *r.Asked == "1" {
		verb = "is"
	}
	return fmt.Sprintf("at most %s %s %s, %s %s asked", kindAmount(r.What, *r.Most), r.What, where, kindAmount(r.What, *r.Asked), verb)
}
