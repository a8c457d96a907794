package master

import (
	"slices"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// history returns what happened to a task, the eldest first: what its record
// tells, however long ago, and what else is kept of it. It goes by the order
// of what came and not by its times, which are of several hosts' clocks.
func history(t *state.Task, started time.Time, kept []*events.Entry) []shown.Moment {
	kept = ofThisLife(kept)
	has := func(what events.Type, s offers.State) bool {
		return slices.ContainsFunc(kept, func(e *events.Entry) bool { return e.Type == what && (s == "" || e.State == string(s)) })
	}
	out := []shown.Moment{{Time: t.Created, Type: events.TaskLaunched, State: string(offers.Staging)}}
	if !started.IsZero() && !has(events.TaskUpdated, offers.Running) {
		out = append(out, shown.Moment{Time: started, Type: events.TaskUpdated, State: string(offers.Running)})
	}
	if t.Kill != nil && !has(events.TaskKillOrdered, "") {
		out = append(out, shown.Moment{Time: t.Kill.Time, Type: events.TaskKillOrdered, Reason: t.Kill.Reason})
	}
	for _, e := range kept {
		if e.Type == events.TaskUpdated || e.Type == events.TaskKillOrdered {
			out = append(out, shown.Moment{
				Time: e.Time, Type: e.Type, State: e.State, Reason: e.Reason, Message: e.Message,
				ExitCode: e.ExitCode, Signal: e.Signal, Healthy: e.Healthy,
			})
		}
	}
	if end := t.End; end != nil {
		out = append(out, shown.Moment{
			Time: end.Time, Type: events.TaskEnded, State: string(end.State), Reason: end.Reason, Message: end.Message,
			ExitCode: end.ExitCode, Signal: end.Signal,
		})
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
