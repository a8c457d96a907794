// Package process runs tasks as processes of this host, each under a shim
// (see agent/process/shim) that outlives the agent.
//
// A start has two halves. [Executor.Prepare] starts the shim behind its gate,
// inside the task's cgroups; the caller writes the shim's identity down;
// [Process.Release] opens the gate. So nothing runs that is not recorded, and
// what is recorded without an identity never ran. After a restart
// [Executor.Adopt] takes a shim over by that identity, running or ended.
//
// It knows nothing of frameworks, statuses or sandboxes. It starts no
// goroutine; [Process.Wait] parks its caller on the shim's pidfd, without a
// thread of its own.
package process
