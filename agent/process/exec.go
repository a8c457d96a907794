package process

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Command is a program that runs beside a task for somebody who talks to it.
// Its methods may be called side by side; Wait is called once.
type Command struct {
	shim     *exec.Cmd
	leash    *os.File // its close ends the program
	answer   *os.File
	words    *json.Decoder
	in       *os.File
	out, err *os.File      // err is nil with a terminal
	over     chan struct{} // closed when the program has ended
}

// startPatience is how long a program may take to be started.
const startPatience = 10 * time.Second

// Exec starts a program beside a running task, as the task's user and inside its
// cgroups and namespaces, as the first of a session: with a terminal unless size
// is nil, or with three pipes. An error that is fs.ErrNotExist says that there is
// no such program; any is one sentence.
//
// The program's session ends with it, with Kill, or with the agent. What it
// leaves behind in other sessions ends with the task.
func (p *Process) Exec(spec record.Spec, size *record.Size) (*Command, error) {
	p.complete(&spec)
	spec.Terminal = size != nil
	c := &Command{shim: &exec.Cmd{
		Path: p.x.shim, Args: []string{shimName, record.Exec, record.Version}, Env: []string{"GOMAXPROCS=1"},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, over: make(chan struct{})}
	theirs, err := c.connect(spec.User, size)
	if err == nil {
		err = c.shim.Start()
	}
	for _, f := range theirs {
		_ = f.Close() // the shim has its own
	}
	if err == nil {
		if err = c.begin(spec); err != nil {
			c.Kill()
			_ = c.shim.Process.Kill() // it may hang
			_ = c.shim.Wait()
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connect opens what leads to the program, and returns the shim's ends.
func (c *Command) connect(user *record.User, size *record.Size) (theirs []*os.File, err error) {
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	gate, leash := pipe()
	answer, answerEnd := pipe()
	c.leash, c.answer, c.shim.ExtraFiles = leash, answer, []*os.File{gate, answerEnd}
	theirs = append(theirs, gate, answerEnd)
	if size != nil {
		tty, failed := c.openTerminal(user, *size)
		c.shim.Stdin, c.shim.Stdout, c.shim.Stderr = tty, tty, tty
		return append(theirs, tty), errors.Join(err, failed)
	}
	in, inEnd := pipe()
	out, outEnd := pipe()
	erred, erredEnd := pipe()
	c.in, c.out, c.err = inEnd, out, erred
	c.shim.Stdin, c.shim.Stdout, c.shim.Stderr = in, outEnd, erredEnd
	return append(theirs, in, outEnd, erredEnd), err
}

// openTerminal makes a terminal that belongs to the task's user.
func (c *Command) openTerminal(user *record.User, size record.Size) (*os.File, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	c.in, c.out = master, master
	if err = c.Resize(size); err == nil && user != nil {
		err = tty.Chown(int(user.UID), -1)
	}
	if err != nil {
		err = fmt.Errorf("set up a terminal: %w", err)
	}
	return tty, err
}

// begin opens the gate, which stays open, and hears whether the program runs.
func (c *Command) begin(spec record.Spec) error {
	if err := json.NewEncoder(c.leash).Encode(spec); err != nil {
		return fmt.Errorf("open the shim's gate: %w", err)
	}
	if err := c.answer.SetReadDeadline(time.Now().Add(startPatience)); err != nil {
		return fmt.Errorf("hear the shim: %w", err)
	}
	c.words = json.NewDecoder(c.answer)
	var started record.Started
	if err := c.words.Decode(&started); err != nil {
		return fmt.Errorf("the shim did not answer: %w", err)
	}
	if started.None {
		return fmt.Errorf("there is no %s: %w", spec.Path, fs.ErrNotExist)
	}
	if started.Error != "" {
		return errors.New(started.Error)
	}
	return c.answer.SetReadDeadline(time.Time{})
}

// Input is what the program reads. With a terminal its close says nothing.
func (c *Command) Input() io.WriteCloser {
	if c.err == nil {
		return unclosed{c.in}
	}
	return c.in
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// Outputs are what the program writes, by "stdout" and "stderr"; with a
// terminal there is stdout only. They end when the program has, and nobody who has
// its files still writes.
func (c *Command) Outputs() map[string]io.Reader {
	if c.err == nil {
		return map[string]io.Reader{"stdout": tail{c.out, c.over}}
	}
	return map[string]io.Reader{"stdout": tail{c.out, c.over}, "stderr": tail{c.err, c.over}}
}

// tail reads a pipe or a terminal whose writer may leave it to others.
type tail struct {
	*os.File
	over <-chan struct{} // closed when the program has ended
}

// tailPatience is for how long others may be silent.
const tailPatience = 200 * time.Millisecond

func (t tail) Read(p []byte) (int, error) {
	select {
	case <-t.over:
		if err := t.SetReadDeadline(time.Now().Add(tailPatience)); err != nil {
			return 0, err
		}
	default:
	}
	n, err := t.File.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, unix.EIO) { // so a terminal ends that nobody has open
		err = io.EOF
	}
	return n, err
}

// Resize tells the program that its terminal has another size.
func (c *Command) Resize(s record.Size) error {
	return pty.Setsize(c.out, &pty.Winsize{Rows: s.Rows, Cols: s.Columns})
}

// Kill ends the program with its session, and returns at once.
func (c *Command) Kill() { _ = c.leash.Close() }

// Wait returns how the program ended, once its session has. Its outputs may still
// be read, until Close.
func (c *Command) Wait() (record.Exit, error) {
	var exit record.Exit
	err := c.words.Decode(&exit)
	c.Kill()
	close(c.over)
	for _, f := range []*os.File{c.out, c.err} {
		if f != nil {
			_ = f.SetReadDeadline(time.Now().Add(tailPatience)) // whoever waits there reads again
		}
	}
	waited := c.shim.Wait()
	if status, ok := c.shim.ProcessState.Sys().(syscall.WaitStatus); err != nil && ok && status.Signaled() {
		return record.Exit{Signal: unix.SignalName(status.Signal())}, nil // with the task, and the command with it
	}
	if err != nil {
		return record.Exit{}, fmt.Errorf("nobody knows how the command ended: %w", cmp.Or(waited, err))
	}
	return exit, nil
}

// Close gives back what the command has open, once Wait has returned.
func (c *Command) Close() {
	for _, f := range []*os.File{c.leash, c.answer, c.in, c.out, c.err} {
		_ = f.Close() // some are closed, or the same, or none
	}
}
