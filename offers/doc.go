// Package offers is the vocabulary of Ringmaster, a two-level cluster
// scheduler: masters offer room on agents to frameworks, and frameworks decide
// what to run in it. Every other package speaks in these words; this one
// imports the standard library only and starts no goroutine.
//
// # The words
//
//	Resources ── what is asked: amounts, ports, devices        integers only
//	Inventory ── what an agent has     Room ── and what of it is taken
//	Holding ──── an exact claim on one agent, by an offer or a task
//	Demand ───── a standing wish       Offer ── one answer to it; Book ── all that are out
//	Task ─────── what to run           Status ── how far it is, see State
//	Packed ───── the use of a device class in 64-bit words
//
// Both sides count with the same [Room], so the master's prediction of what an
// agent will do is the agent's own rule. Whatever arrives from outside is
// refused at the border, with one sentence that names the field: see
// [Resources], [Demand.Validate], [Task.Validate], [Explain].
//
// # The house
//
// A package imports only floors below its own; a test in package cli holds it.
//
//	6  cli/ringmaster                         main
//	5  cli                                    commands, flags, files, wiring
//	3  master                                 the leader's loop, sessions, HTTP, readers' views
//	2  master/match   agent   framework       who is offered what; what a host runs; what authors import
//	1  master/state   rings   offers/wire     what Raft replicates; who has room; the websocket protocol
//	   offers/door                            who may do what
//	0  offers                                 you are here
//
// master, agent and framework never import each other: they meet on the wire,
// and package cli starts them. The parts that decide are pure: match, state,
// rings, agent/tasks and framework/session have no goroutine, clock, lock, I/O
// or log. They take inputs and return data; the shell around each does what
// the data says. So they can be held against naive models, fuzzed, and run on
// virtual time.
//
// # The way of a task
//
//	framework            master (leader)                                             agent
//	demand ───────▶ session ─▶ loop ─▶ match: wish noted
//	                                   match.Ready: whose turn (fair share) → rings → Book.Issue
//	offers ◀─────── session (batched) ◀─ loop
//	accept{tasks} ─▶ session ─▶ loop ─▶ match: Book.Consume, Inside(offer) fits → one Raft entry a batch
//	                                   state.Apply ─(on a majority)─▶ session ── launch ──▶ intent to disk
//	accepted ◀──────────────────────── loop                                           → devices → shim → task
//	update ◀─────── session ◀───────── loop ◀── session ◀── status ── outbox, until acknowledged
//	                                   terminal: Raft entry → room freed → rings move → matched in the same turn
//
// One Raft commit is on the critical path, shared by all that came in the same
// turn of the loop. Offers, demands, heartbeats and running statuses never
// touch Raft: what only a leader knows is built when it starts to lead and
// dropped when it stops, and offers of an older term are unknown by their id.
//
// # Where to start reading
//
// Here with [Demand], [Room] and [Book], and the package's example, which walks
// the way above in these words. Then package rings (the data structure that
// gives the program its name), master/match (the decisions), master/state (the
// memory) and agent/tasks (a task's life on its host). Who wants to write a
// framework starts at package framework; in another language, at the messages
// of offers/wire.
package offers
