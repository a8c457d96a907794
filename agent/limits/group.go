package limits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bear lets a shim be born in the version 2 group of all shims. Into version 1
// groups a thread of it goes by itself, see Joined.
func (l *Limits) Bear(sys *syscall.SysProcAttr) (done func(), err error) {
	if l.shims == "" {
		return func() {}, nil
	}
	fd, err := unix.Open(l.shims, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the cgroup %s: %w", l.shims, err)
	}
	sys.UseCgroupFD, sys.CgroupFD = true, fd
	return func() { _ = unix.Close(fd) }, nil
}

// Joined returns the files that a thread of the shim writes 0 to, so that what
// it starts is born in the version 1 groups. A thread that moves itself waits
// for nobody, while to move a process waits for all CPUs, some milliseconds.
func (g *Group) Joined() []string {
	if g == nil || g.leaf != "" {
		return nil
	}
	out := make([]string, len(g.folders))
	for i, folder := range g.folders {
		out[i] = filepath.Join(folder, "tasks")
	}
	return out
}

// Leaf returns the version 2 folder that the task is to be born in, or "".
func (g *Group) Leaf() string {
	if g == nil {
		return ""
	}
	return g.leaf
}

// OOM returns a file with a line "oom_kill N", or "".
func (g *Group) OOM() string {
	if g == nil {
		return ""
	}
	return g.oom
}

// Kill sends SIGKILL to everything in the group but spare, the shim.
func (g *Group) Kill(spare int) {
	if g == nil {
		return
	}
	if g.leaf != "" && os.WriteFile(filepath.Join(g.leaf, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	// Without cgroup.kill a forking task may outrun one pass; every pass sees
	// what was forked before it, and the limit on processes bounds the race.
	for range 20 {
		if pids := g.others(spare); len(pids) == 0 {
			return
		} else {
			for _, pid := range pids {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// others lists the group's processes without spare.
func (g *Group) others(spare int) []int {
	var pids []int
	for _, folder := range []string{g.folders[len(g.folders)-1], g.leaf, g.shim} {
		if folder == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && pid != spare && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// Empty kills everything in the group, the shim too, and removes it.
func (g *Group) Empty() error {
	if g == nil {
		return nil
	}
	g.Kill(0)
	for _, pid := range g.others(0) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return g.Delete()
}

// Delete removes the group, which must have become empty; what was killed a
// moment ago is waited for. A group that is not there is no error.
func (g *Group) Delete() error {
	if g == nil {
		return nil
	}
	var failed error
	for _, folder := range append([]string{g.leaf, g.shim}, g.folders...) {
		if folder == "" {
			continue
		}
		if err := remove(folder); err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove the cgroup %s: %w", folder, err))
		}
	}
	return failed
}

// remove tries for about four seconds: the kernel takes a moment to let go of
// processes that have been reaped, and one that is held to a quota dies slowly.
func remove(folder string) error {
	var err error
	for wait := time.Millisecond; wait < 4*time.Second; wait *= 2 {
		err = os.Remove(folder)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(wait)
	}
	return err
}
