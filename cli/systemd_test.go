package cli_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUnitsAreUnderstood lets systemd itself read the units.
func TestUnitsAreUnderstood(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	for _, kind := range []string{"master", "agent", "jobs"} {
		text, err := exec.Command("ringmaster", "systemd", kind).Output()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "ringmaster-"+kind+".service")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", file).CombinedOutput()
		if err != nil || strings.Contains(string(out), file) {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
	}
}

// TestSystemdIsTold runs a daemon as systemd would and hears what it is told.
func TestSystemdIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	dir, at := t.TempDir(), addresses(t, 2)
	m := launch(t, dir, "m1", "master", "--name", "m1", "--data-dir", filepath.Join(dir, "m1"), "--http", at[0], "--raft", at[1])
	url := m.await(t)
	hear(t, manager, "READY=1\nSTATUS=serves at "+url)
	m.signal(t, syscall.SIGTERM)
	hear(t, manager, "STOPPING=1")
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func hear(t *testing.T, from *net.UnixConn, want string) {
	t.Helper()
	if err := from.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 1024)
	n, err := from.Read(text)
	if err != nil || string(text[:n]) != want {
		t.Fatalf("systemd heard %q, want %q (%v)", text[:n], want, err)
	}
}
