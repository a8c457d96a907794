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
// What a task writes goes through the engine's local log driver, which keeps
// every byte as it is, and from there to the sandbox's stdout and stderr. The
// sizes of those files say where to go on after a restart. The engine's copy
// goes with the container; until then it takes the same room again. Attaching
// would need none, but loses what is written while no agent is there, and a
// plain file as standard output is cut by every program that opens /dev/stderr
// for writing, as many entrypoints do.
//
// The client is our own, on net/http: eleven calls of an interface that has
// been stable for ten years. github.com/moby/moby/client brings 18 modules
// with it (telemetry among them) and 1.1 MB, and speaks to no engine older
// than 2024.
//
// Neighbours: offers has the words for a container, agent/process/record the
// identity and the exit. Goroutines: Wait starts two, and waits for them.
package docker
