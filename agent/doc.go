// Package agent is the daemon on a host: it says what the host has, runs the
// tasks that a master sends, keeps them within what they asked for, and
// reports how they end until that is acknowledged.
//
// What to do is decided by agent/tasks, which is pure; this package is the
// shell around it. One goroutine, the loop of [Agent.Run], owns the machine,
// the checkpoint and the connection: it takes what came in, asks the machine
// what is to be done, writes down what must be remembered, and only then acts.
//
//	connector ── messages ──▶ ┌──────┐ ──▶ checkpoint (bbolt), then:
//	supervisors ── events ──▶ │ loop │ ──▶ gates, signals, statuses, usage
//	timer ───────────────────▶└──────┘
//
// Goroutines, all waited for by Run: the loop, one connector (dials and reads
// the master), one HTTP server for sandboxes, one collector of old sandboxes,
// one watcher of the others, and one supervisor a task, parked until its shim
// ends. When Run returns, tasks go on under their shims and the next run finds
// them (see agent/process), unless the configuration says that the agent ends
// its own.
//
// Neighbours: agent/seek finds the master that leads, offers/wire carries the
// protocol, offers/door decides who may read; agent/inventory, agent/limits,
// agent/process, agent/artifact, agent/health, agent/sandbox and
// agent/checkpoint each do one thing for this package and do not know it.
// agent/simulated runs the same machine without a host.
package agent
