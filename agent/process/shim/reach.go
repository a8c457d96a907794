package main

import (
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// closed returns the topmost folder on the way to one of the paths, or a path
// that is a folder itself, that u may not pass, or "". It asks the mode alone: the
// kernel has refused already, and this only says where. Access control lists
// are not read.
func closed(u *record.User, paths ...string) string {
	for _, path := range paths {
		var way []string
		for at := filepath.Clean(path); at != "/" && at != "."; at = filepath.Dir(at) {
			way = append(way, at)
		}
		for _, at := range slices.Backward(way) {
			var s unix.Stat_t
			if unix.Stat(at, &s) != nil {
				break
			}
			if s.Mode&unix.S_IFMT == unix.S_IFDIR && !passes(u, &s) {
				return at
			}
		}
	}
	return ""
}

func passes(u *record.User, s *unix.Stat_t) bool {
	switch {
	case u.UID == s.Uid:
		return s.Mode&unix.S_IXUSR != 0
	case u.GID == s.Gid || slices.Contains(u.Groups, s.Gid):
		return s.Mode&unix.S_IXGRP != 0
	}
	return s.Mode&unix.S_IXOTH != 0
}
