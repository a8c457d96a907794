package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// accompany starts, once the gate opens, a program that runs beside a task:
// with the task's user and folder, in its cgroups and namespaces. It returns
// how the program ended, and ends by the same signal.
func accompany() int {
	spec, ok := gate()
	if !ok {
		return record.NotStarted
	}
	prefer(taskScore)
	pid, err := startBeside(&spec, &syscall.SysProcAttr{})
	if err != nil {
		return record.NotStarted
	}
	for {
		var status unix.WaitStatus
		switch _, err := unix.Wait4(pid, &status, 0, nil); {
		case err == unix.EINTR:
		case err != nil:
			return record.NotStarted
		case status.Signaled():
			_ = unix.Kill(os.Getpid(), status.Signal())
			return 128 + int(status.Signal()) // this one ends no process
		default:
			return status.ExitStatus()
		}
	}
}

// startBeside starts a program with this one's files where the task of the
// specification's shim is.
func startBeside(spec *record.Spec, sys *syscall.SysProcAttr) (int, error) {
	attr := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env, Files: []uintptr{0, 1, 2}, Sys: sys}
	done, err := intoGroup(sys, spec.Group)
	if err != nil {
		return 0, err
	}
	defer done()
	return run(spec, attr, func(*record.Isolation) error { return enter(spec.Shim) })
}
