package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// benchCluster is the processes of one run of a benchmark, this very program
// each, and a temporary folder that goes with them.
type benchCluster struct {
	folder    string
	masters   []string // host:port of HTTP
	processes []*benchProcess
	broken    context.CancelCauseFunc // called when one of them ends by itself
}

// benchProcess is one of them. It dies with us, however we end.
type benchProcess struct {
	name    string
	cmd     *exec.Cmd
	log     string         // file
	args    []string       // and env, to start it again
	env     []string       //
	ready   chan struct{}  // closed at its first ready line
	again   chan time.Time // holds when the last one after it came, until that is taken
	done    chan struct{}  // closed when it has ended
	ending  atomic.Bool    // we ended it
	outcome error          // of Wait, readable after done
}

func openBenchCluster(broken context.CancelCauseFunc) (*benchCluster, error) {
	folder, err := os.MkdirTemp("", "ringmaster-bench-")
	if err != nil {
		return nil, err
	}
	return &benchCluster{folder: folder, broken: broken}, nil
}

// startMasters starts masters m1, m2, ... on loopback and waits until all of
// them serve.
func (b *benchCluster) startMasters(ctx context.Context, count int) error {
	at, err := freeAddresses(2 * count)
	if err != nil {
		return err
	}
	b.masters = at[:count]
	raft := at[count:]
	for i := range count {
		name := fmt.Sprintf("m%d", i+1)
		if err := b.start(name, ownEnvironment(), "master", "--name", name, "--data-dir", filepath.Join(b.folder, name), "--log-level", "warn",
			"--http", b.masters[i], "--raft", raft[i], "--bootstrap-expect", fmt.Sprint(count), "--join", strings.Join(raft, ",")); err != nil {
			return err
		}
	}
	return b.await(ctx)
}

// startAgents starts the simulated agents, in one process, and waits until the
// masters have taken all of them.
func (b *benchCluster) startAgents(ctx context.Context, env []string, args ...string) error {
	if err := b.start("agents", env, append([]string{"bench", "agents"}, args...)...); err != nil {
		return err
	}
	return b.await(ctx)
}

// freeAddresses returns addresses on loopback that nobody used a moment ago.
func freeAddresses(n int) ([]string, error) {
	var out []string
	var held []io.Closer
	defer func() {
		for _, l := range held {
			l.Close() // nobody came in
		}
	}()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, l)
		out = append(out, l.Addr().String())
	}
	return out, nil
}

// ownEnvironment is ours without what configures ringmaster: a cluster of our
// own is the same wherever it is started.
func ownEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RINGMASTER_") })
}

func (b *benchCluster) start(name string, env []string, args ...string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	p := &benchProcess{name: name, log: filepath.Join(b.folder, name+".log"), args: args, env: env,
		ready: make(chan struct{}), again: make(chan time.Time, 1), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	p.cmd = exec.Command(program, args...)
	p.cmd.Args[0], p.cmd.Env, p.cmd.Stderr = "ringmaster", env, log
	// In a group of its own Ctrl-C does not reach it: we end it, in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	b.processes = append(b.processes, p)
	go p.follow(out, b.broken)
	return nil
}

// follow reads what the process says until it has ended; stop waits for that.
func (p *benchProcess) follow(out io.Reader, broken context.CancelCauseFunc) {
	defer close(p.done)
	for lines, ready := bufio.NewScanner(out), false; lines.Scan(); {
		switch isReady := strings.HasPrefix(lines.Text(), "ready "); {
		case isReady && !ready:
			ready = true
			close(p.ready)
		case isReady:
			select {
			case <-p.again:
			default:
			}
			p.again <- time.Now()
		}
	}
	p.outcome = p.cmd.Wait()
	if !p.ending.Load() {
		broken(p.failure())
	}
}

// named returns a process.
func (b *benchCluster) named(name string) *benchProcess {
	return b.processes[slices.IndexFunc(b.processes, func(p *benchProcess) bool { return p.name == name })]
}

// kill ends a process as a loss of power would, and returns when it did. It is
// to be started again.
func (b *benchCluster) kill(p *benchProcess) (time.Time, error) {
	p.ending.Store(true)
	at := time.Now()
	if err := p.cmd.Process.Kill(); err != nil {
		return at, fmt.Errorf("killing %s: %w", p.name, err)
	}
	<-p.done
	b.processes = slices.DeleteFunc(b.processes, func(o *benchProcess) bool { return o == p })
	return at, nil
}

// failure says why the process ended by itself, with the last it logged.
func (p *benchProcess) failure() error {
	why := "exit code 0"
	if p.outcome != nil {
		why = p.outcome.Error()
	}
	text, err := os.ReadFile(p.log)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("%s has ended (%s)", p.name, why)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s has ended (%s): %s", p.name, why, lines[len(lines)-1])
}

// await waits until every process is ready.
func (b *benchCluster) await(ctx context.Context) error {
	for _, p := range b.processes {
		select {
		case <-p.ready:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", p.name, context.Cause(ctx))
		}
	}
	return nil
}

// stopPatience is how long a process has to end in order.
const stopPatience = 15 * time.Second

// stop ends all processes, the youngest first, and removes the folder.
func (b *benchCluster) stop() error {
	var errs []error
	for _, p := range slices.Backward(b.processes) {
		errs = append(errs, p.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(b.folder))...)
}

func (p *benchProcess) stop() error {
	p.ending.Store(true)
	// It may have ended by itself: whoever ran it has been told.
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-p.done:
		return nil
	case <-patience.C:
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", p.name, err)
	}
	<-p.done
	return fmt.Errorf("%s did not end within %v and was killed", p.name, stopPatience)
}

// usage returns what the processes, and this one as "frameworks", have taken
// so far.
func (b *benchCluster) usage() ([]processShown, error) {
	var out []processShown
	for _, p := range b.processes {
		u, err := usageOf(p.name, p.cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	own, err := usageOf("frameworks", os.Getpid())
	return append(out, own), err
}

// usageOf reads the CPU time of a process and the most that was resident.
func usageOf(name string, pid int) (u processShown, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return u, fmt.Errorf("reading what %s takes: %w", name, err)
	}
	stat, err := p.Stat()
	if err != nil {
		return u, fmt.Errorf("reading what %s takes: %w", name, err)
	}
	status, err := p.NewStatus()
	if err != nil {
		return u, fmt.Errorf("reading what %s takes: %w", name, err)
	}
	return processShown{Name: name, CPU: stat.CPUTime(), RSS: int64(status.VmHWM)}, nil
}
