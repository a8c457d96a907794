package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// attend starts a program beside a task for somebody who talks to it, and tells
// how it ended. When nobody holds the gate's other end any more, the agent's
// end included, it kills the program with its session.
func attend() int {
	unix.CloseOnExec(record.GateFD)
	unix.CloseOnExec(record.AnswerFD)
	leash := os.NewFile(record.GateFD, "gate")
	answer := json.NewEncoder(os.NewFile(record.AnswerFD, "answer"))
	var spec record.Spec
	words := json.NewDecoder(leash)
	if words.Decode(&spec) != nil {
		return record.NotStarted
	}
	prefer(taskScore)
	pid, err := startBeside(&spec, &syscall.SysProcAttr{Setsid: true, Setctty: spec.Terminal, Pdeathsig: unix.SIGKILL})
	started := record.Started{Shim: spec.Shim}
	if err != nil {
		started.Error, started.None = err.Error(), errors.Is(err, fs.ErrNotExist)
	}
	if answer.Encode(started) != nil || err != nil {
		return record.NotStarted
	}
	let()
	s := &session{leader: pid, over: make(chan struct{}), killed: make(chan struct{})}
	go s.watch(leash)
	return s.wait(answer)
}

// let closes the files that are the program's: others see their ends only when
// nobody holds them.
func let() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || unix.Dup3(null, fd, 0) != nil {
			_ = unix.Close(fd) // it was open
		}
	}
}

// session is a program with all that it started and that has not made a
// session of its own. Its number is its own while its leader is not reaped.
type session struct {
	leader int
	over   chan struct{} // closed when the leader has ended
	killed chan struct{} // closed when the rest has, too

	mu     sync.Mutex
	reaped bool
}

// watch kills the session once its leader has ended, or the leash is let go. It
// runs apart from the thread that entered the task's namespaces and has lost
// the agent's rights: its /proc is the host's.
func (s *session) watch(leash io.Reader) {
	defer close(s.killed)
	go func() {
		_, _ = io.Copy(io.Discard, leash) // nothing follows
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.reaped {
			_ = unix.Kill(s.leader, unix.SIGKILL)
		}
	}()
	<-s.over
	s.kill()
}

// wait tells how the leader ended, once nothing of its session is left.
func (s *session) wait(answer *json.Encoder) int {
	for unix.Waitid(unix.P_PID, s.leader, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	close(s.over)
	<-s.killed
	if answer.Encode(exitOf(s.reap())) != nil {
		return 1 // the agent is gone
	}
	return 0
}

func (s *session) reap() (status unix.WaitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if _, err := unix.Wait4(s.leader, &status, 0, nil); err != unix.EINTR {
			s.reaped = true
			return status
		}
	}
}

// killPatience is how long a session may take to die; one that hangs in the
// kernel ends with its task.
const killPatience = time.Second

// kill ends what is left of the session.
func (s *session) kill() {
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if left := s.killOnce(); left == 0 {
			return
		}
	}
}

// killOnce returns how many were left, zombies not counted.
func (s *session) killOnce() (left int) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		_ = unix.Kill(-s.leader, unix.SIGKILL) // what can be done without
		return 0
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		if sid, err := unix.Getsid(pid); err != nil || sid != s.leader {
			continue
		}
		if _, err := record.Identify(pid); err == nil && unix.Kill(pid, unix.SIGKILL) == nil {
			left++
		}
	}
	return left
}
