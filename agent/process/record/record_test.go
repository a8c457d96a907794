package record_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// A process is the one that was written down if its pid, its start time and
// the kernel's run are the same: any two of them come again.
func TestIdentity(t *testing.T) {
	self, err := record.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() {
		t.Error("the test itself does not run")
	}
	for what, change := range map[string]func(*record.Identity){
		"a pid that was given to another process later": func(id *record.Identity) { id.Start-- },
		"another run of the kernel":                     func(id *record.Identity) { id.Boot = "0" },
		"another process":                               func(id *record.Identity) { id.PID = os.Getppid() },
	} {
		other := self
		change(&other)
		if other.Alive() {
			t.Errorf("%s: taken for the process", what)
		}
	}
}

// A process that has ended does not run, though nobody has waited for it.
func TestZombieDoesNotRun(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read line")
	gate, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := record.Identify(cmd.Process.Pid)
	if err != nil || !id.Alive() {
		t.Fatalf("%+v, %v", id, err)
	}
	if err := gate.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("a process that has ended is said to run")
	}
	_ = cmd.Wait() // sh says 1, since there was no line
	if _, err := record.Identify(cmd.Process.Pid); err == nil {
		t.Error("a process that is gone has an identity")
	}
}

// What is written is read back; what is not there and what is damaged differ.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	want, got := record.Exit{Code: 3, Signal: "SIGKILL"}, record.Exit{}
	if err := record.Read(dir, record.ExitFile, &got); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was never written: %v", err)
	}
	if err := record.Write(dir, record.ExitFile, want, true); err != nil {
		t.Fatal(err)
	}
	if err := record.Read(dir, record.ExitFile, &got); err != nil || got != want {
		t.Errorf("came back as %+v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, record.ExitFile), []byte(`{"code":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := record.Read(dir, record.ExitFile, &got); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was cut short: %v", err)
	}
}
