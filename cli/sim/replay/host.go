package replay

import "slices"

// host is a node with what is free on it, as plain sums: what the yardsticks
// choose by, and what every result is measured on. The matcher keeps books of
// its own; that both come to the same is checked at every placement.
type host struct {
	node    *Node
	cpu     int64   // thousandths of a core
	mem     int64   // MiB
	devices []int64 // thousandths free, by device
	gpu     int64   // their sum
	version uint32  // counts changes
}

func newHosts(nodes []Node) []host {
	hosts := make([]host, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		h := &hosts[i]
		*h = host{node: n, cpu: n.CPU, mem: n.Mem, devices: make([]int64, n.GPUs), gpu: int64(n.GPUs) * Whole, version: 1}
		for d := range h.devices {
			h.devices[d] = Whole
		}
	}
	return hosts
}

// fits reports whether a task finds room.
func (h *host) fits(t *Task) bool {
	return h.cpu >= t.CPU && h.mem >= t.Mem && h.hasDevices(t) && t.allows(h.node.Model)
}

// hasDevices reports whether the devices of a task are free.
func (h *host) hasDevices(t *Task) bool {
	if t.GPUs == 0 {
		return true
	}
	n := 0
	for _, free := range h.devices {
		if free >= t.Slice {
			if n++; n == t.GPUs {
				return true
			}
		}
	}
	return false
}

// bestDevice returns the device with the least free that has room for a part.
func (h *host) bestDevice(t *Task) int {
	best := -1
	for d, free := range h.devices {
		if free >= t.Slice && (best < 0 || free < h.devices[best]) {
			best = d
		}
	}
	return best
}

// take gives a task its part, on the devices named.
func (h *host) take(t *Task, devices []int) { h.move(t, devices, -1) }

// give takes it back.
func (h *host) give(t *Task, devices []int) { h.move(t, devices, 1) }

func (h *host) move(t *Task, devices []int, sign int64) {
	h.cpu += sign * t.CPU
	h.mem += sign * t.Mem
	for _, d := range devices {
		h.devices[d] += sign * t.Slice
	}
	h.gpu += sign * t.GPU()
	h.version++
}

// holds reports whether nothing is given away twice.
func (h *host) holds() bool {
	return h.cpu >= 0 && h.mem >= 0 && !slices.ContainsFunc(h.devices, func(free int64) bool { return free < 0 || free > Whole })
}

// spot is where a task runs.
type spot struct {
	node    int
	devices []int
}
