package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/sandbox"
	"github.com/ringmaster-project/ringmaster/offers"
)

func ref(n int) offers.TaskRef {
	return offers.TaskRef{Framework: "f", Task: offers.TaskID(fmt.Sprintf("t%d", n))}
}

func TestCollectKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	s, err := sandbox.Open(dir, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		if _, err := s.Create(ref(n), nil, ""); err != nil {
			t.Fatal(err)
		}
		s.Forgotten(ref(n))
	}
	if _, err := s.Create(ref(0), nil, ""); err != nil { // lives again
		t.Fatal(err)
	}
	if n, err := s.Collect(); err != nil || n != 4 {
		t.Fatal(n, err)
	}
	for n := range 8 {
		_, err := os.Stat(s.Path(ref(n)))
		if kept := n == 0 || n > 4; kept != (err == nil) {
			t.Errorf("folder %d: %v", n, err)
		}
	}
	again, err := sandbox.Open(dir, 1, map[offers.TaskRef]bool{ref(0): true})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := again.Collect(); err != nil || n != 2 {
		t.Error(n, err)
	}
}

func TestCreate(t *testing.T) {
	s, err := sandbox.Open(t.TempDir(), 3, nil)
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

// TestGive hands a folder, with what Create has made in it, to another owner.
func TestGive(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving files away needs root")
	}
	s, err := sandbox.Open(t.TempDir(), 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.Create(ref(1), nil, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Give(ref(1), &record.User{UID: 12, GID: 34}, "a/b"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "stdout", "stderr", "a", "a/b"} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 12 || st.Gid != 34 {
			t.Errorf("%q belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
}
