// Package events tells what changed in the cluster, in order, to those who
// would otherwise ask again and again.
//
// It is pure: no goroutine, clock, lock, log or I/O. Package master lets every
// master derive the durable events from what was committed, keeps them in a
// [Buffer], and serves readers from it; package lead adds what only a leader
// sees.
//
//	state before, []Command, []Result ─ Derive ─▶ durable events ─┐
//	                                                              ▼
//	lead.Core ─ what is not replicated ─▶ Tell ─▶ Buffer [ … newest ]
//	                                                │ Seek, Read
//	                        encoded once, shared ◀──┴─▶ Filter ─▶ readers
//
// # Ids
//
// A durable event is named by the state it belongs to (the cluster, and how
// often its state was restored), the number of its command, and its number
// within that. All of it follows from the replicated state, so every master
// gives the same event the same id, also one that began from a snapshot, and a
// reader goes on at any of them. An event that only a leader saw is named by
// the durable one before it and its own number: another master goes on after
// the durable one, so nothing durable is ever left out.
//
// # Costs
//
// With n events kept: Append, Tell and Show are O(1) each event, Seek is
// O(log n), Read costs what it returns. See the benchmarks for what that is.
package events
