package process

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	programs "github.com/ringmaster-project/ringmaster/agent/embedded"
)

// The folder always holds a README, so that the package builds without shim.
//
//go:embed shim/embedded
var embedded embed.FS

// ErrNoShim says that the shim was not there when this binary was built.
var ErrNoShim = errors.New("this binary was built without its task shim: build it with make build")

// Extract puts the embedded shim into dir under a name made of its content,
// so that shims of an older version which still run are left alone, and
// returns its path.
func Extract(dir string) (string, error) {
	code, err := embedded.ReadFile("shim/embedded/shim")
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoShim
	}
	if err != nil {
		return "", fmt.Errorf("read the embedded shim: %w", err)
	}
	return programs.Put(dir, "shim", code)
}
