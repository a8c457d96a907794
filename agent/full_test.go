package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// smallDisk returns the folder of a file system of its own, of that size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system can't be mounted (root is needed): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestNearlyFullDiskIsMeasured: it is for alerts, before tasks fail for it.
func TestNearlyFullDiskIsMeasured(t *testing.T) {
	dir := smallDisk(t, "16m")
	m := newMaster(t)
	h := run(t, config(t, dir, m))
	m.welcome("a1", 1)
	holds := func(want float64, when string) {
		t.Helper()
		_, values := scrape(t, h)
		if got, told := values["ringmaster_agent_disk_nearly_full"]; !told || got != want {
			t.Errorf("%s it is %v (told: %t), want %v", when, got, told, want)
		}
	}
	holds(0, "of an empty disk")
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, int64(st.Bavail-st.Blocks/50)*st.Bsize), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(1, "with a fiftieth free")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	holds(0, "with room again")
}

// TestFullDiskClosesTheAgent: the masters hear that nothing more is to be offered
// while there is no room, and that there is again; also whoever leads next.
func TestFullDiskClosesTheAgent(t *testing.T) {
	dir := smallDisk(t, "64m")
	m := newMaster(t)
	run(t, config(t, dir, m))
	l, register := m.welcome("a1", 1)
	if register.Usage.Closed != "" {
		t.Errorf("closed when it registers: %q", register.Usage.Closed)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	leave := func(blocks uint64) {
		t.Helper()
		if err := os.WriteFile(ballast, make([]byte, int64(st.Bavail-blocks)*st.Bsize), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave(st.Blocks / 200)
	if u := l.usage(func(u *wire.Usage) bool { return u.Closed != "" }); u.Closed != "its disk is full" {
		t.Errorf("with a half of a hundredth free it says %q", u.Closed)
	}
	l.Close("another master leads")
	l, register = m.welcome("a1", 2)
	if register.Usage.Closed != "its disk is full" {
		t.Errorf("to the next master it says %q", register.Usage.Closed)
	}
	leave(st.Blocks / 10)
	l.usage(func(u *wire.Usage) bool { return u.Closed == "" })
}

// TestFullDisk lets the file system of the checkpoint fill up: the agent ends
// with one sentence, and what it could not write down was not started.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "1500k")
	logs := t.TempDir()
	m := newMaster(t)
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	for n := 0; ; n++ {
		if n == 100 {
			t.Fatal("the disk never fills up")
		}
		task := shell(offers.TaskID(fmt.Sprintf("t%d", n)), fmt.Sprintf("echo started >> %s/t%d", logs, n))
		task.Command.Env = map[string]string{"LARGE": strings.Repeat("x", 100_000)}
		frame, err := wire.Encode(&wire.Launch{Term: 1, Tasks: []wire.LaunchTask{{Framework: "f1", Task: task, Holding: offers.Holding{Amounts: task.Resources.Amounts}}}}, "")
		if err != nil {
			t.Fatal(err)
		}
		wait, reached := 50*time.Millisecond, l.Send(frame) == nil
		if !reached { // it has just ended, over what became of the task before
			wait = patience
		}
		select {
		case err := <-h.done:
			if err == nil || !strings.Contains(err.Error(), "can't remember") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the agent ended with %v", err)
			}
			h.done <- nil // for the clean-up
			if _, err := os.Stat(fmt.Sprintf("%s/t%d", logs, n)); err == nil && reached {
				t.Errorf("task t%d was started and is not recorded", n)
			}
			return
		case <-time.After(wait):
		}
	}
}
