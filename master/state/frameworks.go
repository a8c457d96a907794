package state

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// framework returns a framework that is not removed, or why there is none.
func (tx *tx) framework(id offers.FrameworkID) (*Framework, *offers.Error) {
	f, ok := tx.frameworks.Get([]byte(id))
	if n := number(frameworkLetter, string(id), tx.cluster); ok && f.Removed || !ok && n > 0 && n <= tx.counters.Frameworks {
		return nil, offers.Errorf(offers.FrameworkRemoved, "framework %s was removed; it can register as a new one, without an id", id)
	}
	if !ok {
		return nil, offers.Errorf(offers.UnknownFramework, "framework %.60q is not known in this cluster", id)
	}
	return f, nil
}

func (tx *tx) registerFramework(c *RegisterFramework) Result {
	if tx.cluster == "" {
		return refuse(offers.Unavailable, "the cluster has no id yet; try again once it has started")
	}
	f := &Framework{
		ID: c.ID, Name: c.Name, Role: c.Role, User: c.User, Capabilities: c.Capabilities, Labels: c.Labels,
		FailoverTimeout: c.FailoverTimeout, Registered: c.Time, Registrations: 1,
	}
	if c.ID == "" {
		tx.counters.Frameworks++
		f.ID = offers.FrameworkID(mint(frameworkLetter, tx.counters.Frameworks, tx.cluster))
	} else {
		old, err := tx.framework(c.ID)
		if err != nil {
			return Result{Err: err}
		}
		f.Role, f.Registered, f.Registrations = old.Role, old.Registered, old.Registrations+1
	}
	tx.frameworks.Insert([]byte(f.ID), f)
	return Result{Value: f}
}

func (tx *tx) disconnectFramework(c *DisconnectFramework) Result {
	old, err := tx.framework(c.ID)
	if err != nil {
		return Result{Err: err}
	}
	if c.Deadline.IsZero() {
		return refuse(offers.BadMessage, "framework %s: the deadline is missing", c.ID)
	}
	if c.Of > 0 && c.Of != old.Registrations {
		return Result{Value: old}
	}
	if !old.Deadline.IsZero() && !c.Deadline.Before(old.Deadline) {
		return Result{Value: old}
	}
	f := *old
	f.Deadline = c.Deadline
	tx.frameworks.Insert([]byte(f.ID), &f)
	return Result{Value: &f}
}

func (tx *tx) removeFramework(c *RemoveFramework) Result {
	old, ok := tx.frameworks.Get([]byte(c.ID))
	if ok && old.Removed {
		return Result{Value: old}
	}
	if _, err := tx.framework(c.ID); err != nil {
		return Result{Err: err}
	}
	if c.Overdue && (old.Deadline.IsZero() || old.Deadline.After(c.Time)) {
		return Result{Value: old}
	}
	f := *old
	f.Removed, f.Deadline = true, time.Time{}
	tx.stored -= tx.storeOf(c.ID).bytes
	tx.stores.Delete([]byte(c.ID))
	var ordered []*Task
	for _, t := range collect(tx.tasks, c.ID) {
		switch {
		case t.End == nil && t.Kill == nil:
			killed := t.amended(func(r *Rare) { r.Kill = &KillOrder{Reason: offers.ReasonFrameworkGone, Time: c.Time} })
			tx.replaceLiving(killed)
			ordered = append(ordered, killed)
		case t.End != nil && !t.Acknowledged:
			tx.retire(t)
		}
	}
	if n, _ := tx.busy.Get([]byte(c.ID)); n == 0 {
		f.Ended = tx.nextEnd()
		tx.removed.add(f.Ended, f.ID)
	}
	tx.frameworks.Insert([]byte(f.ID), &f)
	return Result{Value: &f, Killed: ordered}
}

// settle enters a removed framework, whose last task has just ended, into the
// history.
func (tx *tx) settle(id offers.FrameworkID) {
	old, ok := tx.frameworks.Get([]byte(id))
	if !ok || !old.Removed {
		return
	}
	f := *old
	f.Ended = tx.nextEnd()
	tx.frameworks.Insert([]byte(id), &f)
	tx.removed.add(f.Ended, id)
}
