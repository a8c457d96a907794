//go:build cgo

package nvidia

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// How close two GPUs are: every NVLink between them counts more than the
// shortest way over PCIe.
const (
	perNVLink = 100
	farthest  = int(nvml.TOPOLOGY_SYSTEM) // 50: between sockets, which is no closeness at all
)

// attributes returns what is shown of a GPU.
func (d *Driver) attributes(g gpu) map[string]string {
	out := map[string]string{}
	if name, ret := g.GetName(); ret == nvml.SUCCESS {
		out["model"] = name
	}
	if version, ret := d.lib.SystemGetDriverVersion(); ret == nvml.SUCCESS {
		out["driver"] = version
	}
	if g.bus != "" {
		out["pci"] = g.bus
		text, err := os.ReadFile(filepath.Join(d.root, "sys/bus/pci/devices", g.bus, "numa_node"))
		if node := strings.TrimSpace(string(text)); err == nil && node != "-1" {
			out["numa"] = node
		}
	}
	return out
}

// busOf returns a GPU's PCI address as the kernel writes it.
func busOf(h nvml.Device) string {
	info, ret := h.GetPciInfo()
	if ret != nvml.SUCCESS {
		return ""
	}
	return busName(info)
}

func busName(info nvml.PciInfo) string {
	var text []byte
	for _, c := range info.BusId {
		if c == 0 {
			break
		}
		text = append(text, byte(c))
	}
	domain, rest, ok := strings.Cut(strings.ToLower(string(text)), ":")
	if !ok {
		return ""
	}
	if len(domain) > 4 { // the driver writes 8 digits
		domain = domain[len(domain)-4:]
	}
	return domain + ":" + rest
}

// link finds out how close GPUs are to each other, once for each set of them.
func (d *Driver) link(list []gpu) {
	same := len(d.near) == len(list)
	for _, g := range list {
		_, known := d.near[g.found.Device.ID]
		same = same && known
	}
	if same {
		return
	}
	d.near = make(map[string]map[string]int, len(list))
	lines := make([]nvlinks, len(list))
	for i, g := range list {
		d.near[g.found.Device.ID] = map[string]int{}
		lines[i] = d.nvlinks(g)
	}
	for i, a := range list {
		for j, b := range list[:i] {
			near := perNVLink * lines[i].to(lines[j], b.bus)
			if d.has("nvmlDeviceGetTopologyCommonAncestor") {
				if level, ret := a.GetTopologyCommonAncestor(b.Device); ret == nvml.SUCCESS {
					near += max(0, farthest-int(level))
				}
			}
			if near > 0 {
				d.near[a.found.Device.ID][b.found.Device.ID] = near
				d.near[b.found.Device.ID][a.found.Device.ID] = near
			}
		}
	}
}

// nvlinks is where the NVLinks of a GPU lead.
type nvlinks struct {
	peers    map[string]int // how many to each GPU, by its PCI address
	switches int            // how many to a switch, which connects all that are linked to it
}

func (n nvlinks) to(other nvlinks, bus string) int {
	return n.peers[bus] + min(n.switches, other.switches)
}

func (d *Driver) nvlinks(g gpu) nvlinks {
	out := nvlinks{peers: map[string]int{}}
	if !d.has("nvmlDeviceGetNvLinkState") {
		return out
	}
	for line := range nvml.NVLINK_MAX_LINKS {
		if state, ret := g.GetNvLinkState(line); ret != nvml.SUCCESS || state != nvml.FEATURE_ENABLED {
			continue
		}
		if d.has("nvmlDeviceGetNvLinkRemoteDeviceType") {
			if kind, ret := g.GetNvLinkRemoteDeviceType(line); ret == nvml.SUCCESS && kind == nvml.NVLINK_DEVICE_TYPE_SWITCH {
				out.switches++
				continue
			}
		}
		if remote, ret := g.GetNvLinkRemotePciInfo(line); ret == nvml.SUCCESS {
			out.peers[busName(remote)]++
		}
	}
	return out
}

// migMinors reads the numbers of the files through which MIG instances are
// used, by name: "gpu0/gi1/access", "gpu0/gi1/ci0/access".
func (d *Driver) migMinors() map[string]int {
	text, err := os.ReadFile(filepath.Join(d.root, "proc/driver/nvidia-caps/mig-minors"))
	if err != nil {
		return nil
	}
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if n, err := strconv.Atoi(fields[1]); err == nil {
			out[fields[0]] = n
		}
	}
	return out
}

// nodes returns the files of a MIG instance.
func nodes(g gpu, minors map[string]int, names ...string) []string {
	out := slices.Clone(g.found.Device.Nodes)
	for _, name := range names {
		if n, ok := minors[name]; ok {
			out = append(out, "/dev/nvidia-caps/nvidia-cap"+strconv.Itoa(n))
		}
	}
	return out
}
