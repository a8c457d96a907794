package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestNodesOf: a task is allowed what its own devices are used through, and
// every other accelerator is governed, offered or not.
func TestNodesOf(t *testing.T) {
	card := func(id string, nodes ...string) offers.Device {
		return offers.Device{ID: id, Capacity: 1, Nodes: nodes}
	}
	total := offers.Inventory{Classes: []offers.DeviceClass{
		{Name: "gpu", Devices: []offers.Device{card("a", "/dev/nvidia0", "/dev/nvidiactl"), card("b", "/dev/nvidia1", "/dev/nvidiactl")}},
		{Name: "npu", Devices: []offers.Device{card("c")}},
	}}
	here := []string{"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidiactl", "/dev/kfd"}
	governed := []string{"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia2", "/dev/kfd"}
	for name, c := range map[string]struct {
		held    map[string][]offers.Grant
		allowed []string
	}{
		"nothing":            {nil, nil},
		"the second":         {map[string][]offers.Grant{"gpu": {{ID: "b", Index: 1}}}, []string{"/dev/nvidia1", "/dev/nvidiactl"}},
		"one without nodes":  {map[string][]offers.Grant{"npu": {{ID: "c"}}}, []string{"/dev/nvidia2", "/dev/kfd"}},
		"one that went away": {map[string][]offers.Grant{"gpu": {{ID: "z", Index: 7}}}, nil},
	} {
		want := limits.Nodes{Governed: governed, Allowed: c.allowed}
		if got := nodesOf(total, offers.Holding{Devices: offers.DevicesOf(c.held)}, here); !slices.Equal(got.Governed, want.Governed) || !slices.Equal(got.Allowed, want.Allowed) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestAccelerators finds the nodes of several makers and no others.
func TestAccelerators(t *testing.T) {
	dev := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dev, "dri"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nvidia0", "nvidiactl", "dri/renderD128", "kfd", "null", "sda"} {
		if err := unix.Mknod(filepath.Join(dev, name), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
			t.Skipf("device nodes can't be made (root is needed): %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dev, "nvidia-notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range accelerators(dev) {
		name, err := filepath.Rel(dev, path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if want := []string{"dri/renderD128", "kfd", "nvidia0", "nvidiactl"}; !slices.Equal(names, want) {
		t.Errorf("found %q, want %q", names, want)
	}
	if got := accelerators(filepath.Join(dev, "absent")); len(got) != 0 {
		t.Errorf("in a folder that is not there: %q", got)
	}
}
