package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
)

// TestDocker runs the command lines of testdata/docker, with an image in $IMAGE
// whose one program takes steps (see dockertest). One script follows another,
// since each looks in the end for containers that were left.
func TestDocker(t *testing.T) {
	needShim(t)
	image := dockertest.Open(t).Image("ringmaster-cli")
	scripts, err := filepath.Glob("testdata/docker/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts %q: %v", scripts, err)
	}
	for _, script := range scripts {
		t.Run("", func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Files: []string{script},
				Setup: func(env *testscript.Env) error { env.Setenv("IMAGE", image); return nil },
			})
		})
	}
}
