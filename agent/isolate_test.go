package agent_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestIsolationInForce: what an agent says of its isolation is what its tasks
// are in.
func TestIsolationInForce(t *testing.T) {
	m := newMaster(t)
	for _, parts := range []isolation.Parts{isolation.None, isolation.Default, isolation.All} {
		c := config(t, t.TempDir(), m)
		if parts != isolation.Default {
			c.Isolation = &parts
		}
		if os.Getuid() != 0 && parts == isolation.All {
			t.Log("skipped: root is needed for all of it")
			continue
		}
		h := run(t, c)
		l, register := m.welcome("a1", 1)
		said := register.Agent.Attributes["isolation"]
		if os.Getuid() == 0 && said != parts.String() {
			t.Errorf("with %s it says %q", parts, said)
		}
		l.launch(1, shell("look", "grep NoNewPrivs /proc/self/status; readlink /proc/self/ns/mnt /proc/self/ns/pid; cat /proc/self/cgroup"))
		if s := l.end("look"); s.State != offers.Finished {
			t.Fatalf("%s: it ended %+v", parts, s)
		}
		seen := await(t, filepath.Join(c.DataDir, "sandboxes", "f1", "look", "stdout"))
		for part, there := range map[string]bool{
			"privileges": strings.Contains(seen, "NoNewPrivs:\t1"),
			"mount":      !strings.Contains(seen, linkOf(t, "mnt")),
			"pid":        !strings.Contains(seen, linkOf(t, "pid")),
			"cgroups":    strings.Contains(seen, "f1:look"),
		} {
			if claimed := strings.Contains(said, part); claimed != there {
				t.Errorf("with %s: %s claimed %t, in force %t:\n%s", said, part, claimed, there, seen)
			}
		}
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestCPUQuota: where cpus are a ceiling, a task that wants a whole CPU waits
// for the end of its periods; what it runs in them agent/limits measures.
func TestCPUQuota(t *testing.T) {
	if l := limits.Open("ringmaster-test/probe", hclog.NewNullLogger()); !l.Active() {
		t.Skip("this host lets the tests make no cgroups (root is needed)")
	}
	m := newMaster(t)
	c := config(t, t.TempDir(), m)
	c.CPUQuota = true
	run(t, c)
	l, _ := m.welcome("a1", 1)
	task := shell("busy", "cat /proc/self/cgroup > groups; echo >> groups; while :; do :; done")
	task.Resources.Amounts = offers.Amounts{200}
	l.launch(1, task)
	folder, file, want := "", "cpu.cfs_quota_us", "20000"
	for line := range strings.Lines(await(t, filepath.Join(sandboxOf(c.DataDir, "busy"), "groups"))) {
		controllers, path, _ := strings.Cut(strings.TrimSpace(line[strings.Index(line, ":")+1:]), ":")
		if slices.Contains(strings.Split(controllers, ","), "cpu") {
			folder = filepath.Join("/sys/fs/cgroup/cpu", path)
		}
		if controllers == "" && folder == "" { // version 2, last; the task is in a leaf
			folder, file, want = filepath.Join("/sys/fs/cgroup", filepath.Dir(path)), "cpu.max", "20000 100000"
		}
	}
	if got, err := os.ReadFile(filepath.Join(folder, file)); err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("its quota is %q, %v; want %q", got, err, want)
	}
	for deadline := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
		said, err := os.ReadFile(filepath.Join(folder, "cpu.stat"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(said), "nr_throttled ") && !strings.Contains(string(said), "nr_throttled 0\n") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is never held:\n%s", said)
		}
	}
	l.say(&wire.KillTask{Term: 1, TaskRef: ref("busy"), Reason: "seen"})
	if s := l.end("busy"); s.State != offers.Killed {
		t.Errorf("it ended %+v", s)
	}
}

func linkOf(t *testing.T, namespace string) string {
	t.Helper()
	link, err := os.Readlink("/proc/self/ns/" + namespace)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// TestIsolationThatCannotBe: what was asked for and can't be had is refused in
// one sentence, what was not asked for is said once.
func TestIsolationThatCannotBe(t *testing.T) {
	m := newMaster(t)
	parts, all := isolation.Cgroups, isolation.All
	for want, change := range map[string]func(*agent.Config){
		"isolation: this host does not do cgroups": func(c *agent.Config) {
			c.Isolation, c.CgroupRoot = &parts, "cgroup.procs/ringmaster"
		},
		"isolation: with ipc tasks have a /dev/shm of their own": func(c *agent.Config) {
			c.Isolation, c.DataDir = &all, shared(t)
		},
		"rlimits: nofile is":   func(c *agent.Config) { c.Rlimits = []record.Rlimit{{Resource: 7, Soft: 1 << 40, Hard: 1 << 40}} },
		"capabilities: ":       func(c *agent.Config) { c.Isolation, c.Capabilities = &parts, 1 },
		"privileges: keep cap": func(c *agent.Config) { c.Capabilities = 1 << record.MaxCapability },
	} {
		c := config(t, t.TempDir(), m)
		change(&c)
		if a, err := agent.Open(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: it starts as %v, %v", want, a, err)
		}
	}
	var log bytes.Buffer
	c := config(t, t.TempDir(), m)
	c.CgroupRoot, c.Logger = "cgroup.procs/ringmaster", hclog.New(&hclog.LoggerOptions{Output: &log})
	h := run(t, c)
	_, register := m.welcome("a1", 1)
	if said := register.Agent.Attributes["isolation"]; strings.Contains(said, "cgroups") {
		t.Errorf("it claims %q", said)
	}
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	if strings.Count(log.String(), "without limits") != 1 {
		t.Errorf("it logs %q", log.String())
	}
}

// shared is a folder in the host's /dev/shm.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ringmaster-test")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestTakenPort: a port that another program uses is noticed before the task
// starts, whatever address and protocol that program uses.
func TestTakenPort(t *testing.T) {
	m := newMaster(t)
	c := config(t, t.TempDir(), m)
	c.Resources += ",ports=1024-65535"
	run(t, c)
	l, _ := m.welcome("a1", 1)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	portOf := func(a net.Addr) uint16 {
		_, port, _ := net.SplitHostPort(a.String())
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		return uint16(n)
	}
	var udp net.PacketConn
	for udp == nil || portOf(udp.LocalAddr()) == portOf(tcp.Addr()) { // they may be given the same number
		if udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		defer udp.Close()
	}
	launch := func(id offers.TaskID, port uint16) {
		task := shell(id, "echo $PORT0")
		task.Resources.Ports = offers.MakePorts(offers.PortRange{First: port, Last: port})
		l.launch(1, task)
	}
	port := portOf(tcp.Addr())
	launch("tcp", port)
	launch("udp", portOf(udp.LocalAddr()))
	for id, port := range map[offers.TaskID]uint16{"tcp": port, "udp": portOf(udp.LocalAddr())} {
		want := "port " + strconv.Itoa(int(port)) + " is taken: another program on this host uses it (" + string(id) + ")"
		if s := l.end(id); s.State != offers.Failed || s.Reason != offers.ReasonPortTaken || s.Message != want {
			t.Errorf("%s ended %+v", id, s)
		}
	}
	_ = tcp.Close()
	// A shim that this process forks has its socket, too, until it becomes one.
	free := offers.TaskID("free")
	for deadline := time.Now().Add(patience); ; free += "r" {
		launch(free, port)
		s := l.end(free)
		if s.State == offers.Finished {
			break
		}
		if s.Reason != offers.ReasonPortTaken || time.Now().After(deadline) {
			t.Fatalf("once the port is free: %+v", s)
		}
	}
	if got := await(t, filepath.Join(c.DataDir, "sandboxes", "f1", string(free), "stdout")); got != strconv.Itoa(int(port)) {
		t.Errorf("it was handed port %q", got)
	}
}
