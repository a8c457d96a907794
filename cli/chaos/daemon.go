package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// program is how ringmaster is started.
type program struct {
	path string
	env  []string // besides our own
}

// daemon is one master or agent: a process, and after a fault another one with
// the same arguments.
type daemon struct {
	name    string
	kind    string // master or agent
	program program
	args    []string
	folder  string // its data
	log     string // a file

	mu       sync.Mutex
	cmd      *exec.Cmd
	done     chan struct{} // closed when it has ended
	ready    chan struct{} // closed at its first line on standard output
	expected bool          // its end
	state    *os.ProcessState
	strange  []string // ends that nobody brought about
}

func (d *daemon) start() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	defer log.Close()
	fmt.Fprintf(log, "--- start at %s\n", time.Now().UTC().Format(clock))
	cmd := exec.Command(d.program.path, d.args...)
	cmd.Env = append(os.Environ(), d.program.env...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of ours is not theirs
	out, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	defer in.Close()
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		out.Close()
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	d.cmd, d.expected = cmd, false
	d.done, d.ready = make(chan struct{}), make(chan struct{})
	go d.wait(cmd, out, d.ready, d.done)
	return nil
}

// wait belongs to the process: it ends with it, and done says so.
func (d *daemon) wait(cmd *exec.Cmd, out *os.File, ready, done chan struct{}) {
	defer close(done)
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReader(out)
		if _, err := lines.ReadString('\n'); err == nil {
			close(ready)
		}
		_, _ = io.Copy(io.Discard, lines)
	}()
	_ = cmd.Wait() // the state says all
	_ = out.Close()
	<-read
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = cmd.ProcessState
	if !d.expected {
		d.strange = append(d.strange, fmt.Sprintf("%s: %s ended by itself: %s: %s", time.Now().UTC().Format(clock), d.name, cmd.ProcessState, lastLine(d.log)))
	}
}

// awaitReady waits until it serves; an agent serves once it has registered.
func (d *daemon) awaitReady(limit time.Duration) error {
	d.mu.Lock()
	ready, done := d.ready, d.done
	d.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-done:
		return fmt.Errorf("%s ended before it was ready: %s", d.name, lastLine(d.log))
	case <-time.After(limit):
		return fmt.Errorf("%s was not ready within %v", d.name, limit)
	}
}

// pid returns the running process's, 0 when there is none.
func (d *daemon) pid() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd == nil || d.ended() {
		return 0
	}
	return d.cmd.Process.Pid
}

// ended is called under mu.
func (d *daemon) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// signal sends s; with mayEnd its end is nothing strange from here on.
func (d *daemon) signal(s syscall.Signal, mayEnd bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected = d.expected || mayEnd
	err := d.cmd.Process.Signal(s)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// mayEnd says that its end is nothing strange from here on.
func (d *daemon) mayEnd() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected = true
}

func (d *daemon) kill() error {
	if d.pid() == 0 {
		return nil
	}
	if err := d.signal(syscall.SIGKILL, true); err != nil {
		return err
	}
	return d.awaitEnd(10 * time.Second)
}

// stop is a clean end; one that is not clean is an error.
func (d *daemon) stop(limit time.Duration) error {
	if d.pid() == 0 {
		return nil
	}
	if err := d.signal(syscall.SIGTERM, true); err != nil {
		return err
	}
	if err := d.awaitEnd(limit); err != nil {
		return errors.Join(fmt.Errorf("after SIGTERM: %w", err), d.dump())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.state.Success() {
		return fmt.Errorf("%s ended with %s after SIGTERM: %s", d.name, d.state, lastLine(d.log))
	}
	return nil
}

// dump ends a daemon that stands still, and leaves in its log what all its
// goroutines wait for.
func (d *daemon) dump() error {
	if err := d.signal(syscall.SIGQUIT, true); err != nil {
		return err
	}
	if d.awaitEnd(5*time.Second) == nil {
		return nil
	}
	return d.kill()
}

func (d *daemon) awaitEnd(limit time.Duration) error {
	d.mu.Lock()
	done := d.done
	d.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("%s has not ended within %v", d.name, limit)
	}
}

func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// panics returns the lines of all logs that tell of one.
func panics(folder string) []string {
	files, _ := filepath.Glob(filepath.Join(folder, "*.log")) // the pattern is sound
	var out []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, "DATA RACE") {
				out = append(out, filepath.Base(f)+": "+line)
			}
		}
	}
	return out
}
