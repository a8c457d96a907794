// Package mpstest has a stand-in for NVIDIA's MPS control daemon, for tests.
package mpstest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Control is a stand-in for the daemon's program.
type Control struct {
	t   testing.TB
	dir string
}

// New has this test's processes find the stand-in.
func New(t testing.TB) *Control {
	t.Helper()
	c := &Control{t, t.TempDir()}
	script := `#!/bin/sh
here=` + c.dir + `
gpu() { cat "$CUDA_MPS_PIPE_DIRECTORY/gpu" 2>/dev/null; }
if [ "$1" = -d ]; then
	if [ -e $here/broken ]; then echo no such luck; exit 1; fi
	echo "$CUDA_VISIBLE_DEVICES" > "$CUDA_MPS_PIPE_DIRECTORY/gpu" || exit 1
	echo "start $(gpu)" >> $here/said
	exit 0
fi
read -r command
[ -n "$(gpu)" ] || { echo "Cannot find MPS control daemon process"; exit 1; }
case $command in
get_server_list) ;;
quit*) echo "end $(gpu)" >> $here/said; rm "$CUDA_MPS_PIPE_DIRECTORY/gpu" ;;
*) echo "unknown command $command"; exit 1 ;;
esac
`
	bin := filepath.Join(c.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "nvidia-cuda-mps-control"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return c
}

// Break has no daemon start any more.
func (c *Control) Break() {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "broken"), nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Control) lines() []string {
	data, err := os.ReadFile(filepath.Join(c.dir, "said"))
	if err != nil {
		return nil // nothing was said
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// Said returns what daemons were started and ended, in order.
func (c *Control) Said() string { return strings.Join(c.lines(), ", ") }

// Running returns the GPUs whose daemon runs.
func (c *Control) Running() string {
	var running []string
	for _, line := range c.lines() {
		word, gpu, _ := strings.Cut(line, " ")
		if word == "start" {
			running = append(running, gpu)
		} else {
			running = slices.DeleteFunc(running, func(g string) bool { return g == gpu })
		}
	}
	slices.Sort(running)
	return strings.Join(running, " ")
}
