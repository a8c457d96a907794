package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Prepare starts a shim for a task of that key.
func (b bench) Prepare(key string, need limits.Need) (*process.Process, error) {
	p, err := b.Spawn()
	if err != nil {
		return nil, err
	}
	if err := p.Prepare(key, need); err != nil {
		p.Discard()
		return nil, err
	}
	return p, nil
}

// shims returns the pids of the bench's shims.
func (b bench) shims() []int {
	var out []int
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		if string(text) == "ringmaster-shim\x00"+filepath.Join(b.dir, "run")+"\x00"+record.Version+"\x00" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(line)))
			out = append(out, pid)
		}
	}
	return out
}

// keep has the bench keep spares until the test ends or calls what it returns,
// which tells when all have ended.
func (b bench) keep(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan struct{})
	go func() { b.KeepSpares(ctx); close(kept) }()
	stop = func() { cancel(); <-kept }
	t.Cleanup(stop)
	return stop
}

// spare waits for a spare shim.
func (b bench) spare(t *testing.T) *process.Process {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		if p := b.Spare(); p != nil {
			return p
		}
	}
	t.Fatal("there is never a spare shim")
	return nil
}

func (b bench) run(t *testing.T, p *process.Process, key, script string) {
	t.Helper()
	if err := p.Prepare(key, limits.Need{CPUs: 100}); err != nil {
		t.Fatal(err)
	}
	if started, err := p.Release(b.spec(t, script)); err != nil || started.Error != "" {
		t.Fatal(err, started.Error)
	}
}

// TestSpares: a few shims wait, each for one task, and are nobody's until then.
// Those that are left end with who keeps them.
func TestSpares(t *testing.T) {
	b := newBench(t)
	if b.Spare() != nil {
		t.Fatal("there is a spare, and nobody keeps any")
	}
	stop := b.keep(t)
	const most = 4
	var taken []*process.Process
	for range most {
		taken = append(taken, b.spare(t))
	}
	if p := b.Spare(); p != nil || len(b.shims()) != most {
		t.Errorf("there are %d shims, and another spare is %v", len(b.shims()), p)
	}
	for _, p := range taken {
		if kib := memory(t, p.Identity().PID); kib > 8<<10 {
			t.Errorf("a spare holds %d KiB", kib)
		}
	}
	for i, p := range taken {
		b.run(t, p, "fw:t"+strconv.Itoa(i), "exit "+strconv.Itoa(i))
	}
	for i, p := range taken {
		if exit, err := p.Wait(); err != nil || exit.Code != i || exit.Shim != p.Identity() {
			t.Errorf("task %d ended %+v %v", i, exit, err)
		}
	}
	for len(b.shims()) < most { // the next ones are on their way
		<-time.After(time.Millisecond)
	}
	for _, pid := range b.shims() {
		signalShim(t, record.Identity{PID: pid}, syscall.SIGKILL)
		dies(t, pid)
	}
	last := b.spare(t)
	b.run(t, last, "fw:last", "exit 0")
	if exit, err := last.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("after spares were killed a task ended %+v %v", exit, err)
	}
	stop()
	if left := b.shims(); len(left) != 0 {
		t.Errorf("the spares %v outlive who kept them", left)
	}
}

func memory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			t.Log(line)
			return kib
		}
	}
	t.Fatal("nobody says what it holds")
	return 0
}

// TestSparesAreSwept: an agent that comes back ends the spares of the last, which
// may not have noticed yet, and takes none for a task. It lets one be whose gate
// the last had opened for a task that it knows.
func TestSparesAreSwept(t *testing.T) {
	b := newBench(t)
	spare, known := b.spawn(t), b.spawn(t)
	if err := known.Prepare("fw:task", limits.Need{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*process.Process{spare, known} {
		stopShim(t, p.Identity())
	}
	started := make(chan error, 1)
	go func() {
		_, err := known.Release(b.spec(t, "exit 6"))
		started <- err
	}()
	spare.Close() // its agent is dead
	swept := make(chan []string, 1)
	go func() {
		unended, err := b.Sweep(map[string]record.Identity{"fw:task": known.Identity()})
		if err != nil {
			t.Error(err)
		}
		swept <- unended
	}()
	select {
	case <-swept:
		t.Error("nobody waits for the end of a spare")
	case <-time.After(50 * time.Millisecond):
		signalShim(t, spare.Identity(), syscall.SIGCONT)
		if unended := <-swept; len(unended) != 0 {
			t.Errorf("taken for tasks: %q", unended)
		}
	}
	spare.Discard()
	signalShim(t, known.Identity(), syscall.SIGCONT)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if exit, err := known.Wait(); err != nil || exit.Code != 6 {
		t.Errorf("it ended %+v %v", exit, err)
	}
}

// stopShim stops a shim and waits until it stands.
func stopShim(t *testing.T, id record.Identity) {
	t.Helper()
	signalShim(t, id, syscall.SIGSTOP)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/stat"); err == nil && strings.Contains(string(stat), ") T ") {
			return
		}
	}
	t.Fatal("it can't be stopped")
}

func (b bench) spawn(t *testing.T) *process.Process {
	t.Helper()
	p, err := b.Spawn()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStrangersOfAFolderThatIsGone: shims are known by where they work, also when
// that was removed, and when the way there leads through a link.
func TestStrangersOfAFolderThatIsGone(t *testing.T) {
	b, link := bare(t), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(b.dir, link); err != nil {
		t.Fatal(err)
	}
	x, err := process.New(shim, filepath.Join(link, "run"), limits.None(), record.Isolation{})
	if err != nil {
		t.Fatal(err)
	}
	p := bench{x, b.dir}.start(t, "echo $$ > ready; exec sleep 1000", limits.Need{})
	pid := b.pid(t, "ready")
	if err := os.RemoveAll(filepath.Join(b.dir, "run", "fw:task")); err != nil {
		t.Fatal(err)
	}
	if unended, err := x.Sweep(nil); err != nil || len(unended) != 1 || unended[0] != "fw:task" {
		t.Errorf("found are %q, %v", unended, err)
	}
	dies(t, pid)
	p.Close()
}

// TestForgottenFolders: what is kept of a forgotten task goes in time, but not
// that of a new task of its name.
func TestForgottenFolders(t *testing.T) {
	b := bare(t)
	for _, key := range []string{"fw:old", "fw:task"} {
		p, err := b.Prepare(key, limits.Need{})
		if err != nil {
			t.Fatal(err)
		}
		p.Discard()
		b.Forget(key)
	}
	p := b.start(t, "exit 3", limits.Need{})
	if err := b.Clear(); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 3 {
		t.Errorf("the new task ended %+v %v", exit, err)
	}
	if left, err := os.ReadDir(filepath.Join(b.dir, "run")); err != nil || len(left) != 1 || left[0].Name() != "fw:task" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestTasksSleepOnTime: that the threads of a shim may sleep longer than they
// say is not handed on to its task, nor to the agent.
func TestTasksSleepOnTime(t *testing.T) {
	b := newBench(t)
	p := b.start(t, "cat /proc/self/timerslack_ns", limits.Need{})
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Fatalf("it ended %+v %v", exit, err)
	}
	if got := b.await(t, "stdout"); got != strconv.Itoa(record.TimerSlack) {
		t.Errorf("a task's sleeps may be %s ns late", got)
	}
	threads, err := filepath.Glob("/proc/self/task/[0-9]*")
	if err != nil || len(threads) == 0 {
		t.Fatal(err)
	}
	for _, thread := range threads {
		if got, err := os.ReadFile("/proc/" + filepath.Base(thread) + "/timerslack_ns"); err == nil && strings.TrimSpace(string(got)) != strconv.Itoa(record.TimerSlack) {
			t.Errorf("a thread of the agent may sleep %s ns longer than it says", got)
		}
	}
}

// TestShimOfAnotherBuild: a shim that may not do what its agent takes it to do
// does nothing.
func TestShimOfAnotherBuild(t *testing.T) {
	for _, arguments := range [][]string{{"ringmaster-shim", record.Try}, {"ringmaster-shim", record.Try, "another"}} {
		out, err := (&exec.Cmd{Path: shim, Args: arguments}).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "make build") {
			t.Errorf("%q: %v %s", arguments, err, out)
		}
	}
}
