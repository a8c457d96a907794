// Package faults runs a whole cluster under faults in virtual time and checks
// its promises after every step. What decides is the real thing: master/lead
// and master/state in the masters, agent/tasks in the agents,
// framework/session in the frameworks. What it stands on is modelled: the
// network, Raft, the agents' disks and the tasks' processes.
//
//	           nemesis (seeded): crashes, pauses, partitions, clock jumps, ...
//	                │            and operators, who drain, kill and remove
//	framework ─ link ─ master ─ proposals ─▶ consensus (one agreed log)
//	 and its         └── link ─ agent ─▶ disk, processes
//	 author
//	                │
//	            judge: looks at every step, and once more after the healing;
//	            package linear looks for an order of what frameworks saw
//
// One goroutine runs it all; every choice comes from the seed, so that the
// same seed gives the same run to the byte ([Report].Hash). A seed that fails
// is run again with [Options].Trace to be read like a story.
//
// What the judge holds against what happens, by the number of the promise:
//
//	1  tasks and offers fit into each agent, in the leader's books after each
//	   turn (books), in what is committed, and on the agent at each start
//	2  an accept launches only out of offers that this leader made to that
//	   framework, neither used nor taken back nor over; no id is given twice
//	3  one end for each launch, which stays; at most one run on its agent
//	4  statuses in order, one at a time, resent after 1 s doubling to 60 s and
//	   no sooner; none is acknowledged that its author has not handled
//	5  what is used is what lives, and at the end all room is back
//	6  no order of an older term is obeyed, no read of a store is of the past
//	7  no framework is removed before its deadline, which no leader moves; no
//	   removed one comes in, of two instances one is served, none is a ghost
//	8  an agent that comes back knows all that runs, claims nothing else, and
//	   an end carries the exit code of the process
//	10 an agent is unreachable after its timeout, no sooner, no more of them at
//	   a time than allowed, and none that is away stays active
//	11 reconcile answers, and says a word about each task that it was asked of
//
// A process may die before and after each message that it sends and each thing
// that it writes down; [Options].CrashAt names one such point. Its disk keeps
// what was committed, whole: torn files are for agent/checkpoint.
//
// It is no test of hashicorp/raft, of the websockets or of files; what the
// real ones may do is what the models do at random: a proposal of a leader
// that is cut off commits or is lost, or commits and nobody knows, a message
// arrives late or never, what was not yet written is gone after a crash.
package faults
