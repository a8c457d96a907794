package agent

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/sandbox"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// keepSandboxes is how many folders of forgotten tasks stay.
const keepSandboxes = 500

// recover brings the machine to where the last run left it, and ends every
// task that is not in the checkpoint.
func (a *Agent) recover(now time.Time) error {
	place := checkpoint.Place{Path: filepath.Join(a.config.DataDir, "checkpoint.db"), Witness: a.config.RuntimeDir, Agent: a.config.Name}
	store, content, err := checkpoint.Open(place, now)
	a.store = store
	if err != nil {
		return err
	}
	a.identify(content.Known)
	a.machine = tasks.New(tasks.Config{Total: a.self.Total, Policies: a.config.Policies, Host: a.self.Host, Refusals: a.refusals, Traced: a.config.Tracer != nil}, content.Meta)
	a.takeHealth(now)
	a.machine.Restore(content.Known, now)
	a.id = content.Meta.Agent
	a.openSharing(content.Known)
	keep, known := map[offers.TaskRef]record.Identity{}, map[offers.TaskRef]bool{}
	for _, k := range content.Known {
		ref := k.Launch.Ref()
		known[ref] = true
		if !k.Progress.State.Terminal() {
			a.ended[ref] = make(chan struct{})
			a.limitDisk(k.Launch)
		}
		if !k.Progress.State.Terminal() && k.Progress.Process != nil {
			keep[ref] = *k.Progress.Process
			a.adopted = append(a.adopted, k)
		}
	}
	var unended []string
	for _, x := range []executor{a.processes, a.containers} {
		found, err := x.sweep(keep)
		if err != nil {
			a.log.Warn("something of earlier tasks is left", "error", err)
		}
		unended = append(unended, found...)
	}
	a.lose(content, strangers(unended, known), now)
	a.sandboxes, err = sandbox.Open(filepath.Join(a.config.DataDir, "sandboxes"), sandbox.Keep{Count: keepSandboxes, Age: a.config.SandboxAge}, known)
	return err
}

// identify looks for the shims and containers of tasks of which nothing should
// have run, or another one. A checkpoint that is the latest knows everyone whose gate was
// opened, so what is found is of a time that this one does not know.
func (a *Agent) identify(known []tasks.Known) {
	for i := range known {
		k := &known[i]
		if !k.Progress.State.Terminal() {
			if id, ran := a.executorOf(&k.Launch.Task).started(k.Launch); ran {
				k.Progress.Process = &id
			}
		}
	}
}

// strangers returns the tasks among the swept ones that the checkpoint does not
// know. Every launch is in it before its shim is there, so either its record is
// damaged or the whole file is an older copy.
func strangers(swept []string, known map[offers.TaskRef]bool) []offers.TaskRef {
	var out []offers.TaskRef
	for _, name := range swept {
		framework, task, ok := strings.Cut(name, ":")
		ref := offers.TaskRef{Framework: offers.FrameworkID(framework), Task: offers.TaskID(task)}
		if ok && ref.Task.Validate() == nil && !known[ref] {
			out = append(out, ref)
		}
	}
	return out
}

const lostRecord = "the agent's record of it is damaged or missing; what was left of it is killed"

// lose reports the tasks whose records are damaged or missing, so that nobody
// starts them a second time. What was left of them has been ended.
func (a *Agent) lose(content checkpoint.Content, unknown []offers.TaskRef, now time.Time) {
	switch {
	case content.Damage != nil:
		a.log.Error("the checkpoint is damaged and set aside", "file", content.Aside, "tasks_lost", len(content.Lost), "damage", content.Damage)
	case content.Older:
		a.log.Error("the checkpoint is an older copy and set aside; what may have run already is not started", "file", content.Aside, "tasks_lost", len(unknown), "why", content.Meta.Doubt)
	case len(unknown) > 0:
		a.log.Error("tasks ran here that the checkpoint does not know; they are ended: it is new, or was replaced by a copy", "tasks_lost", len(unknown))
	case content.Meta.Doubt != "":
		a.log.Warn("what may have run already is not started", "why", content.Meta.Doubt)
	}
	if content.Unwitnessed != nil {
		a.log.Warn("after a sudden end the next run can't be sure of the checkpoint: what was about to start then ends as gone", "error", content.Unwitnessed)
	}
	for _, ref := range append(content.Lost, unknown...) {
		a.machine.Lost(ref, lostRecord, now)
	}
}

// adopt finds the shims and containers of the last run again.
func (a *Agent) adopt() {
	for _, k := range a.adopted {
		ref := k.Launch.Ref()
		e := a.executorOf(&k.Launch.Task).adopt(k.Launch, *k.Progress.Process)
		a.running[ref] = &supervisor{execution: e}
		a.work.Go(func() {
			a.await(ref, e, func(ref offers.TaskRef, now time.Time) {
				a.machine.Adopted(ref, now)
				a.log.Info("task runs on", "task", ref.String())
			})
		})
	}
	a.adopted = nil
}
