package cli_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
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
		Condition: func(name string) (bool, error) {
			if name != "unshare" {
				return false, fmt.Errorf("there is no condition %s", name)
			}
			return exec.Command("unshare", "--mount", "true").Run() == nil, nil
		},
		Setup: func(env *testscript.Env) error {
			jobs, err := filepath.Abs("testdata/jobs")
			if err != nil {
				return err
			}
			env.Setenv("JOBS", jobs)
			driver, err := filepath.Abs("../agent/discovery/nvidia/nvidiatest/testdata/fakenvml.c")
			if err != nil {
				return err
			}
			env.Setenv("NVML", driver) // source of a stand-in for NVIDIA's library
			for i := range 6 {         // H1, R1, ...: addresses for masters
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
