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

// lineages returns, for each process that uses a device, the processes above
// it. It reads the host's processes, so it is called apart from the loop. What
// a task starts stays below its shim, whatever becomes of those in between.
func lineages(r discovery.Report) map[int][]int {
	out := map[int][]int{}
	for _, pid := range r.PIDs() {
		// Each is above the last unless numbers come again while this is read.
		for at, steps := pid, 0; at > 1 && steps < 100; steps++ {
			out[pid] = append(out[pid], at)
			at = parent(at)
		}
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
	owners := make(map[int]offers.TaskRef, len(a.running))
	for ref, s := range a.running {
		owners[s.process.Identity().PID] = ref
	}
	used := map[offers.TaskRef]map[tasks.DeviceName]int64{}
	for _, f := range a.census.Watched() {
		name := tasks.DeviceName{Class: f.Class, ID: f.Device.ID}
		for _, p := range f.Processes {
			for _, pid := range a.above(p.PID) {
				ref, ours := owners[pid]
				if !ours {
					continue
				}
				if used[ref] == nil {
					used[ref] = map[tasks.DeviceName]int64{}
				}
				used[ref][name] += p.Memory
				break
			}
		}
	}
	a.machine.Measured(used, time.Now())
}

// above returns the processes above one that uses a device, itself first.
func (a *Agent) above(pid int) []int {
	for _, s := range a.sources {
		if list := s.above[pid]; list != nil {
			return list
		}
	}
	return nil
}
