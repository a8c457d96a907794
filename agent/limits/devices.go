package limits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// Nodes are device nodes by their absolute paths, such as /dev/nvidia0. A task
// opens none of the Governed ones but those that are Allowed too; what is not
// governed it opens as its user may. A node that is not there is nobody's.
type Nodes struct {
	Governed []string
	Allowed  []string
}

// number is what the kernel knows a device node by, whatever its path.
type number struct {
	kind         string // "c" or "b"
	major, minor int64
}

// denied returns the devices that a task may not open.
func (n Nodes) denied() ([]number, error) {
	governed, err := numbersOf(n.Governed)
	if err != nil {
		return nil, err
	}
	allowed, err := numbersOf(n.Allowed)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(governed, func(d number) bool { return slices.Contains(allowed, d) }), nil
}

func numbersOf(paths []string) ([]number, error) {
	var out []number
	for _, path := range paths {
		var st unix.Stat_t
		err := unix.Stat(path, &st)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "device node", Path: path, Err: err}
		}
		d := number{major: int64(unix.Major(st.Rdev)), minor: int64(unix.Minor(st.Rdev))}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFCHR:
			d.kind = "c"
		case unix.S_IFBLK:
			d.kind = "b"
		default:
			return nil, fmt.Errorf("%s is no device node", path)
		}
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out, nil
}

// rules are the denied devices as the cgroups of both versions take them: all
// are allowed, and then some are not.
func rules(denied []number) []specs.LinuxDeviceCgroup {
	if len(denied) == 0 {
		return nil
	}
	any := int64(-1)
	out := []specs.LinuxDeviceCgroup{{Allow: true, Type: "a", Major: &any, Minor: &any, Access: "rwm"}}
	for _, d := range denied {
		out = append(out, specs.LinuxDeviceCgroup{Type: d.kind, Major: &d.major, Minor: &d.minor, Access: "rwm"})
	}
	return out
}
