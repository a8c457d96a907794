//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

func main() {
	if len(os.Args) != 3 || os.Args[2] != record.Version {
		fmt.Fprintln(os.Stderr, "this is a shim for tasks of a ringmaster agent, and not of the build of this one: build both with make build")
		os.Exit(2)
	}
	switch os.Args[1] {
	case record.Beside:
		os.Exit(accompany())
	case record.Exec:
		os.Exit(attend())
	case record.Try:
		os.Exit(try())
	}
	if err := supervise(); err != nil {
		fmt.Fprintln(os.Stderr, "shim:", err)
		if errors.Is(err, errNoRoom) {
			os.Exit(record.NoRoom)
		}
		os.Exit(1)
	}
}

// The program stays on its first thread: what a thread has of its own (cgroups,
// capabilities, mounts) goes to what it starts, and the first thread's mounts
// are where others look for those of the task.
func init() {
	runtime.LockOSThread()
	// The others may sleep longer than they say, the task may not.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, record.TimerSlack, 0, 0, 0)
}

var errNoRoom = errors.New("the record of the task can't be written")

// supervise sees one task from its start to its record.
func supervise() error {
	unix.CloseOnExec(record.AnswerFD) // not the task's: its readers wait for every holder
	orders := make(chan os.Signal, 8)
	signal.Notify(orders, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of what the task leaves behind: %w", err)
	}
	prefer(taskScore) // a shim that waits is missed by nobody
	spec, ok := gate()
	if !ok {
		return nil
	}
	self, dir := spec.Shim, spec.Folder
	// Where it works tells whose it is.
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("go to the folder of the task: %w", err)
	}
	// The room is taken while nothing can be lost yet.
	if err := record.Reserve(dir, record.ExitFile); err != nil {
		return fmt.Errorf("%w: %w", errNoRoom, err)
	}
	// Written before the start: a folder without it is of a task that never ran.
	if err := record.Write(dir, record.StartedFile, record.Started{Shim: self}, false); err != nil {
		return fmt.Errorf("%w: %w", errNoRoom, err)
	}
	pid, err := start(spec)
	if err := announce(dir, &spec, pid, err); err != nil {
		fmt.Fprintln(os.Stderr, "shim:", err) // the agent can do without it
	}
	if err != nil {
		return leave(dir, record.Exit{Shim: self, Error: err.Error(), Time: time.Now().UTC()})
	}
	prefer(0)
	protect()
	exit := wait(pid, orders)
	exit.Shim, exit.OOM = self, record.OOMKilled(spec.OOM)
	return leave(dir, exit)
}

const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// leave writes down how the task ended. Nobody else knows it, so a disk that is
// full in spite of the room that was taken, or broken, is tried again for as
// long as it takes; until then the task counts as running. A folder that is
// gone has nobody who would ask.
func leave(dir string, exit record.Exit) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := record.Write(dir, record.ExitFile, exit, true)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return err
		}
		time.Sleep(pause)
	}
}

// gate waits for the specification, and for nothing to follow it.
func gate() (record.Spec, bool) {
	f := os.NewFile(record.GateFD, "gate")
	defer f.Close()
	var spec record.Spec
	data, err := io.ReadAll(f)
	if err != nil || json.Unmarshal(data, &spec) != nil {
		return record.Spec{}, false
	}
	return spec, true
}

// start starts the task in a process group of its own.
func start(spec record.Spec) (int, error) {
	files := make([]uintptr, 0, 3)
	for _, f := range []struct {
		path string
		flag int
	}{{os.DevNull, os.O_RDONLY}, {spec.Stdout, os.O_WRONLY | os.O_APPEND}, {spec.Stderr, os.O_WRONLY | os.O_APPEND}} {
		fd, err := unix.Open(f.path, f.flag|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			return 0, fmt.Errorf("open %s: %w", f.path, err)
		}
		defer unix.Close(fd)
		files = append(files, uintptr(fd))
	}
	attr := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}}
	done, err := intoGroup(attr.Sys, spec.Group)
	if err != nil {
		return 0, err
	}
	defer done()
	return run(&spec, attr, settleIn)
}

// intoGroup lets what is started be born in a version 2 cgroup, "" for none.
func intoGroup(sys *syscall.SysProcAttr, group string) (done func(), err error) {
	if group == "" {
		return func() {}, nil
	}
	fd, err := unix.Open(group, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the cgroup %s: %w", group, err)
	}
	sys.UseCgroupFD, sys.CgroupFD = true, fd
	return func() { _ = unix.Close(fd) }, nil
}

// announce tells the agent, and an agent that comes later, that the task runs.
// A task that has ended already has no start time any more; its record will say
// so. One in a pid namespace has no number that others could use, and ends with
// its shim.
func announce(dir string, spec *record.Spec, pid int, failed error) error {
	answer := os.NewFile(record.AnswerFD, "answer")
	defer answer.Close()
	started := record.Started{Shim: spec.Shim}
	var written error
	if failed != nil {
		started.Error = failed.Error()
	} else {
		if !spec.Isolation.PID {
			started.Task, _ = record.Identify(pid)
		}
		written = record.Write(dir, record.StartedFile, started, false)
	}
	return errors.Join(written, json.NewEncoder(answer).Encode(started))
}

// taskScore makes the kernel choose the task before its shim when their
// cgroup is out of memory. The task inherits it; raising it and taking it back
// needs no right, unlike [protect].
const taskScore = 500

// prefer sets how gladly the kernel kills this process for its memory; where
// it can't be set the shim is merely a small target.
func prefer(score int) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(score)), 0)
}

// protect makes the kernel look elsewhere altogether, with the right to do so.
func protect() { prefer(-999) }
