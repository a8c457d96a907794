// Package process runs tasks as processes of this host, each under a shim
// (see agent/process/shim) that outlives the agent.
//
// A start has three steps. [Executor.Spawn] starts a shim, which waits at its
// gate; some wait already, see [Executor.Spare]. The caller writes the shim's
// identity down as the task's, before or after [Process.Prepare] has made the
// task's folder and cgroups. [Process.Release] opens the gate. So nothing runs
// that is not recorded, and what is recorded without an identity never ran. A
// shim starts one task or none. After a restart [Executor.Adopt] takes it over by
// its identity, running or ended.
//
// It knows nothing of frameworks, statuses or sandboxes. It starts no
// goroutine; [Process.Wait] parks its caller on the shim's pidfd, without a
// thread of its own, and [Executor.KeepSpares] keeps its caller.
package process
