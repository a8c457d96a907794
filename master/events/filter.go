package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Filter is what a reader wants. The zero Filter wants everything but what
// the matching does.
type Filter struct {
	Framework offers.FrameworkID
	Agent     offers.AgentID
	Role      offers.Role
	Task      offers.TaskID // of Framework
	Types     []Type        // none: all but those of the matching
}

// ParseTypes reads types separated by commas; a kind (task, agent, framework,
// role, leader, demand, offer) stands for all of its types.
func ParseTypes(text string) ([]Type, error) {
	var out []Type
	for word := range strings.SplitSeq(text, ",") {
		n := len(out)
		for _, t := range Types {
			if word == string(t) || word == t.kind() {
				out = append(out, t)
			}
		}
		if len(out) == n {
			return nil, offers.Errorf(offers.BadMessage, "type %.60q is none of an event's: %s, or one of %s", word, kinds(), list())
		}
	}
	return out, nil
}

func kinds() string {
	var out []string
	for _, t := range Types {
		out = append(out, t.kind())
	}
	return strings.Join(slices.Compact(out), ", ")
}

func list() string { return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(Types)), ", "), "[]") }

// Wants reports whether a reader is to have the event. That the state was
// restored concerns everybody.
func (f *Filter) Wants(e *Event) bool {
	if e.Type == Restored {
		return true
	}
	return (f.Framework == "" || f.Framework == e.Framework) &&
		(f.Agent == "" || f.Agent == e.Agent) &&
		(f.Role == "" || f.Role == e.Role) &&
		(f.Task == "" || f.Task == e.Task) &&
		(len(f.Types) == 0 && !e.Type.OfMatching() || slices.Contains(f.Types, e.Type))
}

// WantsMatching reports whether a reader asks for what the matching does.
func (f *Filter) WantsMatching() bool { return slices.ContainsFunc(f.Types, Type.OfMatching) }
