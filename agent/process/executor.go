package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Executor starts shims and takes them over. Safe for concurrent use.
type Executor struct {
	shim      string // path of the shim program
	dir       string // holds one folder a task
	limits    *limits.Limits
	isolation record.Isolation
}

// New returns an executor that keeps its records under dir. Its tasks are kept
// in what limits and isolation say, which [Try] has found to work.
func New(shim, dir string, l *limits.Limits, isolation record.Isolation) (*Executor, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the running tasks: %w", err)
	}
	return &Executor{shim: shim, dir: dir, limits: l, isolation: isolation}, nil
}

// Process is one task's shim. Its methods may be called side by side.
type Process struct {
	x        *Executor
	key      string
	identity record.Identity
	group    *limits.Group
	watch    *watch      // nil: the shim had ended when it was adopted
	child    *os.Process // nil: adopted
	gate     *os.File    // write end; nil once open, or adopted
	answer   *os.File    // read end
}

// Prepare starts a shim that waits at its gate, inside its cgroups. What an
// earlier task of that key left is removed first.
func (x *Executor) Prepare(key string, need limits.Need) (*Process, error) {
	key = folderName(key)
	dir := filepath.Join(x.dir, key)
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("folder of the task: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the task: %w", err)
	}
	group, err := x.limits.Group(key, need)
	if err != nil {
		return nil, err
	}
	p := &Process{x: x, key: key, group: group}
	if err := p.spawn(dir); err != nil {
		p.Close()
		return nil, errors.Join(err, group.Empty())
	}
	return p, nil
}

func (p *Process) spawn(dir string) error {
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
		Args:        []string{shimName, dir},
		Env:         []string{"GOMAXPROCS=1"},
		Dir:         dir,
		ExtraFiles:  []*os.File{gate, answerEnd},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces(p.x.isolation)},
	}
	done, err := p.group.Bear(cmd.SysProcAttr)
	if err != nil {
		return err
	}
	defer done()
	if err := cmd.Start(); err != nil {
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

// Adopt takes over the shim of that identity, or what it has left behind.
func (x *Executor) Adopt(key string, id record.Identity) *Process {
	key = folderName(key)
	p := &Process{x: x, key: key, identity: id, group: x.limits.Find(key)}
	watch, err := newWatch(id.PID)
	if err != nil {
		return p // no such process any more
	}
	// Asked after the pidfd is open: the process that it names is this one.
	if !id.Alive() {
		watch.Close()
		return p
	}
	p.watch = watch
	return p
}

// Identity returns who the shim is.
func (p *Process) Identity() record.Identity { return p.identity }

// Release opens the gate. It returns once the task runs or the shim has said
// that it could not be started, which Wait tells too.
func (p *Process) Release(spec record.Spec) (record.Started, error) {
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
	spec.Group, spec.Joined, spec.OOM = p.group.Leaf(), p.group.Joined(), p.group.OOM()
	spec.Shim, spec.Isolation = p.identity, p.x.isolation
}

// Abandon closes the gate: the shim ends without having started anything.
func (p *Process) Abandon() {
	if p.gate != nil {
		_ = p.gate.Close()
	}
}

// Terminate asks the task to end: SIGTERM to its process group.
func (p *Process) Terminate() { p.watch.signal(syscall.SIGTERM) }

// Kill ends everything the task started.
func (p *Process) Kill() {
	p.watch.signal(syscall.SIGUSR1)
	p.group.Kill(p.identity.PID)
}

// Close stops watching; a Wait returns. A shim whose gate is still shut ends.
func (p *Process) Close() {
	p.Abandon() // without effect once the gate was opened
	if p.answer != nil {
		_ = p.answer.Close()
	}
	p.watch.Close()
}

// folderName bounds a key to what a file system takes as one name.
func folderName(key string) string {
	if len(key) <= 200 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return key[:180] + "-" + hex.EncodeToString(sum[:8])
}
