// Package linear judges whether what frameworks saw of the masters could have
// come from one master that does one thing at a time. A [Recorder] turns the
// frames of frameworks' connections into a history of operations, each with
// the time it was called and the time its answer came; [Judge] looks for an
// order of them that one of three models allows:
//
//	tokens    an offer is consumed at most once, by whom and on which
//	          connection it was made, and not after it was rescinded, has
//	          expired, or a later term has begun
//	sessions  of the connections that register as one framework only the
//	          last is acted upon; an id is refused after its end, and not before
//	store     get, put, delete and list with compare-and-set: nobody reads
//	          what is over, no write is lost, no version comes twice
//
// A write whose connection broke before the answer may have been done at any
// time after it was called, or never. Times are taken where a frame is handed
// to the connection and where it comes out, so an operation lies within them.
//
// It is a pure reader: it sends nothing, and its only goroutines are those of
// the checker, which end before Judge returns.
package linear
