package agent

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/sandbox"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// recover brings the machine to where the last run left it, and ends every
// task that is not in the checkpoint.
func (a *Agent) recover(now time.Time) error {
	store, content, err := checkpoint.Open(filepath.Join(a.config.DataDir, "checkpoint.db"), now)
	a.store = store
	if err != nil {
		return err
	}
	a.machine = tasks.New(tasks.Config{Total: a.self.Total, Policies: a.config.Policies, Host: a.self.Host}, content.Meta)
	a.machine.Restore(content.Known, now)
	a.id = content.Meta.Agent
	keep, known := map[string]bool{}, map[offers.TaskRef]bool{}
	for _, k := range content.Known {
		ref := k.Launch.Ref()
		known[ref] = true
		if !k.Progress.State.Terminal() {
			a.ended[ref] = make(chan struct{})
		}
		if !k.Progress.State.Terminal() && k.Progress.Process != nil {
			keep[ref.String()] = true
			a.adopted = append(a.adopted, k)
		}
	}
	unended, err := a.executor.Sweep(keep)
	if err != nil {
		a.log.Warn("something of earlier tasks is left", "error", err)
	}
	if content.Damage != nil {
		a.lose(content, unended, now)
	}
	a.sandboxes, err = sandbox.Open(filepath.Join(a.config.DataDir, "sandboxes"), sandbox.Keep, known)
	return err
}

// lose reports the tasks whose records were damaged. They have been ended.
func (a *Agent) lose(content checkpoint.Content, unended []string, now time.Time) {
	a.log.Error("the checkpoint is damaged and set aside", "file", content.Aside, "tasks_lost", len(content.Lost), "damage", content.Damage)
	const why = "the agent's record of it is damaged; what was left of it is killed"
	for _, ref := range content.Lost {
		a.machine.Lost(ref, why, now)
	}
	for _, name := range unended {
		framework, task, ok := strings.Cut(name, ":")
		if ok && offers.TaskID(task).Validate() == nil {
			a.machine.Lost(offers.TaskRef{Framework: offers.FrameworkID(framework), Task: offers.TaskID(task)}, why, now)
		}
	}
}

// adopt finds the shims of the last run again.
func (a *Agent) adopt() {
	now := time.Now()
	for _, k := range a.adopted {
		ref := k.Launch.Ref()
		p := a.executor.Adopt(ref.String(), *k.Progress.Process)
		a.running[ref] = &supervisor{process: p}
		if !p.Ended() {
			a.machine.Adopted(ref, now)
			a.log.Info("task runs on", "task", ref.String(), "shim", k.Progress.Process.PID)
		}
		a.work.Go(func() { a.await(ref, p) })
	}
	a.adopted = nil
}
