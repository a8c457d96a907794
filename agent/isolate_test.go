package agent_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
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
	launch("free", port)
	if s := l.end("free"); s.State != offers.Finished {
		t.Errorf("once the port is free: %+v", s)
	}
	if got := await(t, filepath.Join(c.DataDir, "sandboxes", "f1", "free", "stdout")); got != strconv.Itoa(int(port)) {
		t.Errorf("it was handed port %q", got)
	}
}
