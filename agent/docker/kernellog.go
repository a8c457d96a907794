package docker

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultKernelLog is where the kernel tells what it has killed.
const DefaultKernelLog = "/dev/kmsg"

// sighting is a container's first process and when it was seen to run, on the
// clock that goes since the host's start. The zero sighting is of none.
type sighting struct {
	pid int
	at  time.Duration
}

func sighted(pid int) sighting {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return sighting{}
	}
	return sighting{pid, time.Duration(now.Nano())}
}

// since is from when on the kernel's log may tell of it: the clock of the log
// is not corrected as others are, by a thousandth at most.
func (s sighting) since() time.Duration { return s.at - s.at/1000 - time.Second }

// killedForMemory reports whether the kernel's log tells that a container has
// passed its memory, by the container's id or by its first process. The line
// with the id is left out where many are killed within seconds, the other one
// never. A log that can't be read tells nothing.
func killedForMemory(path, container string, first sighting) bool {
	log := readKernelLog(path)
	for line := range bytes.Lines(log) {
		head, message, _ := strings.Cut(string(line), ";")
		if ofGroup(message, container) {
			return true
		}
		fields := strings.Split(head, ",")
		if first.pid <= 0 || len(fields) < 3 || !strings.HasPrefix(message, "Memory cgroup out of memory: Killed process "+strconv.Itoa(first.pid)+" ") {
			continue
		}
		if at, err := strconv.ParseInt(fields[2], 10, 64); err == nil && time.Duration(at)*time.Microsecond >= first.since() {
			return true
		}
	}
	return false
}

// ofGroup reports whether a line tells that the cgroup of a container, and not
// one above it, was out of memory.
func ofGroup(message, container string) bool {
	if !strings.HasPrefix(message, "oom-kill:constraint=CONSTRAINT_MEMCG,") {
		return false
	}
	_, group, _ := strings.Cut(message, ",oom_memcg=")
	group, _, _ = strings.Cut(group, ",task_memcg=")
	return strings.Contains(group, container)
}

const (
	longestRecord = 16 << 10 // the kernel's are of 8 KiB at most
	mostKernelLog = 64 << 20 // of a log that grows faster than it is read
)

// readKernelLog returns what the kernel still knows, one record a line.
func readKernelLog(path string) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var log []byte
	record := make([]byte, longestRecord)
	for len(log) < mostKernelLog {
		n, err := unix.Read(fd, record)
		switch {
		case errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR): // what came next is overwritten
		case err != nil || n <= 0:
			return log
		default:
			log = append(log, record[:n]...)
		}
	}
	return log
}
