package agent_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// onOwn is an agent's configuration with an engine of the test's own.
func onOwn(t *testing.T, m *master, dir string, o *dockertest.Own) agent.Config {
	t.Helper()
	c := config(t, dir, m)
	c.DockerSocket = o.Socket
	return c
}

func inImage(id offers.TaskID, image string, steps ...string) offers.Task {
	return offers.Task{ID: id, Command: &offers.Command{Argv: steps}, Container: &offers.Container{Image: image, Pull: offers.PullNever, Network: "none"}}
}

// TestEngineHangs stops an engine in its midst: processes start and end
// meanwhile, checks that can't be made are held against nobody, orders are
// delivered when it goes on, and an agent that ends or begins does not wait
// for it.
func TestEngineHangs(t *testing.T) {
	o := dockertest.Start(t, false)
	image := o.Image("ringmaster-hang")
	m, dir := newMaster(t), folder(t)
	h := run(t, onOwn(t, m, dir, o))
	l, _ := m.welcome("a1", 1)
	well := inImage("well", image, "sleep=1000s")
	well.Health = &offers.Health{Command: &offers.Command{Argv: []string{"/busy", "exit=0"}}, Interval: brief, Timeout: brief * 20, Failures: 1}
	l.launch(1, inImage("on", image, "trap=3", "line=starts", "sleep=1000s"), well)
	await(t, filepath.Join(sandboxOf(dir, "on"), "starts"))
	if !l.wellness("well") {
		t.Error("it is ill")
	}
	o.Signal(syscall.SIGSTOP)
	l.launch(1, inImage("late", image, "line=starts", "exit=4"))
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("on"), Reason: "asked"})
	for n := range 40 {
		l.launch(1, shell(offers.TaskID(fmt.Sprint("p", n)), "true"))
	}
	for n := range 40 {
		if s := l.end(offers.TaskID(fmt.Sprint("p", n))); s.State != offers.Finished {
			t.Errorf("beside an engine that hangs: %+v", s)
		}
	}
	begin := time.Now()
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	c := onOwn(t, m, dir, o)
	c.Executors = []string{"process", "docker"}
	run(t, c)
	l, register := m.welcome("a1", 2)
	if took := time.Since(begin); took > patience || len(register.Tasks) < 3 {
		t.Errorf("the agent took %s to be back with %+v", took, register.Tasks)
	}
	o.Signal(syscall.SIGCONT)
	if s := l.end("on"); s.State != offers.Killed || s.ExitCode == nil || *s.ExitCode != 3 {
		t.Errorf("told to end while its engine hung: %+v", s)
	}
	if s := l.end("late"); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 4 || read(t, dir, "late", "starts") != "line\n" {
		t.Errorf("launched while its engine hung: %+v", s)
	}
	zero := offers.Duration(0)
	l.say(&wire.KillTask{Term: 2, TaskRef: ref("well"), Reason: "asked", Grace: &zero})
	if s := l.end("well"); s.State != offers.Killed || s.Reason != "asked" {
		t.Errorf("whose checks were not made: %+v", s)
	}
	eventually(t, "containers are left", func() bool { return len(o.Labelled(labelOf(dir))) == 0 })
}

// TestEngineRestarts ends an engine while a task runs, which goes on without
// it or not. Either way its end is told once, with all that it wrote.
func TestEngineRestarts(t *testing.T) {
	for _, c := range []struct {
		live bool
		with syscall.Signal
	}{{true, syscall.SIGTERM}, {true, syscall.SIGKILL}, {false, syscall.SIGTERM}, {false, syscall.SIGKILL}} {
		t.Run(fmt.Sprintf("live=%v/%s", c.live, c.with), func(t *testing.T) {
			o := dockertest.Start(t, c.live)
			image := o.Image("ringmaster-restart")
			m, dir := newMaster(t), folder(t)
			run(t, onOwn(t, m, dir, o))
			l, _ := m.welcome("a1", 1)
			l.launch(1, inImage("t", image, "out=before ", "line=starts", "wait=go", "out=after", "exit=5"))
			if s := l.status("t"); s.State != offers.Running {
				t.Errorf("%+v", s)
			}
			await(t, filepath.Join(sandboxOf(dir, "t"), "starts"))
			o.Down(c.with)
			o.Up()
			touch(t, filepath.Join(sandboxOf(dir, "t"), "go"))
			s := l.end("t")
			lives := s.ExitCode != nil && *s.ExitCode == 5
			if s.State != offers.Failed || lives != c.live {
				t.Errorf("ended %+v", s)
			}
			want := "before "
			if c.live {
				want += "after"
			}
			if got := read(t, dir, "t", "stdout"); got != want || read(t, dir, "t", "starts") != "line\n" {
				t.Errorf("it wrote %q, want %q, and started %q", got, want, read(t, dir, "t", "starts"))
			}
			eventually(t, "containers are left", func() bool { return len(o.Labelled(labelOf(dir))) == 0 })
		})
	}
}
