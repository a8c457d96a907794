package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/pages/disktest"
)

// The variable that makes the test binary an agent instead, so that one can be
// killed; it holds "folder master shim", and perhaps an engine's socket.
const asAgent = "RINGMASTER_TEST_AS_AGENT"

func runAsAgent(arguments string) error {
	fields := strings.Fields(arguments)
	if how := os.Getenv(asFailing); how != "" {
		if err := disktest.FailAs(how, "checkpoint.db"); err != nil {
			return err
		}
	}
	d, err := door.Open(door.Config{})
	if err != nil {
		return err
	}
	socket := ""
	if len(fields) > 3 {
		socket = fields[3]
	}
	a, err := agent.Open(agent.Config{
		Name: "a", DataDir: fields[0], DockerSocket: socket, Masters: []string{fields[1]}, Shim: fields[2], CgroupRoot: "ringmaster-test", RuntimeDir: filepath.Dir(fields[0]),
		Resources: "cpus=100,mem=4GiB,disk=10GiB,gpu=4x1GiB", Door: d, Logger: hclog.NewNullLogger(),
	})
	if err != nil {
		return err
	}
	return a.Run(context.Background())
}

func spawn(t *testing.T, dir string, m *master, socket ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asAgent+"="+strings.Join(append([]string{dir, m.address, shim}, socket...), " "))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be dead already
		_ = cmd.Wait()
	})
	return cmd
}

// TestKilledAgent kills agents -9 at moments that differ, while they start
// tasks. Whatever the moment: every task starts exactly once, and its end is
// reported with its exit code.
func TestKilledAgent(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	const rounds, each = 6, 8
	live := map[offers.TaskID]offers.Task{}
	codes := map[offers.TaskID]int{}
	for round := range rounds {
		cmd := spawn(t, dir, m)
		l, register := m.welcome("a1", uint64(round+1))
		known := map[offers.TaskID]bool{}
		for _, k := range register.Tasks {
			known[k.Task] = true
		}
		var again []offers.Task
		for id, task := range live {
			if !known[id] {
				again = append(again, task) // the launch did not get through
			}
		}
		for n := range each {
			id := offers.TaskID(fmt.Sprintf("t%d-%d", round, n))
			live[id] = shell(id, fmt.Sprintf("echo started >> ../%s-log; sleep 0.0%d; exit %d", id, n, n+1))
			codes[id] = n + 1
			again = append(again, live[id])
		}
		l.launch(uint64(round+1), again...)
		<-time.After(time.Duration(round*12) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	run(t, config(t, dir, m))
	l, register := m.welcome("a1", rounds+1)
	known := map[offers.TaskID]bool{}
	for _, k := range register.Tasks {
		known[k.Task] = true
	}
	for id, task := range live {
		if !known[id] {
			l.launch(rounds+1, task)
		}
	}
	for id := range live {
		if s := l.end(id); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != codes[id] {
			t.Errorf("%s ended %+v", id, s)
		}
		if log := await(t, filepath.Join(dir, "sandboxes", "f1", string(id)+"-log")); log != "started" {
			t.Errorf("%s: starts %q", id, log)
		}
	}
}
