package limits

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/containerd/cgroups/v3"
	"github.com/containerd/cgroups/v3/cgroup2"
	"github.com/hashicorp/go-hclog"
)

func opened(t *testing.T) *Limits {
	t.Helper()
	l := Open(fmt.Sprintf("ringmaster-test/limits-%d", os.Getpid()), hclog.NewNullLogger())
	if !l.Active() {
		t.Skip("this host lets the tests make no cgroups (root is needed)")
	}
	t.Cleanup(l.Close)
	return l
}

// move puts a process into every folder that its task would be born in.
func move(t *testing.T, g *Group, pid int) {
	t.Helper()
	files := g.Joined()
	if g.Leaf() != "" {
		files = []string{filepath.Join(g.Leaf(), "x")}
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), "cgroup.procs"), fmt.Append(nil, pid), 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGroupKillsAllButTheSpared(t *testing.T) {
	l := opened(t)
	g, err := l.Group("fw:task", Need{CPUs: 500, Mem: 64 << 20, Processes: 50})
	if err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for range 3 {
		c := exec.Command("sleep", "1000")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		move(t, g, c.Process.Pid)
		children = append(children, c)
	}
	if len(l.Keys()) != 1 || l.Keys()[0] != "fw:task" {
		t.Errorf("the groups are %q", l.Keys())
	}
	if g.leaf == "" { // version 2 spares the shim's leaf as a whole, and no process
		l.Find("fw:task").Kill(children[0].Process.Pid)
		for _, c := range children[1:] {
			if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Errorf("a process of the group ended: %v", err)
			}
		}
		if err := children[0].Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the spared process: %v", err)
		}
		children = children[:1]
	}
	done := make(chan error, 1)
	go func() { done <- g.Empty() }()
	for _, c := range children {
		_ = c.Wait() // it was killed
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(l.Keys()) != 0 {
		t.Errorf("groups are left: %q", l.Keys())
	}
}

// TestUnifiedKill tries the version 2 layout where the hierarchy is there,
// with controllers or (on a hybrid host) without.
func TestUnifiedKill(t *testing.T) {
	mount := mountpoint
	if cgroups.Mode() == cgroups.Hybrid {
		mount += "/unified"
	} else if cgroups.Mode() != cgroups.Unified {
		t.Skip("this host has no version 2 hierarchy")
	}
	l := &Limits{root: fmt.Sprintf("/ringmaster-test-unified-%d", os.Getpid())}
	g, err := makeUnified(mount, filepath.Join(l.root, "fw:task"), &cgroup2.Resources{})
	if err != nil {
		t.Skipf("this host lets the tests make no version 2 cgroups: %v", err)
	}
	if err := l.makeShims(mount); err != nil {
		t.Fatal(err)
	}
	leaf, err := os.Open(g.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	defer leaf.Close()
	c := exec.Command("sh", "-c", "sleep 1000 & setsid sleep 1000 & wait")
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(leaf.Fd())}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	shim := exec.Command("sleep", "1000")
	shim.SysProcAttr = &syscall.SysProcAttr{}
	done, err := l.Bear(shim.SysProcAttr)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := shim.Start(); err != nil {
		t.Fatal(err)
	}
	g.Kill(shim.Process.Pid)
	if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the task ended: %v", err)
	}
	if err := shim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the shim: %v", err)
	}
	if err := g.Empty(); err != nil {
		t.Error(err)
	}
	if err := shim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the shim ends with the task's group: %v", err)
	}
	_ = shim.Process.Kill() // it ends once
	_ = shim.Wait()
	for _, folder := range []string{l.shims, filepath.Dir(l.shims)} {
		if err := remove(folder); err != nil {
			t.Error(err)
		}
	}
}

func TestWhereItCannot(t *testing.T) {
	var out bytes.Buffer
	l := Open("cgroup.procs/ringmaster", hclog.New(&hclog.LoggerOptions{Output: &out}))
	if l.Active() || strings.Count(out.String(), "without limits") != 1 {
		t.Errorf("active %t, it says %q", l.Active(), out.String())
	}
	g, err := l.Group("fw:task", Need{Mem: 1})
	if err != nil || len(g.Joined()) != 0 || g.Delete() != nil || g.Leaf() != "" || g.OOM() != "" {
		t.Errorf("without limits: %v", err)
	}
}

// TestUnifiedDevices governs device nodes in the version 2 hierarchy, whether
// or not its controllers are there: it needs none.
func TestUnifiedDevices(t *testing.T) {
	mount := mountpoint
	if cgroups.Mode() == cgroups.Hybrid {
		mount += "/unified"
	} else if cgroups.Mode() != cgroups.Unified {
		t.Skip("this host has no version 2 hierarchy")
	}
	r, err := resources(Need{Nodes: Nodes{Governed: []string{"/dev/full", "/dev/zero"}, Allowed: []string{"/dev/zero"}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	g, err := makeUnified(mount, fmt.Sprintf("/ringmaster-test-devices-%d", os.Getpid()), &cgroup2.Resources{Devices: r.Devices})
	if err != nil {
		t.Skipf("this host lets the tests govern no device nodes: %v", err)
	}
	t.Cleanup(func() {
		if err := g.Empty(); err != nil {
			t.Error(err)
		}
	})
	leaf, err := os.Open(g.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	defer leaf.Close()
	c := exec.Command("sh", "-c", "! (: < /dev/full) && : < /dev/zero && : < /dev/null")
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(leaf.Fd())}
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "not permitted") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestWithoutSwap: where swap is not limited, memory is all the same.
func TestWithoutSwap(t *testing.T) {
	need := Need{CPUs: 500, Mem: 64 << 20}
	r, err := resources(need, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, swap := range []bool{true, false} {
		got := (&Limits{swap: swap}).second(need, r)
		if *got.Memory.Max != need.Mem || (got.Memory.Swap != nil) != swap || swap && *got.Memory.Swap != 0 {
			t.Errorf("with swap %t: %+v", swap, got.Memory)
		}
	}
}
