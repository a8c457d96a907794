package master

import (
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// reported handles one status from an agent. An end is made durable before
// the framework hears of it; the first end of a task wins.
func (lead *leadership) reported(s *agentSession, in *wire.TaskStatus) {
	ref := offers.TaskRef{Framework: in.Framework, Task: in.Task}
	status := in.Status
	status.Agent = s.id
	t := lead.state().Task(ref)
	switch {
	case status.Validate() != nil || status.UpdateID == "":
		s.refuse(offers.Errorf(offers.BadMessage, "status of task %.128s has no update_id or an unknown state", in.Task), "")
	case t == nil || t.Agent != s.id || t.End != nil && (t.Acknowledged || status.State.Terminal() && t.End.UpdateID != status.UpdateID):
		s.acknowledge(ref, status.UpdateID)
	case !status.State.Terminal() || t.End != nil:
		lead.update(ref, status, true)
	default:
		lead.commit(state.Command{EndTask: &state.EndTask{Ref: ref, Status: status}}, func(state.Result) {
			if t := lead.state().Task(ref); t != nil && t.End != nil && t.End.UpdateID == status.UpdateID {
				lead.update(ref, status, true)
			} else {
				s.acknowledge(ref, status.UpdateID)
			}
		})
	}
}

// update queues a status for its framework and sends it if it is the next.
func (lead *leadership) update(ref offers.TaskRef, s offers.Status, fromAgent bool) {
	if a := lead.state().Agent(s.Agent); a != nil && s.Address == "" {
		s.Address = a.Host
	}
	if b := lead.delivery.add(ref, s, fromAgent); b != nil {
		lead.sendUpdate(b, time.Now())
	}
}

// deliverEnd queues the durable end of a task whose agent won't deliver it.
func (lead *leadership) deliverEnd(t *state.Task) {
	lead.update(t.Ref(), *t.End, false)
}

// sendUpdate sends the head of an outbox if its framework is there.
func (lead *leadership) sendUpdate(b *outbox, now time.Time) {
	s := lead.frameworks[b.ref.Framework]
	if s == nil {
		lead.delivery.pause(b)
		return
	}
	s.send(&wire.Update{Status: b.queue[0].status}, "")
	lead.delivery.sent(b, now)
}

// sendWaiting sends what waits for a framework that has just registered.
func (lead *leadership) sendWaiting(id offers.FrameworkID) {
	now := time.Now()
	for _, b := range lead.delivery.waiting(id) {
		lead.sendUpdate(b, now)
	}
}

// acknowledge ends the resending of an update everywhere.
func (lead *leadership) acknowledge(ref offers.TaskRef, id offers.UpdateID) {
	done, next, ok := lead.delivery.acknowledge(ref, id)
	if !ok {
		return
	}
	if done.status.State.Terminal() {
		lead.commit(state.Command{Acknowledge: &state.Acknowledge{Ref: ref}}, nil)
	}
	if s := lead.agents[done.status.Agent]; s != nil && done.fromAgent {
		s.acknowledge(ref, id)
	}
	if next != nil {
		lead.sendUpdate(next, time.Now())
	}
}

// acknowledge tells the agent that it need not send a status again.
func (s *agentSession) acknowledge(ref offers.TaskRef, id offers.UpdateID) {
	s.send(&wire.AcknowledgeStatus{Acknowledged: []wire.StatusRef{{TaskRef: ref, UpdateID: id}}}, "")
}

// lost ends a task of a restored snapshot that its agent does not know: it may
// have run to its end since the snapshot was saved, so it is not started again.
func (lead *leadership) lost(t *state.Task) {
	ref := t.Ref()
	lead.commit(state.Command{EndTask: &state.EndTask{Ref: ref, Status: offers.Status{
		Task: ref.Task, Agent: t.Agent, State: offers.Gone, UpdateID: lead.delivery.makeID(), Reason: offers.ReasonRestored,
		Message: "the masters' state was restored from a snapshot, and the agent does not know the task any more", Time: time.Now().UTC(),
	}}}, func(r state.Result) {
		for _, t := range r.Ended {
			if !t.Acknowledged {
				lead.deliverEnd(t)
			}
		}
	})
}

// taskEnded gives the room of a task back.
func (lead *leadership) taskEnded(ref offers.TaskRef) { lead.match.Ended(ref) }

// orderKill passes the durable wish to end a task to its agent, if that is
// there; otherwise the agent learns of it when it registers.
func (lead *leadership) orderKill(ref offers.TaskRef) {
	t := lead.state().Task(ref)
	if t == nil || t.End != nil || t.Kill == nil {
		return
	}
	if s := lead.agents[t.Agent]; s != nil {
		s.send(&wire.KillTask{Term: lead.term, TaskRef: ref, Grace: t.Kill.Grace, Reason: t.Kill.Reason}, "")
	}
}

// sendLaunch passes a durable launch to its agent, if that is there; otherwise
// the agent gets it when it registers.
func (lead *leadership) sendLaunch(t *state.Task) {
	if s := lead.agents[t.Agent]; s != nil {
		s.sendLaunch(lead, t)
	}
}

func (s *agentSession) sendLaunch(lead *leadership, t *state.Task) {
	s.send(&wire.Launch{Term: lead.term, Tasks: []wire.LaunchTask{{
		Framework: t.Framework, User: t.User, Task: t.Spec, Holding: t.Holding, Policy: t.Policy,
	}}}, "")
}

// currentStatus is what is known of a task now, as an answer to reconcile.
func (lead *leadership) currentStatus(ref offers.TaskRef) offers.Status {
	now := time.Now().UTC()
	t := lead.state().Task(ref)
	if t == nil {
		if lead.match.Holds(ref) {
			return offers.Status{Task: ref.Task, State: offers.Staging, Reason: offers.ReasonReconciliation, Message: "its launch is on the way to a majority of the masters", Time: now}
		}
		return offers.Status{Task: ref.Task, State: offers.Dropped, Reason: offers.ReasonUnknownTask, Message: "the masters don't know the task", Time: now}
	}
	if t.End != nil {
		return *t.End
	}
	status := offers.Status{Task: ref.Task, Agent: t.Agent, State: offers.Staging, Reason: offers.ReasonReconciliation, Time: now}
	a := lead.state().Agent(t.Agent)
	if a != nil {
		status.Address = a.Host
	}
	if last, ok := lead.delivery.last[ref]; ok {
		status.State = last.State
	}
	switch {
	case a != nil && a.State == offers.AgentUnreachable:
		status.State, status.Reason, status.Message = offers.Unreachable, offers.ReasonAgentAway, "the agent does not answer"
	case lead.agents[t.Agent] == nil:
		status.Reason, status.Message = offers.ReasonPendingAgent, "pending: the agent is not back yet"
	}
	return status
}
