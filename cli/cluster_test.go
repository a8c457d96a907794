package cli_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCluster runs the command lines of testdata/cluster against real daemons.
func TestCluster(t *testing.T) {
	if _, err := os.Stat("../agent/process/shim/embedded/shim"); err != nil {
		t.Skip("the agent's shim is not built: run make test")
	}
	testscript.Run(t, testscript.Params{Dir: "testdata/cluster"})
}
