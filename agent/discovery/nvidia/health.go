//go:build cgo

package nvidia

import (
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// faultsOfPrograms are XID errors that a program's own fault causes: they say
// nothing against the device.
// Source: NVIDIA, "XID Errors", and their device plugin for Kubernetes.
var faultsOfPrograms = []uint64{
	13,  // graphics engine exception
	31,  // memory page fault
	43,  // stopped processing
	45,  // preemptive clean-up, after another error
	68,  // video processor exception
	109, // context switch timeout
}

// everyInstance is the instance that an event names when it is of the whole GPU.
const everyInstance = 0xffffffff

// listen has the driver tell of errors of a GPU.
func (d *Driver) listen(g gpu) {
	id := g.found.Device.ID
	if d.events == nil || d.heard[id] {
		return
	}
	d.heard[id] = true // also where it does not support events
	g.RegisterEvents(nvml.EventTypeXidCriticalError, d.events)
}

// happened takes an error that the driver told of.
func (d *Driver) happened(e nvml.EventData) {
	if e.EventType != nvml.EventTypeXidCriticalError || slices.Contains(faultsOfPrograms, e.EventData) || e.Device == nil {
		return
	}
	id, ret := e.Device.GetUUID()
	if ret != nvml.SUCCESS {
		return // it is lost, which Look sees
	}
	if e.GpuInstanceId != everyInstance {
		id = instanceKey(id, int(e.GpuInstanceId))
	}
	d.xids[id] = e.EventData
}

func instanceKey(gpu string, instance int) string { return fmt.Sprintf("%s/%d", gpu, instance) }

// ailing says why a GPU can't be used, or "".
func (d *Driver) ailing(h nvml.Device, id string) string {
	if xid, happened := d.xids[id]; happened {
		return fmt.Sprintf("XID %d", xid)
	}
	if d.has("nvmlDeviceGetTotalEccErrors") {
		n, ret := h.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
		if ret == nvml.SUCCESS && n > 0 {
			return fmt.Sprintf("%d memory errors were not corrected since its last reset", n)
		}
	}
	if d.has("nvmlDeviceGetRemappedRows") {
		if _, _, _, failed, ret := h.GetRemappedRows(); ret == nvml.SUCCESS && failed {
			return "no memory is left to replace bad rows"
		}
	}
	return ""
}
