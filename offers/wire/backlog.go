package wire

import (
	"slices"
	"sync"
)

// backlog is the frames that wait to be sent, bounded in number and in bytes:
// a burst of many small frames is no slow reader, and a few large ones that
// nobody reads must not fill the memory. Safe for concurrent use.
type backlog struct {
	maxFrames, maxBytes int     // static
	all                 *Unsent //

	mu     sync.Mutex
	frames [][]byte // those before head have been popped
	head   int
	bytes  int // of those that wait
	unsent int // and of those that are being sent
	closed bool
}

func newBacklog(o Options) *backlog {
	return &backlog{maxFrames: o.Queue, maxBytes: o.Bytes, all: o.Unsent}
}

// push fails with ErrSlow where there is no room, and with ErrClosed after close.
// Of its own connection one frame alone always finds room.
func (b *backlog) push(frame []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := len(b.frames) - b.head
	switch {
	case b.closed:
		return ErrClosed
	case waiting >= b.maxFrames || waiting > 0 && b.bytes+len(frame) > b.maxBytes || !b.all.take(b.unsent, len(frame)):
		return ErrSlow
	}
	if len(b.frames) == cap(b.frames) && b.head > len(b.frames)/2 { // a steady stream may never let it be empty
		b.frames, b.head = slices.Delete(b.frames, 0, b.head), 0
	}
	b.frames = append(b.frames, frame)
	b.bytes += len(frame)
	b.unsent += len(frame)
	return nil
}

// waits reports whether there is a frame.
func (b *backlog) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.head < len(b.frames)
}

// pop returns the eldest frame, if there is one.
func (b *backlog) pop() ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.head == len(b.frames) {
		return nil, false
	}
	frame := b.frames[b.head]
	b.frames[b.head] = nil
	b.head++
	b.bytes -= len(frame)
	switch {
	case b.head < len(b.frames):
	case cap(b.frames) > keptFrames:
		b.frames, b.head = nil, 0
	default:
		b.frames, b.head = b.frames[:0], 0
	}
	return frame, true
}

// sent notes that all that was popped has been sent.
func (b *backlog) sent() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all.give(b.unsent - b.bytes)
	b.unsent = b.bytes
}

// close drops what waits: nothing more is sent.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all.give(b.unsent)
	b.frames, b.head, b.bytes, b.unsent, b.closed = nil, 0, 0, 0, true
}

// keptFrames is the room an empty backlog keeps for the next frames.
const keptFrames = 64
