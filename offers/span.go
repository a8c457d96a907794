package offers

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Traceparent names a span that others are part of, as the header of the same
// name in the W3C's Trace Context: 00-TRACE-SPAN-FLAGS. "" is none.
type Traceparent string

// Validate refuses what is not written so; "" is fine.
func (t Traceparent) Validate() error {
	if t == "" {
		return nil
	}
	if _, _, _, ok := t.parts(); !ok {
		return fmt.Errorf("traceparent %q is not 00-TRACE-SPAN-FLAGS with 32, 16 and 2 hexadecimal digits in lower case", clip(string(t)))
	}
	return nil
}

// Sampled reports whether spans are to be recorded below it.
func (t Traceparent) Sampled() bool {
	_, _, flags, ok := t.parts()
	return ok && flags&1 != 0
}

// IDs returns the trace and the span that it names, zeros where it is not valid.
func (t Traceparent) IDs() (trace [16]byte, span [8]byte) {
	trace, span, _, _ = t.parts()
	return trace, span
}

func (t Traceparent) parts() (trace [16]byte, span [8]byte, flags byte, ok bool) {
	f := strings.Split(string(t), "-")
	if len(t) != len("00-")+32+1+16+1+2 || len(f) != 4 || f[0] != "00" || strings.ToLower(string(t)) != string(t) {
		return trace, span, 0, false
	}
	var last [1]byte
	for i, into := range [][]byte{trace[:], span[:], last[:]} {
		if n, err := hex.Decode(into, []byte(f[i+1])); err != nil || n != len(into) {
			return [16]byte{}, [8]byte{}, 0, false
		}
	}
	ok = trace != [16]byte{} && span != [8]byte{}
	return trace, span, last[0], ok
}

// Span is a part of a task's way that is over.
type Span struct {
	Name       string
	Self       Traceparent // what others name it by; "": nobody does
	Parent     Traceparent // "": it begins a trace
	Start, End time.Time
	Task       TaskRef
	Agent      AgentID // "" before there is one
	Demand     DemandID
	State      State             // of the task at its end; "" where it has none
	Failed     string            // why it came to nothing, or "" where it did not
	More       map[string]string // what else there is to say; nil: nothing
}

// Tracer takes spans. Its methods are safe for concurrent use and wait for
// nobody: what is too much is dropped and counted.
type Tracer interface {
	// Root begins a trace and returns what its spans are part of; "" where the
	// trace is not sampled.
	Root() Traceparent
	// Record takes a span whose Self or Parent is sampled.
	Record(Span)
	// Counts returns what became of the spans so far: delivered to the
	// collector, refused or not taken by it, and dropped.
	Counts() (delivered, failed, dropped uint64)
}
