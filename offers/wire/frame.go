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
	defer func() {
		if room.Cap() > 2*corked { // rare, and too much to keep
			*room = bytes.Buffer{}
		}
		frames.Put(room)
	}()
	room.Reset()
	c.in.of = in
	c.first = io.LimitedReader{R: &c.in, N: corked + 1}
	_, err = room.ReadFrom(&c.first)
	if err == nil && c.first.N == 0 {
		err = c.readLarge(room)
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(room.Bytes()), nil
}

var frames = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readLarge reads the rest of a large frame.
func (c *Conn) readLarge(room *bytes.Buffer) error {
	if c.opts.Large == nil {
		_, err := room.ReadFrom(&c.in)
		return err
	}
	select {
	case c.opts.Large <- struct{}{}:
		c.large.Store(true)
	case <-c.stop:
		return ErrClosed
	}
	late := time.AfterFunc(frameTimeout, func() { c.End("a message took longer than 30 s to come") })
	defer late.Stop()
	_ = c.ws.SetReadDeadline(time.Now().Add(c.opts.Silence)) // the silence was ours
	_, err := room.ReadFrom(&c.in)
	return err
}

// leavePlace makes way for the next large frame.
func (c *Conn) leavePlace() {
	if c.large.CompareAndSwap(true, false) {
		<-c.opts.Large
	}
}
