// Package limits keeps a task within what it asked for: one cgroup per task
// for cpu, memory, the number of processes and device nodes, version 1 or 2,
// whichever this host has. A kind that the task left out is not limited. Where the host does
// not let it, [Open] says so once and tasks run without.
//
//	version 1    <hierarchy>/<root>/<key>    limits, task, a thread of its shim
//	version 2    /<root>/<key>               limits
//	             /<root>/<key>/task          the task, which dies at once by cgroup.kill
//	             /<root>/.shims              all shims, which live to tell
//
// It starts no goroutine. A Group is used by one goroutine at a time.
package limits
