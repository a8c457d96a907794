package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// small is a bench whose records lie on a disk of its own, of 256 KiB.
func small(t *testing.T) (b bench, disk string) {
	t.Helper()
	disk = t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system can't be mounted (root is needed): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	l := limits.Open("ringmaster-test/"+filepath.Base(filepath.Dir(disk)), hclog.NewNullLogger())
	t.Cleanup(l.Close)
	x, err := process.New(shim, filepath.Join(disk, "run"), l, record.Isolation{})
	if err != nil {
		t.Fatal(err)
	}
	return bench{x, t.TempDir()}, disk
}

// fill leaves not a byte on the disk.
func fill(t *testing.T, disk string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(disk, "ballast")
	f, err := os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return ballast
}

func (b bench) done(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEndOnAFullDisk: the room for the record was taken before the start.
func TestEndOnAFullDisk(t *testing.T) {
	b, disk := small(t)
	p := b.start(t, "while [ ! -e go ]; do sleep 0.01; done; exit 7", limits.Need{})
	fill(t, disk)
	b.done(t)
	if exit, err := p.Wait(); err != nil || exit.Code != 7 {
		t.Errorf("ended %+v %v", exit, err)
	}
}

// TestEndWithoutRoom takes the reserved room away, as a file system does that
// never writes in place: the shim holds the exit code until it can be written.
func TestEndWithoutRoom(t *testing.T) {
	b, disk := small(t)
	p := b.start(t, "while [ ! -e go ]; do sleep 0.01; done; echo over > over; exit 7", limits.Need{})
	if err := os.Truncate(filepath.Join(disk, "run", "fw:task", "exit.new"), 0); err != nil {
		t.Fatal(err)
	}
	ballast := fill(t, disk)
	b.done(t)
	b.await(t, "over")
	ended := make(chan error, 1)
	go func() {
		exit, err := p.Wait()
		if err == nil && exit.Code != 7 {
			err = errors.New("another code came back")
		}
		ended <- err
	}()
	waits(t, p.Identity().PID)
	select {
	case err := <-ended:
		t.Fatalf("the shim ended without room for its record: %v", err)
	default:
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// waits returns once a shim has no child any more.
func waits(t *testing.T, pid int) {
	t.Helper()
	for {
		lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children") // the pattern is sound
		left := ""
		for _, list := range lists {
			data, _ := os.ReadFile(list) // a thread that has just ended
			left += strings.TrimSpace(string(data))
		}
		if left == "" {
			return
		}
	}
}

// TestStartOnAFullDisk: what could not be recorded is not started.
func TestStartOnAFullDisk(t *testing.T) {
	b, disk := small(t)
	p, err := b.Prepare("fw:task", limits.Need{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, disk)
	if started, err := p.Release(b.spec(t, "echo started > started")); err == nil {
		t.Errorf("started %+v", started)
	}
	if exit, err := p.Wait(); err != nil || exit.Never || !strings.Contains(exit.Error, "no room") {
		t.Errorf("ended %+v %v", exit, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "started")); err == nil {
		t.Error("it was started")
	}
}
