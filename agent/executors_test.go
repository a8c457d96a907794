package agent_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// kind makes tasks of one executor, from the same steps of one program (see
// dockertest).
type kind struct {
	name  string
	task  func(id offers.TaskID, steps ...string) offers.Task
	check func(steps ...string) *offers.Command // runs beside a task
}

// eachExecutor runs a test for processes and for containers.
func eachExecutor(t *testing.T, test func(t *testing.T, k kind)) {
	for _, name := range []string{"process", "docker"} {
		t.Run(name, func(t *testing.T) {
			real := dockertest.Open(t)
			program, image := real.Program(), ""
			if name == "docker" {
				program, image = "/busy", real.Image("ringmaster-agent")
			}
			check := func(steps ...string) *offers.Command {
				return &offers.Command{Argv: append([]string{program}, steps...)}
			}
			test(t, kind{name, func(id offers.TaskID, steps ...string) offers.Task {
				if image != "" {
					return inImage(id, image, steps...)
				}
				return offers.Task{ID: id, Command: check(steps...)}
			}, check})
		})
	}
}

// withPorts is an agent's configuration with ports to give.
func withPorts(t testing.TB, dir string, m *master) agent.Config {
	t.Helper()
	c := config(t, dir, m)
	c.Resources += ",ports=31000-31999"
	return c
}

// folder returns an agent's folder, whose containers go with the test.
func folder(t testing.TB) string {
	t.Helper()
	dir := dockertest.Folder(t)
	if _, err := os.Stat(dockertest.Socket); err == nil && os.Getuid() == 0 {
		dockertest.Open(t).CleanUp(labelOf(dir))
	}
	return dir
}

// labelOf is on the containers of the agent with that folder.
func labelOf(dir string) string { return "ringmaster.folder=" + dir }

func read(t testing.TB, dir string, task offers.TaskID, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sandboxOf(dir, task), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestExecutors is what both executors have in common.
func TestExecutors(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		m, dir := newMaster(t), folder(t)
		h := run(t, withPorts(t, dir, m))
		l, _ := m.welcome("a1", 1)
		<-h.Registered()
		long := k.task("long", "sleep=1000s")
		long.MaxRuntime = offers.Duration(200 * time.Millisecond)
		hungry := k.task("hungry", "memory=200000000")
		hungry.Resources.Amounts = offers.Amounts{100, 32 << 20}
		said := k.task("said", "out=to out", "err=to err\n", "env=RINGMASTER_TASK_ID", "env=RINGMASTER_FRAMEWORK_ID", "env=RINGMASTER_AGENT_ID", "env=PORT1", "env=OWN", "env=RINGMASTER_DEVICES_GPU", "line=made")
		said.Command.Env = map[string]string{"OWN": "value"}
		said.Resources.Ports = offers.MakePorts(offers.PortRange{First: 31007, Last: 31008})
		sub := k.task("sub", "whoami")
		sub.Command.Dir = "a/b"
		user := k.task("user", "whoami", "line=mine")
		user.Command.User = "nobody"
		nowhere := k.task("nowhere")
		nowhere.Command.Argv = []string{"no-such-program"}
		if nowhere.Container != nil {
			nowhere.Container.Entrypoint = []string{"no-such-program"}
		}
		nobody := k.task("nobody", "exit=0")
		nobody.Command.User = "no-such-user"
		killed := k.task("killed", "exit=0")
		list := []offers.Task{k.task("ok", "exit=0"), k.task("seven", "exit=7"), said, long, hungry, sub, user, nowhere, nobody}
		l.launch(1, append(slices.Clone(list), killed)...)
		for _, c := range []struct {
			task         offers.TaskID
			state        offers.State
			reason, says string
			code         int
			runs         bool
		}{
			{"ok", offers.Finished, "", "", 0, true},
			{"seven", offers.Failed, "", "", 7, true},
			{"said", offers.Finished, "", "", 0, true},
			{"long", offers.Failed, offers.ReasonMaxRuntime, "", -1, true},
			{"hungry", offers.Failed, offers.ReasonMemoryLimit, "", -1, true},
			{"sub", offers.Finished, "", "", 0, true},
			{"user", offers.Finished, "", "", 0, true},
			{"nowhere", offers.Failed, offers.ReasonStart, "no-such-program", -1, false},
			{"nobody", offers.Failed, offers.ReasonStart, "no-such-user", -1, false},
		} {
			s := l.status(c.task)
			if c.runs {
				if s.State != offers.Running {
					t.Errorf("%s begins with %+v", c.task, s)
				}
				s = l.end(c.task) // what runs may be told twice
			}
			if s.State != c.state || s.Reason != c.reason || !strings.Contains(s.Message, c.says) || c.code >= 0 && (s.ExitCode == nil || *s.ExitCode != c.code) {
				t.Errorf("%s ended %+v", c.task, s)
			}
		}
		if got, want := read(t, dir, "said", "stdout"), "to outRINGMASTER_TASK_ID=said\nRINGMASTER_FRAMEWORK_ID=f1\nRINGMASTER_AGENT_ID=a1\nPORT1=31008\nOWN=value\nRINGMASTER_DEVICES_GPU=\n"; got != want {
			t.Errorf("it was told %q, want %q", got, want)
		}
		if read(t, dir, "said", "stderr") != "to err\n" || read(t, dir, "said", "made") != "line\n" {
			t.Error("what it wrote is not in its sandbox")
		}
		if got := read(t, dir, "sub", "stdout"); !strings.HasSuffix(got, "a/b\n") {
			t.Errorf("it started in %q", got)
		}
		if got := read(t, dir, "user", "stdout"); !strings.HasPrefix(got, "65534:65534 ") {
			t.Errorf("it ran as %q", got)
		}
	})
}

// TestExecutorsKill asks tasks to end and kills those that don't, and those
// that never began.
func TestExecutorsKill(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		m, dir := newMaster(t), folder(t)
		run(t, config(t, dir, m))
		l, _ := m.welcome("a1", 1)
		l.launch(1, k.task("polite", "trap=3", "line=ready", "sleep=1000s"), k.task("stubborn", "ignore", "line=ready", "sleep=1000s"))
		brief := offers.Duration(50 * time.Millisecond)
		for _, task := range []offers.TaskID{"polite", "stubborn"} {
			await(t, filepath.Join(sandboxOf(dir, task), "ready"))
			if s := l.status(task); s.State != offers.Running {
				t.Errorf("%s: %+v", task, s)
			}
		}
		l.say(&wire.KillTask{Term: 1, TaskRef: ref("polite"), Reason: "asked"})
		l.say(&wire.KillTask{Term: 1, TaskRef: ref("stubborn"), Reason: "asked", Grace: &brief})
		l.launch(1, k.task("early", "line=ready", "sleep=1000s"))
		l.say(&wire.KillTask{Term: 1, TaskRef: ref("early"), Reason: "asked", Grace: &brief})
		if s := l.end("polite"); s.State != offers.Killed || s.ExitCode == nil || *s.ExitCode != 3 || read(t, dir, "polite", "stdout") != "asked\n" {
			t.Errorf("polite: %+v", s)
		}
		if s := l.end("stubborn"); s.State != offers.Killed || s.Signal != "SIGKILL" {
			t.Errorf("stubborn: %+v", s)
		}
		if s := l.end("early"); s.State != offers.Killed || s.Reason != "asked" {
			t.Errorf("early: %+v", s)
		}
	})
}

// TestExecutorsRestart ends the agent while tasks run: they run on, and the
// next run finds one running and one ended, with all that they wrote.
func TestExecutorsRestart(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		m, dir := newMaster(t), folder(t)
		h := run(t, config(t, dir, m))
		l, _ := m.welcome("a1", 1)
		for _, id := range []offers.TaskID{"on", "meanwhile"} {
			l.launch(1, k.task(id, "line=starts", "out=before ", "wait=go", "out=after\n", "line=over", "exit=5"))
			l.status(id)
			await(t, filepath.Join(sandboxOf(dir, id), "starts"))
		}
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		touch(t, filepath.Join(sandboxOf(dir, "meanwhile"), "go"))
		await(t, filepath.Join(sandboxOf(dir, "meanwhile"), "over"))
		h = run(t, config(t, dir, m))
		l, _ = m.welcome("a1", 1)
		ended := []offers.TaskID{"meanwhile", "on"}
		for _, id := range ended {
			if id == "on" {
				touch(t, filepath.Join(sandboxOf(dir, "on"), "go"))
			}
			if s := l.end(id); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 5 {
				t.Errorf("%s ended %+v", id, s)
			}
			if read(t, dir, id, "stdout") != "before after\n" || read(t, dir, id, "starts") != "line\n" {
				t.Errorf("%s wrote %q after %q", id, read(t, dir, id, "stdout"), read(t, dir, id, "starts"))
			}
		}
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		if left := dockertest.Open(t).Labelled(labelOf(dir)); len(left) != 0 {
			t.Errorf("containers %v are left", left)
		}
	})
}

// TestExecutorsKilledAgent kills agents -9 at moments that differ, while they
// start tasks: every task starts exactly once, and its end is reported.
func TestExecutorsKilledAgent(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		m, dir := newMaster(t), folder(t)
		rounds, step := 6, 90*time.Millisecond
		if k.name == "process" {
			step = 12 * time.Millisecond
		}
		live := map[offers.TaskID]offers.Task{}
		codes := map[offers.TaskID]int{}
		for round := range rounds + 1 {
			last := round == rounds
			var kill func()
			if last {
				run(t, config(t, dir, m))
			} else {
				cmd := spawn(t, dir, m)
				kill = func() {
					<-time.After(time.Duration(round) * step)
					if err := cmd.Process.Kill(); err != nil {
						t.Fatal(err)
					}
					_ = cmd.Wait() // it was killed
				}
			}
			l, register := m.welcome("a1", uint64(round+1))
			known := map[offers.TaskID]bool{}
			for _, r := range register.Tasks {
				known[r.Task] = true
			}
			var again []offers.Task
			for id, task := range live {
				if !known[id] {
					again = append(again, task) // the launch did not get through
				}
			}
			for n := 0; n < 3 && !last; n++ {
				id := offers.TaskID(fmt.Sprintf("t%d-%d", round, n))
				live[id], codes[id] = k.task(id, "line=starts", fmt.Sprintf("exit=%d", n+1)), n+1
				again = append(again, live[id])
			}
			l.launch(uint64(round+1), again...)
			if !last {
				kill()
				continue
			}
			for id := range live {
				if s := l.end(id); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != codes[id] {
					t.Errorf("%s ended %+v", id, s)
				}
				if starts := read(t, dir, id, "starts"); starts != "line\n" {
					t.Errorf("%s: starts %q", id, starts)
				}
			}
		}
	})
}

// TestContainerPorts reaches a program on a network of its own at the task's
// ports, which are the container's or not.
func TestContainerPorts(t *testing.T) {
	real := dockertest.Open(t)
	image := real.Image("ringmaster-ports")
	m, dir := newMaster(t), folder(t)
	run(t, withPorts(t, dir, m))
	l, _ := m.welcome("a1", 1)
	task := offers.Task{
		ID: "served", Command: &offers.Command{Argv: []string{"listen=80", "listen=31918", "line=ready", "sleep=1000s"}},
		Container: &offers.Container{Image: image, Pull: offers.PullNever, Ports: []offers.ContainerPort{{Port: 80}}},
	}
	task.Resources.Ports = offers.MakePorts(offers.PortRange{First: 31917, Last: 31918})
	l.launch(1, task)
	await(t, filepath.Join(sandboxOf(dir, "served"), "ready"))
	for _, port := range []string{"31917", "31918"} {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, patience)
		if err != nil {
			t.Fatal(err)
		}
		var said [4]byte
		if _, err := conn.Read(said[:]); err != nil || string(said[:]) != "here" {
			t.Errorf("port %s says %q %v", port, said, err)
		}
		conn.Close()
	}
	zero := offers.Duration(0)
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("served"), Grace: &zero})
	l.end("served")
}

// TestWhatGoesWithATask holds that artifacts and health checks are the same to
// both executors.
func TestWhatGoesWithATask(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		d := newDepot(t, map[string][]byte{"/a": []byte("hello\n")})
		m, dir := newMaster(t), folder(t)
		run(t, withPorts(t, dir, m))
		l, _ := m.welcome("a1", 1)
		reads, lacks, slow := k.task("reads", "cat=sub/a"), k.task("lacks", "exit=0"), k.task("slow", "exit=0")
		reads.Command.User = "nobody"
		reads.Artifacts = []offers.Artifact{{URI: d.URL + "/a", Dest: "sub/"}}
		lacks.Artifacts = []offers.Artifact{{URI: d.URL + "/absent"}}
		slow.Artifacts = []offers.Artifact{{URI: d.URL + "/slow/a"}}
		l.launch(1, reads, lacks, slow)
		for _, want := range []offers.State{offers.Starting, offers.Running, offers.Finished} {
			if s := l.status("reads"); s.State != want {
				t.Fatalf("%+v, want it %s", s, want)
			}
		}
		if got := read(t, dir, "reads", "stdout"); got != "hello\n" {
			t.Errorf("it read %q", got)
		}
		if s := l.status("lacks"); s.State != offers.Failed || s.Reason != offers.ReasonArtifact {
			t.Errorf("without its artifact: %+v", s)
		}
		<-d.arrived
		l.say(&wire.KillTask{Term: 1, TaskRef: ref("slow"), Reason: "asked"})
		if s := l.status("slow"); s.State != offers.Killed {
			t.Errorf("told to end while it is fetched: %+v", s)
		}
		ill := k.task("ill", "sleep=1000s")
		ill.Health = &offers.Health{TCP: &offers.TCPPing{Port: d.Listener.Addr().(*net.TCPAddr).Port}, Interval: brief, Failures: 2}
		l.launch(1, ill)
		if !l.wellness("ill") {
			t.Error("it is ill before it is")
		}
		d.Close()
		if s := l.end("ill"); s.State != offers.Failed || s.Reason != offers.ReasonHealth {
			t.Errorf("it ended as %+v", s)
		}
	})
}
