// Package faults runs a whole cluster under faults in virtual time and checks
// its promises after every step. What decides is the real thing: master/lead
// and master/state in the masters, agent/tasks in the agents,
// framework/session in the frameworks. What it stands on is modelled: the
// network, Raft, the agents' disks and the tasks' processes.
//
//	           faults (seeded): crashes, pauses, partitions, clock jumps, ...
//	                │
//	framework ─ link ─ master ─ proposals ─▶ consensus (one agreed log)
//	                      └── link ─ agent ─▶ disk, processes
//	                │
//	            judge: looks at every step, and once more after the healing
//
// One goroutine runs it all; every choice comes from the seed, so that the
// same seed gives the same run to the byte ([Report].Hash). A seed that fails
// is run again with [Options].Trace to be read like a story.
//
// It is no test of hashicorp/raft, of the websockets or of files; what the
// real ones may do is what the models do at random: a proposal of a leader
// that is cut off commits or is lost, a message arrives late or never, what
// was not yet written is gone after a crash.
package faults
