package faults

import (
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// What the judge sees on the agents' hosts.

// reported notes what an agent sends.
func (j *judge) reported(a *agent, list []wire.TaskStatus) {
	for _, s := range list {
		l := letter{offers.TaskRef{Framework: s.Framework, Task: s.Task}, s.UpdateID}
		if _, again := j.reports[l]; !again && s.Reason == offers.ReasonAgentRefused {
			j.refused(a, l.ref)
		}
		j.reports[l] = report{s.State, s.LaunchID}
		if a.link != nil {
			a.link.mail.sent(l, a.time(), a.leaps)
		}
	}
}

// refused checks that an agent had no room for what it did not start.
func (j *judge) refused(a *agent, ref offers.TaskRef) {
	t := j.w.raft.state.Task(ref)
	if t == nil || t.Agent != a.machine.Meta().Agent {
		return
	}
	room := offers.NewRoom(a.self.Total)
	for _, other := range a.machine.Living() {
		room.Claim(a.disk.launches[other].Holding)
	}
	if room.Take(*t.Holding) == nil {
		j.w.broken("%s refuses %s, and has room for it", a.name, ref)
	}
}

// started checks that a task runs once, that it fits, and that it was written
// down before.
func (j *judge) started(a *agent, p *proc) {
	ref, id := p.launch.Ref(), a.machine.Meta().Agent
	h := j.tasks[ref]
	if h == nil {
		j.w.broken("%s runs %s, which was never committed", a.name, ref)
		return
	}
	if h.starts[id]++; h.starts[id] > h.may[id] {
		j.w.broken("%s runs %s once more: %d starts on %s, %d launches", a.name, ref, h.starts[id], id, h.may[id])
	}
	if h.agent == id {
		h.ran = true
	}
	if n := j.names[ref.Framework]; n != nil && n.tasks[ref.Task].end == offers.Dropped {
		j.w.broken("%s runs %s, and its framework was told that it was dropped", a.name, ref)
	}
	if written := a.disk.progress[ref].Process; written == nil || *written != p.id {
		j.w.broken("%s runs %s, and no record of it says so", a.name, ref)
	}
	room := offers.NewRoom(a.self.Total)
	for _, other := range a.running() {
		if err := room.Take(a.procs[other].launch.Holding); err != nil {
			j.w.broken("%s runs more than it has: %s: %v", a.name, other, err)
		}
	}
}

// exited notes how a process ended.
func (j *judge) exited(a *agent, ref offers.TaskRef, exit record.Exit) {
	if h := j.tasks[ref]; h != nil {
		h.exits[a.disk.meta.Agent] = exit
	}
}

// recovered checks that an agent that came back knows whatever runs.
func (j *judge) recovered(a *agent) {
	living := a.machine.Living()
	for _, ref := range a.running() {
		written := a.disk.progress[ref].Process
		if !slices.Contains(living, ref) || written == nil || *written != a.procs[ref].id {
			j.w.broken("%s comes back and does not know %s, which runs", a.name, ref)
		}
	}
}

// registers checks what an agent tells a master about its tasks. One that
// doubts its own checkpoint tells what that says.
func (j *judge) registers(a *agent, list []wire.AgentTask) {
	if a.machine.Meta().Doubt != "" {
		return
	}
	for _, t := range list {
		if p := a.procs[t.TaskRef]; t.State == offers.Running && (p == nil || !p.open || p.id.Boot != a.bootID()) {
			j.w.broken("%s says that %s runs, which it does not", a.name, t.TaskRef)
		}
	}
}

// resends checks that an agent with a master sends what is not acknowledged,
// and sends it again.
func (j *judge) resends(a *agent) {
	mail := &a.link.mail
	maps.DeleteFunc(mail.waits, func(l letter, _ *waiting) bool { // what the agent was told to forget
		return !slices.ContainsFunc(a.disk.progress[l.ref].Reports, func(r tasks.Report) bool { return r.ID == l.id })
	})
	if l, late := mail.overdue(a.time(), a.leaps, 2*time.Second); late {
		j.w.broken("%s does not resend %s of %s", a.name, l.id, l.ref)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(a.disk.progress), compareRefs) {
		p := a.disk.progress[ref]
		for _, r := range p.Reports {
			if mail.waits[letter{ref, r.ID}] == nil && !p.Orphan {
				j.w.broken("%s does not send %s of %s (%s) to its master", a.name, r.ID, ref, r.State)
			}
		}
	}
}
