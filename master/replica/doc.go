// Package replica is one master's part in the replicated state: the Raft node
// with its log and snapshots on disk, the port that masters speak to each
// other on, and how a cluster comes together in the first place.
//
//	 Apply ─▶ raft log ─▶ majority ─▶ fsm ─▶ *state.State ─▶ State()
//	                ▲
//	port ── hello ──┤  raft stream
//	                └─ peer call: info, join
//
// It knows nothing of offers, sessions or HTTP; package master is its only
// user. Only this package imports hashicorp/raft. What the state is and how
// commands change it is package state's.
//
// Goroutines: [Open] starts the port's acceptor with one goroutine for each
// connection, the watcher of leadership, the one that looks whether a leader
// has died, the seeker that finds the other masters, the one that has a snapshot made
// of a log that takes long to read, and Raft's own;
// [Replica.Close] waits for all of them. Every method of [Replica] is safe for
// concurrent use.
package replica
