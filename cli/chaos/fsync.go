package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

func fsyncErrorMaster(l *lab, r *rand.Rand) (string, error) {
	return l.fsyncError(r, l.masters[r.IntN(len(l.masters))])
}

func fsyncErrorAgent(l *lab, r *rand.Rand) (string, error) {
	d, release, err := l.claim(r, l.agents)
	if err != nil {
		return "", err
	}
	defer release()
	return l.fsyncError(r, d)
}

// fsyncError lets every fsync and fdatasync of d fail from some moment on, as
// a dying disk would. The daemon must end by that, with one sentence; it must
// not go on as if what it wrote were safe. strace does it from outside.
func (l *lab) fsyncError(r *rand.Rand, d *daemon) (string, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return d.name, fmt.Errorf("%w: strace is not installed", errSkipped)
	}
	pid := d.pid()
	if pid == 0 {
		return d.name, fmt.Errorf("%w: it does not run", errSkipped)
	}
	d.mayEnd()
	when := 1 + r.IntN(20)
	var said bytes.Buffer
	tracer := exec.Command(path, "-f", "-qq", "-p", strconv.Itoa(pid), "-o", "/dev/null",
		"-e", "trace=fsync,fdatasync", "-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d+", when))
	tracer.Stderr = &said
	tracer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := tracer.Start(); err != nil {
		return d.name, fmt.Errorf("%w: %w", errSkipped, err)
	}
	over := make(chan error, 1)
	go func() { over <- tracer.Wait() }()
	select {
	case <-over: // with the daemon, or it may not trace
	case <-time.After(span(r, 8*time.Second, 12*time.Second)):
		_ = tracer.Process.Signal(syscall.SIGTERM) // it lets go; it has ended if this fails
		<-over
	}
	how := fmt.Sprintf("%s from the %dth on", d.name, when)
	if d.awaitEnd(2*time.Second) == nil {
		return how + ": " + lastLine(d.log), again(d)
	}
	if said.Len() > 0 {
		return how, errors.Join(fmt.Errorf("%w: %s", errSkipped, bytes.TrimSpace(said.Bytes())), upgrade(d, r))
	}
	return how + ", of which there were not so many", upgrade(d, r)
}
