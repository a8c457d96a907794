package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/cli"
)

// asRingmaster makes this test's binary the one under test.
const asRingmaster = "CHAOS_TEST_AS_RINGMASTER"

func TestMain(m *testing.M) {
	if os.Getenv(asRingmaster) != "" {
		os.Exit(cli.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestSmoke breaks a small cluster a few times.
func TestSmoke(t *testing.T) {
	if _, err := os.Stat("../../agent/process/shim/embedded/shim"); err != nil {
		t.Skip("the agent's shim is not built: run make test")
	}
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	kept, err := run(t.Context(), config{
		program: program{path: self, env: []string{asRingmaster + "=1"}},
		time:    14 * time.Second, seed: 7, agents: 2, settle: 2 * time.Minute, folder: t.TempDir(), out: &out,
		kinds: []string{"kill-leader", "kill-agent", "reset-connections", "framework-failover", "restart-agent"},
	})
	if err != nil || !kept {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if strings.HasPrefix(line, "PASS:") || strings.HasPrefix(line, "kill -9") {
			t.Log(line)
		}
	}
}
