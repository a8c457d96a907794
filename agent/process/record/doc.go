// Package record is what an agent and the shims of its tasks tell each other:
// the specification that opens a shim's gate, the note that its task has
// started, the record of how it ended, and the identity of a process that
// outlives its parent.
//
// It imports the standard library only, because the shim is linked against it
// and has to stay small. It starts no goroutine.
package record
