package nvidia_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/agent/discovery/nvidia/nvidiatest"
)

// tell writes a report as a line a person can read.
func tell(r discovery.Report) string {
	var out []string
	for _, f := range r.Devices {
		text := fmt.Sprintf("%s %d MiB %s", f.Device.ID, f.Device.Capacity>>20, f.Device.Enforcement)
		for _, p := range f.Processes {
			text += fmt.Sprintf(", %d uses %d", p.PID, p.Memory>>20)
		}
		if f.Unwell != "" {
			text += ", " + f.Unwell
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestHelper drives the program that the agent runs against a stand-in for the
// driver's library: found, used, failing, lost, back, hanging.
func TestHelper(t *testing.T) {
	d := nvidiatest.New(t)
	const a, b = "gpu GPU-a 1000 ok 0", "gpu GPU-b 2000 ok 0"
	d.Say(a, b)
	heard := make(chan string, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		discovery.Source{Path: d.Helper, Pause: 10 * time.Millisecond, Patience: 2 * time.Second}.Run(ctx, func(r discovery.Report, err error) {
			text := tell(r)
			if err != nil {
				text = err.Error()
			} else if len(r.Devices) > 0 && (r.Devices[0].Device.Nodes[0] != "/dev/nvidia0" || r.Devices[0].Device.Attributes["model"] != "Fake GPU" || r.Devices[0].Device.CDI != "nvidia.com/gpu=GPU-a") {
				text = fmt.Sprintf("%+v", r)
			}
			select {
			case heard <- text:
			case <-ctx.Done():
			}
		})
	}()
	defer func() { cancel(); <-done }()
	await := func(want string) {
		t.Helper()
		last := ""
		for deadline := time.After(30 * time.Second); ; {
			select {
			case last = <-heard:
				if last == want {
					return
				}
			case <-deadline:
				t.Fatalf("last heard is %q, want %q", last, want)
			}
		}
	}
	const well = "GPU-a 1000 MiB watch; GPU-b 2000 MiB watch"
	await(well)
	d.Say(a, b, "process 1 4711 300", "process 1 4712 5")
	await(well + ", 4711 uses 300, 4712 uses 5")
	d.Say(a, "gpu GPU-b 2000 ok 2")
	await(well + ", 2 memory errors were not corrected since its last reset")
	d.Say(a, "gpu GPU-b 2000 lost 0")
	await(well + ", the driver has lost it: GPU is lost")
	d.Say(a, b)
	await(well)
	d.Say(a, b, "xid 0 31 1") // a program's own fault
	d.Say(a, b, "xid 1 79 2")
	await(well + ", XID 79")
	d.Say(a)
	await("GPU-a 1000 MiB watch")
	d.Say(a, b, "hang")
	await("it said nothing for 2s and was ended")
	d.Say(a, b)
	await(well)
}

// TestHelperWithoutLibrary: it is asked only where the driver is, so that a
// library that can't be loaded is a fault.
func TestHelperWithoutLibrary(t *testing.T) {
	if discovery.HasNVIDIA() {
		t.Skip("NVIDIA's driver is on this host")
	}
	t.Setenv("LD_LIBRARY_PATH", "")
	ctx, cancel := context.WithCancel(t.Context())
	discovery.Source{Path: nvidiatest.BuildHelper(t)}.Run(ctx, func(r discovery.Report, err error) {
		if err == nil || err.Error() != "it ended with status 1: the library of NVIDIA's driver (libnvidia-ml.so.1) can't be loaded" {
			t.Errorf("it reports %s, %v", tell(r), err)
		}
		cancel()
	})
}
