package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// ErrClosed is what Wait returns after Close.
var ErrClosed = errors.New("the process is not watched any more")

// ErrLost says that a shim died without leaving a record.
var ErrLost = errors.New("the process that supervised the task died without a record of its end")

// Wait returns how the task ended, once nothing of it is left and its cgroups
// are removed. It returns ErrClosed after Close, and ErrLost (with everything
// that could be found of the task killed) when its shim left no record of the
// end of a task that may have run, and the kernel did not kill for memory there.
func (p *Process) Wait() (record.Exit, error) {
	if err := p.watch.wait(); err != nil {
		return record.Exit{}, err
	}
	room := true
	if p.child != nil {
		state, err := p.child.Wait() // reaps
		room = err != nil || state.ExitCode() != record.NoRoom
	}
	p.Close()
	var exit record.Exit
	err := record.Read(p.dir(), record.ExitFile, &exit)
	if err == nil && exit.Shim != p.identity {
		err = fmt.Errorf("%w: it is of another shim", record.ErrDamaged)
	}
	if err == nil {
		return exit, p.clean()
	}
	if !room {
		return record.Exit{Error: "there is no room on its agent's disk for the record of its end", Time: time.Now().UTC()}, p.clean()
	}
	var started record.Started
	missing := errors.Is(err, os.ErrNotExist)
	if missing && errors.Is(record.Read(p.dir(), record.StartedFile, &started), os.ErrNotExist) && !p.Rebooted() {
		return record.Exit{Never: true, Time: time.Now().UTC()}, p.clean()
	}
	p.killRest()
	if missing && record.OOMKilled(p.group.OOM()) {
		// With too little memory to start the task the kernel kills its shim too:
		// until the start is over they share theirs.
		return record.Exit{Shim: p.identity, Signal: "SIGKILL", OOM: true, Time: time.Now().UTC()}, p.clean()
	}
	if missing {
		err = ErrLost
	} else {
		err = errors.Join(ErrLost, err)
	}
	return record.Exit{Time: time.Now().UTC()}, errors.Join(err, p.clean())
}

// ErrLeft says that a cgroup of an ended task could not be removed.
var ErrLeft = errors.New("some of the task's cgroups are left")

func (p *Process) clean() error {
	if err := p.group.Empty(); err != nil {
		return fmt.Errorf("%w: %w", ErrLeft, err)
	}
	return nil
}

func (p *Process) dir() string { return filepath.Join(p.x.dir, p.key) }

// killRest kills the process group of a task without shim. The group's leader
// must still be who it was, or the number may be somebody else's.
func (p *Process) killRest() {
	var started record.Started
	if record.Read(p.dir(), record.StartedFile, &started) == nil && started.Task.PID > 0 && started.Task.Alive() {
		_ = unix.Kill(-started.Task.PID, unix.SIGKILL)
	}
}

// Begins reports whether an adopted shim starts its task, and waits until that
// is known. One whose agent died before it opened the gate lives a moment
// longer, until it has noticed; one that ends without a word, and one that is
// not watched any more, does not.
func (p *Process) Begins() bool {
	if p.Ended() {
		return false
	}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		err := p.watch.waitFor(pause)
		var started record.Started
		if !errors.Is(record.Read(p.dir(), record.StartedFile, &started), os.ErrNotExist) {
			return true
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
}

// How often Begins looks for the record of a start: often at first, since most
// have it.
const (
	firstLook = time.Millisecond
	lastLook  = 50 * time.Millisecond
)

// Ended reports whether the shim had ended when it was adopted.
func (p *Process) Ended() bool { return p.watch == nil }

// Rebooted reports whether the host has restarted since the shim was started.
func (p *Process) Rebooted() bool {
	boot, err := record.BootID()
	return err == nil && boot != p.identity.Boot
}

// Started returns the shim of a task whose gate was opened after since, from
// what lies in the task's folder; an earlier one is of an earlier task.
func (x *Executor) Started(key string, since time.Time) (record.Identity, bool) {
	var started record.Started
	dir := filepath.Join(x.dir, folderName(key))
	err := record.Read(dir, record.StartedFile, &started)
	info, gone := os.Stat(filepath.Join(dir, record.StartedFile))
	return started.Shim, errors.Join(err, gone) == nil && started.Shim.PID > 0 && info.ModTime().After(since)
}

// Sweep ends every task under the executor's folder, every shim of a folder
// that was there once, and everything in a cgroup, that is not in keep, and the
// other shims of a key that is, and those of no task. It returns the keys that are not in keep of the
// tasks that it found without a record of their end.
func (x *Executor) Sweep(keep map[string]record.Identity) ([]string, error) {
	kept, own := make(map[string]record.Identity, len(keep)), make(map[record.Identity]bool, len(keep))
	for key, shim := range keep {
		kept[folderName(key)], own[shim] = shim, true
	}
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the running tasks: %w", err)
	}
	var unended []string
	var failed error
	for _, e := range entries {
		if _, keep := kept[e.Name()]; keep {
			continue
		}
		if x.end(e.Name()) {
			unended = append(unended, e.Name())
		}
		failed = errors.Join(failed, os.RemoveAll(filepath.Join(x.dir, e.Name())))
	}
	for key, shims := range shims(x.dir) {
		for _, shim := range shims {
			if !own[shim] { // one that is kept may be about to go to its task's folder
				endShim(shim)
			}
		}
		if _, keep := kept[key]; !keep && key != "" {
			unended = append(unended, key)
		}
	}
	for _, key := range x.limits.Keys() {
		if _, keep := kept[key]; !keep {
			failed = errors.Join(failed, x.limits.Find(key).Empty())
		}
	}
	return unended, failed
}

// end kills a task that nobody knows and reports whether it had not ended.
func (x *Executor) end(name string) bool {
	dir := filepath.Join(x.dir, name)
	var exit record.Exit
	if record.Read(dir, record.ExitFile, &exit) == nil {
		return false
	}
	var started record.Started
	if record.Read(dir, record.StartedFile, &started) == nil {
		if started.Task.Alive() {
			_ = unix.Kill(-started.Task.PID, unix.SIGKILL)
		}
		endShim(started.Shim)
	}
	return true
}

// shimPatience is how long a shim that was told to end has for its last record.
const shimPatience = 5 * time.Second

// endShim tells a shim to end and waits until it has, since it writes into the
// folder that is about to go; one that does not end in time is killed.
func endShim(shim record.Identity) {
	if !shim.Alive() {
		return
	}
	fd, err := unix.PidfdOpen(shim.PID, 0)
	if err != nil {
		return // it has just ended
	}
	defer unix.Close(fd)
	_ = unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for until := time.Now().Add(shimPatience); time.Now().Before(until); {
		if n, err := unix.Poll(ended, int(shimPatience.Milliseconds())); n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	_, _ = unix.Poll(ended, int(shimPatience.Milliseconds()))
}

// watch is a pidfd in the runtime's poller. The nil watch is of a process that
// has ended.
type watch struct{ file *os.File }

func newWatch(pid int) (*watch, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return &watch{file: os.NewFile(uintptr(fd), "pidfd")}, nil
}

// wait returns nil once the process has ended.
func (w *watch) wait() error { return w.waitFor(0) }

// waitFor waits no longer than that, 0 for as long as it takes; after it the
// error is os.ErrDeadlineExceeded.
func (w *watch) waitFor(limit time.Duration) error {
	if w == nil {
		return nil
	}
	var until time.Time
	if limit > 0 {
		until = time.Now().Add(limit)
	}
	if w.file.SetReadDeadline(until) != nil {
		return ErrClosed
	}
	conn, err := w.file.SyscallConn()
	if err != nil {
		return ErrClosed
	}
	err = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err == nil && n > 0
	})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case err != nil:
		return ErrClosed
	}
	return nil
}

// signal reaches that very process or nobody.
func (w *watch) signal(sig syscall.Signal) {
	if w == nil {
		return
	}
	if conn, err := w.file.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	}
}

func (w *watch) Close() {
	if w != nil {
		_ = w.file.Close()
	}
}
