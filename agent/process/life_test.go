package process_test

import (
	"errors"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// bare is a bench without cgroups, where the shim alone cleans up.
func bare(t *testing.T) bench {
	t.Helper()
	dir := t.TempDir()
	x, err := process.New(shim, filepath.Join(dir, "run"), limits.None(), record.Isolation{})
	if err != nil {
		t.Fatal(err)
	}
	return bench{x, dir}
}

func (b bench) pid(t *testing.T, name string) int {
	t.Helper()
	pid, err := strconv.Atoi(b.await(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// After a restart of the host nothing of a task is claimed to run or to have
// never begun, whatever has its pid now.
func TestRebootLosesEveryTask(t *testing.T) {
	b := bare(t)
	p, err := b.Prepare("fw:task", limits.Need{}) // at its gate: it never began
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Rebooted() {
		t.Error("the host has restarted, by a task of this run")
	}
	before := p.Identity()
	before.Boot = "an earlier run of the kernel"
	found := b.Adopt("fw:task", before)
	if !found.Ended() || !found.Rebooted() {
		t.Errorf("ended %t, rebooted %t", found.Ended(), found.Rebooted())
	}
	if exit, err := found.Wait(); !errors.Is(err, process.ErrLost) || exit.Never {
		t.Errorf("it ended %+v, %v", exit, err)
	}
}

// What a task leaves behind, in its process group or out of it, ends with it.
func TestNothingIsLeftBehind(t *testing.T) {
	for where, script := range map[string]string{
		"in its group":   "sh -c 'echo $$ > left; exec sleep 1000' & while [ ! -s left ]; do sleep 0.01; done",
		"out of it":      "setsid sh -c 'echo $$ > left; exec sleep 1000' & while [ ! -s left ]; do sleep 0.01; done",
		"out of its ken": "(setsid sh -c 'sh -c \"echo \\$\\$ > left; exec sleep 1000\" & wait' &); while [ ! -s left ]; do sleep 0.01; done",
	} {
		b := bare(t)
		if _, err := b.start(t, script, limits.Need{}).Wait(); err != nil {
			t.Fatal(err)
		}
		if id, err := record.Identify(b.pid(t, "left")); err == nil && id.Alive() {
			_ = syscall.Kill(id.PID, syscall.SIGKILL) // it would outlive the test
			t.Errorf("what a task left %s runs on", where)
		}
	}
}

// A task does not outlive its shim, with no cgroup to find it by.
func TestTaskOfALostShimIsKilled(t *testing.T) {
	b := bare(t)
	p := b.start(t, "echo $$ > ready; exec sleep 1000", limits.Need{})
	pid := b.pid(t, "ready")
	if err := syscall.Kill(p.Identity().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, process.ErrLost) {
		t.Errorf("a lost shim: %v", err)
	}
	dies(t, pid)
}

// A shim that somebody has stopped, its own task perhaps, obeys all the same.
func TestStoppedShimObeys(t *testing.T) {
	for order, give := range map[string]func(*process.Process){"ask": (*process.Process).Terminate, "kill": (*process.Process).Kill} {
		b := bare(t)
		p := b.start(t, "echo $$ > ready; exec sleep 1000", limits.Need{})
		pid := b.pid(t, "ready")
		t.Cleanup(func() {
			if p.Identity().Alive() { // it did not
				_ = syscall.Kill(p.Identity().PID, syscall.SIGKILL)
			}
		})
		if err := syscall.Kill(p.Identity().PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		give(p)
		dies(t, pid)
		if exit, err := p.Wait(); err != nil || exit.Signal == "" {
			t.Errorf("%s: ended %+v, %v", order, exit, err)
		}
	}
}

// The note that a task may have begun is there before it does: a program that
// can't be started leaves it too.
func TestStartIsNotedBefore(t *testing.T) {
	b := bare(t)
	p, err := b.Prepare("fw:bad", limits.Need{})
	if err != nil {
		t.Fatal(err)
	}
	spec := b.spec(t, "")
	spec.Path = "/no/such/program"
	if _, err := p.Release(spec); err != nil {
		t.Fatal(err)
	}
	var started record.Started
	if err := record.Read(filepath.Join(b.dir, "run", "fw:bad"), record.StartedFile, &started); err != nil || started.Shim != p.Identity() {
		t.Errorf("noted is %+v, %v; want the shim %+v", started, err, p.Identity())
	}
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// Whatever ends the agent's session or terminal passes the shims by.
func TestShimLeadsASessionOfItsOwn(t *testing.T) {
	b := bare(t)
	p := b.start(t, "exec sleep 1000", limits.Need{})
	pid := p.Identity().PID
	if session, err := unix.Getsid(pid); err != nil || session != pid {
		t.Errorf("the shim %d is in the session %d, %v", pid, session, err)
	}
	p.Kill()
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// What runs and nobody knows is ended, with no cgroup to find it by.
func TestStrangersAreEnded(t *testing.T) {
	b := bare(t)
	p := b.start(t, "echo $$ > ready; exec sleep 1000", limits.Need{})
	pid := b.pid(t, "ready")
	unended, err := b.Sweep(nil)
	if err != nil || len(unended) != 1 || unended[0] != "fw:task" {
		t.Errorf("found are %v, %v", unended, err)
	}
	if id, err := record.Identify(pid); err == nil && id.Alive() {
		p.Kill() // it would outlive the test
		t.Error("a task that nobody knows runs on")
	}
	p.Close()
}
