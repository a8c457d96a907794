package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/agent/discovery/nvidia/nvidiatest"
	"github.com/ringmaster-project/ringmaster/agent/mps"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// output waits until a task's standard output has a line that begins so, and
// returns the line.
func output(t testing.TB, dir string, task offers.TaskID, beginning string) string {
	t.Helper()
	var text []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		text, _ = os.ReadFile(filepath.Join(sandboxOf(dir, task), "stdout")) // it may not be there yet
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, beginning) && strings.HasSuffix(line, "\n") {
				return strings.TrimSpace(line)
			}
		}
	}
	t.Fatalf("%s never said %q, but %q", task, beginning, text)
	return ""
}

// TestRealGPU goes the whole way on a real GPU: it is found, a part of it is
// bound, a task sees that GPU alone, and one that takes more memory than it was
// given is ended, or refused by the driver where tasks share through it.
func TestRealGPU(t *testing.T) {
	if !discovery.HasNVIDIA() {
		t.Skip("NVIDIA's driver is not on this host")
	}
	helper := nvidiatest.BuildHelper(t)
	program := filepath.Join(t.TempDir(), "usegpu")
	if out, err := exec.Command("gcc", "-o", program, "testdata/usegpu.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Run("shared", func(t *testing.T) {
		if !mps.Available() {
			t.Skip("nvidia-cuda-mps-control is not on this host")
		}
		l, dir, d := realGPU(t, helper, offers.TierDriver)
		l.say(onGPU(shell("good", program+" 1024"), d.ID, 0, 4<<30))
		l.say(onGPU(shell("greedy", program+" 5120"), d.ID, 0, 4<<30))
		output(t, dir, "good", "holds 1024")
		output(t, dir, "greedy", "refused")
		if s := l.end("greedy"); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 9 {
			t.Errorf("the greedy one ended as %+v", s)
		}
		l.say(&wire.KillTask{Term: 1, TaskRef: ref("good"), Reason: "asked"})
		l.end("good")
	})
	t.Run("watched", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir()) // no service is found
		l, dir, d := realGPU(t, helper, offers.TierWatch)
		l.say(onGPU(shell("good", program+" 1024"), d.ID, 0, 4<<30))
		l.say(onGPU(shell("greedy", program+" 5120"), d.ID, 0, 4<<30))
		if got := output(t, dir, "good", "sees"); got != fmt.Sprintf("sees 1 %s", d.ID) {
			t.Errorf("a task %s, and was given %s", got, d.ID)
		}
		output(t, dir, "greedy", "holds 5120")
		l.told("greedy", offers.ReasonDeviceMemory)
		if s := l.end("greedy"); s.State != offers.Failed || s.Reason != offers.ReasonDeviceMemory {
			t.Errorf("the greedy one ended as %+v", s)
		}
		output(t, dir, "good", "holds 1024")
		l.say(&wire.KillTask{Term: 1, TaskRef: ref("good"), Reason: "asked"})
		if s := l.end("good"); s.State != offers.Killed {
			t.Errorf("the good one ended as %+v", s)
		}
	})
}

// realGPU runs an agent with this host's GPUs and returns the first of them.
func realGPU(t *testing.T, helper string, tier offers.Tier) (*link, string, offers.Device) {
	t.Helper()
	m, dir := newMaster(t), t.TempDir()
	c := config(t, dir, m)
	c.Resources, c.NVIDIA = "cpus=4,mem=4GiB,disk=10GiB", helper
	run(t, c)
	l, register := m.welcome("a1", 1)
	for _, d := range register.Agent.Total.Class("gpu") {
		t.Logf("found %s: %v, %d MiB, driver %s, enforcement %s", d.ID, d.Attributes["model"], d.Capacity>>20, d.Attributes["driver"], d.Enforcement)
	}
	gpus := register.Agent.Total.Class("gpu")
	if len(gpus) == 0 {
		t.Fatal("the driver is here and no GPU is found")
	}
	if !strings.HasPrefix(gpus[0].ID, "GPU-") {
		t.Skip("the first GPU is in MIG mode; this test wants a whole one")
	}
	if gpus[0].Enforcement != tier {
		t.Fatalf("the tier is %s, want %s", gpus[0].Enforcement, tier)
	}
	return l, dir, gpus[0]
}
