package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/sandbox"
	"github.com/ringmaster-project/ringmaster/offers"
)

func ref(n int) offers.TaskRef {
	return offers.TaskRef{Framework: "f", Task: offers.TaskID(fmt.Sprintf("t%d", n))}
}

func at(second int) time.Time { return time.Unix(int64(1000+second), 0) }

func TestCollectKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	s, err := sandbox.Open(dir, sandbox.Keep{Count: 3, Age: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		if _, err := s.Create(ref(n), nil, ""); err != nil {
			t.Fatal(err)
		}
		s.Forgotten(ref(n), at(n))
	}
	if _, err := s.Create(ref(0), nil, ""); err != nil { // lives again
		t.Fatal(err)
	}
	if n, err := s.Collect(at(8), nil); err != nil || n != 4 {
		t.Fatal(n, err)
	}
	for n := range 8 {
		_, err := os.Stat(s.Path(ref(n)))
		if kept := n == 0 || n > 4; kept != (err == nil) {
			t.Errorf("folder %d: %v", n, err)
		}
	}
	again, err := sandbox.Open(dir, sandbox.Keep{Count: 1, Age: time.Hour}, map[offers.TaskRef]bool{ref(0): true})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := again.Collect(time.Now(), nil); err != nil || n != 2 {
		t.Error(n, err)
	}
}

func TestCollectByAgeAndPressure(t *testing.T) {
	s, err := sandbox.Open(t.TempDir(), sandbox.Keep{Count: 100, Age: 10 * time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		if _, err := s.Create(ref(n), nil, ""); err != nil {
			t.Fatal(err)
		}
		s.Forgotten(ref(n), at(n))
	}
	if n, err := s.Collect(at(10), nil); err != nil || n != 0 {
		t.Error(n, err)
	}
	if n, err := s.Collect(at(12), nil); err != nil || n != 2 {
		t.Errorf("%d are older than 10 s, %v", n, err)
	}
	left := 3
	if n, err := s.Collect(at(12), func() bool { left--; return left >= 0 }); err != nil || n != 3 {
		t.Errorf("%d went under pressure, %v", n, err)
	}
	for n := range 8 {
		if _, err := os.Stat(s.Path(ref(n))); (err == nil) != (n > 4) {
			t.Errorf("folder %d: %v", n, err)
		}
	}
	if n, err := s.Collect(at(12), func() bool { return true }); err != nil || n != 3 {
		t.Errorf("%d went under lasting pressure, %v", n, err)
	}
}

func TestCreate(t *testing.T) {
	s, err := sandbox.Open(t.TempDir(), sandbox.Keep{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"..", "a/../../b", "/etc"} {
		if _, err := s.Create(ref(1), nil, sub); err == nil || !strings.Contains(err.Error(), "command.dir") {
			t.Errorf("dir %q: %v", sub, err)
		}
	}
	path, err := s.Create(ref(1), nil, "a/b/../c")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "a/c/old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(ref(1), nil, "."); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "a")); err == nil {
		t.Error("what an earlier task left is still there")
	}
}

// TestGive hands a folder, with all that is in it, to another owner.
func TestGive(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving files away needs root")
	}
	s, err := sandbox.Open(t.TempDir(), sandbox.Keep{Count: 3, Age: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.Create(ref(1), nil, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "a", "artifact"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Give(ref(1), &record.User{UID: 12, GID: 34}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "stdout", "stderr", "a", "a/b", "a/artifact"} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 12 || st.Gid != 34 {
			t.Errorf("%q belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
}
