package docker_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
)

func onFake(t *testing.T, f *dockertest.Fake) *docker.Executor {
	t.Helper()
	return docker.New(docker.Config{Socket: f.Socket, Owner: "o", Logger: hclog.NewNullLogger()})
}

func specOf(t *testing.T, image string, pull offers.Pull) docker.Spec {
	t.Helper()
	return docker.Spec{Key: "f:t", Image: image, Pull: pull, Network: "none", Sandbox: sandbox(t), User: "0:0"}
}

func prepare(t *testing.T, x *docker.Executor, s docker.Spec) *docker.Container {
	t.Helper()
	c, err := x.Prepare(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestPull(t *testing.T) {
	const denied = "pull access denied for x, repository does not exist or may require 'docker login'"
	for _, c := range []struct {
		has     bool
		pull    offers.Pull
		refusal string
		pulls   int
		fails   string
	}{
		{true, offers.PullMissing, "", 0, ""},
		{false, offers.PullMissing, "", 1, ""},
		{false, offers.PullMissing, denied, 1, denied},
		{true, offers.PullAlways, "", 1, ""},
		{true, offers.PullAlways, denied, 1, denied},
		{true, offers.PullNever, "", 0, ""},
		{false, offers.PullNever, "", 0, "pull is never"},
	} {
		f := dockertest.NewFake(t)
		if c.has {
			f = dockertest.NewFake(t, "reg:5000/x")
		}
		f.Set(func(s *dockertest.Settings) { s.Refusal = c.refusal })
		s, told := specOf(t, "reg:5000/x", c.pull), 0
		s.Fetching = func() { told++ }
		_, err := onFake(t, f).Prepare(context.Background(), s)
		if c.fails == "" && err != nil || c.fails != "" && (!errors.Is(err, docker.ErrImage) || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%+v: %v", c, err)
		}
		if seen := f.Seen(); len(seen.Pulls) != c.pulls || told != c.pulls || c.pulls > 0 && seen.Pulls[0] != "reg:5000/x:latest" {
			t.Errorf("%+v: fetched %q and told %d times", c, seen.Pulls, told)
		}
	}
}

// TestPullGivenUp is of a task that is told to end while its image is fetched.
func TestPullGivenUp(t *testing.T) {
	f := dockertest.NewFake(t)
	stuck := make(chan struct{})
	defer close(stuck)
	f.Set(func(s *dockertest.Settings) { s.Stuck = stuck })
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("it was told to end")
	s := specOf(t, "x", offers.PullAlways)
	s.Fetching = func() { cancel(why) }
	if _, err := onFake(t, f).Prepare(ctx, s); !errors.Is(err, why) || errors.Is(err, docker.ErrImage) {
		t.Errorf("a pull that was given up: %v", err)
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		oldest, newest, spoken string
		fails                  bool
	}{
		{"1.12", "1.41", "v1.41", false}, {"1.24", "1.51", "v1.41", false}, {"1.44", "1.52", "v1.44", false}, {"1.12", "1.40", "", true},
	} {
		f := dockertest.NewFake(t, "x")
		f.Set(func(s *dockertest.Settings) { s.Oldest, s.Newest = c.oldest, c.newest })
		_, err := onFake(t, f).Prepare(context.Background(), specOf(t, "x", offers.PullNever))
		if (err != nil) != c.fails || !c.fails && !f.Seen().Versions[c.spoken] {
			t.Errorf("%+v: %v, spoken %v", c, err, f.Seen().Versions)
		}
	}
}

// TestEngineAway is of an engine that goes while a container runs: the task
// stays, an order is kept for it, and its end is told when it is back.
func TestEngineAway(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	x := onFake(t, f)
	c := prepare(t, x, specOf(t, "x", offers.PullNever))
	c.Open()
	running, ended := make(chan struct{}), make(chan record.Exit, 1)
	go func() {
		exit, err := c.Wait(func() { close(running) })
		if err != nil {
			t.Error(err)
		}
		ended <- exit
	}()
	<-running
	f.Leave()
	c.Signal(false)
	select {
	case exit := <-ended:
		t.Fatalf("without an engine it ended as %+v", exit)
	case <-time.After(200 * time.Millisecond):
	}
	f.ComeBack()
	for deadline := time.Now().Add(20 * time.Second); len(f.Seen().Signals) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("it was never asked to end")
		}
		<-time.After(5 * time.Millisecond)
	}
	if got := f.Seen().Signals; got[0] != "SIGQUIT" { // as its image wants it
		t.Errorf("it was asked to end with %q", got)
	}
	f.Leave()
	c.Signal(true)
	f.ComeBack()
	if exit := <-ended; exit.Signal != "SIGKILL" {
		t.Errorf("ended %+v", exit)
	}
}

// TestAdoptWhileAway: nobody gives a task up because its engine is not there
// yet.
func TestAdoptWhileAway(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	x := onFake(t, f)
	s := specOf(t, "x", offers.PullNever)
	c := prepare(t, x, s)
	c.Open()
	f.Leave()
	again := onFake(t, f).Adopt(s.Key, c.Identity(), s.Sandbox)
	defer again.Close()
	go func() {
		<-time.After(100 * time.Millisecond)
		f.End(c.Identity().Container, 5)
		f.ComeBack()
	}()
	if exit, err := again.Wait(func() {}); err != nil || exit.Code != 5 {
		t.Errorf("ended %+v %v", exit, err)
	}
}

// TestStartWithoutAnswer loses the answer to a start, before and after the
// engine has obeyed: it starts at most once, and the agent knows which.
func TestStartWithoutAnswer(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	c := prepare(t, onFake(t, f), specOf(t, "x", offers.PullNever))
	f.Set(func(s *dockertest.Settings) { s.Drop = "POST start" })
	c.Open()
	exit, err := c.Wait(func() { f.End(c.Identity().Container, 3) })
	if err != nil || exit.Code != 3 || exit.Never {
		t.Errorf("obeyed and not answered: %+v %v", exit, err)
	}

	f = dockertest.NewFake(t, "x")
	c = prepare(t, onFake(t, f), specOf(t, "x", offers.PullNever))
	f.Set(func(s *dockertest.Settings) {
		s.Before = func(request string) {
			if request == "POST start" {
				panic(http.ErrAbortHandler)
			}
		}
	})
	c.Open()
	if exit, err := c.Wait(func() { t.Error("it runs") }); err != nil || !exit.Never {
		t.Errorf("neither obeyed nor answered: %+v %v", exit, err)
	}
	if seen := f.Seen(); len(seen.Left) != 0 {
		t.Error("a container is left that could still start")
	}
}

// TestStartAtTheLastMoment starts and ends a container between the look at it
// and the fence: its end is known all the same.
func TestStartAtTheLastMoment(t *testing.T) {
	for _, ends := range []bool{true, false} {
		f := dockertest.NewFake(t, "x")
		s := specOf(t, "x", offers.PullNever)
		c := prepare(t, onFake(t, f), s)
		id := c.Identity().Container
		f.Set(func(set *dockertest.Settings) {
			set.Before = func(request string) {
				if !strings.HasPrefix(request, "DELETE") || len(f.Seen().Starts) > 0 {
					return
				}
				f.Start(id)
				if ends {
					f.End(id, 4)
				}
			}
		})
		exit, err := c.Wait(func() { f.End(id, 4) })
		if err != nil || exit.Never || exit.Code != 4 {
			t.Errorf("ends %v: %+v %v", ends, exit, err)
		}
		for _, n := range f.Seen().Starts {
			if n != 1 {
				t.Errorf("it started %d times", n)
			}
		}
	}
}

// TestGoneMeanwhile is of containers that are gone when they are looked for, one
// of them since an agent found it unstarted, removed it, and died before that
// was written down. What an engine does not remember may have run.
func TestGoneMeanwhile(t *testing.T) {
	for _, c := range []struct {
		started, ended, forgotten bool
		never, lost               bool
	}{
		{false, false, false, true, false}, {true, true, false, false, false}, {true, false, false, false, false},
		{false, false, true, false, true}, {true, true, true, false, true},
	} {
		f := dockertest.NewFake(t, "x")
		x := onFake(t, f)
		one := prepare(t, x, specOf(t, "x", offers.PullNever))
		id := one.Identity().Container
		if c.started {
			f.Start(id)
		}
		if c.ended {
			f.End(id, 137)
		}
		if err := one.Remove(); err != nil {
			t.Fatal(err)
		}
		if c.forgotten {
			f.Restart()
		}
		exit, err := x.Adopt("f:t", one.Identity(), t.TempDir()).Wait(func() { t.Error("it runs") })
		if exit.Never != c.never || errors.Is(err, docker.ErrLost) != c.lost || (exit.Signal == "SIGKILL") == (c.never || c.lost) {
			t.Errorf("%+v: %+v %v", c, exit, err)
		}
	}
}

// TestNameInUse is of a container that an agent made and died before it wrote
// that down.
func TestNameInUse(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	x := onFake(t, f)
	first := prepare(t, x, specOf(t, "x", offers.PullNever))
	second := prepare(t, x, specOf(t, "x", offers.PullNever))
	if left := f.Seen().Left; len(left) != 1 || left[0] != second.Identity().Container || first.Identity() == second.Identity() {
		t.Errorf("left are %v", left)
	}
}

// TestCreateWithoutAnswer loses the answer to a create: the container that
// nobody heard of is replaced.
func TestCreateWithoutAnswer(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	f.Set(func(s *dockertest.Settings) { s.Drop = "POST create" })
	c := prepare(t, onFake(t, f), specOf(t, "x", offers.PullNever))
	if left := f.Seen().Left; len(left) != 1 || left[0] != c.Identity().Container {
		t.Errorf("left are %v", left)
	}
}

// TestCreateBesideAnother makes a container while the engine still makes the
// one that an agent, killed since, has asked for: its name is taken, and there
// is nothing yet to remove.
func TestCreateBesideAnother(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	f.Set(func(s *dockertest.Settings) { s.Taken = 3 })
	c := prepare(t, onFake(t, f), specOf(t, "x", offers.PullNever))
	if left := f.Seen().Left; len(left) != 1 || left[0] != c.Identity().Container {
		t.Errorf("left are %v", left)
	}
}

// TestRebooted tells an end that came with the host's from one before it.
func TestRebooted(t *testing.T) {
	x := onFake(t, dockertest.NewFake(t))
	boot, err := record.BootID()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		boot     string
		ended    time.Time
		rebooted bool
	}{
		{boot, time.Now(), false}, {"earlier", time.Now(), true}, {"earlier", time.Unix(0, 0), false},
	} {
		if got := x.Adopt("f:t", record.Identity{Container: "c", Boot: c.boot}, "").Rebooted(c.ended); got != c.rebooted {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestEngineLosesSight is of an engine that died while it started a container,
// and believes for a moment that it runs, and then that it never did.
func TestEngineLosesSight(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	x := docker.New(docker.Config{Socket: f.Socket, Owner: "o", Look: 50 * time.Millisecond, Logger: hclog.NewNullLogger()})
	c := prepare(t, x, specOf(t, "x", offers.PullNever))
	c.Open()
	exit, err := c.Wait(func() { f.LoseSight(c.Identity().Container); f.Restart() })
	if !errors.Is(err, docker.ErrLost) || exit.Never {
		t.Errorf("%+v %v", exit, err)
	}
	if left := f.Seen().Left; len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// TestKernelTells: what the kernel's log says of a container that was killed is
// believed, and only what it says of that one and of its own limit.
func TestKernelTells(t *testing.T) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	const (
		later  = 3600 // seconds
		group  = "3,10,TIME,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/docker/%s,task_memcg=/docker/%s,task=busy,pid=9,uid=0\n"
		killed = "3,11,TIME,-;Memory cgroup out of memory: Killed process %d (busy) total-vm:205000kB, UID:0\n SUBSYSTEM=x\n"
	)
	at := func(line string, seconds int64, what ...any) string {
		return fmt.Sprintf(strings.Replace(line, "TIME", strconv.FormatInt(now.Sec+seconds, 10)+"000000", 1), what...)
	}
	for name, c := range map[string]struct {
		log  func(id string) string
		code int
		want bool
	}{
		"nothing":        {func(string) string { return "" }, 137, false},
		"its group":      {func(id string) string { return at(group, 0, id, id) }, 137, true},
		"another group":  {func(string) string { return at(group, 0, "other", "other") }, 137, false},
		"one above it":   {func(id string) string { return at(group, 0, "", id) }, 137, false},
		"the whole host": {func(id string) string { return strings.Replace(at(group, 0, id, id), "_MEMCG,", "_NONE,", 1) }, 137, false},
		"its process":    {func(string) string { return "6,1,1,-;x\n" + at(killed, later, dockertest.FirstProcess) }, 137, true},
		"one before it": {func(string) string {
			return fmt.Sprintf("3,1,1,-;Memory cgroup out of memory: Killed process %d (x)\n", dockertest.FirstProcess)
		}, 137, false},
		"another process": {func(string) string { return at(killed, later, dockertest.FirstProcess*10) }, 137, false},
		"it went on":      {func(id string) string { return at(group, 0, id, id) }, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, log := dockertest.NewFake(t, "x"), filepath.Join(t.TempDir(), "kmsg")
			x := docker.New(docker.Config{Socket: f.Socket, Owner: "o", Kernel: log, Logger: hclog.NewNullLogger()})
			looked, once := make(chan struct{}), sync.Once{}
			f.Set(func(s *dockertest.Settings) {
				s.Before = func(request string) {
					if request == "POST wait" { // it was seen to run before
						once.Do(func() { close(looked) })
					}
				}
			})
			container := prepare(t, x, specOf(t, "x", offers.PullMissing))
			if err := os.WriteFile(log, []byte(c.log(container.Identity().Container)), 0o600); err != nil {
				t.Fatal(err)
			}
			container.Open()
			go func() {
				<-looked
				f.End(container.Identity().Container, c.code)
			}()
			if exit, err := container.Wait(func() {}); err != nil || exit.OOM != c.want {
				t.Errorf("it ended %+v %v", exit, err)
			}
		})
	}
}
