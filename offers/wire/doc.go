// Package wire is the websocket protocol of both sides: the messages between
// master and framework (public, subprotocol [FrameworkProtocol]) and between
// master and agent (our own, [AgentProtocol]), their limits, and the one
// [Conn] that carries them, with an in-memory twin ([Pipe]) for tests.
//
// Every message is one text frame holding one JSON object with a "type".
// Unknown types and fields are ignored by both sides, so that versions can
// meet; see [Decode]. Two programs of one build write the same messages in
// [Binary] form, which takes a fraction of the time and has many of them share a
// frame: whoever connects names both subprotocols, and the other end takes the
// binary one only if it has the very same ([BinaryProtocol]). The package is the
// only importer of the websocket library and owns one goroutine for each connection
// while that writes, which [Conn.Close] waits for.
//
// Who reads too slowly is cut off, and what waited to be sent is lost: a connection
// has bounds of its own ([Options]), and many of them have bounds together, of what
// waits to be sent ([Unsent]) and of large frames that are received ([Places]).
//
// Somebody who runs a command beside a task talks to the task's agent
// ([ExecProtocol]); masters pass that on unread.
//
// Version history: ringmaster.v1, ringmaster.agent.v1 and ringmaster.exec.v1, the
// first.
package wire
