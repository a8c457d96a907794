package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// plugin is a program that goes on reporting what the test last said.
type plugin struct {
	t    testing.TB
	path string
	file string
}

func newPlugin(t testing.TB, devices ...string) *plugin {
	t.Helper()
	dir := t.TempDir()
	p := &plugin{t: t, path: filepath.Join(dir, "plugin"), file: filepath.Join(dir, "report")}
	p.report(devices...)
	script := fmt.Sprintf("#!/bin/sh\nwhile cat %s; do sleep 0.02; done\n", p.file)
	if err := os.WriteFile(p.path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *plugin) report(devices ...string) {
	p.says(`{"devices":[` + strings.Join(devices, ",") + `]}`)
}

func (p *plugin) says(text string) {
	p.t.Helper()
	if err := os.WriteFile(p.file+".new", []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(p.file+".new", p.file); err != nil {
		p.t.Fatal(err)
	}
}

// npu is one device of the class npu; more are further fields of it.
func npu(id string, more ...string) string {
	return fmt.Sprintf(`{"class":"npu","id":%q,"capacity":"1GiB"%s}`, id, strings.Join(append([]string{""}, more...), ","))
}

func withPlugin(t testing.TB, dir string, m *master, p *plugin) agent.Config {
	c := config(t, dir, m)
	c.Resources = "cpus=4,mem=4GiB,disk=10GiB"
	c.DevicePlugins = []string{p.path}
	return c
}

// onNPU is the launch of a task with part of a device that the master chose.
func onNPU(task offers.Task, id string, index int, memory int64) *wire.Launch {
	task.Resources.Devices = map[string]offers.DeviceAsk{"npu": {Count: 1, Memory: memory}}
	return &wire.Launch{Term: 1, Tasks: []wire.LaunchTask{{Framework: "f1", Task: task, Holding: offers.Holding{
		Devices: offers.OneDevice("npu", offers.Grant{ID: id, Index: index, Memory: memory}),
	}}}}
}

// usage returns the next report of devices that good likes.
func (l *link) usage(good func(*wire.Usage) bool) *wire.Usage {
	l.t.Helper()
	for {
		switch m := l.receive().(type) {
		case *wire.Usage:
			if good(m) {
				return m
			}
		case *wire.Statuses:
			l.saved = append(l.saved, m.Statuses...)
		}
	}
}

// told returns the next status of a running task with that reason.
func (l *link) told(task offers.TaskID, reason string) wire.TaskStatus {
	l.t.Helper()
	for {
		s := l.status(task)
		if s.State.Terminal() {
			l.t.Fatalf("%s has ended: %+v", task, s)
		}
		if s.Reason == reason {
			return s
		}
	}
}

// TestPluginDevices is the life of devices that a plugin finds: offered, used,
// unwell, gone and back, and joined by another one.
func TestPluginDevices(t *testing.T) {
	m, p := newMaster(t), newPlugin(t, npu("a", `"attributes":{"model":"N2"}`, `"enforcement":"hardware"`), npu("b"))
	var log bytes.Buffer
	c := withPlugin(t, t.TempDir(), m, p)
	c.Logger = hclog.New(&hclog.LoggerOptions{Output: &log, DisableTime: true})
	h := run(t, c)
	l, register := m.welcome("a1", 1)
	found := register.Agent.Total.Class("npu")
	if len(found) != 2 || found[0].ID != "a" || found[0].Capacity != 1<<30 || found[0].Enforcement != offers.TierHardware || found[1].Enforcement != offers.TierNone {
		t.Fatalf("registered with %+v", found)
	}
	if got := register.Agent.Attributes; got["npu.model"] != "N2" || got["npu.enforcement"] != "hardware,none" {
		t.Errorf("its attributes are %v", got)
	}
	if register.Usage == nil || len(register.Usage.Classes["npu"].Unwell) != 0 {
		t.Errorf("registered with the usage %+v", register.Usage)
	}
	l.say(onNPU(shell("t", "echo $RINGMASTER_DEVICES_NPU; sleep 1000"), "a", 0, 1<<29))
	if s := l.status("t"); s.State != offers.Running || s.Devices["npu"][0].ID != "a" {
		t.Fatalf("it runs as %+v", s)
	}
	p.report(npu("a", `"enforcement":"hardware"`, `"health":"it is too hot"`), npu("b"))
	u := l.usage(func(u *wire.Usage) bool { return len(u.Classes["npu"].Unwell) > 0 })
	if used, err := func() ([]int64, error) { c := u.Classes["npu"]; return c.Amounts(2) }(); err != nil || used[0] != 1<<29 || u.Classes["npu"].Unwell[0] != "it is too hot" || u.Handled != 1 {
		t.Errorf("it reports %+v: %v, %v", u, used, err)
	}
	if s := l.status("t"); s.State != offers.Running || s.Reason != offers.ReasonDeviceUnwell || s.Message != "npu a: it is too hot" {
		t.Errorf("the task is told %+v", s)
	}
	p.report(npu("b"))
	l.usage(func(u *wire.Usage) bool { return u.Classes["npu"].Unwell[0] == "it is not there any more" })
	if s := l.status("t"); s.Message != "npu a: it is not there any more" {
		t.Errorf("the task is told %+v", s)
	}
	p.says("I am broken") // the last good report stands
	p.report(npu("a", `"enforcement":"hardware"`), npu("b"))
	l.usage(func(u *wire.Usage) bool { return len(u.Classes["npu"].Unwell) == 0 })
	if s := l.status("t"); s.Reason != offers.ReasonDeviceWell {
		t.Errorf("the task is told %+v", s)
	}
	p.report(npu("a", `"enforcement":"hardware"`), npu("b"), npu("c"))
	l, register = m.welcome("a1", 1)
	if found := register.Agent.Total.Class("npu"); len(found) != 3 || found[2].ID != "c" || len(register.Tasks) != 1 || register.Tasks[0].Holding.DeviceBytes("npu") != 1<<29 {
		t.Errorf("registered again with %+v and %+v", found, register.Tasks)
	}
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("t"), Reason: "asked"})
	l.end("t")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	var health []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "npu") {
			health = append(health, strings.TrimSpace(line))
		}
	}
	if want := []string{
		`[WARN]  a device is unwell and is not offered: class=npu id=a why="it is too hot"`,
		`[INFO]  a device is well again: class=npu id=a`,
	}; !slices.Equal(health, want) {
		t.Errorf("it logs %q", health)
	}
}

// TestBindingSurvivesRestarts: what a task holds of a device is the same after
// the agent was stopped, while the device is away, and when it is back.
func TestBindingSurvivesRestarts(t *testing.T) {
	m, dir, p := newMaster(t), t.TempDir(), newPlugin(t, npu("a"), npu("b"))
	h := run(t, withPlugin(t, dir, m, p))
	l, _ := m.welcome("a1", 1)
	l.say(onNPU(shell("t", "sleep 1000"), "b", 1, 1<<29))
	l.status("t")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	p.report(npu("a"))
	run(t, withPlugin(t, dir, m, p))
	l, register := m.welcome("a1", 1)
	if got := register.Tasks; len(got) != 1 || got[0].Holding.Devices.Of("npu")[0].ID != "b" || len(register.Agent.Total.Class("npu")) != 1 {
		t.Fatalf("after a restart without it: %+v", register)
	}
	if s := l.told("t", offers.ReasonDeviceUnwell); s.Message != "npu b: it is not there any more" {
		t.Errorf("the task is told %+v", s)
	}
	p.report(npu("b"), npu("a"))
	l, register = m.welcome("a1", 1)
	c := register.Usage.Classes["npu"]
	if used, err := c.Amounts(2); err != nil || register.Agent.Total.Class("npu")[1].ID != "b" || used[1] != 1<<29 || used[0] != 0 {
		t.Errorf("once it is back: %+v, used %v, %v", register.Agent.Total, used, err)
	}
	l.told("t", offers.ReasonDeviceWell)
	// Nobody else gets what it holds: the agent binds the other device instead.
	l.say(onNPU(shell("other", "exit 0"), "b", 1, 1<<30))
	if s := l.end("other"); s.State != offers.Finished || s.Devices["npu"][0].ID != "a" {
		t.Errorf("the other ended as %+v", s)
	}
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("t"), Reason: "asked"})
	l.end("t")
}

// TestBrokenPluginIsNoHarm: an agent whose plugin never works runs, with the
// devices that it was told of.
func TestBrokenPluginIsNoHarm(t *testing.T) {
	m, p := newMaster(t), newPlugin(t)
	p.says("]]]")
	c := withPlugin(t, t.TempDir(), m, p)
	c.Resources = "cpus=4,mem=4GiB,disk=10GiB,gpu=1x1GiB"
	run(t, c)
	l, register := m.welcome("a1", 1)
	if classes := register.Agent.Total.Classes; len(classes) != 1 || classes[0].Name != "gpu" {
		t.Errorf("registered with %+v", classes)
	}
	l.launch(1, shell("t", "exit 0"))
	if s := l.end("t"); s.State != offers.Finished {
		t.Errorf("ended as %+v", s)
	}
}

// TestDeclaredClassIsNotFound: what the operator says of a class stands above
// what a plugin finds.
func TestDeclaredClassIsNotFound(t *testing.T) {
	m, p := newMaster(t), newPlugin(t, npu("a"), `{"class":"nic","id":"n","capacity":1}`)
	c := withPlugin(t, t.TempDir(), m, p)
	c.Resources = "cpus=4,mem=4GiB,disk=10GiB,npu=0,nic=2x7"
	run(t, c)
	_, register := m.welcome("a1", 1)
	if classes := register.Agent.Total.Classes; len(classes) != 1 || classes[0].Name != "nic" || len(classes[0].Devices) != 2 {
		t.Errorf("registered with %+v", classes)
	}
}

// TestKilledAgentKeepsDevices kills agents -9 at moments that differ, while they
// start and end tasks with parts of devices. After every restart, on every
// device, what is used is the sum of what the living tasks hold, each holds what
// it held before, and no device is given away twice.
func TestKilledAgentKeepsDevices(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	const rounds, each, part = 8, 6, 300 << 20 // three parts fit on a device
	held := map[offers.TaskID]offers.Grant{}
	check := func(register *wire.RegisterAgent) {
		t.Helper()
		var sum [4]int64
		for _, known := range register.Tasks {
			for _, g := range known.Holding.Devices.Of("gpu") {
				sum[g.Index] += g.Memory
				if was, seen := held[known.Task]; seen && was != g {
					t.Errorf("%s held %+v and now holds %+v", known.Task, was, g)
				}
				held[known.Task] = g
			}
		}
		c := register.Usage.Classes["gpu"]
		used, err := c.Amounts(4)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sum {
			if used[i] != sum[i] || sum[i] > 1<<30 {
				t.Errorf("device %d: %d bytes are used, the tasks hold %d", i, used[i], sum[i])
			}
		}
	}
	for round := range rounds {
		cmd := spawn(t, dir, m)
		l, register := m.welcome("a1", uint64(round+1))
		check(register)
		launch := &wire.Launch{Term: uint64(round + 1)}
		for n := range each {
			// The master counts on one device for all: most are bound otherwise.
			task := shell(offers.TaskID(fmt.Sprintf("t%d-%d", round, n)), fmt.Sprintf("sleep 0.%d", n*n))
			task.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: part}}
			launch.Tasks = append(launch.Tasks, wire.LaunchTask{Framework: "f1", Task: task, Holding: offers.Holding{
				Devices: offers.OneDevice("gpu", offers.Grant{ID: "gpu-0", Memory: part}),
			}})
		}
		l.say(launch)
		<-time.After(time.Duration(round*12) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	spawn(t, dir, m)
	_, register := m.welcome("a1", rounds+1)
	check(register)
	if len(held) < rounds {
		t.Errorf("only %d tasks were ever seen to hold devices: this says little", len(held))
	}
}
