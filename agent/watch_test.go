package agent_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestDiskLimit ends a task that takes more of the disk than it asked for, and
// none that takes less or asked for nothing.
func TestDiskLimit(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	fill := "dd if=/dev/zero of=big bs=1M count=4 2>/dev/null; echo done > done; exec sleep 1000"
	greedy, modest, free := shell("greedy", fill), shell("modest", fill), shell("free", fill)
	greedy.Resources.Amounts[offers.Disk] = 2 << 20
	modest.Resources.Amounts[offers.Disk] = 8 << 20
	l.launch(1, modest, free)
	await(t, filepath.Join(sandboxOf(dir, "modest"), "done"))
	await(t, filepath.Join(sandboxOf(dir, "free"), "done"))
	l.launch(1, greedy)
	s := l.end("greedy")
	if s.State != offers.Failed || s.Reason != offers.ReasonDiskLimit || !strings.Contains(s.Message, "it asked for 2097152") {
		t.Errorf("it ended as %+v", s)
	}
	for _, id := range []offers.TaskID{"modest", "free"} {
		if s := l.status(id); s.State != offers.Running {
			t.Errorf("%s is %+v", id, s)
		}
	}
	// The watch goes on over a restart of the agent.
	late := shell("late", "while [ ! -e go ]; do sleep 0.05; done; "+fill)
	late.Resources.Amounts[offers.Disk] = 2 << 20
	l.launch(1, late)
	if s := l.status("late"); s.State != offers.Running {
		t.Errorf("it is %+v", s)
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	run(t, config(t, dir, m))
	l, _ = m.welcome("a1", 2)
	touch(t, filepath.Join(sandboxOf(dir, "late"), "go"))
	if s := l.end("late"); s.State != offers.Failed || s.Reason != offers.ReasonDiskLimit {
		t.Errorf("it ended as %+v", s)
	}
}

// TestLongLogs holds that a task that writes more than is kept of its logs
// goes on and loses their beginnings, whether or not it has asked for disk.
func TestLongLogs(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	c := config(t, dir, m)
	c.LogSize = 256 << 10
	h := run(t, c)
	l, _ := m.welcome("a1", 1)
	chatty := "n=0; while [ $n -lt 40 ]; do yes 'some words' | head -c 131072; n=$((n+1)); done; echo the end; while [ ! -e go ]; do sleep 0.05; done; exit 7"
	bounded := shell("bounded", chatty)
	bounded.Resources.Amounts[offers.Disk] = 6 << 20
	l.launch(1, shell("free", chatty), bounded)
	for _, id := range []offers.TaskID{"free", "bounded"} {
		eventually(t, "the log is not shortened", func() bool {
			_, text := get(t, h, "/v1/sandbox/f1/"+string(id)+"/logs", "")
			return strings.HasSuffix(text, "the end\n") && len(text) < 400<<10
		})
		_, text := get(t, h, "/v1/sandbox/f1/"+string(id)+"/logs", "")
		if strings.ContainsRune(text, 0) || len(text) < 256<<10 {
			t.Errorf("of %s there are %d bytes left", id, len(text))
		}
		if _, rest := get(t, h, "/v1/sandbox/f1/"+string(id)+"/logs?offset=5242880", ""); rest != "the end\n" {
			t.Errorf("offsets of %s have moved: %q", id, rest)
		}
		touch(t, filepath.Join(sandboxOf(dir, id), "go"))
		if s := l.end(id); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 7 {
			t.Errorf("%s ended as %+v", id, s)
		}
	}
}

// TestOutputEndsNoTask holds that a task may write more than it asked of the
// disk where all of its output is kept otherwise.
func TestOutputEndsNoTask(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	const steps, each = 4, 2_000_000
	task := shell("t", "for n in 1 2 3 4; do yes | head -c 2000000; while [ ! -e go$n ]; do sleep 0.05; done; done")
	task.Resources.Amounts[offers.Disk] = 4 << 20
	l.launch(1, task)
	for n := 1; n <= steps; n++ {
		eventually(t, "the log is not shortened", func() bool {
			_, text := get(t, h, "/v1/sandbox/f1/t/logs", "")
			_, last := get(t, h, fmt.Sprint("/v1/sandbox/f1/t/logs?offset=", n*each-2), "")
			return len(last) == 2 && len(text) < 1_400_000
		})
		touch(t, filepath.Join(sandboxOf(dir, "t"), fmt.Sprint("go", n)))
	}
	if s := l.end("t"); s.State != offers.Finished {
		t.Errorf("it ended as %+v", s)
	}
}

// TestOldSandboxesGo holds that the age of sandboxes is looked at when the
// agent starts, too.
func TestOldSandboxesGo(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("old", "true"))
	l.end("old")
	l.launch(1, shell("runs", "sleep 1000")) // taken after the acknowledgement of that end
	if s := l.status("runs"); s.State != offers.Running {
		t.Errorf("%+v", s)
	}
	if _, text := get(t, h, "/v1/sandbox/f1/old/files", ""); !strings.Contains(text, "stdout") {
		t.Error("it is gone at once")
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	c := config(t, dir, m)
	c.SandboxAge = time.Nanosecond
	h = run(t, c)
	m.welcome("a1", 2)
	eventually(t, "it is still there", func() bool {
		_, text := get(t, h, "/v1/sandbox/f1/old/files", "")
		return strings.Contains(text, "no sandbox")
	})
	if _, text := get(t, h, "/v1/sandbox/f1/runs/files", ""); !strings.Contains(text, "stdout") {
		t.Error("the sandbox of a living task is gone")
	}
}
