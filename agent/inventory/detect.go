package inventory

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containerd/cgroups/v3"
	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/offers"
)

// DefaultPorts is what an agent offers unless it is told otherwise.
var DefaultPorts = offers.PortRange{First: 31000, Last: 32000}

// Complete returns the declared inventory with the kinds that were not named
// filled in from the host: the cpus this process may use, the memory it may
// use, the file system that holds dir, and the device classes that were found.
// Bandwidth can't be seen and is none.
func (d Declared) Complete(dir string, found []offers.DeviceClass) (offers.Inventory, error) {
	v := offers.Inventory{Classes: d.withFound(found), Ports: offers.MakePorts(DefaultPorts)}
	if d.ports != nil {
		v.Ports = *d.ports
	}
	for s, detect := range map[offers.Scalar]func() (int64, error){
		offers.CPUs:      detectCPUs,
		offers.Mem:       Memory,
		offers.Disk:      func() (int64, error) { return detectDisk(dir) },
		offers.Bandwidth: func() (int64, error) { return 0, nil },
	} {
		if d.amounts[s] != nil {
			v.Amounts[s] = *d.amounts[s]
			continue
		}
		n, err := detect()
		if err != nil {
			return offers.Inventory{}, fmt.Errorf("%s can't be detected; name it in --resources: %w", s, err)
		}
		v.Amounts[s] = n
	}
	return v, v.Validate()
}

// Only returns the declared inventory with nothing of what was not named.
func (d Declared) Only() offers.Inventory {
	v := offers.Inventory{Classes: d.list()}
	if d.ports != nil {
		v.Ports = *d.ports
	}
	for s, n := range d.amounts {
		if n != nil {
			v.Amounts[s] = *n
		}
	}
	return v
}

// detectCPUs returns thousandths of a core.
func detectCPUs() (int64, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, fmt.Errorf("affinity: %w", err)
	}
	n := int64(set.Count()) * 1000
	for _, folder := range ownGroups("cpu") {
		if quota := cpuQuota(folder); quota > 0 {
			n = min(n, quota)
		}
	}
	return n, nil
}

// cpuQuota returns the quota of one group in thousandths of a core, 0 for none.
func cpuQuota(folder string) int64 {
	quota, period := int64(0), int64(0)
	if fields := strings.Fields(readText(filepath.Join(folder, "cpu.max"))); len(fields) == 2 {
		quota, period = number(fields[0]), number(fields[1])
	} else {
		quota = number(readText(filepath.Join(folder, "cpu.cfs_quota_us")))
		period = number(readText(filepath.Join(folder, "cpu.cfs_period_us")))
	}
	if quota <= 0 || period <= 0 {
		return 0
	}
	return quota * 1000 / period
}

// Memory returns the bytes that the host has, or that this process may take of
// them.
func Memory() (int64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var total int64
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if fields := strings.Fields(scan.Text()); len(fields) >= 2 && fields[0] == "MemTotal:" {
			total = number(fields[1]) << 10
		}
	}
	if total <= 0 {
		return 0, fmt.Errorf("/proc/meminfo tells no MemTotal")
	}
	for _, folder := range ownGroups("memory") {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			if limit := number(readText(filepath.Join(folder, file))); limit > 0 {
				total = min(total, limit)
			}
		}
	}
	return total, nil
}

// detectDisk returns what the file system of dir holds and could hold for
// others than root.
func detectDisk(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("file system of %s: %w", dir, err)
	}
	return min(int64(st.Blocks-st.Bfree+st.Bavail)*st.Bsize, offers.MaxAmount), nil
}

// ownGroups returns the folders of this process's cgroup for a controller and
// of all above it: the tightest of them counts.
func ownGroups(controller string) []string {
	legacy, unified, err := cgroups.ParseCgroupFileUnified("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	top, path := "/sys/fs/cgroup", unified
	if cgroups.Mode() != cgroups.Unified {
		top, path = filepath.Join(top, controller), legacy[controller]
	}
	if path == "" {
		return nil
	}
	var folders []string
	for path = filepath.Clean("/" + path); ; path = filepath.Dir(path) {
		folders = append(folders, filepath.Join(top, path))
		if path == "/" {
			return folders
		}
	}
}

// readText returns a small file's text, "" where it is not there: most
// controllers' files are not on most hosts.
func readText(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// number returns 0 for what is no number, such as "max".
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
