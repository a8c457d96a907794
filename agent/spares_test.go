package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// shimsOf counts the shims of an agent's data folder, of tasks or not.
func shimsOf(dir string) int {
	n := 0
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if text, _ := os.ReadFile(line); strings.HasPrefix(string(text), "ringmaster-shim") && strings.Contains(string(text), dir+"/run") {
			n++
		}
	}
	return n
}

const spares = 4

// TestLaunchIsOneChange: with a shim that waits a launch takes one change of the
// checkpoint until its task runs, and another tells of that.
func TestLaunchIsOneChange(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	c := config(t, dir, m)
	h := run(t, c)
	l, _ := m.welcome("a1", 1)
	<-h.Registered()
	eventually(t, "no shims wait", func() bool { return shimsOf(dir) == spares })
	changes := func() uint64 {
		_, epoch, ok := witness.Read(c.RuntimeDir, dir)
		if !ok {
			t.Fatal("the checkpoint has no witness")
		}
		return epoch
	}
	before := changes()
	l.launch(1, shell("t", "while [ ! -e ../go ]; do sleep 0.01; done"))
	if s := l.status("t"); s.State != offers.Running {
		t.Fatalf("%+v", s)
	}
	if took := changes() - before; took != 2 {
		t.Errorf("until its task was said to run a launch took %d changes of the checkpoint", took)
	}
	touch(t, filepath.Join(dir, "sandboxes", "f1", "go"))
	l.end("t")
}

// TestSparesEndWithTheirAgent: in order or not, an agent leaves no shim that
// waits, and its tasks go on.
func TestSparesEndWithTheirAgent(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	cmd := spawn(t, dir, m)
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("t", "while [ ! -e ../go ]; do sleep 0.01; done"))
	if s := l.status("t"); s.State != offers.Running {
		t.Fatalf("%+v", s)
	}
	eventually(t, "no shims wait", func() bool { return shimsOf(dir) == spares+1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	eventually(t, "spares outlive an agent that was killed", func() bool { return shimsOf(dir) == 1 })
	h := run(t, config(t, dir, m))
	m.welcome("a1", 2)
	eventually(t, "no shims wait", func() bool { return shimsOf(dir) == spares+1 })
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if n := shimsOf(dir); n != 1 {
		t.Errorf("%d shims are there when the agent has ended, of one task", n)
	}
	run(t, config(t, dir, m))
	l, _ = m.welcome("a1", 3)
	touch(t, filepath.Join(dir, "sandboxes", "f1", "go"))
	if s := l.end("t"); s.State != offers.Finished {
		t.Errorf("%+v", s)
	}
}

// TestNoSparesForContainers: an agent that runs no processes has no shims.
func TestNoSparesForContainers(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	c := config(t, dir, m)
	c.Executors = []string{agent.DockerExecutor}
	h := run(t, c)
	m.welcome("a1", 1)
	<-h.Registered()
	if n := shimsOf(dir); n != 0 {
		t.Errorf("%d shims wait for tasks that are refused", n)
	}
}
