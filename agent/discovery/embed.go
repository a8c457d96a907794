package discovery

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ringmaster-project/ringmaster/agent/embedded"
)

// The folder always holds a README, so that the package builds without helper.
//
//go:embed embedded
var carried embed.FS

// ErrNoHelper says that the program that asks NVIDIA's driver was not there
// when this binary was built.
var ErrNoHelper = errors.New("this binary was built without a C compiler and can't see NVIDIA's devices: build it where gcc is, or declare them (--resources gpu=2x24GiB)")

// Helper puts the program that asks NVIDIA's driver into dir and returns its path.
func Helper(dir string) (string, error) {
	code, err := carried.ReadFile("embedded/helper")
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoHelper
	}
	if err != nil {
		return "", fmt.Errorf("read the embedded helper: %w", err)
	}
	return embedded.Put(dir, "nvidia", code)
}

// HasNVIDIA reports whether NVIDIA's driver is in this host's kernel.
func HasNVIDIA() bool {
	for _, path := range []string{"/proc/driver/nvidia/version", "/dev/nvidiactl"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}
