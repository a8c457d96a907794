package wire

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Places are for frames above 32 KiB: as many as its capacity of all connections
// that share it have one at a time, so that they take memory for no more, be it all
// of a frame or half. A connection takes one when its frame turns out to be large,
// waiting behind those that came before, and has it until it is to receive the next.
type Places chan struct{}

// frameTimeout is how long a large frame may be on its way, since it has a place
// that others wait for.
const frameTimeout = 30 * time.Second

// readFrame reads a message into as much memory as it needs.
func (c *Conn) readFrame() ([]byte, error) {
	_, in, err := c.ws.NextReader()
	if err != nil {
		return nil, err
	}
	room := frames.Get().(*bytes.Buffer)
	defer frames.Put(room)
	room.Reset()
	c.in.of = in
	c.first = io.LimitedReader{R: &c.in, N: corked + 1}
	_, err = room.ReadFrom(&c.first)
	switch {
	case err != nil:
		return nil, err
	case c.first.N == 0:
		return c.readLarge(room.Bytes())
	}
	return bytes.Clone(room.Bytes()), nil
}

var frames = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readLarge reads the rest of a large frame and returns all of it.
func (c *Conn) readLarge(head []byte) ([]byte, error) {
	if c.opts.Large == nil {
		return c.readChunks(head)
	}
	select {
	case c.opts.Large <- struct{}{}:
		c.large.Store(true)
	case <-c.stop:
		return nil, ErrClosed
	}
	late := time.AfterFunc(frameTimeout, func() { c.End("a message took longer than 30 s to come") })
	defer late.Stop()
	_ = c.ws.SetReadDeadline(time.Now().Add(c.opts.Silence)) // the silence was ours
	return c.readChunks(head)
}

// readChunks returns head and what is left of the frame, in as much memory as that
// takes. How long it is shows at its end: what it is read into until then is used
// again, while a buffer that grows would leave several times as much behind.
func (c *Conn) readChunks(head []byte) ([]byte, error) {
	var read []*chunk
	defer func() {
		for _, full := range read {
			chunks.Put(full)
		}
	}()
	length := len(head)
	for more := true; more; {
		next := chunks.Get().(*chunk)
		read = append(read, next)
		for next.n = 0; more && next.n < len(next.bytes); {
			n, err := c.in.Read(next.bytes[next.n:])
			next.n += n
			if more = err != io.EOF; more && err != nil {
				return nil, err
			}
		}
		length += next.n
	}
	frame := append(make([]byte, 0, length), head...)
	for _, full := range read {
		frame = append(frame, full.bytes[:full.n]...)
	}
	return frame, nil
}

// chunk is a part of a frame.
type chunk struct {
	n     int // bytes that were read
	bytes [64 << 10]byte
}

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// leavePlace makes way for the next large frame.
func (c *Conn) leavePlace() {
	if c.large.CompareAndSwap(true, false) {
		<-c.opts.Large
	}
}
