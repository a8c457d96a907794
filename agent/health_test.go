package agent_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

const brief = offers.Duration(100 * time.Millisecond)

// service is a task that runs until its health fails.
func service(id offers.TaskID, h offers.Health) offers.Task {
	task := shell(id, "echo $$ > pid; exec sleep 1000")
	h.Interval = brief
	task.Health = &h
	return task
}

// wellness waits for the next status of a running task that says how it is.
func (l *link) wellness(task offers.TaskID) bool {
	l.t.Helper()
	for {
		s := l.status(task)
		if s.State.Terminal() {
			l.t.Fatalf("%s ended: %+v", task, s)
		}
		if s.Healthy != nil {
			return *s.Healthy
		}
	}
}

func TestHealthByCommand(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	task := service("t", offers.Health{Command: &offers.Command{Shell: `[ "$X$Y$PWD" = "xy$RINGMASTER_SANDBOX" ] && cat /proc/self/cgroup > groups && [ -e well ]`, Env: map[string]string{"Y": "y"}}, Failures: 3})
	task.Resources.Amounts = offers.Amounts{offers.CPUs: 1000, offers.Mem: 256 << 20}
	task.Command.Env = map[string]string{"X": "x", "Y": "n"}
	l.launch(1, task)
	if l.wellness("t") {
		t.Error("it is well before it is")
	}
	touch(t, filepath.Join(sandboxOf(dir, "t"), "well"))
	if !l.wellness("t") {
		t.Error("it is ill")
	}
	pid := await(t, filepath.Join(sandboxOf(dir, "t"), "pid"))
	its, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if groups := await(t, filepath.Join(sandboxOf(dir, "t"), "groups")); groups != strings.TrimSpace(string(its)) {
		t.Errorf("the check ran in the cgroups\n%s\nand the task in\n%s", groups, its)
	}
	if err := os.Remove(filepath.Join(sandboxOf(dir, "t"), "well")); err != nil {
		t.Fatal(err)
	}
	s := l.end("t")
	if s.State != offers.Failed || s.Reason != offers.ReasonHealth || s.Message != "it failed 3 health checks in a row, the last: the command ended with exit code 1" {
		t.Errorf("it ended as %+v", s)
	}
}

func TestHealthByHTTPAndTCP(t *testing.T) {
	var ill atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ill.Load() || r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer web.Close()
	port := web.Listener.Addr().(*net.TCPAddr).Port
	m := newMaster(t)
	run(t, config(t, t.TempDir(), m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, service("http", offers.Health{HTTP: &offers.HTTPPing{Port: port, Path: "/healthz"}, Failures: 2}), service("tcp", offers.Health{TCP: &offers.TCPPing{Port: port}, Failures: 1}))
	for _, id := range []offers.TaskID{"http", "tcp"} {
		if !l.wellness(id) {
			t.Errorf("%s is ill", id)
		}
	}
	ill.Store(true)
	if s := l.end("http"); s.Reason != offers.ReasonHealth || !strings.HasSuffix(s.Message, "it answered 503") {
		t.Errorf("%+v", s)
	}
	web.Close()
	// The last that the listener had not taken in is reset, those after it are refused.
	if s := l.end("tcp"); s.Reason != offers.ReasonHealth || !strings.Contains(s.Message, "refused") && !strings.Contains(s.Message, "reset") {
		t.Errorf("%+v", s)
	}
}

// TestHealthCheckThatHangs holds that a check that takes too long is killed
// with what it started, and that many of them keep no other from being made.
func TestHealthCheckThatHangs(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, service("deep", offers.Health{Command: &offers.Command{Shell: "sleep 1000 & echo $! > child; wait"}, Timeout: offers.Duration(2 * time.Second), Failures: 1}))
	if s := l.end("deep"); s.Reason != offers.ReasonHealth || !strings.HasSuffix(s.Message, "it took more than 2s") {
		t.Errorf("it ended as %+v", s)
	}
	child := await(t, filepath.Join(sandboxOf(dir, "deep"), "child"))
	eventually(t, "what a check started goes on", func() bool { return !alive(t, child) })
	const many = 40
	for n := range many {
		l.launch(1, service(offers.TaskID(fmt.Sprint("t", n)), offers.Health{Command: &offers.Command{Shell: "sleep 1000"}, Timeout: brief, Failures: 1}))
	}
	l.launch(1, service("quick", offers.Health{Command: &offers.Command{Shell: "true"}}))
	if !l.wellness("quick") {
		t.Error("it is ill")
	}
	for n := range many {
		if s := l.end(offers.TaskID(fmt.Sprint("t", n))); s.Reason != offers.ReasonHealth || !strings.HasSuffix(s.Message, "it took more than 100ms") {
			t.Errorf("it ended as %+v", s)
		}
	}
}

// TestHealthOverARestart holds that checks go on under the next run of the agent.
func TestHealthOverARestart(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, service("t", offers.Health{Command: &offers.Command{Shell: "[ ! -e ill ]"}, Failures: 2}))
	if !l.wellness("t") {
		t.Error("it is ill")
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	touch(t, filepath.Join(sandboxOf(dir, "t"), "ill"))
	run(t, config(t, dir, m))
	l, _ = m.welcome("a1", 2)
	if s := l.end("t"); s.State != offers.Failed || s.Reason != offers.ReasonHealth {
		t.Errorf("it ended as %+v", s)
	}
}
