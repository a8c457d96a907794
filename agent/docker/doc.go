// Package docker runs tasks in containers of the host's Docker engine, which
// outlive the agent as its processes do.
//
//	Prepare ── pull, create ──▶ container, not started   (its gate is shut)
//	Open    ── start ─────────▶ running
//	Wait    ── wait, inspect ─▶ how it ended; all it wrote is in the sandbox
//	Forget  ── remove, once the end is written down
//
// The same two halves as in agent/process: the caller writes the container's
// id down between Prepare and Open, so nothing runs that is not recorded, and
// a container that was never started never ran. An agent that died while the
// engine was about to start one finds out for good which of the two it is by
// removing the container without force (see Container.fence).
//
// An engine that does not answer is waited for: a task is never given up
// because of it, and an order to end it is delivered when it is back.
//
// What a task writes comes to the sandbox's stdout and stderr as it is written
// (attach, from before the start on). The engine's local log driver keeps it
// too, to the byte, for the time in which no agent is there: after a restart
// the agent follows that log, and at the end it reads it once more from where
// the files end; how long they are says how much of it is there. The log goes
// with the container; until then it takes the same room again. A plain file as
// the container's standard output would take none, but is cut by every program
// that opens /dev/stderr for writing, as many entrypoints do.
//
// Devices have names in the Container Device Interface. The engine injects them
// if it can; for others the executor reads their specifications itself.
//
// Health checks run through the engine's exec. It has no call that ends one, so
// that is done here, by the number of the process.
//
// The client is our own, on net/http: a dozen calls of an interface that has
// been stable for ten years. github.com/moby/moby/client brings 18 modules
// with it, telemetry among them, and 1.1 MB.
//
// Neighbours: offers has the words for a container, agent/process/record the
// identity and the exit. Goroutines: Wait starts two, and waits for them.
package docker
