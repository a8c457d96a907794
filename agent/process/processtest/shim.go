package processtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Built is the environment variable that names a shim which is built already,
// for hosts without Go.
const Built = "RINGMASTER_TEST_SHIM"

// Shim builds the shim. The caller removes it, by remove, when the tests are
// over.
func Shim() (path string, remove func(), err error) {
	if path := os.Getenv(Built); path != "" {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "shim")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // a folder that is left harms no test
	path = filepath.Join(dir, "shim")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "github.com/ringmaster-project/ringmaster/agent/process/shim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build the shim: %w: %s", err, out)
	}
	return path, remove, nil
}
