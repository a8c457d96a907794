package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Identity names one process for good: pids come again, the same pid with
// the same start time in the same run of the kernel does not. Or it names a
// container, which has no pid before it runs.
type Identity struct {
	PID       int    `json:"pid" cbor:"1,keyasint"`
	Start     uint64 `json:"start" cbor:"2,keyasint"`                         // clock ticks since the kernel started
	Boot      string `json:"boot" cbor:"3,keyasint"`                          // id of the kernel's run
	Container string `json:"container,omitempty" cbor:"4,keyasint,omitempty"` // the engine's id of it
}

// Identify returns the identity of a running process.
func Identify(pid int) (Identity, error) {
	boot, err := BootID()
	if err != nil {
		return Identity{}, err
	}
	start, err := startTime(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: boot}, nil
}

// Alive reports whether the process still runs; a zombie does not.
func (id Identity) Alive() bool {
	now, err := Identify(id.PID)
	return err == nil && now == id
}

// BootID returns the id of the kernel's present run.
func BootID() (string, error) { return bootID() }

// It is read once: a process does not outlive the kernel's run.
var bootID = sync.OnceValues(func() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the kernel's boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
})

var errEnded = errors.New("the process has ended")

// startTime reads field 22 of /proc/PID/stat. The second field, the program's
// name, may hold anything, so fields are counted from its last parenthesis.
func startTime(pid int) (uint64, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	end := bytes.LastIndexByte(data, ')')
	fields := strings.Fields(string(data[end+1:]))
	if end < 0 || len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat can't be read", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, errEnded
	}
	return strconv.ParseUint(fields[19], 10, 64)
}
