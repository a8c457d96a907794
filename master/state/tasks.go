package state

import (
	"fmt"
	"slices"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

func (tx *tx) launch(record *TaskRecord) Result {
	ref := record.Ref()
	if err := ref.Task.Validate(); err != nil {
		return refuse(offers.BadTask, "%s", err)
	}
	if _, err := tx.framework(ref.Framework); err != nil {
		return Result{Err: err}
	}
	old := tx.tasks.Get(pathOf(ref))
	if old != nil && !old.Acknowledged {
		return refuse(offers.TaskIDInUse, "task %s is in use: it lives, or its end is not acknowledged", ref.Task)
	}
	a := tx.agents.Get(agentPath(record.Agent))
	if a == nil || a.State != offers.AgentActive {
		return refuse(offers.OfferGone, "agent %.60q takes no tasks any more", record.Agent)
	}
	if old != nil {
		tx.history.remove(old.Ended)
	}
	r := *record
	r.Absences = a.Absences
	r.Kill, r.End, r.Acknowledged, r.Ended, r.Restored, r.Doubtful = nil, nil, false, 0, false, false
	t := tx.task(&r)
	tx.replaceLiving(t)
	tx.count(ref.Framework, 1)
	return Result{Value: t}
}

// task makes a task of a record, which it may change. It has the texts of its
// framework and agent, and shares what it has in common with the task that was
// entered before it, or else with the one whose id is nearest to its own: the
// tasks of a job come one after the other, or have ids that begin alike.
func (tx *tx) task(r *TaskRecord) *Task {
	if f, ok := tx.frameworks.Get([]byte(r.Framework)); ok {
		r.Framework = f.ID
		if r.Role == f.Role {
			r.Role = f.Role
		}
		if r.User == f.User {
			r.User = f.User
		}
	}
	if a := tx.agents.Get(agentPath(r.Agent)); a != nil {
		r.Agent = a.ID
	}
	terms := r.terms()
	like := tx.entered
	if like == nil || !terms.same(like.Terms) {
		like = tx.tasks.Near(pathOf(r.Ref()))
	}
	tx.entered = newTask(r, &terms, like)
	return tx.entered
}

// replaceLiving enters the new record of a living task.
func (tx *tx) replaceLiving(t *Task) {
	tx.tasks.Put(t)
	tx.living.Put(t)
}

// count moves the number of living tasks of a framework.
func (tx *tx) count(id offers.FrameworkID, by int) {
	n, _ := tx.busy.Get([]byte(id))
	if n += by; n > 0 {
		tx.busy.Insert([]byte(id), n)
		return
	}
	tx.busy.Delete([]byte(id))
	tx.settle(id)
}

func (tx *tx) endTask(c *EndTask) Result {
	if !c.Status.State.Terminal() {
		return refuse(offers.BadMessage, "task %.130s: state %.40q is not an end", c.Ref.Task, string(c.Status.State))
	}
	t := tx.tasks.Get(pathOf(c.Ref))
	if t == nil || t.End != nil {
		return Result{}
	}
	if c.Status.Agent != "" && c.Status.Agent != t.Agent {
		return refuse(offers.UnknownTask, "task %s is on agent %s, not on %.60q", t.ID, t.Agent, c.Status.Agent)
	}
	return Result{Ended: []*Task{tx.end(t, c.Status)}}
}

// end makes a living task an ended one.
func (tx *tx) end(old *Task, status offers.Status) *Task {
	ended := tx.nextEnd()
	status.Task, status.Agent = old.ID, old.Agent
	if status.UpdateID == "" {
		status.UpdateID = offers.UpdateID(fmt.Sprintf("m-%d", ended))
	}
	f, _ := tx.frameworks.Get([]byte(old.Framework))
	t := old.amended(func(r *Rare) { r.End, r.Ended, r.Acknowledged = &status, ended, f.Removed })
	tx.living.Delete(byAgent(old))
	if t.Acknowledged {
		tx.history.add(ended, t.Ref())
	} else {
		tx.unacked.Put(t)
	}
	tx.tasks.Put(t)
	tx.count(t.Framework, -1)
	return t
}

func (tx *tx) acknowledge(c *Acknowledge) Result {
	t := tx.tasks.Get(pathOf(c.Ref))
	if t != nil && t.End != nil && !t.Acknowledged && (c.UpdateID == "" || c.UpdateID == t.End.UpdateID) {
		tx.retire(t)
	}
	return Result{}
}

// retire enters a task whose end was unacknowledged into the history.
func (tx *tx) retire(old *Task) {
	t := old.amended(func(r *Rare) { r.Acknowledged = true })
	tx.tasks.Put(t)
	tx.unacked.Delete(byAgent(old))
	tx.history.add(t.Ended, t.Ref())
}

func (tx *tx) killTask(c *KillTask) Result {
	if c.Order.Grace != nil && *c.Order.Grace < 0 {
		return refuse(offers.BadMessage, "grace %s is negative", *c.Order.Grace)
	}
	old := tx.tasks.Get(pathOf(c.Ref))
	if old == nil || old.End != nil {
		return Result{}
	}
	order := c.Order
	if old.Kill != nil {
		if grace(&order, old) >= grace(old.Kill, old) {
			return Result{}
		}
		order.Reason, order.Time = old.Kill.Reason, old.Kill.Time
	}
	t := old.amended(func(r *Rare) { r.Kill = &order })
	tx.replaceLiving(t)
	return Result{Value: t}
}

// grace returns the time that an order leaves a task.
func grace(order *KillOrder, t *Task) offers.Duration {
	switch {
	case order.Grace != nil:
		return *order.Grace
	case t.Pattern.KillGrace > 0:
		return t.Pattern.KillGrace
	default:
		return offers.DefaultKillGrace
	}
}

// collect returns the tasks of an agent or a framework, so that the tree may
// change while the caller goes through them.
func collect[ID ~string](tree *trie.Txn[Task], id ID) []*Task {
	out := slices.Collect(tree.Below(trie.Path{string(id)}))
	return out
}
