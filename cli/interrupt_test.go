package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestRunInterrupted holds that a signal kills the task and gives the exit code.
func TestRunInterrupted(t *testing.T) {
	for signal, code := range map[os.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		f := newFake(t, "")
		var said strings.Builder
		cmd := exec.Command("ringmaster", "run", "--masters", f.address(), "--", "stay")
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-f.launched
		if err := cmd.Process.Signal(signal); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // the code says it
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: exit code %d, want %d; it said %s", signal, got, code, &said)
		}
		if !strings.Contains(said.String(), "is killed") {
			t.Errorf("%v: it said %q", signal, &said)
		}
	}
}
