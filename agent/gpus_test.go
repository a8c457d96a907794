package agent_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/discovery/nvidia/nvidiatest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func withGPUs(t testing.TB, dir string, m *master, d *nvidiatest.Driver) agent.Config {
	c := config(t, dir, m)
	c.Resources, c.NVIDIA = "cpus=4,mem=4GiB,disk=10GiB", d.Helper
	return c
}

// onGPU is the launch of a task with part of a GPU that the master chose.
func onGPU(task offers.Task, id string, index int, memory int64) *wire.Launch {
	task.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: memory}}
	return &wire.Launch{Term: 1, Tasks: []wire.LaunchTask{{Framework: "f1", Task: task, Holding: offers.Holding{
		Devices: map[string][]offers.Grant{"gpu": {{ID: id, Index: index, Memory: memory}}},
	}}}}
}

// TestGPUs goes the whole way from a stand-in for NVIDIA's library to a task:
// the GPUs that are offered, what a task sees, one that fails, and the end of a
// task whose child uses more than the task was given, while its neighbour of the
// same GPU goes on.
func TestGPUs(t *testing.T) {
	const a, b = "gpu GPU-a 1000 ok 0", "gpu GPU-b 2000 ok 0"
	d := nvidiatest.New(t)
	d.Say(a, b)
	m, dir := newMaster(t), t.TempDir()
	run(t, withGPUs(t, dir, m, d))
	l, register := m.welcome("a1", 1)
	found := register.Agent.Total.Class("gpu")
	if len(found) != 2 || found[1].ID != "GPU-b" || found[1].Capacity != 2000<<20 || found[1].Enforcement != offers.TierWatch {
		t.Fatalf("registered with %+v", found)
	}
	if got := register.Agent.Attributes; got["gpu.model"] != "Fake GPU" || got["gpu.enforcement"] != "watch" {
		t.Errorf("its attributes are %v", got)
	}
	const work = `echo $RINGMASTER_DEVICES_GPU $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES > seen; (sleep 1000 & echo $! > pid); sleep 1000`
	l.say(onGPU(shell("good", work), "GPU-b", 1, 500<<20))
	l.say(onGPU(shell("greedy", work), "GPU-b", 1, 100<<20))
	if seen := await(t, filepath.Join(sandboxOf(dir, "greedy"), "seen")); seen != "GPU-b GPU-b GPU-b" {
		t.Errorf("it sees %s", seen)
	}
	l.launch(1, offers.Task{ID: "none", Command: &offers.Command{Shell: `echo "<$CUDA_VISIBLE_DEVICES> $NVIDIA_VISIBLE_DEVICES" > seen`, Env: map[string]string{"CUDA_VISIBLE_DEVICES": "0"}}})
	if seen := await(t, filepath.Join(sandboxOf(dir, "none"), "seen")); seen != "<> void" {
		t.Errorf("a task without GPUs sees %s", seen)
	}
	// Each is a process whose parent has ended.
	good, greedy := await(t, filepath.Join(sandboxOf(dir, "good"), "pid")), await(t, filepath.Join(sandboxOf(dir, "greedy"), "pid"))
	uses := func(pid string, mib int) string { return fmt.Sprintf("process 1 %s %d", pid, mib) }
	d.Say(a, b, uses(good, 500), uses(greedy, 101), uses("1", 300))
	if s := l.told("greedy", offers.ReasonDeviceMemory); !strings.Contains(s.Message, "it uses 105906176 bytes of gpu GPU-b and was given 104857600") {
		t.Errorf("it is warned by %+v", s)
	}
	d.Say(a, "gpu GPU-b 2000 ok 1", uses(good, 500), uses(greedy, 101))
	for _, task := range []offers.TaskID{"good", "greedy"} {
		l.told(task, offers.ReasonDeviceUnwell)
	}
	if s := l.end("greedy"); s.State != offers.Failed || s.Reason != offers.ReasonDeviceMemory {
		t.Errorf("the greedy one ended as %+v", s)
	}
	if alive(t, greedy) || !alive(t, good) {
		t.Errorf("the greedy one lives: %v, the good one: %v", alive(t, greedy), alive(t, good))
	}
	d.Say(a, b, uses(good, 500))
	l.told("good", offers.ReasonDeviceWell)
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("good"), Reason: "asked"})
	l.end("good")
}
