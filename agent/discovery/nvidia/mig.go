//go:build cgo

package nvidia

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/offers"
)

// instances returns the MIG instances of a GPU, each as a device. What the GPU
// ails they ail.
func (d *Driver) instances(g gpu) []discovery.Found {
	if !d.has("nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex") {
		return nil
	}
	most, ret := g.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return nil
	}
	minors := d.migMinors()
	var out []discovery.Found
	for i := range most {
		h, ret := g.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // there are gaps
		}
		if f, ok := d.instance(g, h, minors); ok {
			out = append(out, f)
		}
	}
	return out
}

// instance reads one MIG instance.
func (d *Driver) instance(g gpu, h nvml.Device, minors map[string]int) (discovery.Found, bool) {
	id, ret := h.GetUUID()
	if ret != nvml.SUCCESS {
		return discovery.Found{}, false
	}
	memory, ret := h.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return discovery.Found{}, false
	}
	attributes := maps.Clone(g.found.Device.Attributes)
	attributes["parent"] = g.found.Device.ID
	if name, ret := h.GetName(); ret == nvml.SUCCESS {
		attributes["model"] = name
	}
	f := discovery.Found{Class: Class, Unwell: g.found.Unwell, Device: offers.Device{
		ID: id, Capacity: wholeMiB(memory.Total), Attributes: attributes, CDI: cdiKind + id, Nodes: g.found.Device.Nodes,
	}}
	if d.has("nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId") {
		gi, ret := h.GetGpuInstanceId()
		ci, ret2 := h.GetComputeInstanceId()
		if ret == nvml.SUCCESS && ret2 == nvml.SUCCESS {
			part := fmt.Sprintf("gpu%d/gi%d", g.minor, gi)
			f.Device.Nodes = nodes(g, minors, part+"/access", fmt.Sprintf("%s/ci%d/access", part, ci))
			if xid, happened := d.xids[instanceKey(g.found.Device.ID, gi)]; happened {
				f.Unwell = cmp.Or(f.Unwell, fmt.Sprintf("XID %d", xid))
			}
		}
	}
	d.watch(&f, h, offers.TierHardware)
	return f, true
}
