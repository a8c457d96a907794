package master

import (
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// shownMoment is one moment of a task's life, as GET /v1/tasks/ID gives it.
type shownMoment struct {
	Time     time.Time   `json:"time"`
	Type     events.Type `json:"type"`
	State    string      `json:"state,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Message  string      `json:"message,omitempty"`
	ExitCode *int        `json:"exit_code,omitempty"`
	Signal   string      `json:"signal,omitempty"`
	Healthy  *bool       `json:"healthy,omitempty"`
}

// history returns what happened to a task, the eldest first: what its record
// tells, however long ago, and what else is kept of it. It goes by the order
// of what came and not by its times, which are of several hosts' clocks.
func history(t *state.Task, started time.Time, kept []*events.Entry) []shownMoment {
	kept = ofThisLife(kept)
	has := func(what events.Type, s offers.State) bool {
		return slices.ContainsFunc(kept, func(e *events.Entry) bool { return e.Type == what && (s == "" || e.State == string(s)) })
	}
	out := []shownMoment{{Time: t.Created, Type: events.TaskLaunched, State: string(offers.Staging)}}
	if !started.IsZero() && !has(events.TaskUpdated, offers.Running) {
		out = append(out, shownMoment{Time: started, Type: events.TaskUpdated, State: string(offers.Running)})
	}
	if t.Kill != nil && !has(events.TaskKillOrdered, "") {
		out = append(out, shownMoment{Time: t.Kill.Time, Type: events.TaskKillOrdered, Reason: t.Kill.Reason})
	}
	for _, e := range kept {
		if e.Type == events.TaskUpdated || e.Type == events.TaskKillOrdered {
			out = append(out, shownMoment{e.Time, e.Type, e.State, e.Reason, e.Message, e.ExitCode, e.Signal, e.Healthy})
		}
	}
	if end := t.End; end != nil {
		out = append(out, shownMoment{end.Time, events.TaskEnded, string(end.State), end.Reason, end.Message, end.ExitCode, end.Signal, nil})
	}
	return out
}

// ofThisLife returns what came after the last launch of a task's id, all where
// that is not kept any more.
func ofThisLife(kept []*events.Entry) []*events.Entry {
	for i := len(kept) - 1; i >= 0; i-- {
		if kept[i].Type == events.TaskLaunched {
			return kept[i+1:]
		}
	}
	return kept
}
