// Package session is what a framework decides, without doing it: which frames
// to send and which events to show, given the frames that came and the time.
// It knows the standing demands and what is left of them, the outstanding
// offers, the accepts without an answer, the tasks with their last state, and
// which updates were shown and acknowledged already.
//
// It is pure: no goroutine, lock, clock, I/O or log. The shell around it
// (package framework, or a simulator) feeds it with [Session.Connected],
// [Session.Frame], [Session.Tick], [Session.Lost] and the caller's wishes, and
// after each of them does what [Session.Take] says:
//
//	frames, time ──▶ ┌─────────┐ ──▶ frames to send
//	                 │ Session │ ──▶ events for the framework's author
//	wishes ────────▶ └─────────┘ ──▶ answers to store calls, hang up, the end
//
// Nothing a framework wished is lost with a connection: demands are stated
// again (what is left of them), kills are sent again, reads of the store are
// asked again. An accept is never sent twice. When its answer was lost, its
// tasks are reconciled with the next leader, whose answer "dropped" with the
// reason unknown_task is the proof that they never ran.
package session
