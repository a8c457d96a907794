// Package framework is what the author of a framework imports: a program that
// asks the cluster for room, launches tasks in it and follows them.
//
// # A tour
//
// [Connect] registers the framework with whichever master leads and keeps it
// registered over failovers. [Client.Demand] states what the framework wants;
// demands stand until they are met or withdrawn, there is nothing to poll.
// [Client.Next] returns events, one after the other:
//
//	Offered      room on an agent. Answer with Accept (and tasks) or Decline
//	Accepted     the launches are durable: no failure of one master undoes them
//	Updated      a task's state; the last one is its end
//	Rescinded    offers taken back
//	Disconnected the leader is away; offers are gone, tasks go on
//	Reconnected  a leader is there again; demands have been stated to it
//	Waits        a demand that no agent could ever meet
//	Refused      an error about one request
//
// Asking for the next event acknowledges the update before it. A program that
// dies while it handles one gets it again, as does one that registers anew
// with [Client.ID] within its failover timeout. An accept whose answer was
// lost is never sent twice: the client asks the next leader what became of its
// tasks, and they get their updates as if nothing had happened. A task that is
// reported dropped never ran and may be launched again, under another id.
//
// A program that only wants tasks run needs none of this: [RunBatch] does it.
// Programs that need to survive themselves keep a little state in the masters
// with [Client.Put] and [Client.Get].
//
// # What it is not
//
// The package schedules nothing by itself, reads no flags, files or
// environment, and never exits the process. What it decides is in the pure
// package session, which the simulator runs too; package frameworktest has
// fake masters for the tests of framework authors.
//
// A [Client] owns one goroutine that dials and reads, and one beside it that
// watches the time while connected; [Client.Close] waits for both. The event
// queue is bounded: while it is full nothing is read, and a caller that stays
// away for very long loses the connection, but no update.
package framework
