package process

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	sum := sha256.Sum256(code)
	path := filepath.Join(dir, "shim-"+hex.EncodeToString(sum[:8]))
	if there, err := os.ReadFile(path); err == nil && sha256.Sum256(there) == sum {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("extract the shim: %w", err)
	}
	if err := os.WriteFile(path+".new", code, 0o700); err != nil {
		return "", fmt.Errorf("extract the shim: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("extract the shim: %w", err)
	}
	return path, nil
}
