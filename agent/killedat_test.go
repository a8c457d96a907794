package agent_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/offers"
)

// killedAt launches a task in a container, kills the agent -9 at the n-th
// request that the start makes of the engine, and runs the next agent. The
// engine obeys that request all the same, or only when the next agent is
// there, or never. It returns the next agent's connection when the task runs.
func killedAt(t *testing.T, n int, obeys, dir, socket string, before func(func(request string)), task offers.Task) *link {
	t.Helper()
	m := newMaster(t)
	cmd := spawn(t, dir, m, socket)
	l, _ := m.welcome("a1", 1)
	killed, next := make(chan struct{}), make(chan struct{})
	var requests atomic.Int32
	before(func(string) {
		if requests.Add(1) != int32(n) {
			return
		}
		_ = cmd.Process.Kill() // it ends once
		_ = cmd.Wait()
		close(killed)
		switch obeys {
		case "late":
			<-next
		case "never":
			panic(http.ErrAbortHandler)
		}
	})
	l.launch(1, task)
	select {
	case <-killed:
	case <-time.After(patience):
		t.Fatalf("its start makes %d requests and not %d", requests.Load(), n)
	}
	c := config(t, dir, m)
	c.DockerSocket, c.Resources, c.RuntimeDir = socket, "cpus=100,mem=4GiB,disk=10GiB", filepath.Dir(dir)
	run(t, c)
	l, register := m.welcome("a1", 2)
	close(next)
	if len(register.Tasks) == 0 {
		l.launch(2, task) // the first did not get through
	}
	for l.status(task.ID).State != offers.Running {
	}
	return l
}

// eachKill is every way to die in a start.
func eachKill(t *testing.T, requests int, test func(t *testing.T, obeys string, n int)) {
	for _, obeys := range []string{"at once", "late", "never"} {
		for n := 1; n <= requests; n++ {
			t.Run(fmt.Sprintf("%s/%d", obeys, n), func(t *testing.T) {
				t.Parallel()
				test(t, obeys, n)
			})
		}
	}
}

// TestKilledAtEveryRequest: the task starts exactly once, and its end is
// reported.
func TestKilledAtEveryRequest(t *testing.T) {
	eachKill(t, 6, func(t *testing.T, obeys string, n int) {
		f, dir := dockertest.NewFake(t, "x"), filepath.Join(t.TempDir(), "a")
		l := killedAt(t, n, obeys, dir, f.Socket, func(before func(string)) {
			f.Set(func(s *dockertest.Settings) { s.Before = before })
		}, contained("t", "x"))
		for _, id := range f.Seen().Left {
			f.End(id, 5)
		}
		if s := l.end("t"); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 5 {
			t.Errorf("ended %+v", s)
		}
		starts := 0
		for _, count := range f.Seen().Starts {
			starts += count
		}
		if starts != 1 {
			t.Errorf("it started %d times", starts)
		}
	})
}

// TestKilledAtEveryRequestForReal is the same with a real engine: the program
// begins once, all that it wrote is there, and no container is left.
func TestKilledAtEveryRequestForReal(t *testing.T) {
	real := dockertest.Open(t)
	image := real.Image("ringmaster-killed")
	eachKill(t, 6, func(t *testing.T, obeys string, n int) {
		dir := filepath.Join(folder(t), "a")
		dockertest.Open(t).CleanUp(labelOf(dir))
		p := dockertest.NewProxy(t, dockertest.Open(t))
		l := killedAt(t, n, obeys, dir, p.Socket, p.Before, inImage("t", image, "out=before ", "line=starts", "wait=go", "out=after", "exit=5"))
		await(t, filepath.Join(sandboxOf(dir, "t"), "starts"))
		touch(t, filepath.Join(sandboxOf(dir, "t"), "go"))
		if s := l.end("t"); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 5 {
			t.Errorf("ended %+v", s)
		}
		if starts, wrote := read(t, dir, "t", "starts"), read(t, dir, "t", "stdout"); starts != "line\n" || wrote != "before after" {
			t.Errorf("starts %q, wrote %q", starts, wrote)
		}
		eventually(t, "containers are left", func() bool { return len(real.Labelled(labelOf(dir))) == 0 })
	})
}
