package agent

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// origin is where a process comes from, by which its task is known.
type origin struct {
	above  []int  // the process itself and those above it: what a task starts stays below its shim, whatever ends in between
	groups string // its cgroups: those of a container have its id in their names
}

// origins returns where the processes come from that use devices. It reads the
// host's processes, so it is called apart from the loop.
func origins(r discovery.Report) map[int]origin {
	out := map[int]origin{}
	for _, pid := range r.PIDs() {
		var o origin
		// Each is above the last unless numbers come again while this is read.
		for at := pid; at > 1 && len(o.above) < 100; at = parent(at) {
			o.above = append(o.above, at)
		}
		groups, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup") // one that has ended has none
		o.groups = string(groups)
		out[pid] = o
	}
	return out
}

// parent returns the parent of a process, 0 where there is none to be seen.
func parent(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The program's name, in parentheses, may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	n, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return n
}

// measure tells the machine how much of its devices every task uses.
func (a *Agent) measure() {
	owners := a.owners()
	used := map[offers.TaskRef]map[tasks.DeviceName]int64{}
	for _, f := range a.census.Watched() {
		name := tasks.DeviceName{Class: f.Class, ID: f.Device.ID}
		for _, p := range f.Processes {
			ref, ours := owners.of(a.origin(p.PID))
			if !ours {
				continue
			}
			if used[ref] == nil {
				used[ref] = map[tasks.DeviceName]int64{}
			}
			used[ref][name] += p.Memory
		}
	}
	a.machine.Measured(used, time.Now())
}

func (a *Agent) origin(pid int) origin {
	for _, s := range a.sources {
		if o, known := s.origins[pid]; known {
			return o
		}
	}
	return origin{}
}

// owners are the running tasks, by what their processes come from.
type owners struct {
	shims      map[int]offers.TaskRef
	containers map[string]offers.TaskRef
}

func (a *Agent) owners() owners {
	out := owners{map[int]offers.TaskRef{}, map[string]offers.TaskRef{}}
	for ref, s := range a.running {
		if id := s.execution.Identity(); id.Container != "" {
			out.containers[id.Container] = ref
		} else {
			out.shims[id.PID] = ref
		}
	}
	return out
}

// of returns the task that a process belongs to.
func (o owners) of(from origin) (offers.TaskRef, bool) {
	for _, pid := range from.above {
		if ref, ours := o.shims[pid]; ours {
			return ref, true
		}
	}
	for id, ref := range o.containers {
		if strings.Contains(from.groups, id) {
			return ref, true
		}
	}
	return offers.TaskRef{}, false
}
