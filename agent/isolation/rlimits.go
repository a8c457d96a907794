package isolation

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// resources are named as in prlimit(1), in its units. Those that would end the
// shim, which has them too, are left out: as, cpu, data, fsize, rttime.
var resources = map[string]int{
	"core": unix.RLIMIT_CORE, "locks": unix.RLIMIT_LOCKS, "memlock": unix.RLIMIT_MEMLOCK, "msgqueue": unix.RLIMIT_MSGQUEUE,
	"nice": unix.RLIMIT_NICE, "nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC, "rtprio": unix.RLIMIT_RTPRIO,
	"sigpending": unix.RLIMIT_SIGPENDING, "stack": unix.RLIMIT_STACK,
}

// defaults let a task open many files and leave no core in its sandbox, unless
// it raises that itself.
var defaults = []record.Rlimit{
	{Resource: unix.RLIMIT_CORE, Soft: 0, Hard: math.MaxUint64},
	{Resource: unix.RLIMIT_NOFILE, Soft: 65536, Hard: math.MaxUint64},
}

// WithDefaults returns the limits of tasks: those asked for, and the defaults
// of the others. No limit passes the agent's own hard one.
func WithDefaults(asked []record.Rlimit) []record.Rlimit {
	out := slices.Clone(asked)
	for _, d := range defaults {
		if !slices.ContainsFunc(asked, func(r record.Rlimit) bool { return r.Resource == d.Resource }) {
			out = append(out, d)
		}
	}
	return out
}

// CheckRlimits refuses limits that pass the hard ones of this process.
func CheckRlimits(asked []record.Rlimit) error {
	for _, r := range asked {
		var own unix.Rlimit
		if err := unix.Getrlimit(r.Resource, &own); err != nil {
			return fmt.Errorf("rlimits: %w", err)
		}
		if r.Soft > own.Max {
			return fmt.Errorf("rlimits: %s is %d at most, as the agent's own hard limit is", nameOf(r.Resource), own.Max)
		}
	}
	return nil
}

func nameOf(resource int) string {
	for name, r := range resources {
		if r == resource {
			return name
		}
	}
	return strconv.Itoa(resource)
}

// ParseRlimits reads limits such as nofile: 4096 or core: 0:unlimited, the soft
// and then the hard one.
func ParseRlimits(pairs map[string]string) ([]record.Rlimit, error) {
	var out []record.Rlimit
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		resource, known := resources[name]
		if !known {
			return nil, fmt.Errorf("%.60q is none of %s", name, strings.Join(slices.Sorted(maps.Keys(resources)), ", "))
		}
		softText, hardText, both := strings.Cut(pairs[name], ":")
		soft, err := parseLimit(softText)
		hard := soft
		if err == nil && both {
			hard, err = parseLimit(hardText)
		}
		if err != nil || soft > hard {
			return nil, fmt.Errorf("%s: %.60q is no limit such as 4096, 1024:4096 or unlimited", name, pairs[name])
		}
		out = append(out, record.Rlimit{Resource: resource, Soft: soft, Hard: hard})
	}
	return out, nil
}

func parseLimit(text string) (uint64, error) {
	if text == "unlimited" {
		return math.MaxUint64, nil
	}
	return strconv.ParseUint(text, 10, 64)
}
