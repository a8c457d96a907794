package process_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/processtest"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

var shim string

func TestMain(m *testing.M) {
	path, remove, err := processtest.Shim()
	if err != nil {
		panic(err)
	}
	shim = path
	code := m.Run()
	remove()
	os.Exit(code)
}

type bench struct {
	*process.Executor
	dir string
}

func newBench(t testing.TB) bench {
	t.Helper()
	return newIsolated(t, record.Isolation{})
}

// newIsolated is a bench whose tasks are isolated so.
func newIsolated(t testing.TB, isolation record.Isolation) bench {
	t.Helper()
	dir := t.TempDir()
	l := limits.Open("ringmaster-test/"+filepath.Base(filepath.Dir(dir))+filepath.Base(dir), hclog.NewNullLogger())
	t.Cleanup(l.Close)
	x, err := process.New(shim, filepath.Join(dir, "run"), l, isolation)
	if err != nil {
		t.Fatal(err)
	}
	return bench{x, dir}
}

func (b bench) spec(t testing.TB, script string) record.Spec {
	t.Helper()
	for _, name := range []string{"stdout", "stderr"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return record.Spec{
		Path: "/bin/sh", Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/bin:/usr/bin"}, Dir: b.dir,
		Stdout: filepath.Join(b.dir, "stdout"), Stderr: filepath.Join(b.dir, "stderr"),
	}
}

// start runs a script up to its start.
func (b bench) start(t testing.TB, script string, need limits.Need) *process.Process {
	t.Helper()
	p, err := b.Prepare("fw:task", need)
	if err != nil {
		t.Fatal(err)
	}
	started, err := p.Release(b.spec(t, script))
	if err != nil || started.Error != "" {
		t.Fatal(err, started.Error)
	}
	return p
}

func (b bench) await(t testing.TB, name string) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if data, err := os.ReadFile(filepath.Join(b.dir, name)); err == nil && strings.HasSuffix(string(data), "\n") {
			return strings.TrimSpace(string(data))
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("%s never came", name)
	return ""
}

func TestHowTasksEnd(t *testing.T) {
	for _, c := range []struct {
		script string
		code   int
		signal string
	}{
		{"exit 0", 0, ""},
		{"exit 7", 7, ""},
		{"kill -KILL $$", 0, "SIGKILL"},
		{"kill -TERM $$", 0, "SIGTERM"},
		{"sleep 1000 & exit 3", 3, ""},                                 // left behind in the group
		{"setsid sleep 1000 & exit 4", 4, ""},                          // left behind outside it
		{"(setsid sh -c 'sleep 1000 & sleep 1000' &) ; exit 5", 5, ""}, // twice removed
	} {
		b := newBench(t)
		exit, err := b.start(t, c.script, limits.Need{}).Wait()
		if err != nil || exit.Code != c.code || exit.Signal != c.signal || exit.Never || exit.Error != "" {
			t.Errorf("%q ended %+v %v", c.script, exit, err)
		}
	}
}

// TestTaskHoldsNothingOfItsShim: with the answer's pipe in the task's hands, a
// shim that dies before it answers leaves the agent waiting for the task's end.
func TestTaskHoldsNothingOfItsShim(t *testing.T) {
	b := newBench(t)
	exit, err := b.start(t, "for fd in 3 4 5 6; do [ ! -e /proc/$$/fd/$fd ] || exit $fd; done", limits.Need{}).Wait()
	if err != nil || exit.Code != 0 {
		t.Errorf("it holds descriptor %d: %+v %v", exit.Code, exit, err)
	}
}

func TestOutputAndFailedStart(t *testing.T) {
	b := newBench(t)
	if _, err := b.start(t, "echo out; echo err >&2", limits.Need{}).Wait(); err != nil {
		t.Fatal(err)
	}
	if b.await(t, "stdout") != "out" || b.await(t, "stderr") != "err" {
		t.Error("output is not where it belongs")
	}
	p, err := b.Prepare("fw:bad", limits.Need{})
	if err != nil {
		t.Fatal(err)
	}
	spec := b.spec(t, "")
	spec.Path = "/no/such/program"
	started, err := p.Release(spec)
	if err != nil || !strings.Contains(started.Error, "/no/such/program") {
		t.Errorf("started %+v %v", started, err)
	}
	if exit, err := p.Wait(); err != nil || !strings.Contains(exit.Error, "no such file") {
		t.Errorf("exit %+v %v", exit, err)
	}
}

func TestGateThatCloses(t *testing.T) {
	b := newBench(t)
	p, err := b.Prepare("fw:task", limits.Need{})
	if err != nil {
		t.Fatal(err)
	}
	id := p.Identity()
	p.Close()
	if exit, err := b.Adopt("fw:task", id).Wait(); err != nil || !exit.Never {
		t.Errorf("a task whose gate closed ended %+v %v", exit, err)
	}
}

// TestAdoptAtTheGate: an agent died before it opened a gate, and the next one is
// there before the shim has noticed. It does not take that for a task that runs.
func TestAdoptAtTheGate(t *testing.T) {
	b := newBench(t)
	p, err := b.Prepare("fw:task", limits.Need{})
	if err != nil {
		t.Fatal(err)
	}
	id := p.Identity()
	signalShim(t, id, syscall.SIGSTOP)
	p.Close()
	again := b.Adopt("fw:task", id)
	begins := make(chan bool, 1)
	go func() { begins <- again.Begins() }()
	early := false
	select {
	case <-begins:
		early = true
	case <-time.After(50 * time.Millisecond):
	}
	signalShim(t, id, syscall.SIGCONT)
	if early || <-begins {
		t.Error("it is said to start, or not to, before the shim could say anything")
	}
	if exit, err := again.Wait(); err != nil || !exit.Never {
		t.Errorf("it ended %+v %v", exit, err)
	}
}

func signalShim(t *testing.T, id record.Identity, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(id.PID, s); err != nil {
		t.Fatal(err)
	}
}

func TestTerminateAndKill(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "trap 'echo asked; exit 9' TERM; echo ready > ready; while :; do sleep 0.02; done", limits.Need{})
	b.await(t, "ready")
	p.Terminate()
	if exit, err := p.Wait(); err != nil || exit.Code != 9 {
		t.Errorf("asked to end: %+v %v", exit, err)
	}
	b = newBench(t)
	p = b.start(t, "trap '' TERM; echo ready > ready; while :; do sleep 0.02; done", limits.Need{})
	b.await(t, "ready")
	p.Terminate()
	p.Kill()
	if exit, err := p.Wait(); err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("killed: %+v %v", exit, err)
	}
}

func TestAdoptRunningAndEnded(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "while [ ! -e go ]; do sleep 0.01; done; exit 6", limits.Need{})
	id := p.Identity()
	p.Close()
	if _, err := p.Wait(); !errors.Is(err, process.ErrClosed) {
		t.Fatal(err)
	}
	again := b.Adopt("fw:task", id)
	if !again.Begins() {
		t.Error("a task that runs is said not to")
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, err := again.Wait(); err != nil || exit.Code != 6 {
		t.Errorf("adopted: %+v %v", exit, err)
	}
	ended := b.Adopt("fw:task", id)
	if ended.Begins() {
		t.Error("a task that has ended is said to begin")
	}
	if exit, err := ended.Wait(); err != nil || exit.Code != 6 {
		t.Errorf("adopted after its end: %+v %v", exit, err)
	}
}

func TestShimLost(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "echo $$ > ready; sleep 1000", limits.Need{})
	pid, err := strconv.Atoi(b.await(t, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.Identity().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, process.ErrLost) {
		t.Errorf("a lost shim: %v", err)
	}
	dies(t, pid)
}

func dies(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; {
		if id, err := record.Identify(pid); err != nil || !id.Alive() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the task outlived the shim")
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestMemoryAndProcessLimits(t *testing.T) {
	if l := limits.Open("ringmaster-test/probe", hclog.NewNullLogger()); l.Active() {
		l.Close()
	} else {
		t.Skip("this host lets the tests make no cgroups (root is needed)")
	}
	b := newBench(t)
	p := b.start(t, "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo unlimited", limits.Need{Mem: 32 << 20})
	if exit, err := p.Wait(); err != nil || !exit.OOM {
		t.Errorf("a task over its memory ended %+v %v", exit, err)
	}
	b = newBench(t)
	p, err := b.Prepare("fw:task", limits.Need{Mem: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.Release(b.spec(t, "exit 0")) // the kernel may kill the shim that starts it, before it answers
	if exit, err := p.Wait(); err != nil || !exit.OOM || exit.Signal != "SIGKILL" {
		t.Errorf("a task without the memory to start ended %+v %v", exit, err)
	}
	b = newBench(t)
	p = b.start(t, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 5 & done; exit 0", limits.Need{Processes: 12})
	if exit, err := p.Wait(); err != nil || exit.Code == 0 {
		t.Errorf("a task over its processes ended %+v %v", exit, err)
	}
}

func TestShimIsSmall(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "echo x > ready; sleep 1000", limits.Need{})
	b.await(t, "ready")
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.Identity().PID) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			if kib, err := strconv.Atoi(fields[1]); err != nil || kib > 8<<10 {
				t.Errorf("the shim holds %s KiB", fields[1])
			}
			t.Log(line)
		}
	}
	p.Kill()
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
}

func TestSweep(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "echo $$ > ready; sleep 1000", limits.Need{})
	pid, err := strconv.Atoi(b.await(t, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	if unended, err := b.Sweep(map[string]record.Identity{"fw:task": p.Identity()}); err != nil || len(unended) != 0 || syscall.Kill(pid, 0) != nil {
		t.Fatal(unended, err)
	}
	if unended, err := b.Sweep(nil); err != nil || len(unended) != 1 {
		t.Fatal(unended, err)
	}
	dies(t, pid)
	p.Close()
}

// A shim that runs for a task of which another shim is known is of a time that
// nobody knows: nobody would wait for it.
func TestSweepOfAnotherShim(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "echo $$ > ready; sleep 1000", limits.Need{})
	pid, err := strconv.Atoi(b.await(t, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	other := p.Identity()
	other.Start--
	if unended, err := b.Sweep(map[string]record.Identity{"fw:task": other}); err != nil || len(unended) != 0 {
		t.Fatal(unended, err)
	}
	dies(t, pid)
	p.Close()
}

// What a shim has forked looks like it until it becomes the task's program. An
// agent that comes back at that moment lets it be.
func TestSweepOfAForkedTask(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "sleep 1000", limits.Need{})
	gate, gateEnd, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gateEnd.Close()
	forked := &exec.Cmd{Path: shim, Args: []string{"ringmaster-shim", filepath.Join(b.dir, "run", "fw:task"), record.Version}, ExtraFiles: []*os.File{gate, gate}}
	if err := forked.Start(); err != nil {
		t.Fatal(err)
	}
	gate.Close()
	if unended, err := b.Sweep(map[string]record.Identity{"fw:task": p.Identity()}); err != nil || len(unended) != 0 {
		t.Fatal(unended, err)
	}
	gateEnd.Close()
	if err := forked.Wait(); err != nil {
		t.Error(err)
	}
	p.Kill()
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkPrepareReleaseWait(b *testing.B) {
	x := newBench(b)
	for b.Loop() {
		if _, err := x.start(b, "exit 0", limits.Need{CPUs: 100, Mem: 64 << 20, Processes: 64}).Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBeside runs programs beside a task: in its cgroups, as the user that is
// asked for, and never longer than it is allowed.
func TestBeside(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "cat /proc/self/cgroup > task; echo >> task; sleep 1000", limits.Need{Mem: 128 << 20, Processes: 100})
	defer func() {
		p.Kill()
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
	}()
	for script, want := range map[string]string{
		"exit 0": "", "exit 3": "the command ended with exit code 3", "kill -9 $$": "the command ended with signal: killed",
		"cat /proc/self/cgroup > beside; echo >> beside": "", "pwd > where": "", "[ $(cat /proc/self/oom_score_adj) -ge 500 ]": "",
	} {
		err := p.Beside(t.Context(), b.spec(t, script))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	if of, beside := b.await(t, "task"), b.await(t, "beside"); of != beside {
		t.Errorf("the task is in\n%s\nand what ran beside it was in\n%s", of, beside)
	}
	if got := b.await(t, "where"); got != b.dir {
		t.Errorf("it ran in %s", got)
	}
	absent := b.spec(t, "")
	absent.Path = "/absent"
	if err := p.Beside(t.Context(), absent); err == nil || err.Error() != "/absent could not be started" {
		t.Error(err)
	}
	if err := p.Beside(t.Context(), b.spec(t, "sleep 1000 & echo $! > left")); err != nil {
		t.Error(err)
	}
	left, err := strconv.Atoi(b.await(t, "left"))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if id, err := record.Identify(left); err != nil || !id.Alive() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what a program beside the task left goes on")
		}
	}
	why := errors.New("too long")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, why)
	defer cancel()
	if err := p.Beside(ctx, b.spec(t, "sleep 1000 & wait")); err != why {
		t.Error(err)
	}
	if os.Getuid() != 0 {
		return
	}
	as := b.spec(t, "[ \"$(id -u):$(id -g):$(id -G)\" = '1234:99:99 7' ]")
	as.Dir, as.User = "/", &record.User{UID: 1234, GID: 99, Groups: []uint32{7}}
	if err := p.Beside(t.Context(), as); err != nil {
		t.Error(err)
	}
}

// TestClosedFolderIsNamed: whom a task runs as has to get to its sandbox and to
// its program, and is told where that ends.
func TestClosedFolderIsNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root runs tasks as another user")
	}
	user := &record.User{UID: 1234, GID: 99, Groups: []uint32{7}}
	for _, row := range []struct {
		mode  os.FileMode
		group int
		fails bool
	}{{0o700, 0, true}, {0o711, 0, false}, {0o750, 7, false}, {0o705, 99, true}, {0o750, 0, true}} {
		b := newBench(t)
		top := t.TempDir() // its parents are open to passage
		closed := filepath.Join(top, "closed")
		spec := b.spec(t, "true")
		spec.Dir, spec.User = filepath.Join(closed, "sandbox"), user
		for path, mode := range map[string]os.FileMode{filepath.Dir(top): 0o755, top: 0o755, closed: 0o755, spec.Dir: 0o755} {
			if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, mode)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Chown(closed, 0, row.group), os.Chmod(closed, row.mode)); err != nil {
			t.Fatal(err)
		}
		p, err := b.Prepare("fw:task", limits.Need{})
		if err != nil {
			t.Fatal(err)
		}
		started, err := p.Release(spec)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if row.fails {
			want = "start /bin/sh: permission denied: the user 1234 may not pass the folder " + closed
		}
		if started.Error != want {
			t.Errorf("%o of group %d: %q, want %q", row.mode, row.group, started.Error, want)
		}
		p.Wait()
	}
}
