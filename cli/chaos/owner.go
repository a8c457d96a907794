package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// portOwner returns which of pids has the socket that is bound to a local
// port of this host and connected, 0 when none has.
func portOwner(port int, pids []int) int {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0
	}
	local := fmt.Sprintf(":%04X", port)
	for line := range strings.SplitSeq(string(table), "\n") {
		f := strings.Fields(line)
		if len(f) < 10 || !strings.HasSuffix(f[1], local) || f[9] == "0" {
			continue
		}
		for _, pid := range pids {
			if holds(pid, "socket:["+f[9]+"]") {
				return pid
			}
		}
	}
	return 0
}

func holds(pid int, what string) bool {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == what {
			return true
		}
	}
	return false
}
