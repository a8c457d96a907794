//go:build cgo

package nvidia_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/agent/discovery/nvidia"
	"github.com/ringmaster-project/ringmaster/offers"
)

// dgx is NVIDIA's own mock of a DGX A100: 8 GPUs of 40 GiB. What the mock
// leaves out and the driver is asked is added: 12 NVLinks of each to switches,
// two sockets, ids that are the same in every run.
func dgx() (*dgxa100.Server, []*dgxa100.Device) {
	s := dgxa100.New()
	var list []*dgxa100.Device
	for i := range s.Devices {
		d := s.Devices[i].(*dgxa100.Device)
		d.UUID = fmt.Sprint("GPU-", i)
		d.GetPciInfoFunc = func() (info nvml.PciInfo, ret nvml.Return) {
			for at, c := range []byte("00000000:" + strings.ToUpper(d.PciBusID[5:])) {
				info.BusId[at] = c
			}
			return info, nvml.SUCCESS
		}
		d.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) { return 0, nvml.SUCCESS }
		d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 0, 0, false, false, nvml.SUCCESS }
		none := func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
		d.GetComputeRunningProcessesFunc, d.GetGraphicsRunningProcessesFunc, d.GetMPSComputeRunningProcessesFunc = none, none, none
		d.RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return nvml.SUCCESS }
		d.GetNvLinkStateFunc = func(line int) (nvml.EnableState, nvml.Return) {
			if line < 12 {
				return nvml.FEATURE_ENABLED, nvml.SUCCESS
			}
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		d.GetNvLinkRemoteDeviceTypeFunc = func(int) (nvml.IntNvLinkDeviceType, nvml.Return) {
			return nvml.NVLINK_DEVICE_TYPE_SWITCH, nvml.SUCCESS
		}
		d.GetTopologyCommonAncestorFunc = func(other nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
			if other.(*dgxa100.Device).Index/4 == d.Index/4 {
				return nvml.TOPOLOGY_NODE, nvml.SUCCESS
			}
			return nvml.TOPOLOGY_SYSTEM, nvml.SUCCESS
		}
		list = append(list, d)
	}
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return nil, nvml.ERROR_NOT_SUPPORTED }
	s.ErrorStringFunc = func(ret nvml.Return) string { return fmt.Sprint("error ", int(ret)) }
	return s, list
}

func open(t *testing.T, s *dgxa100.Server, root string) *nvidia.Driver {
	t.Helper()
	d, err := nvidia.Open(s, root)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func look(t *testing.T, d *nvidia.Driver) []discovery.Found {
	t.Helper()
	r, err := d.Look()
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := discovery.Decode(data); err != nil {
		t.Errorf("the agent refuses it: %v", err)
	}
	return r.Devices
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDGX(t *testing.T) {
	s, _ := dgx()
	root := t.TempDir()
	write(t, filepath.Join(root, "sys/bus/pci/devices/0000:05:00.0/numa_node"), "1\n")
	write(t, filepath.Join(root, "sys/bus/pci/devices/0000:00:00.0/numa_node"), "-1\n")
	found := look(t, open(t, s, root))
	if len(found) != 8 {
		t.Fatalf("%d GPUs are found", len(found))
	}
	want := offers.Device{
		ID: "GPU-5", Capacity: 40 << 30, Enforcement: offers.TierWatch, CDI: "nvidia.com/gpu=GPU-5",
		Attributes: map[string]string{"model": "Mock NVIDIA A100-SXM4-40GB", "driver": "550.54.15", "pci": "0000:05:00.0", "numa": "1"},
		Nodes:      []string{"/dev/nvidia5", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"},
		Links:      map[string]int{"GPU-0": 1200, "GPU-1": 1200, "GPU-2": 1200, "GPU-3": 1200, "GPU-4": 1210, "GPU-6": 1210, "GPU-7": 1210},
	}
	if f := found[5]; !reflect.DeepEqual(f.Device, want) || f.Class != "gpu" || f.Unwell != "" || f.Processes == nil {
		t.Errorf("found %+v", f)
	}
	if _, there := found[0].Device.Attributes["numa"]; there {
		t.Error("a GPU without a NUMA node has one")
	}
}

// TestDGXH100 is the same with GPUs as a DGX H100 has them: the mocks that
// NVIDIA has published have none. They are larger, and have 18 NVLinks each.
func TestDGXH100(t *testing.T) {
	s, list := dgx()
	const memory = 81559 << 20
	for _, d := range list {
		d.GetNameFunc = func() (string, nvml.Return) { return "NVIDIA H100 80GB HBM3", nvml.SUCCESS }
		d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: memory}, nvml.SUCCESS }
		line := d.GetNvLinkStateFunc
		d.GetNvLinkStateFunc = func(n int) (nvml.EnableState, nvml.Return) {
			if n >= nvml.NVLINK_MAX_LINKS {
				return 0, nvml.ERROR_INVALID_ARGUMENT
			}
			return line(n % 12)
		}
	}
	for i, f := range look(t, open(t, s, t.TempDir())) {
		near, far := list[(i+1)%4+i/4*4].UUID, list[(i+4)%8].UUID
		if f.Device.Capacity != memory || f.Device.Attributes["model"] != "NVIDIA H100 80GB HBM3" || f.Device.Links[near] != 1810 || f.Device.Links[far] != 1800 {
			t.Errorf("found %+v", f)
		}
	}
}

// TestDGXUnwell: what is wrong with a GPU is told, and one that the driver has
// lost is told as it was.
func TestDGXUnwell(t *testing.T) {
	s, list := dgx()
	d := open(t, s, t.TempDir())
	look(t, d)
	list[1].GetTotalEccErrorsFunc = func(kind nvml.MemoryErrorType, counter nvml.EccCounterType) (uint64, nvml.Return) {
		if kind != nvml.MEMORY_ERROR_TYPE_UNCORRECTED || counter != nvml.VOLATILE_ECC {
			return 0, nvml.SUCCESS
		}
		return 3, nvml.SUCCESS
	}
	list[2].GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 8, 1, true, true, nvml.SUCCESS }
	list[3].GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_GPU_IS_LOST }
	found := look(t, d)
	for i, want := range []string{"", "3 memory errors were not corrected since its last reset", "no memory is left to replace bad rows", "the driver has lost it: error 15"} {
		if found[i].Unwell != want || found[i].Device.Capacity != 40<<30 || found[i].Device.ID != fmt.Sprint("GPU-", i) {
			t.Errorf("GPU %d: %+v, want %q", i, found[i], want)
		}
	}
	if found[3].Processes != nil {
		t.Error("the memory of a lost GPU is said to be looked at")
	}
}

// TestDGXProcesses: every process is told once with the most that any list says
// of it; where none can be had nothing is claimed.
func TestDGXProcesses(t *testing.T) {
	s, list := dgx()
	list[0].GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 9, UsedGpuMemory: 5 << 20}, {Pid: 7, UsedGpuMemory: 1 << 30}, {Pid: 8, UsedGpuMemory: 1<<64 - 1}}, nvml.SUCCESS
	}
	list[0].GetMPSComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 9, UsedGpuMemory: 6 << 20}}, nvml.SUCCESS
	}
	refuse := func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_NOT_SUPPORTED }
	list[1].GetComputeRunningProcessesFunc, list[1].GetGraphicsRunningProcessesFunc, list[1].GetMPSComputeRunningProcessesFunc = refuse, refuse, refuse
	found := look(t, open(t, s, t.TempDir()))
	if want := []discovery.Process{{PID: 7, Memory: 1 << 30}, {PID: 9, Memory: 6 << 20}}; !slices.Equal(found[0].Processes, want) {
		t.Errorf("the processes are %+v", found[0].Processes)
	}
	if found[1].Processes != nil || found[1].Device.Enforcement != offers.TierNone {
		t.Errorf("nobody can look, and it says %+v", found[1])
	}
}

// TestDGXInstances: the instances of a GPU in MIG mode are there instead of it,
// and ail what it ails.
func TestDGXInstances(t *testing.T) {
	s, list := dgx()
	g := list[6]
	g.MigMode = nvml.DEVICE_MIG_ENABLE
	g.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) { return 1, nvml.SUCCESS }
	g.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	g.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i%2 == 0 { // there are gaps
			return nil, nvml.ERROR_NOT_FOUND
		}
		none := func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
		return &mock.Device{
			GetUUIDFunc:                    func() (string, nvml.Return) { return fmt.Sprint("MIG-", i), nvml.SUCCESS },
			GetNameFunc:                    func() (string, nvml.Return) { return "A100 MIG 1g.5gb", nvml.SUCCESS },
			GetMemoryInfoFunc:              func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 4864<<20 + 5}, nvml.SUCCESS },
			GetGpuInstanceIdFunc:           func() (int, nvml.Return) { return 6 + i, nvml.SUCCESS },
			GetComputeInstanceIdFunc:       func() (int, nvml.Return) { return 0, nvml.SUCCESS },
			GetComputeRunningProcessesFunc: none, GetGraphicsRunningProcessesFunc: none, GetMPSComputeRunningProcessesFunc: none,
		}, nvml.SUCCESS
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "proc/driver/nvidia-caps/mig-minors"), "config 1\ngpu6/gi7/access 120\ngpu6/gi7/ci0/access 121\ngpu6/gi9/access 138\n")
	found := look(t, open(t, s, root))
	var ids []string
	for _, f := range found {
		ids = append(ids, f.Device.ID)
	}
	if got := strings.Join(ids, " "); got != "GPU-0 GPU-1 GPU-2 GPU-3 GPU-4 GPU-5 MIG-1 MIG-3 MIG-5 GPU-7" {
		t.Fatalf("found %s", got)
	}
	want := offers.Device{
		ID: "MIG-1", Capacity: 4864 << 20, Enforcement: offers.TierHardware, CDI: "nvidia.com/gpu=MIG-1",
		Attributes: map[string]string{"model": "A100 MIG 1g.5gb", "driver": "550.54.15", "pci": "0000:06:00.0", "parent": "GPU-6"},
		Nodes:      []string{"/dev/nvidia6", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-caps/nvidia-cap120", "/dev/nvidia-caps/nvidia-cap121"},
	}
	if f := found[6]; !reflect.DeepEqual(f.Device, want) || f.Unwell != "1 memory errors were not corrected since its last reset" {
		t.Errorf("found %+v", f)
	}
}

// TestOldDriver: a library that lacks all that can be lacking is asked for none
// of it. The mock panics where it is.
func TestOldDriver(t *testing.T) {
	s, list := dgx()
	s.LookupSymbolFunc = func(string) error { return fmt.Errorf("no such symbol") }
	s.EventSetCreateFunc = nil
	for _, d := range list {
		d.GetMigModeFunc, d.GetTotalEccErrorsFunc, d.GetRemappedRowsFunc, d.GetNvLinkStateFunc = nil, nil, nil, nil
		d.GetTopologyCommonAncestorFunc, d.GetGraphicsRunningProcessesFunc, d.GetMPSComputeRunningProcessesFunc = nil, nil, nil
	}
	if found := look(t, open(t, s, t.TempDir())); len(found) != 8 || len(found[0].Device.Links) != 0 {
		t.Errorf("found %+v", found)
	}
}

func TestNoDriver(t *testing.T) {
	s, _ := dgx()
	s.InitFunc = func() nvml.Return { return nvml.ERROR_LIBRARY_NOT_FOUND }
	if _, err := nvidia.Open(s, "/"); err != nvidia.ErrNoLibrary {
		t.Errorf("opened: %v", err)
	}
	s.InitFunc = func() nvml.Return { return nvml.ERROR_DRIVER_NOT_LOADED }
	if _, err := nvidia.Open(s, "/"); err == nil || err.Error() != "NVIDIA's driver can't be asked: error 9" {
		t.Errorf("opened: %v", err)
	}
}
