package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/artifact"
	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// maxProcesses bounds what one task may fork, threads included, so that one
// that forks without end takes its host along less easily.
const maxProcesses = 16384

// supervisor is what the loop holds of one task's process.
type supervisor struct {
	process *process.Process
	gate    chan bool // the loop's word, given once: the task may start, or never does
}

// start prepares a task's process, apart from the loop.
func (a *Agent) start(l tasks.Launch) {
	ref := l.Ref()
	ctx, cancel := context.WithCancelCause(a.ending)
	a.preparing[ref] = cancel
	a.work.Go(func() {
		defer cancel(nil)
		select {
		case a.starting <- struct{}{}:
		case <-a.stopped:
			return
		}
		p, spec, err := a.prepare(ctx, l)
		<-a.starting
		if err != nil {
			a.unshare(ref)
			how := tasks.How{Failed: err.Error()}
			if errors.As(err, new(unfetched)) {
				how.Reason = offers.ReasonArtifact
			}
			a.post(func() { a.finish(ref, how) })
			return
		}
		a.supervise(ref, p, spec)
	})
}

// prepare makes the sandbox, fills it, and starts the shim behind its gate.
func (a *Agent) prepare(ctx context.Context, l tasks.Launch) (*process.Process, record.Spec, error) {
	who, err := accountOf(l)
	if err != nil {
		return nil, record.Spec{}, err
	}
	dir, err := a.sandboxes.Create(l.Ref(), who.user, l.Task.Command.Dir)
	if err != nil {
		return nil, record.Spec{}, err
	}
	if len(l.Task.Artifacts) > 0 {
		if err := a.fill(ctx, l, who, dir); err != nil {
			return nil, record.Spec{}, err
		}
	}
	spec, err := specOf(l, a.ID(), who, dir)
	if err != nil {
		return nil, record.Spec{}, err
	}
	a.share(ctx, l)
	spec.Env = a.visible(spec.Env, l)
	asked := l.Task.Resources.Amounts
	p, err := a.executor.Prepare(l.Ref().String(), limits.Need{CPUs: asked[offers.CPUs], Mem: asked[offers.Mem], Processes: maxProcesses})
	return p, spec, err
}

// unfetched is why a task's artifacts are not there.
type unfetched struct{ error }

// fill fetches a task's artifacts. That may take long, and other tasks start
// meanwhile.
func (a *Agent) fill(ctx context.Context, l tasks.Launch, who account, dir string) error {
	<-a.starting
	err := a.artifacts.Stage(ctx, l.Task.Artifacts, artifact.Target{Dir: dir, Owner: who.user, Disk: l.Task.Resources.Amounts[offers.Disk]})
	a.starting <- struct{}{}
	if err != nil {
		return unfetched{err}
	}
	a.post(func() { a.machine.Staged(l.Ref(), time.Now()) })
	return nil
}

// supervise takes a prepared process to its end. The gate opens, or closes for
// good, when the loop says so.
func (a *Agent) supervise(ref offers.TaskRef, p *process.Process, spec record.Spec) {
	s := &supervisor{process: p, gate: make(chan bool, 1)}
	told := a.post(func() {
		delete(a.preparing, ref)
		a.running[ref] = s
		a.machine.Prepared(ref, p.Identity(), time.Now())
	})
	if !told {
		p.Close()
		return
	}
	select {
	case open := <-s.gate:
		if open {
			a.open(ref, p, spec)
		} else {
			p.Abandon()
		}
		a.await(ref, p)
	case <-a.stopped:
		p.Close()
	}
}

// open opens a task's gate. That its program could not be started is told by
// its end.
func (a *Agent) open(ref offers.TaskRef, p *process.Process, spec record.Spec) {
	started, err := p.Release(spec)
	switch {
	case errors.Is(err, os.ErrClosed): // the agent ends
	case err != nil:
		a.log.Warn("a task's shim did not answer", "task", ref.String(), "error", err)
	case started.Error == "":
		a.post(func() { a.machine.Started(ref, time.Now()) })
	}
}

// await tells the loop how a task ended.
func (a *Agent) await(ref offers.TaskRef, p *process.Process) {
	exit, err := p.Wait()
	how := tasks.How{Exit: exit}
	switch {
	case errors.Is(err, process.ErrClosed):
		return
	case errors.Is(err, process.ErrLost):
		how.Rebooted = p.Rebooted()
		how.Lost = !how.Rebooted
		a.log.Warn("a task's shim is lost", "task", ref.String(), "error", err)
	case err != nil:
		a.log.Warn("something of an ended task is left", "task", ref.String(), "error", err)
	}
	a.unshare(ref)
	a.post(func() { a.finish(ref, how) })
}

// finish is the end of a task's process, in the loop.
func (a *Agent) finish(ref offers.TaskRef, how tasks.How) {
	delete(a.preparing, ref)
	delete(a.running, ref)
	a.machine.Ended(ref, how, time.Now())
}

// specOf says what the shim starts.
func specOf(l tasks.Launch, agent offers.AgentID, who account, sandbox string) (record.Spec, error) {
	command := l.Task.Command
	spec := record.Spec{
		Args: command.Args(), Env: environment(l, agent, who, sandbox), User: who.user,
		Dir: sandboxPath(sandbox, command.Dir), Stdout: sandboxPath(sandbox, "stdout"), Stderr: sandboxPath(sandbox, "stderr"),
	}
	var err error
	if spec.Path, err = findProgram(spec.Args[0], spec.Dir, spec.Env); err != nil {
		return record.Spec{}, fmt.Errorf("command: %w", err)
	}
	return spec, nil
}
