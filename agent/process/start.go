package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Spawn starts a shim that waits at its gate, for a task that it is told of
// when that opens. It is not any task's yet.
func (x *Executor) Spawn() (*Process, error) {
	p := &Process{x: x}
	if err := p.spawn(); err != nil {
		p.Discard()
		return nil, err
	}
	return p, nil
}

func (p *Process) spawn() error {
	gate, gateEnd, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("gate of the shim: %w", err)
	}
	defer gate.Close()
	p.gate = gateEnd
	answer, answerEnd, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("answer of the shim: %w", err)
	}
	p.answer = answer
	defer answerEnd.Close()
	cmd := &exec.Cmd{
		Path:        p.x.shim,
		Args:        []string{shimName, p.x.dir, record.Version},
		Env:         []string{"GOMAXPROCS=1"},
		Dir:         p.x.dir,
		ExtraFiles:  []*os.File{gate, answerEnd},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces(p.x.isolation)},
	}
	done, err := p.x.limits.Bear(cmd.SysProcAttr)
	if err != nil {
		return err
	}
	defer done()
	if err := unhurried(cmd.Start); err != nil {
		return fmt.Errorf("start the shim: %w", err)
	}
	p.child = cmd.Process
	if p.watch, err = newWatch(cmd.Process.Pid); err != nil {
		return err
	}
	if p.identity, err = record.Identify(cmd.Process.Pid); err != nil {
		return fmt.Errorf("identify the shim: %w", err)
	}
	return nil
}

// slack is by how much the sleeps of a shim's threads may be late, but for the
// one that starts the task (see the shim). Go's runtime has a thread that looks
// every 20 µs, while anything runs, whether a call of the kernel takes long, and
// has other threads go on then: hundreds of changes of threads for each task, in a
// program that has one thing to do.
const slack = 5 * time.Millisecond

// unhurried starts a program whose sleeps may be late.
func unhurried(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0, 0, 0) != nil {
		return start()
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(own), 0, 0, 0) }() // it was taken before
	return start()
}

// Prepare makes a shim that waits a task's: with its folder and its cgroups.
// What an earlier task of that key left is removed first. After an error the
// shim is to be discarded.
func (p *Process) Prepare(key string, need limits.Need) error {
	p.key = folderName(key)
	p.x.forgotten.keep(p.key)
	if err := errors.Join(os.RemoveAll(p.dir()), os.Mkdir(p.dir(), 0o700)); err != nil {
		return fmt.Errorf("folder of the task: %w", err)
	}
	var err error
	p.group, err = p.x.limits.Group(p.key, need)
	return err
}

// Release opens the gate. It returns once the task runs or the shim has said
// that it could not be started, which Wait tells too.
func (p *Process) Release(spec record.Spec) (record.Started, error) {
	defer p.vacate()
	p.complete(&spec)
	err := json.NewEncoder(p.gate).Encode(spec)
	if err := errors.Join(err, p.gate.Close()); err != nil {
		return record.Started{}, fmt.Errorf("open the shim's gate: %w", err)
	}
	var started record.Started
	err = json.NewDecoder(p.answer).Decode(&started)
	if err := errors.Join(err, p.answer.Close()); err != nil {
		return record.Started{}, fmt.Errorf("the shim did not answer: %w", err)
	}
	return started, nil
}

// complete says where the task is held and in what.
func (p *Process) complete(spec *record.Spec) {
	spec.Folder, spec.Group, spec.Joined, spec.OOM = p.dir(), p.group.Leaf(), p.group.Joined(), p.group.OOM()
	spec.Shim, spec.Isolation = p.identity, p.x.isolation
}

// vacate lets another spare be started in place of this one.
func (p *Process) vacate() {
	if p.leave != nil {
		p.leave()
	}
}

// Abandon closes the gate: the shim ends without having started anything.
func (p *Process) Abandon() {
	if p.gate != nil {
		_ = p.gate.Close()
	}
}

// Discard ends a shim whose gate was not opened, and reaps it. No Wait is to
// follow.
func (p *Process) Discard() {
	p.Close()
	if p.child != nil {
		_ = p.child.Kill()
		_, _ = p.child.Wait()
	}
}
