package agent_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func ref(task offers.TaskID) offers.TaskRef { return offers.TaskRef{Framework: "f1", Task: task} }

// await waits for a file that a task writes a line into.
func await(t testing.TB, path string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if data, err := os.ReadFile(path); err == nil && bytes.HasSuffix(data, []byte("\n")) {
			return strings.TrimSpace(string(data))
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("%s never came", path)
	return ""
}

func sandboxOf(dir string, task offers.TaskID) string {
	return filepath.Join(dir, "sandboxes", "f1", string(task))
}

func alive(t testing.TB, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	id, err := record.Identify(n)
	return err == nil && id.Alive()
}

func TestKillWithGrace(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	const loop = "echo ready > ready; while :; do sleep 0.02; done"
	l.launch(1, shell("polite", "trap 'exit 0' TERM; "+loop), shell("stubborn", "trap '' TERM; "+loop))
	await(t, filepath.Join(sandboxOf(dir, "polite"), "ready"))
	await(t, filepath.Join(sandboxOf(dir, "stubborn"), "ready"))
	// Ordered before the agent knows that it runs, the end has no killing before it.
	for _, task := range []offers.TaskID{"polite", "stubborn"} {
		if s := l.status(task); s.State != offers.Running {
			t.Errorf("%s: %+v, want running", task, s)
		}
	}
	brief := offers.Duration(50 * time.Millisecond)
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("polite"), Reason: "asked"})
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("stubborn"), Reason: "asked", Grace: &brief})
	for task, signal := range map[offers.TaskID]string{"polite": "", "stubborn": "SIGKILL"} {
		for _, want := range []offers.State{offers.Killing, offers.Killed} {
			if s := l.status(task); s.State != want || want == offers.Killed && (s.Signal != signal || s.Reason != "asked") {
				t.Errorf("%s: %+v, want %s", task, s, want)
			}
		}
	}
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("never-seen")})
	if s := l.status("never-seen"); s.State != offers.Dropped || s.Reason != offers.ReasonUnknownTask {
		t.Errorf("kill of an unknown task: %+v", s)
	}
}

func TestMaxRuntime(t *testing.T) {
	m := newMaster(t)
	run(t, config(t, t.TempDir(), m))
	l, _ := m.welcome("a1", 1)
	task := shell("long", "sleep 1000")
	task.MaxRuntime = offers.Duration(100 * time.Millisecond)
	l.launch(1, task)
	if s := l.end("long"); s.State != offers.Failed || s.Reason != offers.ReasonMaxRuntime {
		t.Errorf("%+v", s)
	}
}

// TestRestart ends the agent while tasks run and finds them, with the same
// process ids, in the next run: one that still runs, one that ended meanwhile.
func TestRestart(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("on", "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; exit 4"), shell("meanwhile", "while [ ! -e go ]; do sleep 0.01; done; echo x > gone; exit 5"))
	pid := await(t, filepath.Join(sandboxOf(dir, "on"), "pid"))
	l.status("on")
	l.status("meanwhile")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if !alive(t, pid) {
		t.Fatal("the task ended with its agent")
	}
	touch(t, filepath.Join(sandboxOf(dir, "meanwhile"), "go"))
	await(t, filepath.Join(sandboxOf(dir, "meanwhile"), "gone"))

	run(t, config(t, dir, m))
	l, register := m.welcome("a1", 1)
	if register.Agent.ID != "a1" || len(register.Tasks) != 2 {
		t.Errorf("came back as %+v", register)
	}
	if s := l.end("meanwhile"); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 5 {
		t.Errorf("ended meanwhile: %+v", s)
	}
	if !alive(t, pid) {
		t.Error("the task ended when the agent came back")
	}
	touch(t, filepath.Join(sandboxOf(dir, "on"), "go"))
	if s := l.end("on"); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 4 {
		t.Errorf("ran on: %+v", s)
	}
}

func touch(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestShimKilled(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("orphan", "echo $$ $PPID > pids; sleep 1000"))
	pid, parent, _ := strings.Cut(await(t, filepath.Join(sandboxOf(dir, "orphan"), "pids")), " ")
	n, err := strconv.Atoi(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s := l.end("orphan"); s.State != offers.Failed || s.Reason != offers.ReasonShimLost {
		t.Errorf("%+v", s)
	}
	for deadline := time.Now().Add(patience); alive(t, pid); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the task outlived its shim")
		}
	}
}

func TestNeverStartedTwice(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	task := shell("once", "echo started >> ../once-log; exit 0")
	l.launch(1, task)
	if s := l.status("once"); s.State != offers.Running {
		t.Fatalf("%+v", s)
	}
	last := l.peek("once")
	l.launch(1, task)
	if again := l.peek("once"); again.UpdateID != last.UpdateID || again.State != offers.Finished {
		t.Errorf("a launch of an ended task is answered by %+v", again)
	}
	l.Close("away")
	l, register := m.welcome("a1", 2)
	if len(register.Tasks) != 1 || register.Tasks[0].State != offers.Finished {
		t.Errorf("registered %+v", register.Tasks)
	}
	if again := l.status("once"); again.UpdateID != last.UpdateID {
		t.Errorf("after a new connection it is %+v", again)
	}
	l.launch(1, shell("stale", "true")) // of the term before: ignored
	l.launch(2, shell("marker", "true"))
	l.end("marker")
	if log := await(t, filepath.Join(dir, "sandboxes", "f1", "once-log")); log != "started" {
		t.Errorf("the log of starts is %q", log)
	}
	if _, err := os.Stat(sandboxOf(dir, "stale")); err == nil {
		t.Error("a launch of an old term was obeyed")
	}
}

func TestRoomAndDevices(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	gpu := shell("gpu", "echo $RINGMASTER_DEVICES_GPU $CUDA_VISIBLE_DEVICES $PORT0 $RINGMASTER_TASK_ID $RINGMASTER_FRAMEWORK_ID $RINGMASTER_AGENT_ID $X > env; [ $PWD = $RINGMASTER_SANDBOX/sub ] && exec sleep 1000")
	gpu.Command.Dir = "sub"
	gpu.Command.Env = map[string]string{"X": "y", "RINGMASTER_TASK_ID": "forged"}
	gpu.Resources.Amounts[offers.CPUs] = 3000
	gpu.Resources.Ports = offers.MakePorts(offers.PortRange{First: 31005, Last: 31005})
	gpu.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1}}
	l.say(&wire.Launch{Term: 1, Tasks: []wire.LaunchTask{{Framework: "f1", Task: gpu, Holding: offers.Holding{
		Amounts: gpu.Resources.Amounts, Ports: gpu.Resources.Ports,
		Devices: offers.OneDevice("gpu", offers.Grant{ID: "gpu-1", Index: 1, Memory: 1 << 30, Share: offers.FullShare}),
	}}}})
	if env := await(t, filepath.Join(sandboxOf(dir, "gpu"), "sub", "env")); env != "gpu-1 1 31005 gpu f1 a1 y" {
		t.Errorf("the task sees %q", env)
	}
	if s := l.status("gpu"); s.State != offers.Running || len(s.Devices["gpu"]) != 1 || s.Devices["gpu"][0].ID != "gpu-1" {
		t.Errorf("%+v", s)
	}
	large := shell("large", "true")
	large.Resources.Amounts[offers.CPUs] = 1001
	l.launch(1, large)
	if s := l.end("large"); s.State != offers.Dropped || s.Reason != offers.ReasonAgentRefused || s.UpdateID == "" || !strings.Contains(s.Message, "cpus") {
		t.Errorf("a task that does not fit: %+v", s)
	}
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("gpu")})
	l.end("gpu")
	l.launch(1, large) // its id is free again, and so is the room
	if s := l.end("large"); s.State != offers.Finished {
		t.Errorf("a task that fits now: %+v", s)
	}
}

func TestRefusedIDEndsItsTasks(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("old", "echo $$ > pid; sleep 1000"))
	pid := await(t, filepath.Join(sandboxOf(dir, "old"), "pid"))
	l.Close("away")
	l, _ = m.next()
	l.say(&wire.ErrorMessage{Code: offers.UnknownAgent, Message: "this agent is gone"})
	_, register := m.welcome("a2", 2)
	if register.Agent.ID != "" || len(register.Tasks) != 0 || alive(t, pid) {
		t.Errorf("came back as %+v, its old task alive: %t", register, alive(t, pid))
	}
}

func TestForget(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("unwanted", "echo $$ > pid; sleep 1000"), shell("kept", "sleep 1000"))
	pid := await(t, filepath.Join(sandboxOf(dir, "unwanted"), "pid"))
	l.status("kept")
	l.Close("away")
	l, register := m.welcome("a1", 1, ref("unwanted"))
	if len(register.Tasks) != 2 {
		t.Errorf("registered %+v", register.Tasks)
	}
	for deadline := time.Now().Add(patience); alive(t, pid); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a forgotten task runs on")
		}
	}
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("kept")})
	l.end("kept")
	for _, s := range l.saved {
		if s.Task == "unwanted" && s.State.Terminal() {
			t.Errorf("a forgotten task is reported: %+v", s)
		}
	}
}

func TestKillTasksOnClose(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	c := config(t, dir, m)
	c.KillTasksOnClose = true
	h := run(t, c)
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("bye", "echo $$ > pid; sleep 1000"))
	pid := await(t, filepath.Join(sandboxOf(dir, "bye"), "pid"))
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if alive(t, pid) {
		t.Error("the task outlived an agent that ends its own")
	}
	s := l.peek("bye")
	for !s.State.Terminal() {
		s = l.peek("bye")
	}
	if s.State != offers.Killed {
		t.Errorf("%+v", s)
	}
}

func TestOpenRefuses(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	if _, err := agent.Open(config(t, dir, m)); err == nil || !strings.Contains(err.Error(), "another agent or master uses") {
		t.Errorf("two agents on one folder: %v", err)
	}
	for name, change := range map[string]func(*agent.Config){
		"name":      func(c *agent.Config) { c.Name = "" },
		"masters":   func(c *agent.Config) { c.Masters = []string{"nowhere"} },
		"data_dir":  func(c *agent.Config) { c.DataDir = "" },
		"resources": func(c *agent.Config) { c.Resources = "cpus=many" },
		"http":      func(c *agent.Config) { c.HTTP = "0.0.0.0:0" },
		"executors": func(c *agent.Config) { c.Executors = []string{"process", "podman"} },
		"x":         func(c *agent.Config) { c.Policies = map[string]offers.Policy{"x": "best"} },
	} {
		c := config(t, t.TempDir(), m)
		change(&c)
		if _, err := agent.Open(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamagedCheckpoint flips bits until a task's record is hit: the task is
// ended, reported as failed, and never started again.
func TestDamagedCheckpoint(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("hurt", "echo started >> ../hurt-log; echo $$ > pid; sleep 1000"))
	pid := await(t, filepath.Join(sandboxOf(dir, "hurt"), "pid"))
	l.status("hurt")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "checkpoint.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.ReplaceAll(data, []byte("hurt-log"), []byte("hurt-lag"))
	if err := os.WriteFile(path, bad, 0o600); err != nil || bytes.Equal(bad, data) {
		t.Fatal("nothing was damaged", err)
	}
	run(t, config(t, dir, m))
	l, _ = m.welcome("a1", 1)
	l.launch(1, shell("hurt", "echo started >> ../hurt-log"))
	if s := l.end("hurt"); s.State != offers.Failed || s.Reason != offers.ReasonShimLost {
		t.Errorf("%+v", s)
	}
	if log := await(t, filepath.Join(dir, "sandboxes", "f1", "hurt-log")); log != "started" || alive(t, pid) {
		t.Errorf("starts %q, alive %t", log, alive(t, pid))
	}
}

// TestOlderCheckpoint puts a copy back that was taken before the launch: the
// task still runs, so it is ended and reported, and never started again.
func TestOlderCheckpoint(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	path := filepath.Join(dir, "checkpoint.db")
	h := run(t, config(t, dir, m))
	m.welcome("a1", 1)
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h = run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("newer", "echo started >> ../newer-log; echo $$ > pid; sleep 1000"))
	pid := await(t, filepath.Join(sandboxOf(dir, "newer"), "pid"))
	l.status("newer")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, config(t, dir, m))
	l, _ = m.welcome("a1", 1)
	l.launch(1, shell("newer", "echo started >> ../newer-log"))
	if s := l.end("newer"); s.State != offers.Failed || s.Reason != offers.ReasonShimLost {
		t.Errorf("%+v", s)
	}
	if log := await(t, filepath.Join(dir, "sandboxes", "f1", "newer-log")); log != "started" || alive(t, pid) {
		t.Errorf("starts %q, alive %t", log, alive(t, pid))
	}
}

func TestLimitsAndUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tasks of other users and cgroups need root")
	}
	m, dir := newMaster(t), passable(t)
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	user := shell("user", "id -un > who; echo $HOME $USER >> who; cat ../../../checkpoint.db && exit 9; exit 0")
	user.Command.User = "nobody"
	l.launch(1, user)
	if s := l.end("user"); s.State != offers.Finished {
		t.Errorf("%+v", s)
	}
	if who := await(t, filepath.Join(sandboxOf(dir, "user"), "who")); !strings.HasPrefix(who, "nobody\n") {
		t.Errorf("it ran as %q", who)
	}
	hungry := shell("hungry", "x=$(head -c 200000000 /dev/zero | tr '\\0' x)")
	hungry.Resources.Amounts[offers.Mem] = 32 << 20
	l.launch(1, hungry)
	if s := l.end("hungry"); s.State != offers.Failed || s.Reason != offers.ReasonMemoryLimit {
		if l := limits.Open("ringmaster-test/probe", hclog.NewNullLogger()); !l.Active() {
			t.Skip("this host lets the tests make no cgroups")
		}
		t.Errorf("%+v", s)
	}
}

// passable returns a temporary folder that every user gets through to.
func passable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOneMasterAfterTheOther(t *testing.T) {
	m := newMaster(t)
	c := config(t, t.TempDir(), m)
	c.Masters = []string{"127.0.0.1:1", m.address}
	h := run(t, c)
	m.welcome("a1", 1)
	<-h.Registered()
	if h.ID() != "a1" {
		t.Errorf("the id is %q", h.ID())
	}
}

func TestRedirectToTheLeader(t *testing.T) {
	m := newMaster(t)
	follower := httptest.NewServer(http.RedirectHandler("http://"+m.address+wire.AgentPath, http.StatusTemporaryRedirect))
	defer follower.Close()
	c := config(t, t.TempDir(), m)
	c.Masters = []string{strings.TrimPrefix(follower.URL, "http://")}
	h := run(t, c)
	m.welcome("a1", 1)
	<-h.Registered()
}

// TestOrdersBeforeTheAnswer: before a master has shown its term, with the
// answer to the registration, nothing that it orders is done.
func TestOrdersBeforeTheAnswer(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.next()
	l.launch(1, shell("early", "true"))
	answer := &wire.AgentRegistered{AgentID: "a1"}
	answer.Master.Term = 1
	l.say(answer)
	l.launch(1, shell("marker", "true"))
	l.end("marker")
	if _, err := os.Stat(sandboxOf(dir, "early")); err == nil {
		t.Error("a launch of a master that was not yet believed was obeyed")
	}
}
