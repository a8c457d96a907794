package cli_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCluster runs the command lines of testdata/cluster against real daemons.
func TestCluster(t *testing.T) {
	needShim(t)
	testscript.Run(t, testscript.Params{Dir: "testdata/cluster"})
}
