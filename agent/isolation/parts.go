package isolation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Parts is a set of things that isolate tasks.
type Parts uint

// The parts.
const (
	Cgroups    Parts = 1 << iota // bounds on cpu, memory and processes, and device nodes
	Privileges                   // no new privileges, no capabilities
	Mount                        // a mount namespace, the kernel's settings read-only
	IPC                          // an ipc namespace and a /dev/shm of its own
	PID                          // a pid namespace and a /proc of its own

	None Parts = 0
	// Default is what breaks no program that minds its own business. Tasks see
	// the host's process numbers in it, and may share memory with each other,
	// as the MPS of NVIDIA needs it.
	Default = Cgroups | Privileges | Mount
	All     = Default | IPC | PID
)

type named struct {
	name  string
	parts Parts
}

var names = []named{{"cgroups", Cgroups}, {"privileges", Privileges}, {"mount", Mount}, {"ipc", IPC}, {"pid", PID}}

// Parse reads the names of parts; "namespaces" are mount, ipc and pid, "all"
// are all, "none" stands alone.
func Parse(words []string) (Parts, error) {
	var out Parts
	for _, word := range words {
		at := slices.IndexFunc(names, func(n named) bool { return n.name == word })
		switch {
		case at >= 0:
			out |= names[at].parts
		case word == "namespaces":
			out |= Mount | IPC | PID
		case word == "all":
			out |= All
		case word != "none":
			return 0, fmt.Errorf("%.60q is not none, all, namespaces, cgroups, privileges, mount, ipc or pid", word)
		case len(words) > 1:
			return 0, fmt.Errorf("none stands alone")
		}
	}
	if len(words) == 0 {
		return 0, fmt.Errorf("it is empty; none isolates nothing")
	}
	if out&PID != 0 && out&Mount == 0 {
		return 0, fmt.Errorf("pid needs mount, for a /proc that fits")
	}
	return out, nil
}

// String returns the names of the parts, as Parse reads them.
func (p Parts) String() string {
	var words []string
	for _, n := range names {
		if p&n.parts != 0 {
			words = append(words, n.name)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}

// Single returns the parts one by one, in the order in which they are tried.
func (p Parts) Single() []Parts {
	var out []Parts
	for _, n := range names {
		if p&n.parts != 0 {
			out = append(out, n.parts)
		}
	}
	return out
}

// Record is what the shims are told.
func (p Parts) Record(keep uint64, limits []record.Rlimit) record.Isolation {
	i := record.Isolation{Mount: p&Mount != 0, IPC: p&IPC != 0, PID: p&PID != 0, Privileges: p&Privileges != 0, Rlimits: limits}
	if i.Privileges {
		i.Keep = keep
	}
	return i
}
