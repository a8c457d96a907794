package cli_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"syscall"
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

// freeAddress is of a port that nobody used a moment ago, and that no connection
// gets that somebody opens before the daemon is there: those have higher ones.
func freeAddress() (string, error) {
	const from, to = 10_000, 32_000
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", from+rand.IntN(to-from)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return l.Addr().String(), l.Close()
	}
}
