package cli_test

import (
	"net"
	"strings"
	"testing"
)

// TestAddressInUse: it is said which address another program has.
func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	taken, free := l.Addr().String(), "127.0.0.1:0"
	for _, c := range []struct{ line, flag string }{
		{"master --bootstrap-expect 1 --http " + taken + " --raft " + free, "--http"},
		{"master --bootstrap-expect 1 --http " + free + " --raft " + taken, "--raft"},
		{"dev --http " + taken, "--http"},
		{"dev --http " + free + " --raft " + taken, "--raft"},
		{"agent --masters " + taken + " --http " + taken, "--http"},
		{"jobs --masters " + taken + " --http " + taken, "--http"},
	} {
		words := strings.Fields(c.line)
		if words[0] != "jobs" {
			words = append(words, "--data-dir", t.TempDir())
		}
		_, said, code := commandLine(t, words...)
		want := "ringmaster: " + taken + " is in use, maybe by another ringmaster: stop it, or give another " + c.flag + "\n"
		if code != 1 || !strings.HasSuffix(said, want) {
			t.Errorf("%s: exit code %d, %s", c.line, code, said)
		}
	}
}
