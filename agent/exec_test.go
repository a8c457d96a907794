package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// client is one end of a talk with a command.
type client struct {
	wire.Link
	t    testing.TB
	said map[string]string // by stream
	kept int               // messages of data that were not given back
}

func execute(t testing.TB, h *host, task offers.TaskID, start wire.Message) *client {
	t.Helper()
	options := wire.ExecOptions
	options.Bytes = 0 // a client that minds no bounds
	link, err := wire.Dial(t.Context(), "ws://"+h.Address()+"/v1/sandbox/f1/"+string(task)+"/exec", wire.ExecProtocol, nil, nil, options)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{Link: link, t: t, said: map[string]string{}}
	t.Cleanup(func() { c.Close("the test ends") })
	c.say(start)
	return c
}

func argv(words ...string) *wire.ExecStart { return &wire.ExecStart{Argv: words} }

func script(text string) *wire.ExecStart { return argv("sh", "-c", text) }

func (c *client) say(m wire.Message) {
	c.t.Helper()
	frame, err := wire.Encode(m, "")
	if err == nil {
		err = c.Send(frame)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// hear takes one message in; it returns the exit once that comes.
func (c *client) hear() *wire.ExecExit {
	c.t.Helper()
	frame, err := c.Receive()
	if err != nil {
		c.t.Fatalf("%v after %q", err, c.said)
	}
	m, _, err := wire.Decode(wire.ToExec, frame)
	if err != nil {
		c.t.Fatal(err)
	}
	switch m := m.(type) {
	case *wire.ExecExit:
		return m
	case *wire.ExecOutput:
		c.said[m.Stream] += string(m.Data)
		c.kept++
	}
	return nil
}

// until hears until the command has said text.
func (c *client) until(text string) {
	c.t.Helper()
	for !strings.Contains(c.said["stdout"], text) {
		if exit := c.hear(); exit != nil {
			c.t.Fatalf("it ended with %+v after %q", exit, c.said)
		}
		c.giveBack()
	}
}

func (c *client) giveBack() {
	if c.kept > 0 {
		c.say(&wire.ExecTaken{Messages: c.kept})
		c.kept = 0
	}
}

func (c *client) exit() wire.ExecExit {
	c.t.Helper()
	for {
		if exit := c.hear(); exit != nil {
			return *exit
		}
		c.giveBack()
	}
}

// sleeper is a running task.
func sleeper(t testing.TB) (*host, *link, string) {
	m, dir := newMaster(t), folder(t)
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	task := shell("t", "echo $$ > pid; exec sleep 1000")
	task.Command.Env = map[string]string{"X": "x"}
	l.launch(1, task)
	l.status("t")
	await(t, filepath.Join(sandboxOf(dir, "t"), "pid"))
	return h, l, dir
}

func TestExec(t *testing.T) {
	h, _, dir := sleeper(t)
	for _, c := range []struct {
		start    *wire.ExecStart
		exit     wire.ExecExit
		out, err string
	}{
		{script("echo out; echo err >&2; exit 7"), wire.ExecExit{Code: 7}, "out\n", "err\n"},
		{script("echo $X $RINGMASTER_TASK_ID; pwd"), wire.ExecExit{}, "x t\n" + sandboxOf(dir, "t") + "\n", ""},
		{script("kill -TERM $$"), wire.ExecExit{Code: 143, Signal: "SIGTERM"}, "", ""},
		{script("head -c 3000000 /dev/zero | tr '\\0' x"), wire.ExecExit{}, strings.Repeat("x", 3000000), ""},
		{argv("./nosuch"), wire.ExecExit{Code: 127}, "", ""},
		{argv("nosuch"), wire.ExecExit{Code: 127}, "", ""},
		{argv("./pid"), wire.ExecExit{Code: 126}, "", ""},
		{argv(), wire.ExecExit{Code: 126, Message: "start: argv names no command"}, "", ""},
		{argv("a\x00b"), wire.ExecExit{Code: 126, Message: "start: argv[0] holds a zero byte"}, "", ""},
	} {
		talk := execute(t, h, "t", c.start)
		exit := talk.exit()
		if c.exit.Message == "" && exit.Code > 125 && exit.Signal == "" {
			if !strings.Contains(exit.Message, c.start.Argv[0][2:]) {
				t.Errorf("%q: %q names no program", c.start.Argv, exit.Message)
			}
			exit.Message = ""
		}
		if exit != c.exit || talk.said["stdout"] != c.out || talk.said["stderr"] != c.err {
			t.Errorf("%q ended with %+v after %.100q and %.100q", c.start.Argv, exit, talk.said["stdout"], talk.said["stderr"])
		}
	}
}

func TestExecInput(t *testing.T) {
	h, _, _ := sleeper(t)
	c := execute(t, h, "t", script("read a; echo got $a; cat; echo end"))
	c.say(&wire.ExecInput{Data: []byte("one\n")})
	c.until("got one\n")
	c.say(&wire.ExecInput{Data: []byte("two\n")})
	c.until("two\n")
	c.say(&wire.ExecInput{End: true})
	if exit := c.exit(); exit.Code != 0 || c.said["stdout"] != "got one\ntwo\nend\n" {
		t.Errorf("%+v after %q", exit, c.said)
	}
}

// What is sent to a command that does not read it loses nothing of its end.
func TestExecUnread(t *testing.T) {
	h, _, _ := sleeper(t)
	for _, start := range []*wire.ExecStart{script("exit 7"), argv("nosuch")} {
		c := execute(t, h, "t", start)
		for range wire.ExecWindow {
			c.say(&wire.ExecInput{Data: make([]byte, wire.ExecChunk)})
		}
		if exit := c.exit(); exit.Code != 7 && exit.Code != 127 {
			t.Errorf("%q ended with %+v", start.Argv, exit)
		}
		c.Close("enough")
	}
}

// Whoever sends more than there is room for is cut off; the task is not touched.
func TestExecBounds(t *testing.T) {
	h, _, dir := sleeper(t)
	c := execute(t, h, "t", script("echo ready; exec sleep 4715"))
	c.until("ready\n")
	full := make([]byte, wire.ExecChunk)
	for range 64 { // the command's pipe takes some
		frame, err := wire.Encode(&wire.ExecInput{Data: full}, "")
		if err != nil {
			t.Fatal(err)
		}
		if c.Send(frame) != nil {
			break
		}
	}
	for {
		if _, err := c.Receive(); err != nil {
			if !strings.Contains(err.Error(), "not taken yet") {
				t.Errorf("it was cut off with %v", err)
			}
			break
		}
	}
	eventually(t, "the command goes on", func() bool { return dockertest.Processes(t, "4715") == 0 })
	if pid, err := os.ReadFile(filepath.Join(sandboxOf(dir, "t"), "pid")); err != nil || !alive(t, strings.TrimSpace(string(pid))) {
		t.Errorf("the task has ended: %s %v", pid, err)
	}
}

// A command ends with its connection, with what it has started, whatever they do
// about signals; nobody waits for one that does not read what is said to it.
func TestExecEndsWithTheConnection(t *testing.T) {
	h, _, _ := sleeper(t)
	c := execute(t, h, "t", script("trap '' HUP TERM INT; sleep 4716 & echo ready; sleep 4716; sleep 4716"))
	c.until("ready\n")
	c.Close("enough")
	eventually(t, "something goes on", func() bool { return dockertest.Processes(t, "4716") == 0 })
}

func TestExecEndsWithTheTask(t *testing.T) {
	h, l, _ := sleeper(t)
	c := execute(t, h, "t", script("echo ready; exec sleep 4717"))
	c.until("ready\n")
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("t"), Reason: "asked"})
	if exit := c.exit(); exit.Code != 137 {
		t.Errorf("%+v", exit)
	}
	if status, body := get(t, h, "/v1/sandbox/f1/t/exec", ""); status != 409 || !strings.Contains(body, "does not run") {
		t.Errorf("of an ended task: %d %s", status, body)
	}
}

// One command more than an agent runs at a time is refused in one sentence, and
// its place is free once one has ended.
func TestExecLimit(t *testing.T) {
	h, _, _ := sleeper(t)
	var held []*client
	for i := range 32 {
		held = append(held, execute(t, h, "t", script(fmt.Sprintf("echo ready%d; exec sleep 4718", i))))
		held[i].until("ready")
	}
	if status, body := get(t, h, "/v1/sandbox/f1/t/exec", ""); status != 429 || !strings.Contains(body, "end one first") {
		t.Errorf("one more: %d %s", status, body)
	}
	held[0].Close("enough")
	eventually(t, "the place is not free", func() bool {
		status, _ := get(t, h, "/v1/sandbox/f1/t/exec", "")
		return status == 400 // it asks for no websocket
	})
}

// TestExecTooSoon: beside a task that does not run yet, or no more, nothing runs,
// and which of them it is is said.
func TestExecTooSoon(t *testing.T) {
	d := newDepot(t, map[string][]byte{"/slow/a": nil})
	m, dir := newMaster(t), folder(t)
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	task := shell("t", "trap '' TERM; echo > ready; while :; do sleep 0.02; done")
	task.Artifacts = []offers.Artifact{{URI: d.URL + "/slow/a"}}
	l.launch(1, task)
	<-d.arrived
	refused := func(want string) {
		t.Helper()
		if status, body := get(t, h, "/v1/sandbox/f1/t/exec", ""); status != 409 || !strings.Contains(body, want) {
			t.Errorf("%d %s, want it to say %q", status, body, want)
		}
	}
	refused("task f1:t does not run yet, it is staging: ask again once it runs")
	close(d.gate)
	until := func(state offers.State) {
		t.Helper()
		for s := l.status("t"); s.State != state; s = l.status("t") {
			if s.State.Terminal() {
				t.Fatalf("%+v", s)
			}
		}
	}
	until(offers.Running)
	await(t, filepath.Join(sandboxOf(dir, "t"), "ready"))
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("t"), Grace: new(offers.Duration(time.Hour))})
	until(offers.Killing)
	refused("task f1:t does not run any more: it was told to end")
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("t"), Grace: new(offers.Duration(0))})
	if s := l.peek("t"); s.State != offers.Killed {
		t.Errorf("%+v", s)
	}
	refused("task f1:t does not run any more: it has ended")
}

// TestExecutorsExec: a command runs beside a process and inside a container alike,
// with its streams, with a terminal, and until its connection ends.
func TestExecutorsExec(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		m, dir := newMaster(t), folder(t)
		h := run(t, config(t, dir, m))
		l, _ := m.welcome("a1", 1)
		task := k.task("t", "sleep=1000s")
		task.Command.Env = map[string]string{"X": "x"}
		l.launch(1, task)
		l.status("t")
		start := func(steps ...string) *wire.ExecStart { return argv(k.check(steps...).Argv...) }

		c := execute(t, h, "t", start("same=X=x", "out=ready ", "copy", "err=said", "exit=7"))
		c.until("ready ")
		text := strings.Repeat("0123456789abcdef", 1000)
		c.say(&wire.ExecInput{Data: []byte(text)})
		c.say(&wire.ExecInput{End: true})
		if exit := c.exit(); exit != (wire.ExecExit{Code: 7}) || c.said["stdout"] != "ready "+text || c.said["stderr"] != "said" {
			t.Errorf("%+v after %.60q and %q", exit, c.said["stdout"], c.said["stderr"])
		}

		terminal := start("same=TERM=vt220", "window=31x97", "out=small ", "window=40x120", "err=large", "exit=3")
		terminal.Terminal = &wire.ExecTerminal{Kind: "vt220", ExecResize: wire.ExecResize{Rows: 31, Columns: 97}}
		c = execute(t, h, "t", terminal)
		c.until("small ")
		c.say(&wire.ExecResize{Rows: 40, Columns: 120})
		if exit := c.exit(); exit.Code != 3 || c.said["stdout"] != "small large" {
			t.Errorf("with a terminal: %+v after %q", exit, c.said)
		}

		c = execute(t, h, "t", start("out=ready ", "child=sleep=4721s", "sleep=4721s"))
		c.until("ready ")
		c.Close("enough")
		eventually(t, "the command goes on", func() bool { return dockertest.Processes(t, "sleep=4721s") == 0 })

		c = execute(t, h, "t", argv("/nosuch"))
		exit := c.exit()
		if engines := exit.Code == 126 && k.name == "docker"; exit.Code != 127 && !engines || !strings.Contains(exit.Message+c.said["stdout"], "nosuch") {
			t.Errorf("what is not there ended with %+v after %q", exit, c.said)
		}
	})
}
