package events

import (
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// maxText bounds what is kept of a message, in bytes; all of it is with its task.
const maxText = 512

// Derive returns the durable events of a batch that was applied. It depends on
// nothing else, so every master derives the same.
func Derive(before, after *state.State, batch []state.Command, results []state.Result) []Event {
	d := deriving{before: before, at: ID{Epoch: EpochOf(after), Command: before.Applied()}}
	told := 0 // most commands tell one event, and some never any
	for i := range batch {
		if c := &batch[i]; c.Acknowledge == nil && c.Put == nil && c.Delete == nil {
			told++
		}
	}
	d.out = make([]Event, 0, told)
	for i := range batch {
		d.at.Command++
		d.at.N = 0
		if results[i].Err == nil {
			d.command(&batch[i], &results[i])
		}
	}
	return d.out
}

// ReplacedBy returns the event of a restore to the state after, at the time at.
func ReplacedBy(after *state.State, at time.Time) Event {
	return Event{ID: ID{Epoch: EpochOf(after), Command: after.Applied()}, Type: Restored, Time: at}
}

// deriving goes through one batch.
type deriving struct {
	before *state.State
	at     ID // of the next event
	out    []Event

	// What earlier commands of the batch made of the records.
	agents     map[offers.AgentID]*state.Agent
	frameworks map[offers.FrameworkID]*state.Framework
}

func (d *deriving) add(e Event) {
	e.ID = d.at
	d.at.N++
	d.out = append(d.out, e)
}

func (d *deriving) command(c *state.Command, r *state.Result) {
	switch {
	case c.Launch != nil:
		t := r.Value.(*state.Task)
		e := ofTask(TaskLaunched, t)
		e.Time, e.State, e.Name, e.Devices = t.Created, string(offers.Staging), t.Pattern.Name, t.Holding.Devices.Map()
		d.add(e)
	case c.EndTask != nil:
		d.ended(r.Ended)
	case c.KillTask != nil:
		if t, ordered := r.Value.(*state.Task); ordered {
			d.killed(t)
		}
	case c.RegisterAgent != nil:
		if r.Gone != nil {
			d.agent(AgentUpdated, r.Gone, r.Gone.Since)
		}
		d.ended(r.Ended)
		d.agent(AgentRegistered, r.Value.(*state.Agent), c.RegisterAgent.Time)
	case c.SetAgentState != nil:
		if a := r.Value.(*state.Agent); a != d.agentBefore(a.ID) {
			d.agent(AgentUpdated, a, c.SetAgentState.Time)
		}
		d.ended(r.Ended)
	case c.RegisterFramework != nil:
		d.framework(FrameworkRegistered, r.Value.(*state.Framework), c.RegisterFramework.Time)
	case c.DisconnectFramework != nil:
		if f := r.Value.(*state.Framework); f != d.frameworkBefore(f.ID) {
			d.framework(FrameworkDisconnected, f, f.Deadline.Add(-f.FailoverTimeout))
		}
	case c.RemoveFramework != nil:
		if f := r.Value.(*state.Framework); f.Removed && !d.frameworkBefore(f.ID).Removed {
			d.framework(FrameworkRemoved, f, c.RemoveFramework.Time)
		}
		for _, t := range r.Killed {
			d.killed(t)
		}
	case c.SetRole != nil:
		d.add(Event{Type: RoleSet, Role: c.SetRole.Role})
	}
}

func (d *deriving) ended(tasks []*state.Task) {
	for _, t := range tasks {
		e := ofTask(TaskEnded, t)
		e.Time, e.State, e.Reason, e.Message = t.End.Time, string(t.End.State), t.End.Reason, Clip(t.End.Message)
		e.ExitCode, e.Signal, e.Devices = t.End.ExitCode, t.End.Signal, t.Holding.Devices.Map()
		d.add(e)
	}
}

func (d *deriving) killed(t *state.Task) {
	e := ofTask(TaskKillOrdered, t)
	e.Time, e.Reason, e.Resources = t.Kill.Time, t.Kill.Reason, nil
	d.add(e)
}

// ofTask copies what it needs: an event must not keep a task's environment.
func ofTask(what Type, t *state.Task) Event {
	room := Room(t.Holding.Amounts)
	return Event{Type: what, Framework: t.Framework, Task: t.ID, Agent: t.Agent, Role: t.Role, Resources: &room}
}

func (d *deriving) agent(what Type, a *state.Agent, at time.Time) {
	if d.agents == nil {
		d.agents = map[offers.AgentID]*state.Agent{}
	}
	d.agents[a.ID] = a
	d.add(Event{Type: what, Time: at, Agent: a.ID, Name: a.Name, State: string(a.State), Resume: a.Resume})
}

func (d *deriving) agentBefore(id offers.AgentID) *state.Agent {
	if a := d.agents[id]; a != nil {
		return a
	}
	return d.before.Agent(id)
}

func (d *deriving) framework(what Type, f *state.Framework, at time.Time) {
	if d.frameworks == nil {
		d.frameworks = map[offers.FrameworkID]*state.Framework{}
	}
	d.frameworks[f.ID] = f
	d.add(Event{Type: what, Time: at, Framework: f.ID, Name: f.Name, Role: f.Role, Deadline: f.Deadline})
}

// frameworkBefore may be an older record of a removed framework, which gets
// another one with the end of its last task.
func (d *deriving) frameworkBefore(id offers.FrameworkID) *state.Framework {
	if f := d.frameworks[id]; f != nil {
		return f
	}
	return d.before.Framework(id)
}

// Clip returns what an event has of a message.
func Clip(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
