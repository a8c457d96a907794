package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Beside runs a program beside a running task, as the task's user and inside
// its cgroups and namespaces, and waits for it; when ctx ends before it, its process group is
// killed. Its output goes nowhere: a check that wants to say something writes
// a file. The error is one sentence, nil when the program ends with 0.
//
// What it leaves behind ends with its process group, or with the task.
func (p *Process) Beside(ctx context.Context, spec record.Spec) error {
	cmd := &exec.Cmd{
		Path: p.x.shim, Args: []string{shimName, record.Beside, record.Version}, Env: []string{"GOMAXPROCS=1"},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := p.startInside(cmd, spec); err != nil {
		return fmt.Errorf("it could not be started: %w", err)
	}
	late := hold(ctx, cmd.Process.Pid)
	err := cmd.Wait()
	switch {
	case late:
		return context.Cause(ctx)
	case err == nil:
		return nil
	case cmd.ProcessState.ExitCode() == record.NotStarted:
		return fmt.Errorf("%s could not be started", spec.Path)
	}
	return fmt.Errorf("the command ended with %s", strings.Replace(err.Error(), "exit status", "exit code", 1))
}

// startInside starts a program that is in the task's cgroups and namespaces
// from its first instruction: the shim's program enters them and starts it
// there. Threads of this process that fork from inside would let an end of the
// task kill the agent.
func (p *Process) startInside(cmd *exec.Cmd, spec record.Spec) error {
	p.complete(&spec)
	return startGated(cmd, spec)
}

// startGated starts the shim's program and opens its gate.
func startGated(cmd *exec.Cmd, spec record.Spec) error {
	gate, end, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{gate}
	err = errors.Join(cmd.Start(), gate.Close())
	if err != nil {
		return errors.Join(err, end.Close())
	}
	err = json.NewEncoder(end).Encode(spec)
	if err = errors.Join(err, end.Close()); err != nil {
		_ = cmd.Process.Kill() // it may have ended at the shut gate
		_ = cmd.Wait()
	}
	return err
}

// hold waits until a child has ended and kills what is left of its process
// group, or all of it when ctx ends first. The child is not reaped before that,
// so that the number is its own.
func hold(ctx context.Context, pid int) (late bool) {
	killed := make(chan struct{})
	inTime := context.AfterFunc(ctx, func() {
		_ = unix.Kill(-pid, unix.SIGKILL)
		close(killed)
	})
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	if late = !inTime(); late {
		<-killed
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
	return late
}
