package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Executor starts shims and takes them over. Safe for concurrent use.
type Executor struct {
	shim      string // path of the shim program
	dir       string // holds one folder a task; without symbolic links
	limits    *limits.Limits
	isolation record.Isolation
	spares    chan *Process // shims that wait for any task
	places    chan struct{} // one token for each spare whose task does not run yet
	forgotten forgotten
}

// New returns an executor that keeps its records under dir. Its tasks are kept
// in what limits and isolation say, which [Try] has found to work.
func New(shim, dir string, l *limits.Limits, isolation record.Isolation) (*Executor, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the running tasks: %w", err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the running tasks: %w", err)
	}
	x := &Executor{shim: shim, dir: dir, limits: l, isolation: isolation, spares: make(chan *Process, spares), places: make(chan struct{}, spares)}
	x.forgotten.keys, x.forgotten.removed.L = map[string]bool{}, &x.forgotten.mu
	return x, nil
}

// Process is one shim. Its methods may be called side by side once it is its
// task's, see Prepare.
type Process struct {
	x        *Executor
	key      string // "" while it is nobody's
	identity record.Identity
	group    *limits.Group
	watch    *watch      // nil: the shim had ended when it was adopted
	child    *os.Process // nil: adopted
	gate     *os.File    // write end; nil once open, or adopted
	answer   *os.File    // read end
	leave    func()      // gives the place of a spare to the next; nil: it was none
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

// Terminate asks the task to end: SIGTERM to its process group.
func (p *Process) Terminate() { p.order(syscall.SIGTERM) }

// Kill ends everything the task started.
func (p *Process) Kill() {
	p.order(syscall.SIGUSR1)
	p.group.Kill(p.identity.PID)
}

// order tells the shim something. One that was stopped, which its own task may
// do, goes on for that: it would never pass on an order, nor write down the end
// of a task that something else has killed.
func (p *Process) order(what syscall.Signal) {
	p.watch.signal(what)
	p.watch.signal(syscall.SIGCONT)
}

// Close stops watching; a Wait returns. A shim whose gate is still shut ends.
func (p *Process) Close() {
	p.Abandon() // without effect once the gate was opened
	if p.answer != nil {
		_ = p.answer.Close()
	}
	p.vacate()
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
