package simulated_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent/seek"
	"github.com/ringmaster-project/ringmaster/agent/simulated"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const patience = 30 * time.Second

// master is a scripted master: it says what the test tells it to.
type master struct {
	t       *testing.T
	address string
	links   chan *link
}

// link is one agent's connection, which has said register.
type link struct {
	t *testing.T
	*wire.Conn
	register *wire.RegisterAgent
	messages chan wire.Message
	statuses []wire.TaskStatus // that came and were not asked for
}

func newMaster(t *testing.T) *master {
	t.Helper()
	m := &master{t: t, links: make(chan *link, 16)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := wire.Upgrade(w, r, wire.AgentProtocol, wire.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		l := &link{t: t, Conn: conn, messages: make(chan wire.Message, 100)}
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
			if r, ok := message.(*wire.RegisterAgent); ok {
				l.register = r
				m.links <- l
			} else {
				l.messages <- message
			}
		}
	}))
	t.Cleanup(server.Close)
	m.address = strings.TrimPrefix(server.URL, "http://")
	return m
}

// next returns the next connection.
func (m *master) next() *link {
	m.t.Helper()
	select {
	case l := <-m.links:
		m.t.Cleanup(func() { l.Close("the test is over") })
		return l
	case <-time.After(patience):
		m.t.Fatal("no agent came")
		return nil
	}
}

// welcome registers the next agent.
func (m *master) welcome(id offers.AgentID, term uint64) *link {
	m.t.Helper()
	l := m.next()
	l.say(&wire.AgentRegistered{AgentID: id, Master: wire.MasterInfo{Term: term}})
	return l
}

func (l *link) say(m wire.Message) {
	l.t.Helper()
	frame, err := wire.Encode(m, "")
	if err == nil {
		err = l.Send(frame)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *link) launch(term uint64, ids ...offers.TaskID) {
	l.t.Helper()
	m := &wire.Launch{Term: term}
	for _, id := range ids {
		resources := offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000}}
		m.Tasks = append(m.Tasks, wire.LaunchTask{
			Framework: "f1", Holding: offers.Holding{Amounts: resources.Amounts},
			Task: offers.Task{ID: id, Resources: resources, Command: &offers.Command{Argv: []string{"true"}}},
		})
	}
	l.say(m)
}

// status acknowledges the next status and returns it.
func (l *link) status() wire.TaskStatus {
	l.t.Helper()
	for len(l.statuses) == 0 {
		select {
		case m, ok := <-l.messages:
			if !ok {
				l.t.Fatal("the agent's connection has ended")
			}
			if m, is := m.(*wire.Statuses); is {
				l.statuses = m.Statuses
			}
		case <-time.After(patience):
			l.t.Fatal("the agent says nothing")
		}
	}
	s := l.statuses[0]
	l.statuses = l.statuses[1:]
	l.say(&wire.AcknowledgeStatus{Acknowledged: []wire.StatusRef{{
		TaskRef: offers.TaskRef{Framework: s.Framework, Task: s.Task}, UpdateID: s.UpdateID,
	}}})
	return s
}

// want takes statuses written "task state" and returns when the last was.
func (l *link) want(statuses ...string) (at time.Time) {
	l.t.Helper()
	for _, want := range statuses {
		s := l.status()
		if got := fmt.Sprintf("%s %s", s.Task, s.State); got != want {
			l.t.Fatalf("the agent reports %q; want %q", got, want)
		}
		at = s.Time
	}
	return at
}

// run runs a fleet until the test is over.
func run(t *testing.T, m *master, count int, taskTime time.Duration) *simulated.Fleet {
	t.Helper()
	f, err := simulated.Open(config(t, m.address, count, taskTime))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return f
}

func config(t *testing.T, master string, count int, taskTime time.Duration) simulated.Config {
	t.Helper()
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return simulated.Config{
		Count: count, Name: "sim", Masters: []string{master}, Resources: "cpus=2,gpu=1x1GiB", TaskTime: taskTime,
		Version: "test", Door: d, Logger: hclog.NewNullLogger(),
	}
}

func TestEveryAgentRegisters(t *testing.T) {
	m := newMaster(t)
	f := run(t, m, 5, time.Hour)
	seen := map[string]bool{}
	for n := range 5 {
		select {
		case <-f.Registered():
			t.Error("the fleet is ready before all are")
		default:
		}
		a := m.welcome(offers.AgentID(fmt.Sprintf("a%d", n)), 1).register.Agent
		seen[a.Name] = true
		if a.ID != "" || a.Total.Amounts != (offers.Amounts{offers.CPUs: 2000}) || len(a.Total.Class("gpu")) != 1 || len(a.Total.Ports) > 0 {
			t.Errorf("%+v registers; want what was declared and nothing else", a)
		}
	}
	<-f.Registered()
	for n := range 5 {
		if name := fmt.Sprintf("sim-%d", n+1); !seen[name] {
			t.Errorf("%s has not registered; %v have", name, seen)
		}
	}
}

func TestTasksRunForTheirTime(t *testing.T) {
	m := newMaster(t)
	f := run(t, m, 1, time.Millisecond)
	l := m.welcome("a1", 1)
	l.launch(1, "t1")
	l.want("t1 running", "t1 finished")
	l.launch(1, "t1")
	l.want("t1 running", "t1 finished")
	if started, ended := f.Counts(); started != 2 || ended != 2 {
		t.Errorf("%d started and %d ended; want 2 and 2", started, ended)
	}
}

func TestFullAgentRefuses(t *testing.T) {
	m := newMaster(t)
	run(t, m, 1, time.Hour)
	l := m.welcome("a1", 1)
	l.launch(1, "t1")
	l.launch(1, "t2")
	l.want("t1 running", "t2 running")
	l.launch(1, "t3")
	l.want("t3 dropped")
}

// TestKilledTaskFreesItsName: what is left of a killed task's time must not
// end the next one of that name.
func TestKilledTaskFreesItsName(t *testing.T) {
	m := newMaster(t)
	const taskTime = 100 * time.Millisecond
	f := run(t, m, 1, taskTime)
	l := m.welcome("a1", 1)
	l.launch(1, "t1")
	l.want("t1 running")
	l.say(&wire.KillTask{Term: 1, TaskRef: offers.TaskRef{Framework: "f1", Task: "t1"}})
	l.want("t1 killing", "t1 killed")
	l.launch(1, "t1")
	begin := l.want("t1 running")
	if ran := l.want("t1 finished").Sub(begin); ran < taskTime {
		t.Errorf("the second t1 ran for %v; want %v", ran, taskTime)
	}
	if started, ended := f.Counts(); started != 2 || ended != 2 {
		t.Errorf("%d started and %d ended; want 2 and 2", started, ended)
	}
}

func TestAgentComesBackWithItsTasks(t *testing.T) {
	m := newMaster(t)
	run(t, m, 1, time.Hour)
	l := m.welcome("a1", 1)
	l.launch(1, "t1")
	l.want("t1 running")
	l.Close("the master dies")
	l = m.welcome("a1", 2)
	if r := l.register; r.Agent.ID != "a1" || len(r.Tasks) != 1 || r.Tasks[0].Task != "t1" || r.Tasks[0].State != offers.Running {
		t.Errorf("%+v comes back; want a1 with t1", r)
	}
	l.launch(1, "t2") // of the term before
	l.launch(2, "t3")
	l.want("t3 running")
}

func TestAgentThatWasGivenUpBeginsAnew(t *testing.T) {
	m := newMaster(t)
	run(t, m, 1, time.Hour)
	l := m.welcome("a1", 1)
	l.launch(1, "t1")
	l.want("t1 running")
	l.Close("the master dies")
	m.next().say(&wire.ErrorMessage{Code: offers.UnknownAgent, Message: "gone"})
	if r := m.next().register; r.Agent.ID != "" || len(r.Tasks) != 0 {
		t.Errorf("%+v comes back; want a new agent without tasks", r)
	}
}

// TestAllAreBack: who waits for the fleet hears of each time that it is whole.
func TestAllAreBack(t *testing.T) {
	m := newMaster(t)
	f := run(t, m, 1, time.Hour)
	l := m.welcome("a1", 1)
	<-f.Registered()
	l.Close("the master dies")
	next := m.next()
	select {
	case <-f.Registered():
		t.Error("it is whole before the agent is registered again")
	default:
	}
	next.say(&wire.AgentRegistered{AgentID: "a1", Master: wire.MasterInfo{Term: 2}})
	<-f.Registered()
}

func TestBadConfigIsRefused(t *testing.T) {
	for name, change := range map[string]func(*simulated.Config){
		"count":     func(c *simulated.Config) { c.Count = 0 },
		"masters":   func(c *simulated.Config) { c.Masters = nil },
		"name":      func(c *simulated.Config) { c.Name = "" },
		"agent":     func(c *simulated.Config) { c.Name = "a\nb" },
		"resources": func(c *simulated.Config) { c.Resources = "cpus=many" },
		"task-time": func(c *simulated.Config) { c.TaskTime = 0 },
	} {
		c := config(t, "127.0.0.1:1", 3, time.Second)
		change(&c)
		if _, err := simulated.Open(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLateAnswerIsAwaited: a leader to which all come back at once takes a while.
// Whoever gave up would come once more, and list its tasks again.
func TestLateAnswerIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var came atomic.Int64
		serve := func(conn net.Conn) {
			req, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			link, err := wire.Upgrade(hijacked{conn: conn}, req, wire.AgentProtocol, wire.Options{Ping: time.Hour}) // a pipe holds no two pings at once
			if err != nil {
				t.Error(err)
				return
			}
			for came.Add(1); err == nil; {
				_, err = link.Receive()
			}
			link.Close("it has ended")
		}
		var masters sync.WaitGroup
		c := config(t, "memory:1", 1, time.Hour)
		c.Dial = func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			masters.Go(func() { serve(theirs) })
			return ours, nil
		}
		f, err := simulated.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = f.Run(ctx) })
		time.Sleep(seek.AnswerTimeout - time.Second)
		if n := came.Load(); n != 1 {
			t.Errorf("it came %d times within %v; want once", n, seek.AnswerTimeout)
		}
		time.Sleep(10 * time.Second)
		if n := came.Load(); n != 2 {
			t.Errorf("it came %d times, and nobody answers; want twice", n)
		}
		cancel()
		running.Wait()
		masters.Wait()
	})
}

// hijacked is a response writer whose connection is in memory.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}
