package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/offers"
)

// nodesOf says which device nodes a task may open: those of the devices that it
// holds. Those of the other devices and all other accelerators are governed,
// whether or not the agent offers them. A device that names no nodes may be any
// of the accelerators that no device names.
func nodesOf(total offers.Inventory, h offers.Holding, accelerators []string) limits.Nodes {
	n := limits.Nodes{}
	for _, c := range total.Classes {
		for _, d := range c.Devices {
			n.Governed = append(n.Governed, d.Nodes...)
		}
	}
	named := len(n.Governed)
	for _, path := range accelerators {
		if !slices.Contains(n.Governed[:named], path) {
			n.Governed = append(n.Governed, path)
		}
	}
	for _, held := range h.Devices {
		devices := total.Class(held.Class)
		for _, g := range held.Grants {
			at := slices.IndexFunc(devices, func(d offers.Device) bool { return d.ID == g.ID })
			switch {
			case at < 0:
			case len(devices[at].Nodes) == 0:
				n.Allowed = append(n.Allowed, n.Governed[named:]...)
			default:
				n.Allowed = append(n.Allowed, devices[at].Nodes...)
			}
		}
	}
	return n
}

// accelerators returns the device nodes under dev of NVIDIA (nvidia0,
// nvidiactl, nvidia-caps/...), AMD (kfd, dri/...), Huawei (davinci0, ...) and of
// the kernel's own accel subsystem.
func accelerators(dev string) []string {
	entries, err := os.ReadDir(dev)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case !strings.HasPrefix(name, "nvidia") && !strings.HasPrefix(name, "davinci") && !slices.Contains([]string{"accel", "dri", "kfd"}, name):
		case e.IsDir():
			out = append(out, nodesIn(filepath.Join(dev, name))...)
		case e.Type()&os.ModeDevice != 0:
			out = append(out, filepath.Join(dev, name))
		}
	}
	return out
}

func nodesIn(folder string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeDevice != 0 {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out
}
