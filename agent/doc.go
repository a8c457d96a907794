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
// What runs a task is an executor: it makes a process of the host under a shim
// (agent/process) or a container (agent/docker). To the loop both are the
// same: something is prepared up to its gate, its identity is written down, the
// gate opens, and one day it has ended.
//
// Goroutines, all waited for by Run: the loop, one connector (dials and reads
// the master), one HTTP server for sandboxes, one collector of old sandboxes,
// one watcher of the others, one that removes containers which an engine that
// was away has left, one for each source of devices (from Open on), and one
// supervisor a task, parked until that has ended. When
// Run returns, tasks go on under their shims and in their containers, and the
// next run finds them, unless the configuration says that the agent ends its
// own.
//
// Neighbours: agent/seek finds the master that leads, offers/wire carries the
// protocol, offers/door decides who may read; agent/inventory, agent/discovery
// and agent/mps (devices), agent/limits, agent/process, agent/docker,
// agent/artifact, agent/health, agent/sandbox and agent/checkpoint each do one
// thing for this package and do not know it. agent/simulated runs the same
// machine without a host.
package agent
