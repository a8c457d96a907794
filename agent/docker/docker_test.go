package docker_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
)

const patience = 60 * time.Second

// bench is an executor on the host's engine.
type bench struct {
	*docker.Executor
	t     testing.TB
	real  *dockertest.Real
	image string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	real := dockertest.Open(t)
	b := &bench{t: t, real: real, image: real.Image("ringmaster-docker")}
	owner := "test-" + filepath.Base(filepath.Dir(t.TempDir()))
	real.CleanUp(docker.OwnerLabel + "=" + owner)
	b.Executor = docker.New(docker.Config{Owner: owner, Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: os.Stderr})})
	return b
}

// spec is of a container that takes those steps.
func (b *bench) spec(key string, steps ...string) docker.Spec {
	return docker.Spec{
		Key: key, Image: b.image, Pull: offers.PullNever, Args: steps, Network: "none", Sandbox: sandbox(b.t),
		Env: []string{"RINGMASTER_SANDBOX=" + offers.SandboxMount},
	}
}

func sandbox(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"stdout", "stderr"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (b *bench) prepare(s docker.Spec) *docker.Container {
	b.t.Helper()
	c, err := b.Prepare(context.Background(), s)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *bench) await(path string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s never came", path)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func content(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestStartAndEndWhileNobodyLooks is of a start that was ordered by an agent
// which died before the engine obeyed: whatever the engine has done by the
// time it is asked, nothing is started a second time and no end is lost.
func TestStartAndEndWhileNobodyLooks(t *testing.T) {
	b := newBench(t)
	s := b.spec("f:t", "line=ran", "out=hello", "exit=7")

	c := b.prepare(s)
	never := b.Adopt(s.Key, c.Identity(), s.Sandbox)
	if exit, err := never.Wait(func() { t.Error("it runs") }); err != nil || !exit.Never {
		t.Fatalf("a container that was never started ended %+v %v", exit, err)
	}
	c.Open() // the late order
	if exit, err := c.Wait(func() {}); err != nil || exit.Error == "" {
		t.Errorf("a container was started after it was found unstarted: %+v %v", exit, err)
	}

	c = b.prepare(s)
	c.Open()
	exit, err := b.Adopt(s.Key, c.Identity(), s.Sandbox).Wait(func() {})
	if err != nil || exit.Code != 7 || exit.Never {
		t.Errorf("ended %+v %v", exit, err)
	}
	if got := content(t, s.Sandbox, "ran"); got != "line\n" {
		t.Errorf("it ran %q", got)
	}
	if got := content(t, s.Sandbox, "stdout"); got != "hello" {
		t.Errorf("it wrote %q", got)
	}
}

// TestOutputToTheByte is of output that is no text, comes in floods and ends
// without a newline, over a change of the watcher in its midst.
func TestOutputToTheByte(t *testing.T) {
	b := newBench(t)
	s := b.spec("f:t", "bytes=50000", "err=wrong", "line=half", "wait=go", "bytes=50000", "out=end")
	c := b.prepare(s)
	c.Open()
	first := make(chan error, 1)
	go func() { _, err := c.Wait(func() {}); first <- err }()
	b.await(filepath.Join(s.Sandbox, "half"))
	for content(t, s.Sandbox, "stderr") == "" {
		<-time.After(5 * time.Millisecond) // some is there, perhaps not all
	}
	c.Close()
	if err := <-first; !errors.Is(err, docker.ErrClosed) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Sandbox, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, err := b.Adopt(s.Key, c.Identity(), s.Sandbox).Wait(func() {}); err != nil || exit.Code != 0 {
		t.Fatalf("ended %+v %v", exit, err)
	}
	var want strings.Builder
	for range 2 {
		for n := range 50000 {
			want.Write([]byte{byte(n), byte(n >> 8), 0xff, 0})
		}
	}
	want.WriteString("end")
	if got := content(t, s.Sandbox, "stdout"); got != want.String() {
		t.Errorf("stdout has %d bytes that differ from the %d written", len(got), want.Len())
	}
	if got := content(t, s.Sandbox, "stderr"); got != "wrong" {
		t.Errorf("stderr %q", got)
	}
}

// TestRemovedByOthers is of a container that somebody removes.
func TestRemovedByOthers(t *testing.T) {
	b := newBench(t)
	s := b.spec("f:t", "sleep=1000s")
	c := b.prepare(s)
	c.Open()
	id := c.Identity()
	removed := make(chan struct{})
	exit, err := c.Wait(func() {
		go func() {
			defer close(removed)
			b.real.Do(http.MethodDelete, "/containers/"+id.Container, map[string][]string{"force": {"1"}}, nil, nil)
		}()
	})
	<-removed
	if err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("ended %+v %v", exit, err)
	}
	if exit, err := b.Adopt(s.Key, id, s.Sandbox).Wait(func() {}); err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("a container that is gone: %+v %v", exit, err)
	}
	c = b.prepare(s)
	if err := c.Remove(); err != nil {
		t.Fatal(err)
	}
	if exit, err := b.Adopt(s.Key, c.Identity(), s.Sandbox).Wait(func() {}); err != nil || !exit.Never {
		t.Errorf("one that is gone and never ran: %+v %v", exit, err)
	}
}

// TestSandboxesOfImageUsers: what the image runs as can write to the sandbox.
func TestSandboxesOfImageUsers(t *testing.T) {
	b := newBench(t)
	for user, want := range map[string]record.User{"worker": {UID: 4711, GID: 4712}, "99": {UID: 99}, "99:7": {UID: 99, GID: 7}, "4711": {UID: 4711, GID: 4712}} {
		s := b.spec("f:t", "whoami", "line=mine")
		s.Image = b.real.Image("ringmaster-docker-user", "USER "+user)
		var got record.User
		s.Hand = func(uid, gid uint32) error {
			got = record.User{UID: uid, GID: gid}
			return os.Chown(s.Sandbox, int(uid), int(gid))
		}
		c := b.prepare(s)
		c.Open()
		exit, err := c.Wait(func() {})
		if err != nil || exit.Code != 0 || got.UID != want.UID || got.GID != want.GID {
			t.Errorf("%s: %+v %v, the sandbox went to %+v: %s", user, exit, err, got, content(t, s.Sandbox, "stderr"))
		}
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// TestSurvey finds what an earlier run has left.
func TestSurvey(t *testing.T) {
	b := newBench(t)
	created, ended, running := b.spec("f:created"), b.spec("f:ended", "exit=0"), b.spec("f:running", "sleep=1000s")
	b.prepare(created)
	for _, s := range []docker.Spec{ended, running} {
		c := b.prepare(s)
		c.Open()
		if s.Key == ended.Key {
			if _, err := c.Wait(func() {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := b.Survey(context.Background())
	if err != nil || len(found) != 3 {
		t.Fatalf("%+v %v", found, err)
	}
	for _, f := range found {
		if f.Started != (f.Key != created.Key) || f.Runs != (f.Key == running.Key) {
			t.Errorf("%+v", f)
		}
		if err := b.Remove(context.Background(), f.Identity); err != nil {
			t.Error(err)
		}
	}
	if found, err = b.Survey(context.Background()); err != nil || len(found) != 0 {
		t.Errorf("left: %+v %v", found, err)
	}
}

// TestOutputOnAFullDisk: a container that writes more than its sandbox takes
// goes on; nobody who can't read holds it up.
func TestOutputOnAFullDisk(t *testing.T) {
	b := newBench(t)
	s := b.spec("f:t", "bytes=1500000", "exit=3")
	s.Sandbox = t.TempDir()
	if err := unix.Mount("tmpfs", s.Sandbox, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system can't be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(s.Sandbox, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"stdout", "stderr"} {
		if err := os.WriteFile(filepath.Join(s.Sandbox, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := b.prepare(s)
	c.Open()
	ended := make(chan record.Exit, 1)
	go func() {
		exit, err := c.Wait(func() {})
		if err != nil {
			t.Error(err)
		}
		ended <- exit
	}()
	select {
	case exit := <-ended:
		if exit.Code != 3 {
			t.Errorf("ended %+v", exit)
		}
	case <-time.After(patience):
		t.Error("it waits for its reader")
	}
	c.Close()
}

// TestOutOfMemory: that a container was out of memory is told, also when the
// engine never hears of it, as a busy one may on cgroups of version 1.
func TestOutOfMemory(t *testing.T) {
	if f, err := os.Open(docker.DefaultKernelLog); err != nil {
		t.Skipf("the kernel's log can't be read: %v", err)
	} else {
		_ = f.Close() // nothing was written
	}
	b := newBench(t)
	proxy := dockertest.NewProxy(t, b.real)
	deaf := *b
	owner := "test-deaf-" + filepath.Base(filepath.Dir(filepath.Dir(proxy.Socket)))
	b.real.CleanUp(docker.OwnerLabel + "=" + owner)
	deaf.Executor = docker.New(docker.Config{Socket: proxy.Socket, Owner: owner, Logger: hclog.NewNullLogger()})
	proxy.Deafen()
	for n, on := range []*bench{b, &deaf, b, &deaf, b, &deaf} {
		s := on.spec("f:t", "memory=200000000")
		s.Need.Mem = 32 << 20
		c := on.prepare(s)
		c.Open()
		exit, err := c.Wait(func() {})
		if err != nil || exit.Signal != "SIGKILL" || !exit.OOM {
			t.Errorf("%d ended %+v %v", n, exit, err)
		}
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	}
}
