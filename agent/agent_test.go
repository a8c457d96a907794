package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/process/processtest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

var shim string

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(asTracer)); err == nil {
		if err := runAsTracer(n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if arguments := os.Getenv(asAgent); arguments != "" {
		if err := runAsAgent(arguments); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	path, remove, err := processtest.Shim()
	if err != nil {
		panic(err)
	}
	shim = path
	code := m.Run()
	remove()
	os.Exit(code)
}

const patience = 30 * time.Second

// master is a scripted master: it takes agents' connections and says what the
// test tells it to.
type master struct {
	t       testing.TB
	address string
	links   chan *link
}

// link is one agent's connection.
type link struct {
	t testing.TB
	*wire.Conn
	messages chan wire.Message
	saved    []wire.TaskStatus       // statuses that came with one that was awaited
	taken    map[wire.StatusRef]bool // what status has returned
}

func newMaster(t testing.TB) *master {
	m := &master{t: t, links: make(chan *link, 16)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := wire.Upgrade(w, r, wire.AgentProtocol, wire.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		l := &link{t: t, Conn: conn, messages: make(chan wire.Message, 1000), taken: map[wire.StatusRef]bool{}}
		m.links <- l
		defer close(l.messages)
		for {
			frame, err := conn.Receive()
			if err != nil {
				return
			}
			message, _, err := wire.Decode(wire.FromAgent, frame)
			if err != nil {
				t.Error(err)
				return
			}
			l.messages <- message
		}
	}))
	t.Cleanup(server.Close)
	m.address = strings.TrimPrefix(server.URL, "http://")
	return m
}

// next returns the next agent's connection and its registration.
func (m *master) next() (*link, *wire.RegisterAgent) {
	m.t.Helper()
	select {
	case l := <-m.links:
		m.t.Cleanup(func() { l.Close("the test is over") })
		register, ok := l.receive().(*wire.RegisterAgent)
		if !ok {
			m.t.Fatal("the first message is no registration")
		}
		return l, register
	case <-time.After(patience):
		m.t.Fatal("no agent came")
		return nil, nil
	}
}

// welcome registers the next agent.
func (m *master) welcome(id offers.AgentID, term uint64, forget ...offers.TaskRef) (*link, *wire.RegisterAgent) {
	m.t.Helper()
	l, register := m.next()
	answer := &wire.AgentRegistered{AgentID: id, Forget: forget}
	answer.Master.Term = term
	l.say(answer)
	return l, register
}

func (l *link) receive() wire.Message {
	l.t.Helper()
	select {
	case m, ok := <-l.messages:
		if !ok {
			l.t.Fatal("the agent's connection has ended")
		}
		return m
	case <-time.After(patience):
		l.t.Fatal("the agent says nothing")
		return nil
	}
}

func (l *link) say(m wire.Message) {
	l.t.Helper()
	if err := l.send(m); err != nil {
		l.t.Fatal(err)
	}
}

func (l *link) send(m wire.Message) error {
	frame, err := wire.Encode(m, "")
	if err != nil {
		return err
	}
	return l.Send(frame)
}

// status returns the next status of a task and acknowledges it. It passes over
// what it has returned: a launch of a task that is known, or an acknowledgement
// that takes long, lets an agent say it again.
func (l *link) status(task offers.TaskID) wire.TaskStatus {
	l.t.Helper()
	for {
		s := l.peek(task)
		l.acknowledge(s)
		if ref := refOf(s); !l.taken[ref] {
			l.taken[ref] = true
			return s
		}
	}
}

func (l *link) acknowledge(s wire.TaskStatus) {
	l.t.Helper()
	l.say(&wire.AcknowledgeStatus{Acknowledged: []wire.StatusRef{refOf(s)}})
}

func refOf(s wire.TaskStatus) wire.StatusRef {
	return wire.StatusRef{TaskRef: offers.TaskRef{Framework: s.Framework, Task: s.Task}, UpdateID: s.UpdateID}
}

func (l *link) peek(task offers.TaskID) wire.TaskStatus {
	l.t.Helper()
	for {
		for i, s := range l.saved {
			if s.Task == task {
				l.saved = append(l.saved[:i:i], l.saved[i+1:]...)
				return s
			}
		}
		if m, ok := l.receive().(*wire.Statuses); ok {
			l.saved = append(l.saved, m.Statuses...)
		}
	}
}

// end acknowledges a task's statuses up to its end.
func (l *link) end(task offers.TaskID) wire.TaskStatus {
	l.t.Helper()
	for {
		if s := l.status(task); s.State.Terminal() {
			return s
		}
	}
}

func shell(id offers.TaskID, script string) offers.Task {
	return offers.Task{ID: id, Command: &offers.Command{Shell: script}}
}

func (l *link) launch(term uint64, list ...offers.Task) {
	l.t.Helper()
	l.say(launchOf(term, list...))
}

func launchOf(term uint64, list ...offers.Task) *wire.Launch {
	launch := &wire.Launch{Term: term}
	for _, task := range list {
		launch.Tasks = append(launch.Tasks, wire.LaunchTask{Framework: "f1", Task: task, Holding: offers.Holding{Amounts: task.Resources.Amounts, Ports: task.Resources.Ports}})
	}
	return launch
}

// host is one agent under test.
type host struct {
	*agent.Agent
	t    testing.TB
	done chan error // what Run returned
	stop func() error
}

func config(t testing.TB, dir string, m *master) agent.Config {
	t.Helper()
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	log := hclog.NewNullLogger()
	if testing.Verbose() {
		log = hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: os.Stderr})
	}
	runtime := filepath.Dir(dir)
	if dir == "" {
		runtime = t.TempDir()
	}
	return agent.Config{
		Name: "a", Masters: []string{m.address}, DataDir: dir, Shim: shim, CgroupRoot: "ringmaster-test", RuntimeDir: runtime,
		Resources: "cpus=4,mem=4GiB,disk=10GiB,gpu=2x1GiB", Door: d, Logger: log,
	}
}

func run(t testing.TB, c agent.Config) *host {
	t.Helper()
	a, err := agent.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	h := &host{Agent: a, t: t, done: done}
	var ended bool
	h.stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			t.Fatal("the agent does not end")
			return nil
		}
	}
	t.Cleanup(func() {
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func TestHowTasksEnd(t *testing.T) {
	m := newMaster(t)
	h := run(t, config(t, t.TempDir(), m))
	l, register := m.welcome("a1", 1)
	<-h.Registered()
	if register.Agent.ID != "" || register.Agent.Name != "a" || len(register.Tasks) != 0 || register.Agent.Address != h.Address() {
		t.Errorf("registered as %+v", register)
	}
	l.launch(1, shell("ok", "echo hello"), shell("seven", "exit 7"), shell("signal", "kill -9 $$"),
		offers.Task{ID: "nowhere", Command: &offers.Command{Argv: []string{"no-such-program"}}},
		offers.Task{ID: "nobody", Command: &offers.Command{Argv: []string{"true"}, User: "no-such-user"}},
		offers.Task{ID: "outside", Command: &offers.Command{Argv: []string{"true"}, Dir: "../other"}})
	for _, c := range []struct {
		task           offers.TaskID
		state          offers.State
		reason, says   string
		code           int
		signal         string
		running, coded bool
	}{
		{"ok", offers.Finished, "", "", 0, "", true, true},
		{"seven", offers.Failed, "", "", 7, "", true, true},
		{"signal", offers.Failed, "", "", 0, "SIGKILL", true, false},
		{"nowhere", offers.Failed, offers.ReasonStart, "no-such-program", 0, "", false, false},
		{"nobody", offers.Failed, offers.ReasonStart, "no-such-user", 0, "", false, false},
		{"outside", offers.Failed, offers.ReasonStart, "../other", 0, "", false, false},
	} {
		s := l.status(c.task)
		if c.running {
			if s.State != offers.Running {
				t.Errorf("%s begins with %s", c.task, s.State)
			}
			s = l.status(c.task)
		}
		if s.State != c.state || s.Reason != c.reason || !strings.Contains(s.Message, c.says) || s.Signal != c.signal || s.Agent != "a1" ||
			(s.ExitCode != nil) != c.coded || c.coded && *s.ExitCode != c.code {
			t.Errorf("%s ended %+v", c.task, s)
		}
	}
}
