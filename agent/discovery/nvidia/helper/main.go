//go:build cgo

// Command helper is the source of devices that is built in: it reports the GPUs
// that NVIDIA's driver has, every second and when one fails, until its standard
// input ends. The agent embeds it; see agent/discovery and its package nvidia.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/ringmaster-project/ringmaster/agent/discovery/nvidia"
)

// lookEach is how often the GPUs are looked at. A task that uses more memory
// than it was given is seen that late.
const lookEach = time.Second

func main() {
	// The agent holds the other end, so this does not outlive it.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := report(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// report reports for ever. It is asked only where the driver is: without its
// library it fails.
func report() error {
	d, err := nvidia.Open(nvml.New(), "/")
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		r, err := d.Look()
		if err != nil {
			return err
		}
		line, err := r.Encode()
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("%s\n", line); err != nil {
			return err
		}
		d.Wait(lookEach)
	}
}
