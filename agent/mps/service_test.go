package mps_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/mps"
	"github.com/ringmaster-project/ringmaster/agent/mps/mpstest"
)

func open(t *testing.T, dir string, uses ...mps.Use) *mps.Service {
	t.Helper()
	s, err := mps.Open(dir, uses)
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	return s
}

func use(task, gpu string) mps.Use {
	return mps.Use{Task: task, User: uint(os.Getuid()), GPU: gpu, Memory: 10<<30 + 5, Share: 255}
}

// TestOneDaemonForEachGPU: started for the first task, ended after the last.
func TestOneDaemonForEachGPU(t *testing.T) {
	control := mpstest.New(t)
	s := open(t, filepath.Join(t.TempDir(), "mps"))
	hold := func(u mps.Use) map[string]string {
		t.Helper()
		if err := s.Hold(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		return s.Variables(u)
	}
	first := hold(use("t1", "GPU-a"))
	hold(use("t2", "GPU-a"))
	hold(use("t3", "GPU-b"))
	if got := control.Said(); got != "start GPU-a, start GPU-b" {
		t.Errorf("said %s", got)
	}
	pipe := first["CUDA_MPS_PIPE_DIRECTORY"]
	if first["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] != "0=10240M" || first["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] != "25" || !strings.HasSuffix(pipe, "/pipe") || first["CUDA_MPS_LOG_DIRECTORY"] == "" {
		t.Errorf("a task sees %v", first)
	}
	if vars := s.Variables(use("nobody", "GPU-a")); vars != nil {
		t.Errorf("a task that shares nothing sees %v", vars)
	}
	for _, task := range []string{"t1", "nobody", "t3", "t3", "t2"} {
		if err := s.Release(task); err != nil {
			t.Fatal(err)
		}
	}
	if got := control.Said(); got != "start GPU-a, start GPU-b, end GPU-b, end GPU-a" {
		t.Errorf("said %s", got)
	}
	if _, err := os.Stat(filepath.Dir(pipe)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is left: %v", err)
	}
}

// TestDaemonsSurviveTheAgent: those that are needed stay, the others end.
func TestDaemonsSurviveTheAgent(t *testing.T) {
	control, dir := mpstest.New(t), filepath.Join(t.TempDir(), "mps")
	s := open(t, dir)
	for task, gpu := range map[string]string{"t1": "GPU-a", "t2": "GPU-b"} {
		if err := s.Hold(t.Context(), use(task, gpu)); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir, use("t1", "GPU-a"))
	if got := control.Running(); got != "GPU-a" {
		t.Errorf("%s run", got)
	}
	if err := s.Hold(t.Context(), use("t4", "GPU-a")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Release("t1"), s.Release("t4")); err != nil {
		t.Fatal(err)
	}
	if got := control.Running(); got != "" {
		t.Errorf("%s run", got)
	}
}

func TestOtherUser(t *testing.T) {
	mpstest.New(t)
	s := open(t, filepath.Join(t.TempDir(), "mps"))
	if err := s.Hold(t.Context(), use("t1", "GPU-a")); err != nil {
		t.Fatal(err)
	}
	other := use("t2", "GPU-a")
	other.User++
	if err := s.Hold(t.Context(), other); !errors.Is(err, mps.ErrOtherUser) {
		t.Errorf("another user: %v", err)
	}
}

// TestDaemonThatDoesNotStart: the task is told why, and holds nothing.
func TestDaemonThatDoesNotStart(t *testing.T) {
	control := mpstest.New(t)
	control.Break()
	s := open(t, filepath.Join(t.TempDir(), "mps"))
	if err := s.Hold(t.Context(), use("t1", "GPU-a")); err == nil || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("held: %v", err)
	}
	if err := s.Release("t1"); err != nil {
		t.Error(err)
	}
}

func TestNoService(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if s, err := mps.Open(t.TempDir(), nil); s != nil || err != nil {
		t.Errorf("opened %v, %v", s, err)
	}
}
