package faults

import (
	"cmp"
	"errors"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// What the judge sees of frameworks and their authors.

func (j *judge) accepted(f *framework, id offers.TaskID) {
	if t := f.notes.tasks[id]; t != nil {
		t.accepted = true
	}
}

// seen checks the order of what an author is shown of a task. Answers to
// reconcile have no update id and are no part of that order, but for an end.
func (j *judge) seen(f *framework, s offers.Status) {
	t := f.notes.tasks[s.Task]
	if t == nil {
		j.w.broken("%s sees %s, which it never launched", f.name, s.Task)
		return
	}
	f.told[s.Task] = s.State
	ref := offers.TaskRef{Framework: f.id, Task: s.Task}
	key := letter{ref, s.UpdateID}
	again := j.shown[key]
	// The end of the task that had this id before says that nothing came of the
	// launch since.
	before := s.State.Terminal() && !t.durable && t.rounds > 1 && (again || s.UpdateID == "")
	// Another instance that has been registered since may know better, but not
	// of what this one launched and was told that nothing came of.
	past := f.link != f.notes.newest && f.notes.newest != nil
	switch {
	case again && !before: // at least once: it may come to another instance, or from another leader
		return
	case past && (t.end != "" || t.by != f && (before || s.State == offers.Dropped) || !s.State.MayFollow(t.last)):
		return
	case before:
	case s.State.Terminal() && t.end != "" && t.end != s.State:
		j.w.broken("%s sees a second end of %s: %s after %s", f.name, s.Task, s.State, t.end)
	case !s.State.Terminal() && t.endID != "" && s.UpdateID != "":
		j.w.broken("%s sees %s %s after its end %s", f.name, s.Task, s.State, t.end)
	case s.UpdateID != "" && t.last != "" && s.State != t.last && !s.State.MayFollow(t.last):
		j.w.broken("%s sees %s %s after %s", f.name, s.Task, s.State, t.last)
	}
	if s.UpdateID != "" {
		t.last, j.shown[key] = s.State, true
	}
	if s.State.Terminal() {
		// What an agent says of a task that it does not know is an end like others.
		if s.State == offers.Dropped && t.accepted && s.Reason == offers.ReasonUnknownTask && s.UpdateID == "" && s.Agent == "" {
			j.w.broken("%s is told that the accepted task %s is unknown", f.name, s.Task)
		}
		if h := j.tasks[ref]; s.State == offers.Dropped && t.durable && h != nil && h.ran {
			j.w.broken("%s is told that %s was dropped, and it ran", f.name, s.Task)
		}
		t.end, t.endID = s.State, cmp.Or(t.endID, s.UpdateID)
	}
}

// handled notes that the author has read an update.
func (j *judge) handled(f *framework, s offers.Status) {
	j.handles[letter{offers.TaskRef{Framework: f.id, Task: s.Task}, s.UpdateID}] = true
	if t := f.notes.tasks[s.Task]; t != nil && t.end == s.State && s.UpdateID != "" {
		t.handled = true
	}
}

// gone checks why an instance ended.
func (j *judge) gone(f *framework, cause error) {
	if !errors.Is(cause, &offers.Error{Code: offers.FrameworkRemoved}) {
		j.w.broken("%s ends for a reason that is none: %v", f.name, cause)
	}
}

// disconnected checks that the deadline of a framework that is away is moved
// by no change of leader.
func (j *judge) disconnected(f *state.Framework) {
	if f.Deadline.IsZero() {
		return // it has registered anew before
	}
	was, away := j.deadlines[f.ID]
	if away && f.Deadline.After(was) {
		j.w.broken("the deadline of framework %s moves from %s to %s", f.ID, was.Sub(epoch), f.Deadline.Sub(epoch))
	}
	j.deadlines[f.ID] = f.Deadline
}

// removed checks that a framework was not given up before its time: by the
// deadline as it is stored, and by the true time, as far as the masters' clocks
// are true.
func (j *judge) removed(f *state.Framework, at time.Time) {
	notes := j.names[f.ID]
	if !f.Removed || notes != nil && notes.torn {
		return
	}
	deadline, away := j.deadlines[f.ID]
	if !away || at.Before(deadline) {
		j.w.broken("framework %s is removed before its deadline %s", f.ID, deadline.Sub(epoch))
	}
	if gone := j.w.now - j.away[f.ID]; notes != nil && gone+j.w.ahead-j.w.early < f.FailoverTimeout {
		j.w.broken("framework %s is removed after %s, its failover timeout is %s", f.ID, gone, f.FailoverTimeout)
	}
}
