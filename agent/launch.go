package agent

import (
	"context"
	"errors"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/artifact"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// maxProcesses bounds what one task may fork, threads included, so that one
// that forks without end takes its host along less easily.
const maxProcesses = 16384

// supervisor is what the loop holds of one task's process or container.
type supervisor struct {
	execution execution
	gate      chan bool // the loop's word, given once: the task may start, or never does
}

// reserved are the shims that wait for tasks which are not written down yet.
type reserved map[offers.TaskRef]*process.Process

func (r reserved) discard() {
	for _, shim := range r {
		shim.Discard()
	}
}

// reserve gives spare shims to tasks that are about to start, so that one commit
// tells of a launch and of who runs it. A task that gets none has one started for
// it, and another commit tells of that.
func (a *Agent) reserve() reserved {
	var shims reserved
	for _, l := range a.machine.Starting() {
		if l.Task.Container != nil {
			continue
		}
		shim := a.processes.Spare()
		if shim == nil {
			break
		}
		if shims == nil {
			shims = reserved{}
		}
		shims[l.Ref()] = shim
		a.machine.Reserved(l.Ref(), shim.Identity())
	}
	return shims
}

// start prepares a task, apart from the loop, with the shim that it was given
// unless that is nil. An order to end it gives that up: artifacts and images may
// take long.
func (a *Agent) start(l tasks.Launch, shim *process.Process) {
	ctx, cancel := context.WithCancelCause(a.life)
	a.preparing[l.Ref()] = cancel
	a.work.Go(func() {
		defer cancel(nil)
		e, err := a.executorOf(&l.Task).prepare(ctx, l, shim)
		if err != nil {
			a.unshare(l.Ref())
			a.post(func() { a.finish(l.Ref(), tasks.How{Failed: err.Error(), Reason: reasonOf(err)}) })
			return
		}
		a.supervise(l.Ref(), e)
	})
}

// fill fetches a task's artifacts into its sandbox, which may take long.
func (a *Agent) fill(ctx context.Context, l tasks.Launch, owner *record.User, dir string) error {
	if len(l.Task.Artifacts) == 0 {
		return nil
	}
	err := a.artifacts.Stage(ctx, l.Task.Artifacts, artifact.Target{
		Dir: dir, Owner: owner, Disk: l.Task.Resources.Amounts[offers.Disk],
		Late: func(what string) { a.post(func() { a.machine.Waiting(l.Ref(), what, time.Now()) }) },
	})
	if err != nil {
		return because{offers.ReasonArtifact, err}
	}
	a.post(func() { a.machine.Staged(l.Ref(), time.Now()) })
	return nil
}

// supervise takes what is prepared to its end. The gate opens, or closes for
// good, when the loop says so.
func (a *Agent) supervise(ref offers.TaskRef, e execution) {
	s := &supervisor{execution: e, gate: make(chan bool, 1)}
	told := a.post(func() {
		delete(a.preparing, ref)
		a.running[ref] = s
		a.machine.Prepared(ref, e.Identity(), time.Now())
	})
	if !told {
		e.Close()
		return
	}
	select {
	case open := <-s.gate:
		e.Open(open)
		a.await(ref, e, a.started)
	case <-a.stopped:
		e.Close()
	}
}

// await tells the loop that a task runs and how it ended, and clears up once
// that is written down.
func (a *Agent) await(ref offers.TaskRef, e execution, runs func(offers.TaskRef, time.Time)) {
	how, err := e.Wait(func() { a.post(func() { runs(ref, time.Now()) }) })
	switch {
	case errors.Is(err, errClosed):
		return
	case how.Lost || how.Rebooted:
		a.log.Warn("nobody knows how a task ended", "task", ref.String(), "error", err)
	case err != nil:
		a.log.Warn("something of an ended task is left", "task", ref.String(), "error", err)
	}
	a.unshare(ref)
	written := make(chan struct{})
	if !a.post(func() { a.finish(ref, how); a.written = append(a.written, written) }) {
		return
	}
	select {
	case <-written:
	case <-a.stopped:
		select {
		case <-written: // the last that was written
		default:
			return
		}
	}
	if err := e.Settled(); err != nil {
		a.log.Warn("something of an ended task is left for now", "task", ref.String(), "error", err)
	}
}

// finish is the end of a task's process or container, in the loop.
func (a *Agent) finish(ref offers.TaskRef, how tasks.How) {
	delete(a.preparing, ref)
	delete(a.running, ref)
	a.machine.Ended(ref, how, time.Now())
}
