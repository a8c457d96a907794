// Package lead is what a leading master does, as a pure core: it follows the
// connections of frameworks and agents, turns their messages into inputs of
// the matcher and commands of the replicated state, delivers updates until
// they are acknowledged, and gives up on those who stay away. It has no
// goroutine, clock, lock, I/O or log; package master owns it, and a simulator
// can run it.
//
// Inputs are method calls, each after [Core.At] told the time: messages
// ([Core.Handle], [Core.HandleAgent]), ends of connections, [Core.Tick] every
// second, and [Core.Committed]. What is to be made durable comes back from
// [Core.Finish] once a turn, together with lines for the log; messages go out
// through [Peer]. Nothing is acted on before it is committed.
//
//	message ─▶ Prepare (decode, validate; any goroutine) ─▶ Handle ─▶ match, Commit
//	Finish ─▶ Steps ─▶ (Raft) ─▶ Committed ─▶ accepted, launch, kill, update ─▶ Peer
//
// A core lives for one term of one leader. Whatever must outlive it is in
// master/state, in the agents' checkpoints, or stated anew by frameworks.
package lead
