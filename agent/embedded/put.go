package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// Put writes a program into dir under a name made of its content, so that those
// of an older version which still run are left alone, and returns its path.
func Put(dir, name string, code []byte) (string, error) {
	sum := sha256.Sum256(code)
	path := filepath.Join(dir, name+"-"+hex.EncodeToString(sum[:8]))
	if there, err := os.ReadFile(path); err == nil && sha256.Sum256(there) == sum {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("extract the %s: %w", name, err)
	}
	if err := os.WriteFile(path+".new", code, 0o700); err != nil {
		return "", fmt.Errorf("extract the %s: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("extract the %s: %w", name, err)
	}
	return path, nil
}
