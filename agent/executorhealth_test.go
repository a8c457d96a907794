package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestExecutorsHealth: a check's command runs beside the task, with both their
// environments, on its sandbox, and over a restart of the agent.
func TestExecutorsHealth(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		m, dir := newMaster(t), folder(t)
		h := run(t, config(t, dir, m))
		l, _ := m.welcome("a1", 1)
		task := k.task("t", "sleep=1000s")
		task.Command.Env = map[string]string{"X": "x", "Y": "n"}
		check := k.check("same=X=x", "same=Y=y", "need=well")
		check.Env = map[string]string{"Y": "y"}
		task.Health = &offers.Health{Command: check, Interval: brief, Timeout: 100 * brief, Failures: 2}
		l.launch(1, task)
		if l.wellness("t") {
			t.Error("it is well before it is")
		}
		touch(t, filepath.Join(sandboxOf(dir, "t"), "well"))
		if !l.wellness("t") {
			t.Error("it is ill")
		}
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(sandboxOf(dir, "t"), "well")); err != nil {
			t.Fatal(err)
		}
		run(t, config(t, dir, m))
		l, _ = m.welcome("a1", 2)
		s := l.end("t")
		if s.State != offers.Failed || s.Reason != offers.ReasonHealth || s.Message != "it failed 2 health checks in a row, the last: the command ended with exit code 99" {
			t.Errorf("it ended as %+v", s)
		}
	})
}

// TestExecutorsHealthThatHangs: a check that takes too long is killed with what
// it has started, and fails.
func TestExecutorsHealthThatHangs(t *testing.T) {
	eachExecutor(t, func(t *testing.T, k kind) {
		m, dir := newMaster(t), folder(t)
		run(t, config(t, dir, m))
		l, _ := m.welcome("a1", 1)
		task := k.task("t", "sleep=1000s")
		task.Health = &offers.Health{Command: k.check("child=sleep=4714s", "sleep=4714s"), Interval: brief, Timeout: offers.Duration(time.Second), Failures: 2}
		l.launch(1, task)
		if s := l.end("t"); s.Reason != offers.ReasonHealth || !strings.HasSuffix(s.Message, "it took more than 1s") {
			t.Errorf("it ended as %+v", s)
		}
		eventually(t, "what a check started goes on", func() bool { return dockertest.Processes(t, "sleep=4714s") == 0 })
	})
}
