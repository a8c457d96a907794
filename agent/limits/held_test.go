package limits

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tick is what the kernel counts a process's time in, on every architecture.
const tick = 10 * time.Millisecond

// held runs a script inside a group, on the first of this process's CPUs, until
// the test is over.
func held(t *testing.T, g *Group, script string) *exec.Cmd {
	t.Helper()
	c := exec.Command("sh", "-c", "read go; "+script)
	gate, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		emptied := make(chan error, 1)
		go func() { emptied <- g.Empty() }()
		_ = c.Wait() // it was killed, or has ended by itself
		if err := <-emptied; err != nil {
			t.Error(err)
		}
	})
	var mine, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; first.Count() == 0; cpu++ {
		if mine.IsSet(cpu) {
			first.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(c.Process.Pid, &first); err != nil {
		t.Fatal(err)
	}
	move(t, g, c.Process.Pid)
	if _, err := gate.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	return c
}

// spent is the CPU time of a process.
func spent(t *testing.T, c *exec.Cmd) time.Duration {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(c.Process.Pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data)) // the program is called sh
	user, err := strconv.Atoi(fields[13])
	if err != nil {
		t.Fatal(err)
	}
	system, err := strconv.Atoi(fields[14])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * tick
}

// stat is a number in the first of the group's folders, which is that of cpu.
func stat(t *testing.T, g *Group, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(g.folders[0], "cpu.stat"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("cpu.stat tells no %s: %s", name, data)
	return 0
}

// until waits for something that comes when the kernel has run the test's
// processes for a while, however busy this host is.
func until(t *testing.T, what string, came func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !came(); <-time.After(tick) {
		if time.Now().After(deadline) {
			t.Fatal(what + " never came")
		}
	}
}

func group(t *testing.T, l *Limits, key string, need Need) *Group {
	t.Helper()
	g, err := l.Group(key, need)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const busy = "while :; do :; done"

// TestWeights: two that want all of one CPU get it in the ratio of their cpus,
// 4 to 1 here; what started first may be ahead a little.
func TestWeights(t *testing.T) {
	l := opened(t)
	large := held(t, group(t, l, "large", Need{CPUs: 1000}), busy)
	small := held(t, group(t, l, "small", Need{CPUs: 250}), busy)
	until(t, "their start", func() bool { return spent(t, large) > 0 && spent(t, small) > 0 })
	ofLarge, ofSmall := -spent(t, large), -spent(t, small)
	until(t, "a second of their time", func() bool {
		return ofLarge+spent(t, large)+ofSmall+spent(t, small) > time.Second
	})
	ofLarge, ofSmall = ofLarge+spent(t, large), ofSmall+spent(t, small)
	if ratio := float64(ofLarge) / float64(max(ofSmall, tick)); ratio < 2.5 || ratio > 6 {
		t.Errorf("weighing 4 to 1 they ran %s and %s", ofLarge, ofSmall)
	}
}

// TestWeightsOfSmallTasks: the smallest tasks, too, weigh what they asked for.
func TestWeightsOfSmallTasks(t *testing.T) {
	l := opened(t)
	for _, c := range []struct {
		cpus   int64
		shares string // version 1
		weight string // version 2
	}{
		{1, "2", "1"}, {10, "10", "1"}, {20, "20", "2"}, {100, "102", "10"}, {1000, "1024", "100"}, {3500, "3584", "350"},
		{1_000_000, "262144", "10000"},
	} {
		g := group(t, l, "fw:task", Need{CPUs: c.cpus})
		file, want := "cpu.shares", c.shares
		if g.leaf != "" {
			file, want = "cpu.weight", c.weight
		}
		data, err := os.ReadFile(filepath.Join(g.folders[0], file))
		if got := strings.TrimSpace(string(data)); err != nil || got != want {
			t.Errorf("%d thousandths of a core weigh %q, %v; want %s", c.cpus, got, err, want)
		}
		if err := g.Delete(); err != nil {
			t.Error(err)
		}
	}
}

// TestQuota: with a quota one that wants all of a CPU is held to its cpus,
// counted in the periods that the kernel gave it; without, it is not held.
func TestQuota(t *testing.T) {
	l := opened(t)
	g := group(t, l, "held", Need{CPUs: 200, Quota: true})
	c := held(t, g, busy)
	before, waits := spent(t, c), stat(t, g, "nr_throttled")
	until(t, "an end of its quota", func() bool { return stat(t, g, "nr_throttled")-waits >= 5 })
	used := spent(t, c) - before
	// It may have begun in the midst of a period, and runs on to the next tick
	// when its time is up, which is taken off its next period.
	periods := time.Duration(stat(t, g, "nr_periods") + 2)
	if quota := period * time.Microsecond / 5; used > periods*quota {
		t.Errorf("it ran %s in %d periods of %s", used, periods, quota)
	}
	g = group(t, l, "free", Need{CPUs: 200})
	c = held(t, g, busy)
	until(t, "300 ms of its time", func() bool { return spent(t, c) > 300*time.Millisecond })
	if n := stat(t, g, "nr_throttled"); n > 0 {
		t.Errorf("without a quota it was held %d times", n)
	}
}

// TestMemory: what passes its memory is killed, and its group tells of it.
func TestMemory(t *testing.T) {
	l := opened(t)
	g := group(t, l, "fw:task", Need{Mem: 32 << 20})
	c := held(t, g, "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo unlimited")
	told := func() string {
		data, err := os.ReadFile(g.OOM())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	until(t, "its death", func() bool {
		return !strings.Contains(told(), "oom_kill 0\n") && !alive(c)
	})
}

// alive tells whether a process has not ended; nobody has waited for it.
func alive(c *exec.Cmd) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(c.Process.Pid) + "/stat")
	fields := strings.Fields(string(data))
	return err == nil && fields[2] != "Z"
}

// TestProcesses: a task starts no more processes than it may.
func TestProcesses(t *testing.T) {
	l := opened(t)
	g := group(t, l, "fw:task", Need{Processes: 10})
	said := filepath.Join(t.TempDir(), "said")
	held(t, g, fmt.Sprintf("exec 2>%s; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 1000 & done; sleep 1000", said))
	until(t, "a refusal", func() bool {
		data, err := os.ReadFile(said)
		return err == nil && strings.Contains(strings.ToLower(string(data)), "fork")
	})
	if n := len(g.others(0)); n > 10 {
		t.Errorf("it has %d processes, and may have 10", n)
	}
}

// TestDevices: what is governed and not allowed can't be opened, and what a
// group of the same name was allowed before counts no more.
func TestDevices(t *testing.T) {
	l := opened(t)
	if !l.Devices() {
		t.Skip("this host lets the tests govern no device nodes")
	}
	governed := []string{"/dev/full", "/dev/zero"}
	for _, allowed := range []string{"/dev/full", "/dev/zero", "/dev/full"} {
		g := group(t, l, "fw:task", Need{Processes: 10, Nodes: Nodes{Governed: governed, Allowed: []string{allowed}}})
		for _, node := range append(governed, os.DevNull) {
			c := exec.Command("sh", "-c", "read go; : < "+node)
			gate, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			move(t, g, c.Process.Pid)
			if _, err := gate.Write([]byte("\n")); err != nil {
				t.Fatal(err)
			}
			if opens := c.Wait() == nil; opens != (node == allowed || node == os.DevNull) {
				t.Errorf("allowed %s, it opens %s: %t", allowed, node, opens)
			}
		}
	}
	if err := l.Find("fw:task").Empty(); err != nil {
		t.Error(err)
	}
}
