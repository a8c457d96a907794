package agent_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// onFake is an agent's configuration with an engine that is made up.
func onFake(t *testing.T, m *master, dir string, f *dockertest.Fake) agent.Config {
	t.Helper()
	c := config(t, dir, m)
	c.DockerSocket = f.Socket
	return c
}

func contained(id offers.TaskID, image string) offers.Task {
	return offers.Task{ID: id, Container: &offers.Container{Image: image}}
}

// TestImageOnItsWay: a task whose image is fetched says so, is given up when it
// is told to end, and fails with that reason when the image can't be had.
func TestImageOnItsWay(t *testing.T) {
	f := dockertest.NewFake(t)
	stuck := make(chan struct{})
	f.Set(func(s *dockertest.Settings) { s.Stuck, s.Refusal = stuck, "pull access denied" })
	m := newMaster(t)
	run(t, onFake(t, m, t.TempDir(), f))
	l, register := m.welcome("a1", 1)
	if register.Agent.Attributes["docker"] != "true" {
		t.Errorf("it says of itself %v", register.Agent.Attributes)
	}
	l.launch(1, contained("killed", "x"), contained("denied", "y"))
	for _, task := range []offers.TaskID{"killed", "denied"} {
		if s := l.status(task); s.State != offers.Starting || !strings.Contains(s.Message, "is fetched") {
			t.Errorf("%s: %+v", task, s)
		}
	}
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("killed"), Reason: "asked"})
	if s := l.status("killed"); s.State != offers.Killed || s.Reason != "asked" {
		t.Errorf("told to end: %+v", s)
	}
	close(stuck)
	if s := l.status("denied"); s.State != offers.Failed || s.Reason != offers.ReasonImage || !strings.Contains(s.Message, "pull access denied") {
		t.Errorf("denied: %+v", s)
	}
}

// TestRefusedExecutors: an agent says what it does not run, and rejects it.
func TestRefusedExecutors(t *testing.T) {
	m, nowhere := newMaster(t), filepath.Join(t.TempDir(), "none.sock")
	for _, c := range []struct {
		executors          []string
		attribute, value   string
		process, container offers.State
	}{
		{nil, "docker", "", offers.Finished, offers.Rejected},
		{[]string{"process"}, "docker", "", offers.Finished, offers.Rejected},
		{[]string{"docker"}, "process", "false", offers.Rejected, ""},
	} {
		conf := config(t, t.TempDir(), m)
		conf.Executors, conf.DockerSocket = c.executors, nowhere
		h := run(t, conf)
		l, register := m.welcome("a1", 1)
		if got := register.Agent.Attributes[c.attribute]; got != c.value {
			t.Errorf("%v: %s=%q", c.executors, c.attribute, got)
		}
		l.launch(1, shell("process", "true"))
		if s := l.end("process"); s.State != c.process || s.State == offers.Rejected && (s.Reason != offers.ReasonNoExecutor || s.Message == "") {
			t.Errorf("%v: %+v", c.executors, s)
		}
		if c.container != "" {
			l.launch(1, contained("container", "x"))
			if s := l.end("container"); s.State != c.container || s.Reason != offers.ReasonNoExecutor || !strings.Contains(s.Message, "docker") && !strings.Contains(s.Message, "Docker") {
				t.Errorf("%v: %+v", c.executors, s)
			}
		}
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEngineComesLater brings an agent up before its engine: what ran goes on,
// and what nobody knows is ended once the engine answers.
func TestEngineComesLater(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	m, dir := newMaster(t), t.TempDir()
	conf := onFake(t, m, dir, f)
	conf.Executors = []string{"process", "docker"}
	h := run(t, conf)
	l, _ := m.welcome("a1", 1)
	l.launch(1, contained("on", "x"))
	l.status("on")
	known := f.Seen().Left[0]
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	stranger := f.Leftover(known, "f1:stranger")
	f.Leave()
	run(t, conf)
	l, register := m.welcome("a1", 1)
	if len(register.Tasks) != 1 || register.Agent.Attributes["docker"] != "true" {
		t.Errorf("came back as %+v", register)
	}
	f.ComeBack()
	if s := l.end("stranger"); s.State != offers.Failed || s.Reason != offers.ReasonShimLost {
		t.Errorf("a task that nobody knows: %+v", s)
	}
	left := f.Seen()
	if len(left.Left) != 1 || left.Left[0] != known || len(left.Signals) != 0 {
		t.Errorf("left are %v, of %s and %s", left.Left, known, stranger)
	}
	f.End(known, 6)
	if s := l.end("on"); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 6 {
		t.Errorf("ran on: %+v", s)
	}
}

// TestEngineComesAndGoes: an agent finds an engine that comes after it, says so,
// and says no more that it runs containers when the engine has been gone for
// long. What ran is not lost by any of it.
func TestEngineComesAndGoes(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	f.Leave()
	m := newMaster(t)
	conf := onFake(t, m, t.TempDir(), f)
	conf.EnginePatience = time.Millisecond // at the second look
	run(t, conf)
	l, register := m.welcome("a1", 1)
	says := func(want string) {
		t.Helper()
		if got, there := register.Agent.Attributes["docker"]; got != want || there != (want != "") {
			t.Errorf("it says of itself %v, want docker=%q", register.Agent.Attributes, want)
		}
	}
	refused := func(id offers.TaskID) {
		t.Helper()
		l.launch(1, contained(id, "x"))
		if s := l.end(id); s.State != offers.Rejected || s.Reason != offers.ReasonNoExecutor || !strings.Contains(s.Message, "no Docker engine answers") {
			t.Errorf("without an engine: %+v", s)
		}
	}
	says("")
	refused("early")
	f.ComeBack()
	l, register = m.welcome("a1", 1)
	says("true")
	l.launch(1, contained("on", "x"))
	if s := l.status("on"); s.State != offers.Running {
		t.Fatalf("with an engine: %+v", s)
	}
	f.Leave()
	l, register = m.welcome("a1", 1)
	says("")
	refused("late")
	f.ComeBack()
	l, register = m.welcome("a1", 1)
	says("true")
	if len(register.Tasks) == 0 || len(f.Seen().Left) != 1 {
		t.Errorf("it came back with %+v, and %v are left", register.Tasks, f.Seen().Left)
	}
	f.End(f.Seen().Left[0], 6)
	if s := l.end("on"); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 6 {
		t.Errorf("what ran all the time: %+v", s)
	}
}

// TestWhatContainersAreMadeOf looks at what the engine is asked for.
func TestWhatContainersAreMadeOf(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	m, dir, data := newMaster(t), t.TempDir(), t.TempDir()
	conf := onFake(t, m, dir, f)
	conf.Resources, conf.CPUQuota = "cpus=4,mem=4GiB,disk=10GiB,ports=31000-31010", true
	run(t, conf)
	l, _ := m.welcome("a1", 1)
	task := contained("t", "x")
	task.Resources.Amounts = offers.Amounts{1500, 1 << 30}
	task.Resources.Ports = offers.MakePorts(offers.PortRange{First: 31001, Last: 31002})
	task.Container.Ports = []offers.ContainerPort{{Port: 53, UDP: true}}
	task.Container.Mounts = []offers.Mount{{Source: data, Target: "/data", ReadOnly: true}}
	task.Container.Entrypoint = []string{"/prog"}
	task.Command = &offers.Command{Argv: []string{"a"}, Dir: "sub", User: "12:34", Env: map[string]string{"A": "b"}}
	if os.Getuid() != 0 {
		task.Command.User = ""
	}
	l.launch(1, task, offers.Task{ID: "shell", Container: &offers.Container{Image: "x", Network: "host"}, Command: &offers.Command{Shell: "echo x"}})
	l.status("t")
	l.status("shell")
	got := map[string]string{}
	for _, body := range f.Seen().Created {
		id := body["Labels"].(map[string]any)["ringmaster.task"].(string)
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		got[id] = string(text)
	}
	for id, wants := range map[string][]string{
		"t": {
			`"Entrypoint":["/prog"]`, `"Cmd":["a"]`, `"WorkingDir":"/ringmaster/sandbox/sub"`, `"A=b"`, `"RINGMASTER_SANDBOX=/ringmaster/sandbox"`, `"PORT0=31001"`,
			`"CpuShares":1536`, `"NanoCpus":1500000000`, `"Memory":1073741824`, `"MemorySwap":1073741824`, `"PidsLimit":16384`, `"NetworkMode":"bridge"`,
			`"53/udp":[{"HostPort":"31001"}]`, `"31002/tcp":[{"HostPort":"31002"}]`,
			`{"ReadOnly":true,"Source":"` + data + `","Target":"/data","Type":"bind"}`,
			`{"ReadOnly":false,"Source":"` + sandboxOf(dir, "t") + `","Target":"/ringmaster/sandbox","Type":"bind"}`,
			`"ringmaster.framework":"f1"`, `"ringmaster.agent":"a1"`, `"Type":"local"`,
		},
		"shell": {`"Entrypoint":["/bin/sh","-c"]`, `"Cmd":["echo x"]`, `"NetworkMode":"host"`},
	} {
		for _, want := range wants {
			if !strings.Contains(got[id], want) {
				t.Errorf("%s: %s is not in %s", id, want, got[id])
			}
		}
	}
	for _, absent := range []string{"PATH=", "HOME=", "DeviceRequests"} {
		if strings.Contains(got["t"], absent) {
			t.Errorf("%s is in %s", absent, got["t"])
		}
	}
	if os.Getuid() == 0 && !strings.Contains(got["t"], `"User":"12:34"`) {
		t.Errorf("as whom: %s", got["t"])
	}
}

// TestContainersTakenPort: containers whose ports are the host's are not made
// where another program uses one.
func TestContainersTakenPort(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	m := newMaster(t)
	conf := onFake(t, m, t.TempDir(), f)
	conf.Resources += ",ports=1024-65535"
	run(t, conf)
	l, _ := m.welcome("a1", 1)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	port := uint16(other.Addr().(*net.TCPAddr).Port)
	launch := func(network string) offers.TaskID {
		task := contained(offers.TaskID(network), "x")
		task.Container.Network = network
		task.Resources.Ports = offers.MakePorts(offers.PortRange{First: port, Last: port})
		l.launch(1, task)
		return task.ID
	}
	for _, network := range []string{offers.NetworkBridge, offers.NetworkHost} {
		if s := l.end(launch(network)); s.State != offers.Failed || s.Reason != offers.ReasonPortTaken {
			t.Errorf("%s: %+v", network, s)
		}
	}
	if s := l.status(launch(offers.NetworkNone)); s.State != offers.Running {
		t.Errorf("a container of which the host has no port: %+v", s)
	}
	if n := len(f.Seen().Created); n != 1 {
		t.Errorf("%d containers were made", n)
	}
}

// TestRefusedMounts: what would give a container power over other tasks is not
// shown to it, by whatever name.
func TestRefusedMounts(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	m, dir, links := newMaster(t), t.TempDir(), t.TempDir()
	for name, to := range map[string]string{"sandboxes": filepath.Join(dir, "sandboxes"), "socket": f.Socket} {
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, onFake(t, m, dir, f))
	l, _ := m.welcome("a1", 1)
	for id, source := range map[offers.TaskID]string{
		"own": dir, "above": filepath.Dir(dir), "below": filepath.Join(dir, "sandboxes"), "root": "/", "socket": f.Socket, "run": filepath.Dir(f.Socket),
		"link": filepath.Join(links, "sandboxes"), "link2": filepath.Join(links, "socket"), "missing": filepath.Join(links, "missing"),
	} {
		task := contained(id, "x")
		task.Container.Mounts = []offers.Mount{{Source: source, Target: "/data"}}
		l.launch(1, task)
		if s := l.end(id); s.State != offers.Failed || s.Reason != offers.ReasonBadTask || !strings.Contains(s.Message, "container.mounts") {
			t.Errorf("%s: %+v", id, s)
		}
	}
	if n := len(f.Seen().Starts); n != 0 {
		t.Errorf("%d containers started", n)
	}
}

// TestExecutorsEmptiedFolder takes the agent's whole folder away while tasks
// run: the next run ends them and says so.
func TestExecutorsEmptiedFolder(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		m, dir := newMaster(t), folder(t)
		h := run(t, config(t, dir, m))
		l, _ := m.welcome("a1", 1)
		l.launch(1, k.task("on", "line=starts", "sleep=1000s"))
		l.status("on")
		await(t, filepath.Join(sandboxOf(dir, "on"), "starts"))
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		run(t, config(t, dir, m))
		l, _ = m.welcome("a2", 2)
		if s := l.end("on"); s.State != offers.Failed || s.Reason != offers.ReasonShimLost {
			t.Errorf("%+v", s)
		}
		if left := dockertest.Open(t).Labelled(labelOf(dir)); len(left) != 0 {
			t.Errorf("containers %v are left", left)
		}
	})
}
