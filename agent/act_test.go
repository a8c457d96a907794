package agent

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/meter"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestNothingIsDoneThatIsNotWrittenDown takes the disk away from an agent that
// was just told to launch a task: it ends, and has not touched the task.
func TestNothingIsDoneThatIsNotWrittenDown(t *testing.T) {
	store, _, err := checkpoint.Open(checkpoint.Place{Path: filepath.Join(t.TempDir(), "checkpoint.db"), Witness: t.TempDir()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil { // every commit fails from now on
		t.Fatal(err)
	}
	a := &Agent{
		log: hclog.NewNullLogger(), meters: newMeters(new(meter.List)), store: store, machine: tasks.New(tasks.Config{}, tasks.Meta{}),
		inbox: make(chan func(), 8), stopped: make(chan struct{}),
		life: t.Context(), preparing: map[offers.TaskRef]context.CancelCauseFunc{},
	}
	a.processes = &processes{Executor: &process.Executor{}, agent: a, turns: make(chan struct{}, 1)}
	// To prepare this task fails at its user, and the loop would be told.
	task := offers.Task{ID: "t", Command: &offers.Command{Shell: "true", User: "no-such-user"}}
	if err := a.machine.Launch(&wire.Launch{Term: 1, Tasks: []wire.LaunchTask{{Framework: "f", Task: task}}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	err = a.act()
	a.work.Wait()
	if err == nil {
		t.Error("an agent goes on that can't write")
	}
	if len(a.inbox) > 0 {
		t.Error("a task was prepared that is not written down")
	}
}

// TestDevicesOfContainers: a device is handed over by the name that its
// discovery gave it, or by its id where that is one.
func TestDevicesOfContainers(t *testing.T) {
	total := offers.Inventory{Classes: []offers.DeviceClass{{Name: "gpu", Devices: []offers.Device{
		{ID: "GPU-1", Capacity: 1, CDI: "nvidia.com/gpu=0"}, {ID: "GPU-2", Capacity: 1}, {ID: "amd.com/gpu=card-3", Capacity: 1},
	}}}}
	x := &containers{agent: &Agent{self: offers.Agent{Total: total}}}
	l := tasks.Launch{LaunchTask: wire.LaunchTask{Holding: offers.Holding{Devices: offers.DevicesOf(map[string][]offers.Grant{
		"gpu": {{ID: "GPU-1"}, {ID: "GPU-2", Index: 1}, {ID: "amd.com/gpu=card-3", Index: 2}, {ID: "a/b", Index: 3}},
	})}}}
	if got := x.devices(l); !slices.Equal(got, []string{"amd.com/gpu=card-3", "nvidia.com/gpu=0"}) {
		t.Errorf("handed over are %q", got)
	}
}

// TestOwners: a process is a task's by the shim above it, or by the container in
// its cgroups, and else nobody's.
func TestOwners(t *testing.T) {
	shim, container := offers.TaskRef{Framework: "f", Task: "shim"}, offers.TaskRef{Framework: "f", Task: "container"}
	o := owners{map[int]offers.TaskRef{40: shim}, map[string]offers.TaskRef{"c0ffee": container}}
	for _, row := range []struct {
		from origin
		want offers.TaskRef
	}{
		{origin{above: []int{42, 41, 40, 7}, groups: "0::/init.scope\n"}, shim},
		{origin{above: []int{42, 7}, groups: "4:memory:/docker/c0ffee\n0::/\n"}, container},
		{origin{above: []int{42, 7}, groups: "0::/system.slice/docker-c0ffee.scope\n"}, container},
		{origin{above: []int{42, 7}, groups: "0::/docker/beef\n"}, offers.TaskRef{}},
		{origin{}, offers.TaskRef{}},
	} {
		if got, ours := o.of(row.from); got != row.want || ours != (row.want != offers.TaskRef{}) {
			t.Errorf("%+v is of %v, want %v", row.from, got, row.want)
		}
	}
}
