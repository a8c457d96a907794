// Command chaos is the nemesis: it starts a real cluster of three masters and
// several agents, lets frameworks launch tasks on it all the while, and breaks
// things in between. Then it heals everything, waits until nothing moves any
// more, and holds what everybody saw against what was promised.
//
//	authors (package framework, in process) ──┐            ┌── agents (processes) ── tasks
//	                                          ├── mesh ────┤
//	masters (processes) ──────────────────────┘            └── masters
//
// Every connection runs through the mesh, one proxy per edge, where it can be
// cut in both directions or in one, delayed and reset. Processes are killed,
// stopped, restarted; disks filled (as root, on disks of their own) or made to
// fail at fsync (where strace is installed); checkpoints damaged; masters
// replaced. Clocks are left alone, since a process has none of its own: package
// faults of the simulation sets those. The seed gives the order of the faults
// and whom they hit; what the machine makes of it does not replay.
//
// What is judged comes from the outside only: the recorder holds what the
// frameworks asked for and were told, every task writes lines into a file of
// its own, the watch samples the masters' HTTP interface and the host's
// processes, and check compares them. The ear hears every frame of the
// frameworks, among them keepers that fight for one framework's store, and
// package linear looks for an order that explains it all.
//
// Of a run that fails the folder stays: the logs of all daemons and
// frameworks, history.jsonl with what authors did and were told,
// operations.jsonl with what was judged for its order, and a page that draws
// each part for which there is none.
//
// It is a program of its own and no part of ringmaster. The goroutines are the
// lab's: proxies, authors and the watch, all of which have ended when run
// returns, and so have all processes that it started.
package main
