package main

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// task is the running task. mu makes sure that its process group is signalled
// only while its leader is not reaped: the number can't belong to somebody
// else then.
type task struct {
	pid int

	mu     sync.Mutex
	reaped bool
}

// wait returns how the task ended, once nothing of it is left. The goroutine
// that passes orders on lives as long as the program.
func wait(pid int, orders <-chan os.Signal) record.Exit {
	t := &task{pid: pid}
	go t.obey(orders)
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil && err != unix.EINTR {
			return record.Exit{Error: "wait: " + err.Error(), Time: time.Now().UTC()}
		}
		if status, ended := t.reap(); ended {
			exit := exitOf(status)
			clear()
			return exit
		}
	}
}

// exitOf tells how a program has just ended.
func exitOf(status unix.WaitStatus) record.Exit {
	exit := record.Exit{Code: status.ExitStatus(), Time: time.Now().UTC()}
	if status.Signaled() {
		exit.Code, exit.Signal = 0, unix.SignalName(status.Signal())
	}
	return exit
}

// reap takes one ended child away and reports whether it was the task. The
// rest of the task's group is killed before its leader is reaped wherever the
// order of events allows it.
func (t *task) reap() (unix.WaitStatus, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, t.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	if err == nil && info.Signo != 0 {
		_ = unix.Kill(-t.pid, unix.SIGKILL)
	}
	var status unix.WaitStatus
	target := -1
	if info.Signo != 0 {
		target = t.pid
	}
	if pid, err := unix.Wait4(target, &status, unix.WNOHANG, nil); err != nil || pid != t.pid {
		return 0, false
	}
	_ = unix.Kill(-t.pid, unix.SIGKILL)
	t.reaped = true
	return status, true
}

// obey passes orders on until the task is reaped.
func (t *task) obey(orders <-chan os.Signal) {
	for order := range orders {
		t.mu.Lock()
		if !t.reaped {
			if order == unix.SIGUSR1 {
				_ = unix.Kill(-t.pid, unix.SIGKILL)
			} else {
				_ = unix.Kill(-t.pid, unix.SIGTERM)
			}
		}
		t.mu.Unlock()
	}
}

// clear kills and reaps whatever the task left behind. What a killed process
// leaves behind becomes a child of the shim and is found in the next round.
func clear() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err != nil && err != unix.EINTR {
			return // nothing is left
		}
		if err != nil || pid > 0 {
			continue
		}
		pids, known := children()
		if !known {
			return
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_, _ = unix.Wait4(-1, &status, 0, nil)
	}
}

// children returns the shim's children, ended ones included, unless this
// kernel does not list them.
func children() (pids []int, known bool) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		data, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/children")
		if err != nil {
			continue
		}
		known = true
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, known
}
