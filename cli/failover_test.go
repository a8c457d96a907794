package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// stream is a framework that launches tasks as long as it is offered room,
// and keeps the history of each. Every task leaves a line in a file of its own.
type stream struct {
	t      *testing.T
	ctx    context.Context
	client *framework.Client
	files  string

	launched  int
	accepted  map[offers.TaskID]bool
	ends      map[offers.TaskID][]offers.Status // terminal, every time one came
	leader    string
	changes   int // of the leader
	stopAfter int // tasks; no more are launched then
}

func newStream(t *testing.T, c *cluster) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	client, err := framework.Connect(ctx, framework.Config{Masters: c.http, Info: wire.FrameworkInfo{Name: "stream"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s := &stream{
		t: t, ctx: ctx, client: client, files: t.TempDir(),
		accepted: map[offers.TaskID]bool{}, ends: map[offers.TaskID][]offers.Status{}, leader: c.leader(t),
	}
	count := 100_000
	if err := client.Demand(offers.Demand{ID: "all", Resources: small, Count: &count}); err != nil {
		t.Fatal(err)
	}
	return s
}

var small = offers.Resources{Amounts: offers.Amounts{offers.CPUs: 2000, offers.Mem: 16 << 20}}

// until handles events until enough is true.
func (s *stream) until(what string, enough func() bool) {
	s.t.Helper()
	for !enough() {
		e, err := s.client.Next(s.ctx)
		if err != nil {
			s.t.Fatalf("waiting for %s, with %d launched, %d accepted, %d ended: %v", what, s.launched, len(s.accepted), len(s.ends), err)
		}
		switch e := e.(type) {
		case framework.Offered:
			s.offered(e.Offers)
		case framework.Accepted:
			for _, id := range e.Tasks {
				if s.accepted[id] {
					s.t.Errorf("%s was accepted twice", id)
				}
				s.accepted[id] = true
			}
		case framework.Updated:
			if e.Status.State.Terminal() {
				s.ends[e.Status.Task] = append(s.ends[e.Status.Task], e.Status)
			}
		case framework.Reconnected:
			s.leader = e.Master.Name
			s.changes++
		}
	}
}

func (s *stream) offered(list []wire.Offer) {
	for _, o := range list {
		var tasks []offers.Task
		for range framework.Units(o.Resources, small) {
			if s.stopAfter > 0 && s.launched >= s.stopAfter {
				break
			}
			id := offers.TaskID(fmt.Sprintf("t%d", s.launched))
			s.launched++
			tasks = append(tasks, offers.Task{ID: id, Resources: small, Command: &offers.Command{
				Shell: "echo ran >> " + filepath.Join(s.files, string(id)),
			}})
		}
		if len(tasks) == 0 {
			s.client.Decline(time.Hour, o.ID)
			continue
		}
		err := s.client.Accept([]offers.OfferID{o.ID}, tasks...)
		if errors.Is(err, &offers.Error{Code: offers.OfferGone}) {
			s.launched -= len(tasks) // the offer went with its leader, and nothing was sent
		} else if err != nil {
			s.t.Fatal(err)
		}
	}
}

// more lets so many more tasks be accepted.
func (s *stream) more(n int) {
	s.t.Helper()
	want := len(s.accepted) + n
	s.until(fmt.Sprintf("%d accepted tasks", want), func() bool { return len(s.accepted) >= want })
}

// finish stops launching, waits for the end of every task that was ever
// launched, and holds the promise: an accepted task ran once and ended once;
// one that was not accepted ended too, and ran at most once.
func (s *stream) finish(c *cluster) {
	s.t.Helper()
	s.stopAfter = s.launched
	s.client.Withdraw("all")
	s.until("the ends of all tasks", func() bool { return len(s.ends) == s.launched })
	dropped := 0
	for n := range s.launched {
		id := offers.TaskID(fmt.Sprintf("t%d", n))
		end := s.ends[id][0]
		for _, again := range s.ends[id] {
			if again.State != end.State {
				s.t.Errorf("%s ended as %s and then as %s", id, end.State, again.State)
			}
		}
		runs, want := s.runs(id), 1
		if end.State == offers.Dropped {
			want = 0
			dropped++
		}
		if runs != want || end.State != offers.Finished && end.State != offers.Dropped || s.accepted[id] && end.State != offers.Finished {
			s.t.Errorf("%s (accepted %v) ran %d times and ended as %s: %s %s", id, s.accepted[id], runs, end.State, end.Reason, end.Message)
		}
	}
	s.t.Logf("%d tasks launched over %d leaders, %d seen accepted, %d dropped", s.launched, s.changes+1, len(s.accepted), dropped)
	s.books(c)
}

func (s *stream) runs(id offers.TaskID) int {
	text, err := os.ReadFile(filepath.Join(s.files, string(id)))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return strings.Count(string(text), "ran\n")
}

// books holds that the masters tell the same story and that all room is back.
func (s *stream) books(c *cluster) {
	s.t.Helper()
	var list struct {
		Tasks []struct {
			ID    offers.TaskID `json:"id"`
			State string        `json:"state"`
		} `json:"tasks"`
		Next string `json:"next"`
	}
	seen := 0
	for path := "/v1/tasks"; ; path = "/v1/tasks?next=" + list.Next {
		list.Tasks, list.Next = nil, ""
		c.read(s.t, path, &list)
		for _, task := range list.Tasks {
			seen++
			if ends := s.ends[task.ID]; len(ends) == 0 || string(ends[0].State) != task.State {
				s.t.Errorf("the masters say that %s is %s, the framework heard %v", task.ID, task.State, ends)
			}
		}
		if list.Next == "" {
			break
		}
	}
	if seen < len(s.accepted) {
		s.t.Errorf("the masters know %d tasks of %d that were accepted", seen, len(s.accepted))
	}
	var status struct {
		Used    map[string]any `json:"used"`
		Offered map[string]any `json:"offered"`
	}
	c.read(s.t, "/v1/status", &status)
	for kind, n := range status.Used {
		if n != float64(0) {
			s.t.Errorf("%v of %s is in use by nobody", n, kind)
		}
	}
}

// TestFailover kills the leader -9 twice while a framework keeps launching.
// The killed master comes back each time.
func TestFailover(t *testing.T) {
	c := newCluster(t, 3, 2)
	s := newStream(t, c)
	for range 2 {
		s.more(30)
		changes, dead := s.changes, c.masters[s.leader]
		dead.kill(t)
		s.until("the next leader", func() bool { return s.changes > changes })
		s.more(30)
		dead.start(t)
		dead.await(t)
	}
	s.more(30)
	s.finish(c)
}

// TestStoppedLeader stops the leader, lets another take over, and lets the old
// one go on with an order in its hands. It must not carry it out by itself.
func TestStoppedLeader(t *testing.T) {
	c := newCluster(t, 3, 2)
	s := newStream(t, c)
	s.more(30)
	changes, old := s.changes, s.leader
	at := c.http[slices.Index([]string{"m1", "m2", "m3"}, old)]
	c.masters[old].signal(t, syscall.SIGSTOP)

	// The kernel takes the connection and the request for the stopped process.
	answer := make(chan int, 1)
	go func() {
		client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		r, err := http.NewRequestWithContext(s.ctx, http.MethodPut, "http://"+at+"/v1/roles/stale", strings.NewReader(`{"weight": 7}`))
		if err != nil {
			t.Error(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Error(err)
			answer <- 0
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body) // only the status counts
		resp.Body.Close()
		answer <- resp.StatusCode
	}()
	s.until("the next leader", func() bool { return s.changes > changes })
	s.more(30)
	c.masters[old].signal(t, syscall.SIGCONT)
	if code := <-answer; code == http.StatusOK {
		t.Error("a leader that was replaced while it was stopped carried out an order")
	}
	s.more(30)
	s.finish(c)
	var roles struct {
		Roles []struct{ Name string } `json:"roles"`
	}
	c.read(t, "/v1/roles", &roles)
	for _, r := range roles.Roles {
		if r.Name == "stale" {
			t.Error("the order of the stopped leader was carried out")
		}
	}
}

// TestAgentsOfAStoppedLeaderAreCalled by the next one, as it ends no connection, and
// they would wait until it was silent for too long.
func TestAgentsOfAStoppedLeaderAreCalled(t *testing.T) {
	c := newCluster(t, 3, 2)
	old := c.leader(t)
	c.masters[old].signal(t, syscall.SIGSTOP)
	defer c.masters[old].signal(t, syscall.SIGCONT)
	if out, errOut, code := commandLine(t, "run", "--masters", strings.Join(c.http, ","), "--count", "2", "--cpus", "8", "--", "true"); code != 0 {
		t.Fatalf("tasks on both agents under the next leader: %d %s %s", code, out, errOut)
	}
	for _, d := range c.agents {
		text, err := os.ReadFile(d.log)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "a master says that it leads") {
			t.Errorf("%s came without a call", d.name)
		}
	}
}

// TestKilledAgentProcess kills an agent -9 while it runs tasks. They go on in
// the same processes, and what ended meanwhile is reported with its code.
func TestKilledAgentProcess(t *testing.T) {
	c := newCluster(t, 1, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := framework.Connect(ctx, framework.Config{Masters: c.http, Info: wire.FrameworkInfo{Name: "waiters"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var waiters []*waiter
	var tasks []offers.Task
	for n := range 3 {
		w := newWaiter(t, n)
		waiters, tasks = append(waiters, w), append(tasks, w.task(n+3))
	}
	ended := make(chan offers.Status, len(tasks))
	done := make(chan error, 1)
	go func() {
		_, err := framework.RunBatch(ctx, client, tasks, framework.BatchOptions{OnUpdate: func(u framework.BatchUpdate) {
			if u.Status.State.Terminal() {
				ended <- u.Status
			}
		}})
		done <- err
	}()
	for _, w := range waiters {
		w.await(t)
	}
	c.agents[0].kill(t)
	waiters[0].release(t)
	waiters[0].gone(t)
	for _, w := range waiters[1:] {
		if err := unix.Kill(w.pid, 0); err != nil {
			t.Errorf("the process %d went with its agent: %v", w.pid, err)
		}
	}
	c.agents[0].start(t)
	c.agents[0].await(t)
	for n, w := range waiters {
		if n > 0 {
			w.release(t)
		}
		select {
		case s := <-ended:
			if want := offers.TaskID(fmt.Sprintf("w%d", n)); s.Task != want || s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != n+3 {
				t.Errorf("%+v came, want the exit code %d of %s", s, n+3, want)
			}
		case <-ctx.Done():
			t.Fatalf("the end of w%d never came", n)
		}
		if text := w.starts(t); strings.TrimSpace(text) != strconv.Itoa(w.pid) {
			t.Errorf("w%d ran as the processes %q", n, text)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// waiter is a task that notes its process and waits to be released.
type waiter struct {
	id      offers.TaskID
	started string // a file with a line for each start
	pipe    string
	gate    *os.File
	pid     int
	pidfd   int
}

func newWaiter(t *testing.T, n int) *waiter {
	t.Helper()
	dir := t.TempDir()
	w := &waiter{id: offers.TaskID(fmt.Sprintf("w%d", n)), started: filepath.Join(dir, "started"), pipe: filepath.Join(dir, "gate")}
	if err := unix.Mkfifo(w.pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *waiter) task(code int) offers.Task {
	return offers.Task{ID: w.id, Resources: small, Command: &offers.Command{
		Shell: fmt.Sprintf("echo $$ >> %s; read line < %s; exit %d", w.started, w.pipe, code),
	}}
}

// await returns when the task waits at its gate.
func (w *waiter) await(t *testing.T) {
	t.Helper()
	var err error
	if w.gate, err = os.OpenFile(w.pipe, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.gate.Close() })
	if w.pid, err = strconv.Atoi(strings.TrimSpace(w.starts(t))); err != nil {
		t.Fatal(err)
	}
	if w.pidfd, err = unix.PidfdOpen(w.pid, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(w.pidfd) })
}

func (w *waiter) starts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(w.started)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (w *waiter) release(t *testing.T) {
	t.Helper()
	if _, err := fmt.Fprintln(w.gate); err != nil {
		t.Fatal(err)
	}
}

// gone returns when the task's process has ended.
func (w *waiter) gone(t *testing.T) {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(w.pidfd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		switch {
		case n == 1:
			return
		case err != unix.EINTR:
			t.Fatalf("the process %d does not end: %v", w.pid, err)
		}
	}
}
