// Package health asks the tasks of this host how they are, over HTTP or TCP, on
// the host's loopback. When to ask, and what an answer means, is decided by
// agent/tasks; checks by a command are agent/process's to run.
//
// Nothing of an answer is kept or shown but whether it was a good one, and
// redirects are not followed, so that a framework learns nothing from a check
// that its task on the same host could not see for itself. It starts no
// goroutine of its own.
package health
