package cli_test

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCluster runs the command lines of testdata/cluster against real daemons.
func TestCluster(t *testing.T) {
	needShim(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/cluster",
		Setup: func(env *testscript.Env) error {
			jobs, err := filepath.Abs("testdata/jobs")
			if err != nil {
				return err
			}
			env.Setenv("JOBS", jobs)
			for i := range 6 { // H1, R1, ...: addresses for masters
				for _, port := range []string{"H", "R"} {
					address, err := freeAddress()
					if err != nil {
						return err
					}
					env.Setenv(fmt.Sprintf("%s%d", port, i+1), address)
				}
			}
			return nil
		},
	})
}

// freeAddress is of a port that nobody used a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
