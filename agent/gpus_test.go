package agent_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/discovery/nvidia/nvidiatest"
	"github.com/ringmaster-project/ringmaster/agent/mps/mpstest"
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
		Devices: offers.OneDevice("gpu", offers.Grant{ID: id, Index: index, Memory: memory}),
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

// TestSharedGPU: tasks with parts of one GPU share it through the driver's
// service, which lives as long as they do, over a restart of the agent too.
func TestSharedGPU(t *testing.T) {
	d, control := nvidiatest.New(t), mpstest.New(t)
	d.Say("gpu GPU-a 1000 ok 0", "gpu GPU-b 2000 ok 0")
	m, dir := newMaster(t), t.TempDir()
	h := run(t, withGPUs(t, dir, m, d))
	l, register := m.welcome("a1", 1)
	if got := register.Agent.Total.Class("gpu")[0].Enforcement; got != offers.TierDriver {
		t.Errorf("the tier is %s", got)
	}
	const work = `echo "$CUDA_VISIBLE_DEVICES $CUDA_MPS_PINNED_DEVICE_MEM_LIMIT $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE ${CUDA_MPS_PIPE_DIRECTORY##*/}" > seen; while [ ! -e go ]; do sleep 0.02; done`
	share := onGPU(shell("half", work), "GPU-a", 0, 500<<20)
	share.Tasks[0].Task.Resources.Devices["gpu"] = offers.DeviceAsk{Count: 1, Share: 500}
	share.Tasks[0].Holding.Devices.Of("gpu")[0].Share = 500
	whole := onGPU(shell("whole", work), "GPU-b", 1, 2000<<20)
	whole.Tasks[0].Task.Resources.Devices["gpu"] = offers.DeviceAsk{Count: 1}
	whole.Tasks[0].Holding.Devices.Of("gpu")[0].Share = offers.FullShare
	l.say(share)
	l.say(onGPU(shell("part", work), "GPU-a", 0, 100<<20))
	l.say(whole)
	for task, want := range map[offers.TaskID]string{"half": "GPU-a 0=500M 50 pipe", "part": "GPU-a 0=100M  pipe", "whole": "GPU-b"} {
		if seen := await(t, filepath.Join(sandboxOf(dir, task), "seen")); seen != want {
			t.Errorf("%s sees %q, want %q", task, seen, want)
		}
		l.status(task)
	}
	if got := control.Said(); got != "start GPU-a" {
		t.Errorf("said %s", got)
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	run(t, withGPUs(t, dir, m, d))
	l, _ = m.welcome("a1", 1)
	for _, task := range []offers.TaskID{"half", "whole", "part"} {
		if got := control.Running(); got != "GPU-a" {
			t.Errorf("before the end of %s %q run", task, got)
		}
		touch(t, filepath.Join(sandboxOf(dir, task), "go"))
		if s := l.end(task); s.State != offers.Finished {
			t.Errorf("%s ended as %+v", task, s)
		}
	}
	if got := control.Said(); got != "start GPU-a, end GPU-a" {
		t.Errorf("said %s", got)
	}
}
