package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of what a program may do, unless its Source says otherwise.
const (
	DefaultPause    = 10 * time.Second
	DefaultPatience = 30 * time.Second
	maxReport       = 4 << 20
	maxComplaint    = 2 << 10 // of its standard error, of which the last line is told
)

// Source is a program that reports devices.
type Source struct {
	Path     string
	Pause    time.Duration // between its end and its next start; 0 means DefaultPause
	Patience time.Duration // for which it may be silent; 0 means DefaultPatience
}

// Run runs the program until ctx ends, and calls hear with every good report,
// or with what is wrong in one sentence that does not name the program. A
// program in a state in which nothing ends it, as a driver may bring it into,
// is left to itself when ctx ends.
func (s Source) Run(ctx context.Context, hear func(Report, error)) {
	pause := s.Pause
	if pause == 0 {
		pause = DefaultPause
	}
	for {
		if err := s.once(ctx, hear); err != nil && ctx.Err() == nil {
			hear(Report{}, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// once runs the program to its end.
func (s Source) once(ctx context.Context, hear func(Report, error)) error {
	p, err := start(s.Path)
	if err != nil {
		return err
	}
	patience := s.Patience
	if patience == 0 {
		patience = DefaultPatience
	}
	silent := time.AfterFunc(patience, func() { p.stop(fmt.Errorf("it said nothing for %s and was ended", patience)) })
	defer silent.Stop()
	unwatch := context.AfterFunc(ctx, func() { p.stop(context.Cause(ctx)) })
	defer unwatch()
	reports := 0
	err = p.read(func(r Report) {
		silent.Reset(patience)
		reports++
		hear(r, nil)
	})
	p.stop(err)
	ended := p.wait(ctx)
	switch {
	case p.why != nil && !errors.Is(p.why, io.EOF):
		return p.why
	case ended != nil:
		return ended
	case reports == 0:
		return errors.New("it ended without a report")
	}
	return nil
}

// program is one run of a source.
type program struct {
	cmd       *exec.Cmd
	in        *os.File // the end of it tells the program that the agent is gone
	out       *os.File
	errs      *os.File
	complaint tail
	work      sync.WaitGroup

	once sync.Once
	why  error // why it was stopped; io.EOF: it said all it had to say
}

// start starts a program in a process group of its own, so that all of it can
// be ended.
func start(path string) (*program, error) {
	p := &program{}
	var ends [3]*os.File // the program's
	var err error
	if ends[0], p.in, err = os.Pipe(); err == nil {
		if p.out, ends[1], err = os.Pipe(); err == nil {
			p.errs, ends[2], err = os.Pipe()
		}
	}
	if err == nil {
		p.cmd = &exec.Cmd{Path: path, Args: []string{path}, Stdin: ends[0], Stdout: ends[1], Stderr: ends[2], SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
		err = p.cmd.Start()
	}
	for _, f := range ends {
		_ = f.Close() // a nil file, or the program has it
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("it can't be started: %w", err)
	}
	p.work.Go(func() { _, _ = io.Copy(&p.complaint, p.errs) })
	return p, nil
}

func (p *program) close() {
	for _, f := range []*os.File{p.in, p.out, p.errs} {
		_ = f.Close() // nil, or closed already
	}
}

// read reads reports until the program's output ends or is none.
func (p *program) read(hear func(Report)) error {
	limited := &budget{from: p.out, left: maxReport}
	for d := json.NewDecoder(limited); ; {
		var raw json.RawMessage
		switch err := d.Decode(&raw); {
		case errors.Is(err, errTooLarge) || errors.Is(err, io.EOF):
			return err
		case err != nil:
			return fmt.Errorf("it wrote something that is no report: %w", err)
		}
		r, err := Decode(raw)
		if err != nil {
			return err
		}
		hear(r)
		limited.left = maxReport
	}
}

// stop ends the program. The first reason counts. One that ended its output
// has a moment to end itself.
func (p *program) stop(why error) {
	p.once.Do(func() {
		p.why = why
		if !errors.Is(why, io.EOF) {
			p.kill()
		}
		_ = p.out.Close() // wakes the reader
	})
}

func (p *program) kill() { _ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) }

// Moments that a program has: to end once its output has, and to die.
const (
	farewell  = time.Second
	dying     = 5 * time.Second
	lookEach  = 5 * time.Millisecond
	lastWords = 100 * time.Millisecond
)

// wait waits for the program's end and says what was wrong with it. It polls,
// since nothing wakes who waits for a process that can't die.
func (p *program) wait(ctx context.Context) error {
	defer p.work.Wait()
	defer p.close()
	began := time.Now()
	told := false
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(p.cmd.Process.Pid, &status, unix.WNOHANG, nil)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("its end was not seen: %w", err)
		case pid > 0:
			p.kill() // what it left behind in its group
			_ = p.cmd.Process.Release()
			_ = p.errs.SetReadDeadline(time.Now().Add(lastWords)) // a child of it may hold the other end for ever
			p.work.Wait()
			return p.ended(status)
		}
		past := time.Since(began)
		switch {
		case past > farewell && !told:
			told = true
			p.kill()
		case past > dying && ctx.Err() != nil:
			return errors.New("it can't be ended")
		}
		time.Sleep(min(lookEach+past/10, time.Second))
	}
}

// ended says what a status means, nil for a good one.
func (p *program) ended(status unix.WaitStatus) error {
	var how string
	switch {
	case status.Exited() && status.ExitStatus() == 0:
		return nil
	case status.Exited():
		how = fmt.Sprintf("it ended with status %d", status.ExitStatus())
	default:
		how = "it was ended by " + unix.SignalName(status.Signal())
	}
	if last := p.complaint.last(); last != "" {
		how += ": " + last
	}
	return errors.New(how)
}

var errTooLarge = errors.New("it wrote more than 4 MiB as one report")

// budget is a reader that fails once more was read than it has left.
type budget struct {
	from io.Reader
	left int
}

func (b *budget) Read(buf []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.from.Read(buf[:min(len(buf), b.left)])
	b.left -= n
	return n, err
}

// tail keeps the end of what is written. Safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	if over := len(t.data) - maxComplaint; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(data), nil
}

// last returns the last line that says something, as one that can be printed.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.data)), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return '?'
		}
		return r
	}, line)
	return strings.ToValidUTF8(line[:min(len(line), 300)], "")
}
