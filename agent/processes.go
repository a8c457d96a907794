package agent

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// processes runs tasks as processes of the host.
type processes struct {
	*process.Executor
	agent *Agent
	turns chan struct{} // one token for each task that is being prepared
}

var (
	_ executor  = (*processes)(nil)
	_ execution = (*hostTask)(nil)
)

// prepare makes the sandbox, fills it, and has a shim wait at its gate. While a
// task's artifacts are fetched other tasks have its turn.
func (x *processes) prepare(ctx context.Context, l tasks.Launch, shim *process.Process) (_ execution, err error) {
	defer func() {
		if err != nil && shim != nil {
			shim.Discard()
		}
	}()
	select {
	case x.turns <- struct{}{}:
		defer func() { <-x.turns }()
	case <-x.agent.stopped:
		return nil, errClosed
	}
	who, err := accountOf(l)
	if err != nil {
		return nil, err
	}
	dir, err := x.agent.sandboxes.Create(l.Ref(), who.user, l.Task.Command.Dir)
	if err != nil {
		return nil, err
	}
	if len(l.Task.Artifacts) > 0 {
		<-x.turns
		err := x.agent.fill(ctx, l, who.user, dir)
		x.turns <- struct{}{}
		if err != nil {
			return nil, err
		}
	}
	spec, err := specOf(l, x.agent.ID(), who, dir)
	if err != nil {
		return nil, err
	}
	if err := checkPorts(l.Holding.Ports); err != nil {
		return nil, err
	}
	x.agent.share(ctx, l)
	spec.Env = x.agent.visible(spec.Env, l)
	if shim == nil {
		if shim, err = x.Spawn(); err != nil {
			return nil, err
		}
	}
	if err := shim.Prepare(l.Ref().String(), x.agent.needOf(l)); err != nil {
		return nil, err
	}
	return &hostTask{Process: shim, agent: x.agent, spec: spec}, nil
}

func (x *processes) adopt(l tasks.Launch, id record.Identity) execution {
	return &hostTask{Process: x.Adopt(l.Ref().String(), id), agent: x.agent, adopted: true}
}

func (x *processes) started(l tasks.Launch) (record.Identity, bool) {
	return x.Started(l.Ref().String(), l.Accepted)
}

func (x *processes) sweep(keep map[offers.TaskRef]record.Identity) ([]string, error) {
	shims := make(map[string]record.Identity, len(keep))
	for ref, id := range keep {
		shims[ref.String()] = id
	}
	return x.Sweep(shims)
}

func (x *processes) forget(ref offers.TaskRef) { x.Forget(ref.String()) }

// hostTask is one task's process.
type hostTask struct {
	*process.Process
	agent   *Agent
	spec    record.Spec
	adopted bool
	runs    bool // its gate was opened and the program started
}

// Open opens the gate. That the program could not be started is told by its
// end.
func (t *hostTask) Open(open bool) {
	if !open {
		t.Abandon()
		return
	}
	started, err := t.Release(t.spec)
	if err != nil && !errors.Is(err, os.ErrClosed) { // that is the agent's end
		t.agent.log.Warn("a task's shim did not answer", "task", t.spec.Dir, "error", err)
	}
	t.runs = err == nil && started.Error == ""
}

// Wait tells how the task ended.
func (t *hostTask) Wait(runs func()) (tasks.How, error) {
	if t.runs || t.adopted && t.Begins() {
		runs()
	}
	exit, err := t.Process.Wait()
	how := tasks.How{Exit: exit}
	switch {
	case errors.Is(err, process.ErrClosed):
		err = errClosed
	case errors.Is(err, process.ErrLost):
		how.Rebooted = t.Rebooted()
		how.Lost = !how.Rebooted
	}
	return how, err
}

// Signal reaches the shim, which passes it on.
func (t *hostTask) Signal(force bool) {
	if force {
		t.Kill()
	} else {
		t.Terminate()
	}
}

// Settled leaves the shim's record until the end is acknowledged: it tells an
// older copy of the checkpoint that the task has run.
func (t *hostTask) Settled() error { return nil }

// specOf says what the shim starts.
func specOf(l tasks.Launch, agent offers.AgentID, who account, sandbox string) (record.Spec, error) {
	command := l.Task.Command
	spec := record.Spec{
		Args: command.Args(), Env: hostEnvironment(l, agent, who, sandbox), User: who.user,
		Dir: sandboxPath(sandbox, command.Dir), Stdout: sandboxPath(sandbox, "stdout"), Stderr: sandboxPath(sandbox, "stderr"),
	}
	var err error
	if spec.Path, err = findProgram(spec.Args[0], spec.Dir, spec.Env); err != nil {
		return record.Spec{}, fmt.Errorf("command: %w", err)
	}
	return spec, nil
}
