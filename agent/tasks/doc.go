// Package tasks decides what an agent does: which tasks it knows, what may
// follow what, which reports wait for an acknowledgement and when they are
// sent again, whether a launch fits, when a task is asked to end and when it
// is killed. It is pure: no goroutine, lock, clock, I/O or log. Time comes in
// with every input, and everything to be done comes out as data:
//
//	Connected Registered Launch Kill ───┐              ┌─▶ 1. write down (Launched, Changed, Removed, Meta)
//	Prepared Started Ended Tick ────────┼─▶ Machine ───┤
//	Acknowledge Restore (at the start) ─┘    Ready     └─▶ 2. then act (Register, Start, Release, Signals, Send, Usage)
//
// The caller writes the first half of a [Ready] down durably before it does
// the second; that order is what makes "a task runs at most once" and "no
// report is lost" true over a crash at any point. The real agent and the
// simulator run the same Machine.
//
// A task the agent has seen is never started again: it is known from its
// launch until the end of it is acknowledged, and a task that the agent was
// told to kill before it saw a launch of it is known from then on. What was
// written down may be an older copy, though. Then a task without a process may
// have run all the same: it ends as gone (see Meta.Doubt), and what the masters
// launched and the agent does not know they end themselves.
package tasks
