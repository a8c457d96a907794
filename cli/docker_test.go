package cli_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
)

// TestDocker runs the command lines of testdata/docker, with an image in $IMAGE
// whose one program takes steps (see dockertest).
func TestDocker(t *testing.T) {
	needShim(t)
	image := dockertest.Open(t).Image("ringmaster-cli")
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/docker",
		Setup: func(env *testscript.Env) error { env.Setenv("IMAGE", image); return nil },
	})
}
