package lead

import (
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// reports handles the statuses of one message, what they say cut to what is kept.
// Those that can't be are refused together, since there may be thousands of them.
func (s *Agent) reports(c *Core, statuses []wire.TaskStatus) error {
	switch n := len(statuses); {
	case s.id == "":
		return offers.Errorf(offers.NotRegistered, "the first message of a connection is register")
	case n > wire.MaxStatuses:
		return offers.Errorf(offers.TooLarge, "%d statuses; a message has at most %d", n, wire.MaxStatuses)
	}
	bad, first := 0, offers.TaskID("")
	for i := range statuses {
		in := &statuses[i]
		if in.UpdateID != "" && len(in.UpdateID) <= offers.MaxUpdateID && in.Validate() == nil {
			in.Cut()
			c.reported(s, in)
			continue
		}
		if bad++; bad == 1 {
			first = in.Task
		}
	}
	switch bad {
	case 0:
		return nil
	case 1:
		return offers.Errorf(offers.BadMessage, "status of task %.128s has no update_id, a longer one than %d bytes or an unknown state", first, offers.MaxUpdateID)
	}
	return offers.Errorf(offers.BadMessage, "%d statuses have no update_id, a longer one than %d bytes or an unknown state; the first is of task %.128s", bad, offers.MaxUpdateID, first)
}

// reported handles one status from an agent. An end is made durable before
// the framework hears of it; the first end of a task wins.
func (c *Core) reported(s *Agent, in *wire.TaskStatus) {
	ref := offers.TaskRef{Framework: in.Framework, Task: in.Task}
	status := in.Status
	status.Agent = s.id
	t := c.state().Task(ref)
	if t != nil {
		ref = t.Ref() // what is kept of it then shares the record's texts
	}
	switch {
	case t == nil || t.Agent != s.id || t.End != nil && t.Acknowledged:
		s.acknowledge(c, ref, status.UpdateID)
	case in.LaunchID.Other(t.LaunchID):
		s.acknowledge(c, ref, status.UpdateID)
		if status.State.Terminal() {
			s.mistaken(c, t)
		}
	case t.End != nil && status.State.Terminal() && t.End.UpdateID != status.UpdateID:
		// The agent forgets the task and tells no other end of it, so the one
		// that counts is the masters' to deliver.
		s.acknowledge(c, ref, status.UpdateID)
		c.deliverEnd(t)
	case !status.State.Terminal() && c.passed(t, status.State):
		c.bound(ref, offers.DevicesOf(status.Devices))
		s.acknowledge(c, ref, status.UpdateID)
	case !status.State.Terminal() && c.nobody(ref.Framework):
		s.acknowledge(c, ref, status.UpdateID)
	case status.State == offers.Killing && t.End == nil && t.Kill == nil:
		c.killing(t, status)
	case !status.State.Terminal() || t.End != nil:
		c.bound(ref, offers.DevicesOf(status.Devices))
		c.update(ref, status, true)
	default:
		c.Commit(state.Command{EndTask: &state.EndTask{Ref: ref, Status: status}}, func(state.Result) {
			t := c.state().Task(ref)
			if t == nil || t.End == nil || t.Acknowledged || t.End.UpdateID != status.UpdateID {
				s.acknowledge(c, ref, status.UpdateID)
				return
			}
			c.update(ref, status, true)
		})
	}
}

// passed reports whether a framework may have seen a later state of a task than its
// agent tells: under the leader before, of which its end is all that is left, or from
// this one, see [Core.returned]. At that it is not to see it live again.
func (c *Core) passed(t *state.Task, s offers.State) bool {
	last, _ := c.delivery.last.of(t.Ref())
	return t.End != nil || last.State == offers.Killing && offers.Killing.MayFollow(s)
}

// killing handles that an agent ends a task by itself. The order is made
// durable before the framework hears of it, so that no later leader takes what
// an older copy of the checkpoint says for news.
func (c *Core) killing(t *state.Task, status offers.Status) {
	ref := t.Ref()
	c.Commit(state.Command{KillTask: &state.KillTask{Ref: ref, Order: state.KillOrder{Reason: status.Reason, Time: c.wall()}}}, func(state.Result) {
		if t := c.state().Task(ref); t != nil && t.End == nil {
			c.update(ref, status, true)
		}
	})
}

// mistaken brings a task on whose agent has told the end of another launch of
// its id, and has taken the present one for that until it was acknowledged. So
// it gets the launch once more; one that knows it starts nothing twice, and one
// that may have forgotten it gets none. An end that it may not know of is the
// masters' to deliver.
func (s *Agent) mistaken(c *Core, t *state.Task) {
	switch {
	case t.End != nil:
		c.deliverEnd(t)
	case t.Restored || t.Doubtful:
		c.lost(t)
	default:
		s.sendLaunch(c, t, 0)
		c.orderKill(t.Ref())
	}
}

// nobody reports whether a framework is no more, so that its updates have no
// reader.
func (c *Core) nobody(id offers.FrameworkID) bool {
	f := c.state().Framework(id)
	return f == nil || f.Removed
}

// update queues a status for its framework and sends it if it is the next.
func (c *Core) update(ref offers.TaskRef, s offers.Status, fromAgent bool) {
	if a := c.state().Agent(s.Agent); a != nil && s.Address == "" {
		s.Address = a.Host
	}
	delete(c.unsure, ref)
	c.tellUpdate(ref, &s)
	head, passed := c.delivery.add(ref, s, fromAgent)
	if passed != nil {
		c.release(ref, *passed)
	}
	if head != nil {
		c.sendUpdate(head, c.now)
	}
}

// deliverEnd queues the durable end of a task whose agent won't deliver it.
func (c *Core) deliverEnd(t *state.Task) {
	c.update(t.Ref(), *t.End, false)
}

// skipToEnd makes the durable end of a task the next update: its framework knows
// of it, and what was before would tell it that the task lives again.
func (c *Core) skipToEnd(t *state.Task) {
	c.deliverEnd(t)
	head, skipped := c.delivery.skipToEnd(t.Ref())
	for _, q := range skipped {
		c.release(t.Ref(), q)
	}
	if head != nil {
		c.sendUpdate(head, c.now)
	}
}

// sendUpdate sends the head of an outbox if its framework is there.
func (c *Core) sendUpdate(b *outbox, now time.Time) {
	s := c.frameworks[b.ref.Framework]
	if s == nil {
		c.delivery.pause(b)
		return
	}
	s.peer.Send(&wire.Update{Status: b.queue[0].status}, "")
	c.delivery.sent(b, now)
}

// sendWaiting sends what waits for a framework that has just registered.
func (c *Core) sendWaiting(id offers.FrameworkID) {
	now := c.now
	for _, b := range c.delivery.waiting(id) {
		c.sendUpdate(b, now)
	}
}

// acknowledge ends the resending of an update everywhere.
func (c *Core) acknowledge(ref offers.TaskRef, id offers.UpdateID) {
	done, next, ok := c.delivery.acknowledge(ref, id, c.now)
	if !ok {
		return
	}
	if done.status.State.Terminal() {
		c.delivery.over[ref] = true
		c.Commit(state.Command{Acknowledge: &state.Acknowledge{Ref: ref, UpdateID: id}}, func(state.Result) { delete(c.delivery.over, ref) })
	}
	c.release(ref, done)
	if next != nil {
		c.sendUpdate(next, c.now)
	}
}

// release tells the agent of a status that it need not send it again.
func (c *Core) release(ref offers.TaskRef, done delivered) {
	if s := c.agents[done.status.Agent]; s != nil && done.fromAgent {
		s.acknowledge(c, ref, done.status.UpdateID)
	}
}

// acknowledge tells the agent that it need not send a status again.
func (s *Agent) acknowledge(c *Core, ref offers.TaskRef, id offers.UpdateID) {
	c.gather(s.peer).acknowledge(wire.StatusRef{TaskRef: ref, UpdateID: id})
}

// lost ends a task that its agent does not know where that says nothing: it may
// have run since the masters' restored snapshot was saved, or since the agent's
// checkpoint was copied, so it is not started again.
func (c *Core) lost(t *state.Task) {
	ref, reason := t.Ref(), offers.ReasonRestored
	why := "the masters' state was restored from a snapshot, and the agent does not know the task any more"
	if !t.Restored {
		reason, why = offers.ReasonAgentRestarted, "the agent does not know the task any more: its host has restarted, or its checkpoint was damaged or replaced by a copy"
	}
	c.Commit(state.Command{EndTask: &state.EndTask{Ref: ref, Status: offers.Status{
		Task: ref.Task, Agent: t.Agent, State: offers.Gone, UpdateID: c.delivery.makeID(), Reason: reason, Message: why, Time: c.wall(),
	}}}, func(r state.Result) {
		for _, t := range r.Ended {
			if !t.Acknowledged {
				c.deliverEnd(t)
			}
		}
	})
}

// taskEnded gives the room of a task back.
func (c *Core) taskEnded(ref offers.TaskRef) {
	c.match.Ended(ref)
	if c.nobody(ref.Framework) {
		c.delivery.forget(ref)
	}
}

// orderKill passes the durable wish to end a task to its agent, if that is
// there; otherwise the agent learns of it when it registers.
func (c *Core) orderKill(ref offers.TaskRef) {
	t := c.state().Task(ref)
	if t == nil || t.End != nil || t.Kill == nil {
		return
	}
	if s := c.agents[t.Agent]; s != nil {
		s.peer.Send(&wire.KillTask{Term: c.config.Master.Term, TaskRef: ref, LaunchID: t.LaunchID, Grace: t.Kill.Grace, Reason: t.Kill.Reason}, "")
	}
}

// sendLaunch passes a durable launch to its agent, if that is there; otherwise
// the agent gets it when it registers. Of the same accept more are about to follow.
func (c *Core) sendLaunch(t *state.Task, more int) {
	if s := c.agents[t.Agent]; s != nil {
		s.sendLaunch(c, t, more)
	}
}

func (s *Agent) sendLaunch(c *Core, t *state.Task, more int) {
	if len(t.Holding.Devices) > 0 {
		s.sent = append(s.sent, t.Ref())
	}
	c.gather(s.peer).launch(c.config.Master.Term, t, more)
}

// currentStatus is what is known of a task now, as an answer to reconcile.
func (c *Core) currentStatus(ref offers.TaskRef) offers.Status {
	t := c.state().Task(ref)
	if (t == nil || t.End != nil) && c.match.Holds(ref) { // an end is of an earlier task of that id
		return offers.Status{Task: ref.Task, State: offers.Staging, Reason: offers.ReasonReconciliation, Message: "its launch is on the way to a majority of the masters", Time: c.wall()}
	}
	if t == nil {
		return offers.Status{Task: ref.Task, State: offers.Dropped, Reason: offers.ReasonUnknownTask, Message: "the masters don't know the task", Time: c.wall()}
	}
	if t.End != nil {
		return *t.End
	}
	status := offers.Status{Task: ref.Task, Agent: t.Agent, State: offers.Staging, Reason: offers.ReasonReconciliation, Time: c.wall()}
	a := c.state().Agent(t.Agent)
	if a != nil {
		status.Address = a.Host
	}
	if last, ok := c.delivery.last.of(ref); ok {
		status.State, status.Healthy, status.Started = last.State, last.Healthy, last.Started
	}
	switch {
	case a != nil && a.State == offers.AgentUnreachable:
		status.State, status.Reason, status.Message = offers.Unreachable, offers.ReasonAgentAway, "the agent does not answer"
	case c.agents[t.Agent] == nil:
		status.Reason, status.Message = offers.ReasonPendingAgent, "pending: the agent is not back yet"
	}
	return status
}
