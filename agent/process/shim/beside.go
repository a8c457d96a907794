package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// become turns this process, once its gate opens, into a program that runs
// beside a task: with the task's user and folder, in the cgroups that the
// agent has put it into. It returns if that can't be done.
func become() {
	spec, ok := gate()
	if !ok {
		return
	}
	prefer(taskScore)
	if u := spec.User; u != nil {
		groups := make([]int, len(u.Groups))
		for i, g := range u.Groups {
			groups[i] = int(g)
		}
		if syscall.Setgroups(groups) != nil || syscall.Setgid(int(u.GID)) != nil || syscall.Setuid(int(u.UID)) != nil {
			return
		}
	}
	if unix.Chdir(spec.Dir) != nil {
		return
	}
	_ = syscall.Exec(spec.Path, spec.Args, spec.Env)
}
