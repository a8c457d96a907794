//go:build cgo

package nvidia

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Class is the device class of GPUs.
const Class = "gpu"

// ErrNoLibrary says that the driver's library can't be loaded.
var ErrNoLibrary = errors.New("the library of NVIDIA's driver (libnvidia-ml.so.1) can't be loaded")

// Driver looks at the GPUs of this host.
type Driver struct {
	lib    nvml.Interface
	root   string // of the file systems that tell of PCI devices and MIG
	events nvml.EventSet
	xids   map[string]uint64          // the last error of a device's hardware, by id
	known  map[string]discovery.Found // as last seen well, by id
	at     map[int]string             // the id of a GPU, by its index
	heard  map[string]bool            // whose events are registered
	near   map[string]map[string]int  // links by ids
}

// Open loads and starts the library. root is the top of the file system.
func Open(lib nvml.Interface, root string) (*Driver, error) {
	switch ret := lib.Init(); ret {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, ErrNoLibrary
	default:
		return nil, fmt.Errorf("NVIDIA's driver can't be asked: %s", lib.ErrorString(ret))
	}
	d := &Driver{lib: lib, root: root, xids: map[string]uint64{}, known: map[string]discovery.Found{}, at: map[int]string{}, heard: map[string]bool{}}
	if d.has("nvmlEventSetCreate", "nvmlDeviceRegisterEvents") {
		if set, ret := lib.EventSetCreate(); ret == nvml.SUCCESS {
			d.events = set
		}
	}
	return d, nil
}

// Close lets the library go.
func (d *Driver) Close() {
	if d.events != nil {
		d.events.Free()
	}
	d.lib.Shutdown()
}

// has reports whether the library has these functions: calling one that it
// lacks ends the process.
func (d *Driver) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return d.lib.Extensions().LookupSymbol(name) != nil })
}

// Look returns all GPUs and MIG instances as they are now.
func (d *Driver) Look() (discovery.Report, error) {
	count, ret := d.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return discovery.Report{}, fmt.Errorf("NVIDIA's driver does not count its devices: %s", d.lib.ErrorString(ret))
	}
	r := discovery.Report{Devices: []discovery.Found{}}
	var whole []gpu
	for i := range count {
		g, ret := d.gpu(i)
		if ret != nvml.SUCCESS {
			if f, known := d.known[d.at[i]]; known {
				f.Unwell, f.Processes = "the driver has lost it: "+d.lib.ErrorString(ret), nil
				r.Devices = append(r.Devices, f)
			}
			continue
		}
		d.listen(g)
		if g.mig {
			r.Devices = append(r.Devices, d.instances(g)...)
			continue
		}
		whole = append(whole, g)
		r.Devices = append(r.Devices, g.found)
	}
	d.link(whole)
	for i := range r.Devices {
		f := &r.Devices[i]
		f.Device.Links = d.near[f.Device.ID]
		if f.Unwell == "" {
			d.known[f.Device.ID] = *f
		}
	}
	return r, nil
}

// gpu is one GPU as it is found.
type gpu struct {
	nvml.Device
	found discovery.Found
	minor int
	bus   string // "0000:3b:00.0", "" where it is not known
	mig   bool
}

// gpu reads one GPU.
func (d *Driver) gpu(index int) (gpu, nvml.Return) {
	h, ret := d.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return gpu{}, ret
	}
	g := gpu{Device: h}
	id, ret := h.GetUUID()
	if ret != nvml.SUCCESS {
		return gpu{}, ret
	}
	d.at[index] = id
	memory, ret := h.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return gpu{}, ret
	}
	if g.minor, ret = h.GetMinorNumber(); ret != nvml.SUCCESS {
		return gpu{}, ret
	}
	g.bus = busOf(h)
	if d.has("nvmlDeviceGetMigMode") {
		mode, _, ret := h.GetMigMode()
		g.mig = ret == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
	}
	g.found = discovery.Found{Class: Class, Unwell: d.ailing(h, id), Device: offers.Device{
		ID: id, Capacity: wholeMiB(memory.Total), Attributes: d.attributes(g), CDI: cdiKind + id,
		Nodes: append([]string{fmt.Sprintf("/dev/nvidia%d", g.minor)}, sharedNodes...),
	}}
	d.watch(&g.found, h, offers.TierWatch)
	return g, nvml.SUCCESS
}

// cdiKind names NVIDIA's devices in container runtimes; their generator gives
// each its UUID.
const cdiKind = "nvidia.com/gpu="

// sharedNodes are used by whoever uses any GPU.
var sharedNodes = []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}

// watch notes who uses a device's memory and claims the tier that follows from
// being able to tell.
func (d *Driver) watch(f *discovery.Found, h nvml.Device, tier offers.Tier) {
	byPID, told := map[int]int64{}, false
	take := func(list []nvml.ProcessInfo, ret nvml.Return) {
		if ret != nvml.SUCCESS {
			return
		}
		told = true
		for _, p := range list {
			if p.UsedGpuMemory <= uint64(offers.MaxAmount) { // or else it is not available
				byPID[int(p.Pid)] = max(byPID[int(p.Pid)], int64(p.UsedGpuMemory))
			}
		}
	}
	take(h.GetComputeRunningProcesses())
	if d.has("nvmlDeviceGetGraphicsRunningProcesses") {
		take(h.GetGraphicsRunningProcesses())
	}
	if d.has("nvmlDeviceGetMPSComputeRunningProcesses") {
		take(h.GetMPSComputeRunningProcesses())
	}
	f.Device.Enforcement = tier
	if !told {
		if tier == offers.TierWatch {
			f.Device.Enforcement = offers.TierNone
		}
		return
	}
	f.Processes = make([]discovery.Process, 0, len(byPID))
	for pid, memory := range byPID {
		if pid > 0 {
			f.Processes = append(f.Processes, discovery.Process{PID: pid, Memory: memory})
		}
	}
	slices.SortFunc(f.Processes, func(a, b discovery.Process) int { return a.PID - b.PID })
}

// wholeMiB rounds down to the unit that devices are counted in.
func wholeMiB(bytes uint64) int64 { return int64(bytes >> 20 << 20) }

// Wait waits for errors of the hardware, for as long as that at most.
func (d *Driver) Wait(patience time.Duration) {
	if d.events == nil {
		time.Sleep(patience)
		return
	}
	began := time.Now()
	for wait := patience; ; wait = 0 {
		event, ret := d.events.Wait(uint32(wait.Milliseconds()))
		if ret != nvml.SUCCESS {
			// Where events can't be waited for the wait ends at once.
			if rest := patience - time.Since(began); ret != nvml.ERROR_TIMEOUT && wait > 0 {
				time.Sleep(rest)
			}
			return
		}
		d.happened(event)
	}
}
