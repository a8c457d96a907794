package tasks

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Connected makes the agent introduce itself to a master. The token is a random
// one, for this registration unless an earlier one waits for its answer.
func (m *Machine) Connected(token string) {
	if m.meta.Next == "" {
		m.meta.Next = token
		m.remember()
	}
	m.ready.Register = true
	m.handled = 0
}

// Register returns what the agent tells a master about its tasks: all that it
// knows and that the masters have not forgotten.
func (m *Machine) Register() (uint64, []wire.AgentTask) {
	list := make([]wire.AgentTask, 0, len(m.tasks))
	for ref, t := range m.tasks {
		if t.Orphan {
			continue
		}
		entry := wire.AgentTask{TaskRef: ref, LaunchID: t.LaunchID, State: t.State, Healthy: t.Healthy, Started: t.Started}
		if t.held {
			entry.Holding = t.Holding
		}
		list = append(list, entry)
	}
	slices.SortFunc(list, func(a, b wire.AgentTask) int { return compareRefs(a.TaskRef, b.TaskRef) })
	return m.sequence, list
}

// Registered takes a master's answer: from now on it listens, and every
// report that is not acknowledged is sent, in order. Where More follows, only
// what is to be forgotten is. The error says why the answer is not to be
// believed; nothing has changed then.
func (m *Machine) Registered(r *wire.AgentRegistered, now time.Time) error {
	if err := m.fence(r.Master.Term); err != nil {
		return fmt.Errorf("registration: %w", err)
	}
	for _, ref := range r.Forget {
		if t, known := m.tasks[ref]; known {
			m.disown(t, now)
		}
	}
	if r.More {
		return nil
	}
	if r.AgentID != m.meta.Agent {
		m.meta.Agent = r.AgentID
		m.remember()
	}
	if m.meta.Next != "" {
		m.meta.Have, m.meta.Next = m.meta.Next, ""
		m.remember() // or else the next run would register as this one did
	}
	m.registered = true
	for _, ref := range slices.SortedFunc(maps.Keys(m.tasks), compareRefs) {
		m.sendAll(m.tasks[ref], now)
	}
	m.confirm(r, now)
	m.ready.Usage = m.ready.Usage || len(m.config.Total.Classes) > 0
	return nil
}

// confirm starts what waited for the masters' word, or ends it where they know
// that the checkpoint is not the latest.
func (m *Machine) confirm(r *wire.AgentRegistered, now time.Time) {
	if !m.confirmed && r.Older {
		m.doubt = cmp.Or(m.doubt, "the masters do not know the agent's checkpoint as the latest")
		m.remember() // so that it has what the masters know
	}
	m.confirmed = true
	if m.meta.Doubt != "" {
		m.meta.Doubt = ""
		m.remember()
	}
	for _, ref := range slices.SortedFunc(maps.Keys(m.tasks), compareRefs) {
		if t := m.tasks[ref]; t.waiting {
			m.begin(t, now)
		}
	}
}

// Doubt says why more may have run on this host than the agent knows, "" where
// it can't.
func (m *Machine) Doubt() string { return m.doubt }

// Disconnected stops all sending until the next Registered.
func (m *Machine) Disconnected() {
	m.registered = false
	for _, t := range m.tasks {
		t.resend = time.Time{}
	}
	m.ready.Register, m.ready.Send, m.ready.Usage = false, nil, false
}

// Refused takes the answer that this agent's id is unknown or gone: the
// masters have given its tasks up, so it ends them, and it comes back as a new
// agent once they have ended.
func (m *Machine) Refused(now time.Time) {
	m.Disconnected()
	// Masters that never heard of it may be of another cluster, whose terms
	// begin anew.
	m.meta = Meta{}
	m.remember()
	for _, ref := range slices.SortedFunc(maps.Keys(m.tasks), compareRefs) {
		m.disown(m.tasks[ref], now)
	}
}

// disown ends a task without reports and forgets it.
func (m *Machine) disown(t *task, now time.Time) {
	if t.ended() {
		m.remove(t)
		return
	}
	t.Orphan, t.Reports, t.resend = true, nil, time.Time{}
	m.dirty[t.Ref()] = true
	m.end(t, t.grace(), "the masters do not know it", now)
}

// Close starts nothing any more and asks every living task to end.
func (m *Machine) Close(reason string, now time.Time) {
	m.closing = true
	for _, ref := range m.Living() {
		t := m.tasks[ref]
		m.end(t, t.grace(), reason, now)
	}
}

// Launch takes tasks to be started. A task that is known is not started again:
// its reports are sent again. One that does not fit ends as dropped. The error
// is of what was ignored; the other tasks were taken.
func (m *Machine) Launch(l *wire.Launch, now time.Time) error {
	if err := m.fence(l.Term); err != nil {
		return fmt.Errorf("launch of %d tasks: %w", len(l.Tasks), err)
	}
	var bad []error
	for _, one := range l.Tasks {
		if len(one.Holding.Devices) > 0 {
			m.handled++
			m.ready.Usage = true
		}
		ref := offers.TaskRef{Framework: one.Framework, Task: one.Task.ID}
		if err := named(ref); err != nil {
			bad = append(bad, err)
			continue
		}
		if t, known := m.tasks[ref]; known {
			m.sendAll(t, now)
			continue
		}
		m.launch(one, now)
	}
	return errors.Join(bad...)
}

// named refuses ids that can't name a folder. Nothing is remembered of them.
func named(ref offers.TaskRef) error {
	if err := ref.Task.Validate(); err != nil {
		return err
	}
	if offers.TaskID(ref.Framework).Validate() != nil {
		return fmt.Errorf("task %s: the framework id %.100q can't name a folder", ref.Task, ref.Framework)
	}
	return nil
}

func (m *Machine) launch(l wire.LaunchTask, now time.Time) {
	if err := l.Task.Validate(); err != nil {
		m.finish(m.enter(l, now), Report{State: offers.Rejected, Reason: offers.ReasonBadTask, Message: err.Error(), Time: now}, now)
		return
	}
	if why := m.config.Refusals.of(&l.Task); why != "" {
		m.finish(m.enter(l, now), Report{State: offers.Rejected, Reason: offers.ReasonNoExecutor, Message: why, Time: now}, now)
		return
	}
	holding, why := m.bind(l)
	l.Holding = holding
	t := m.enter(l, now)
	if why != "" {
		m.finish(t, Report{State: offers.Dropped, Reason: offers.ReasonAgentRefused, Message: why, Time: now}, now)
		return
	}
	if err := m.room.Take(holding); err != nil {
		m.finish(t, Report{State: offers.Dropped, Reason: offers.ReasonAgentRefused, Message: err.Error(), Time: now}, now)
		return
	}
	t.held = true
	m.used(holding)
	m.begin(t, now)
}

// bind chooses what the task holds: the devices the master counted on if they
// are free, those of the agent's own policy otherwise.
func (m *Machine) bind(l wire.LaunchTask) (h offers.Holding, why string) {
	if m.closing {
		return h, "the agent is about to end"
	}
	ask := l.Task.Resources
	if m.matches(ask, l.Holding) && m.room.Clone().Take(l.Holding) == nil {
		return l.Holding, ""
	}
	agent := offers.Agent{Policies: m.config.Policies}
	h, short := m.room.Plan(ask, func(class string) offers.Policy { return cmp.Or(l.Policy, agent.Policy(class)) })
	if short != "" {
		return offers.Holding{}, notFree(short)
	}
	return h, ""
}

// matches reports whether a holding is exactly what the task asks for, so that
// a master that counts wrongly makes no task hold more or less than it asks.
func (m *Machine) matches(ask offers.Resources, h offers.Holding) bool {
	if ask.Amounts != h.Amounts || !ask.Ports.Within(h.Ports) || !h.Ports.Within(ask.Ports) || len(ask.Devices) != len(h.Devices) {
		return false
	}
	for class, want := range ask.Devices {
		grants, devices := h.Devices.Of(class), m.config.Total.Class(class)
		if len(grants) != want.Count {
			return false
		}
		share := want.Share
		if want.Whole() {
			share = offers.FullShare
		}
		each := want
		each.Count = 1
		for _, g := range grants {
			if g.Index >= len(devices) || g.Memory != each.Bytes(devices[g.Index].Capacity) || g.Share != share {
				return false
			}
		}
	}
	return true
}

// Kill asks a task to end. A task that is not known ends as dropped, and a
// launch of it that comes late starts nothing.
func (m *Machine) Kill(k *wire.KillTask, now time.Time) error {
	if err := m.fence(k.Term); err != nil {
		return fmt.Errorf("kill of %s: %w", k.TaskRef, err)
	}
	t, known := m.tasks[k.TaskRef]
	if !known {
		if err := named(k.TaskRef); err != nil {
			return fmt.Errorf("kill: %w", err)
		}
		t = m.enter(wire.LaunchTask{Framework: k.Framework, LaunchID: k.LaunchID, Task: offers.Task{ID: k.Task}}, now)
		m.finish(t, Report{State: offers.Dropped, Reason: offers.ReasonUnknownTask, Message: "the agent does not know it", Time: now}, now)
		return nil
	}
	grace := t.grace()
	if k.Grace != nil {
		grace = k.Grace.Std()
	}
	m.end(t, grace, k.Reason, now)
	return nil
}

// Acknowledge ends the resending of reports. Only the exact report of that
// framework's task counts; with the terminal one the task is forgotten.
func (m *Machine) Acknowledge(refs []wire.StatusRef, now time.Time) {
	for _, ref := range refs {
		t, known := m.tasks[ref.TaskRef]
		if !known {
			continue
		}
		at := slices.IndexFunc(t.Reports, func(r Report) bool { return r.ID == ref.UpdateID })
		if at < 0 {
			continue
		}
		if t.Reports[at].State.Terminal() {
			m.remove(t)
			continue
		}
		t.Reports = slices.Delete(slices.Clone(t.Reports), at, at+1)
		m.dirty[ref.TaskRef] = true
		t.pause, t.resend = 0, time.Time{}
		if len(t.Reports) > 0 && m.registered {
			t.pause, t.resend = firstResend, now.Add(firstResend)
		}
	}
}
