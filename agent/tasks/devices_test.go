package tasks

import (
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// onGPU launches a task as the master does, with the device it counts on.
func onGPU(t *testing.T, m *Machine, id offers.TaskID, device int) {
	t.Helper()
	ids := []string{"gpu-0", "gpu-1"}
	err := m.Launch(&wire.Launch{Term: 5, Tasks: []wire.LaunchTask{{Framework: "f", Task: offers.Task{
		ID: id, Resources: offers.Resources{Devices: map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: 30}}}, Command: &offers.Command{Shell: "x"},
	}, Holding: offers.Holding{Devices: offers.OneDevice("gpu", offers.Grant{ID: ids[device], Index: device, Memory: 30})}}}}, at(0))
	if err != nil {
		t.Fatal(err)
	}
}

func unwell(why string) map[string]map[string]string {
	return map[string]map[string]string{"gpu": {"gpu-0": why}}
}

func TestUnwellDevice(t *testing.T) {
	m := fresh(t)
	onGPU(t, m, "first", 0)
	onGPU(t, m, "second", 1)
	m.Prepared(name("first"), record.Identity{PID: 1}, at(0))
	m.Started(name("first"), at(0))
	m.Ready()
	before := m.sequence
	m.Unwell(unwell("XID 79"), at(1))
	r := m.Ready()
	if got := tell(r); got != "changed first, | send first running device_unwell, usage" || r.Send[0].Message != "gpu gpu-0: XID 79" {
		t.Fatalf("an unwell device: %s, %+v", got, r.Send)
	}
	usage, err := m.Usage()
	if err != nil || usage.Sequence <= before || usage.Handled != 2 || usage.Classes["gpu"].Unwell[0] != "XID 79" || len(usage.Classes["gpu"].Unwell) != 1 {
		t.Errorf("the usage is %+v, %v", usage, err)
	}
	onGPU(t, m, "third", 0) // what the master counted on is gone: the other one is bound
	if p := m.tasks[name("third")].Holding.Devices.Of("gpu")[0]; p.ID != "gpu-1" || p.Memory != 30 {
		t.Errorf("bound %+v", p)
	}
	m.Ready()
	m.Unwell(unwell("XID 79"), at(2))
	if got := tell(m.Ready()); got != "|" {
		t.Errorf("the same again: %s", got)
	}
	m.Unwell(nil, at(3))
	if got := tell(m.Ready()); got != "changed first, | send first running device_well, usage" {
		t.Errorf("well again: %s", got)
	}
	if err := m.check(); err != nil {
		t.Error(err)
	}
}

// TestUnwellOverARestart: a task that starts on an unwell device hears of it,
// and one that was told before a restart is told once more only when it is well.
func TestUnwellOverARestart(t *testing.T) {
	m := fresh(t)
	onGPU(t, m, "t", 0)
	m.Prepared(name("t"), record.Identity{PID: 1}, at(0))
	m.Unwell(unwell("XID 79"), at(1))
	m.Ready()
	m.Started(name("t"), at(2))
	if got := tell(m.Ready()); got != "changed t, | send t running, send t running device_unwell" {
		t.Fatalf("started on an unwell device: %s", got)
	}
	p, _ := m.Progress(name("t"))
	m = New(Config{Total: total(), Host: "h"}, Meta{Agent: "a1", Term: 5})
	m.Unwell(unwell("XID 79"), at(10))
	m.Restore([]Known{{m1launch(t), p}}, at(10))
	m.Adopted(name("t"), at(10))
	if p, _ := m.Progress(name("t")); len(p.Reports) != 2 {
		t.Errorf("after the restart %d reports wait, want the 2 of before", len(p.Reports))
	}
	m.Unwell(nil, at(11))
	p, _ = m.Progress(name("t"))
	if len(p.Reports) != 2 || p.Reports[1].Reason != offers.ReasonDeviceWell {
		t.Errorf("well again: %+v", p.Reports)
	}
}

func m1launch(t *testing.T) Launch {
	m := fresh(t)
	onGPU(t, m, "t", 0)
	return *m.Ready().Launched[0]
}

// TestDeviceReportsDoNotPileUp: however often a device comes and goes while
// nobody listens, one report of it waits, and one of the task's health.
func TestDeviceReportsDoNotPileUp(t *testing.T) {
	m := fresh(t)
	onGPU(t, m, "t", 0)
	m.Prepared(name("t"), record.Identity{PID: 1}, at(0))
	m.Started(name("t"), at(0))
	m.Disconnected()
	well := true
	for n := range 100 {
		m.Unwell([]map[string]map[string]string{unwell("XID 79"), nil}[n%2], at(n))
		m.condition(m.tasks[name("t")], Report{State: offers.Running, Healthy: &well}, at(n))
	}
	p, _ := m.Progress(name("t"))
	if len(p.Reports) != 3 || p.Reports[1].Reason != offers.ReasonDeviceWell || p.Reports[2].Healthy == nil {
		t.Errorf("%d reports wait: %+v", len(p.Reports), p.Reports)
	}
}

// TestResize: devices that appear are there for the next task, and those of
// running tasks that are not there any more are told.
func TestResize(t *testing.T) {
	m := fresh(t)
	onGPU(t, m, "t", 0)
	m.Prepared(name("t"), record.Identity{PID: 1}, at(0))
	m.Started(name("t"), at(0))
	m.Ready()
	v := total()
	v.Classes[0].Devices = slices.Concat(v.Classes[0].Devices[1:], []offers.Device{{ID: "gpu-2", Capacity: 50}})
	m.Resize(v, at(1))
	if r := m.Ready(); len(r.Send) != 1 || r.Send[0].Message != "gpu gpu-0: it is not there any more" {
		t.Errorf("told %+v", r.Send)
	}
	if c := m.room.Class("gpu"); c.Free(0) != 100 || c.Free(1) != 50 {
		t.Errorf("%d and %d are free", c.Free(0), c.Free(1))
	}
	if err := m.check(); err != nil {
		t.Error(err)
	}
}

// TestOveruse: a task that uses more of a device than it was given is warned
// once, and ended if it does not stop; one that stops in time begins anew.
func TestOveruse(t *testing.T) {
	m := fresh(t)
	onGPU(t, m, "t", 0)
	onGPU(t, m, "other", 1)
	for _, task := range []offers.TaskID{"t", "other"} {
		m.Prepared(name(task), record.Identity{PID: 1}, at(0))
		m.Started(name(task), at(0))
	}
	m.Ready()
	uses := func(device string, memory int64) map[offers.TaskRef]map[DeviceName]int64 {
		return map[offers.TaskRef]map[DeviceName]int64{name("t"): {{"gpu", device}: memory}}
	}
	for _, s := range []struct {
		second int
		used   map[offers.TaskRef]map[DeviceName]int64
		want   string
	}{
		{0, uses("gpu-0", 30), "|"},
		{1, uses("gpu-0", 31), "changed t, | send t running device_memory"},
		{10, uses("gpu-0", 31), "|"},
		{11, uses("gpu-0", 30), "|"},
		{12, uses("gpu-1", 1), "changed t, | send t running device_memory"}, // none of it is its own
		{21, uses("gpu-1", 1), "|"},
		{22, uses("gpu-1", 1), "changed t, | signal TERM t"},
		{23, uses("gpu-1", 1), "|"},
	} {
		m.Measured(s.used, at(s.second))
		if got := tell(m.Ready()); got != s.want {
			t.Fatalf("second %d: %s, want %s", s.second, got, s.want)
		}
	}
	m.Ended(name("t"), How{Exit: record.Exit{Code: 0}}, at(24))
	p, _ := m.Progress(name("t"))
	if r := p.Reports[len(p.Reports)-1]; p.State != offers.Failed || r.Reason != offers.ReasonDeviceMemory || r.Message != "it uses 1 bytes of gpu gpu-1 and was given 0" {
		t.Errorf("it ended as %+v", r)
	}
	if p, _ := m.Progress(name("other")); p.State != offers.Running || len(p.Reports) != 1 {
		t.Errorf("the other is %+v", p)
	}
}
