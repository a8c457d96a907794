// Package simulated is many agents in one process that run nothing: to a
// master they are real agents on real connections, and each is decided by the
// same agent/tasks machine, but a task is only a note of when it ends. They
// are the load of benchmarks.
//
//	connector ─┐                ┌─▶ machine ─▶ statuses, usage
//	connector ─┼─ messages ─▶ shard   │
//	timer ─────┘                └─ ends of tasks
//
// What is missing compared with package agent: the checkpoint (what a fleet
// knows goes with its process, and the next one under the same names is a
// fleet of new agents), processes, cgroups, sandboxes and the HTTP door.
//
// An agent costs its machine, its connection and one goroutine that waits, its
// connector; the connection has another while it writes. A few shards own the
// machines, each those of its agents, so that the number of agents makes no
// more work for the scheduler than there is work. [Fleet.Run] waits for all
// of them.
package simulated
