package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/process"
)

func TestExtract(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bin")
	path, err := process.Extract(dir)
	if errors.Is(err, process.ErrNoShim) {
		t.Skip("the shim was not built before the tests (make build does it)")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := process.Extract(dir)
	if err != nil || again != path {
		t.Fatal(again, err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() < 100_000 || info.Mode()&0o100 == 0 {
		t.Errorf("a broken shim was left: %+v %v", info, err)
	}
}
