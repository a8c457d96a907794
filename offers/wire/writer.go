package wire

import (
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// rouse starts the writer unless it runs. Whoever has something for it puts that
// there before.
func (c *Conn) rouse() {
	if !c.writes.Swap(true) {
		go c.write()
	}
}

// write owns all writing, including pings, pongs and the close frame. It returns
// when there is nothing left to write, since most connections are idle. What End
// finds has writeTimeout like all else, a turn of it at least.
func (c *Conn) write() {
	for good := true; ; {
		stopped := c.stopped()
		if stopped {
			good = good && c.putAll()
		}
		switch {
		case !good:
			c.broke()
			return
		case stopped:
			c.finish()
			c.over()
			return
		case c.asks.Swap(false):
			good = c.control(websocket.PingMessage, "")
		case c.asked.Load() != nil: // what is queued has its turn, however often it pings
			good = c.control(websocket.PongMessage, *c.asked.Swap(nil)) && c.putAll()
		case c.out.waits():
			good = c.putAll()
		default:
			c.writes.Store(false)
			if !c.due() || c.writes.Swap(true) {
				return
			}
		}
	}
}

// due reports whether there is something for the writer.
func (c *Conn) due() bool {
	return c.stopped() || c.asks.Load() || c.asked.Load() != nil || c.out.waits()
}

// over ends the connection; the writer runs no more.
func (c *Conn) over() {
	c.pings.Stop()
	c.ws.Close()
	c.leavePlace()
	c.out.close()
	close(c.ended)
}

// broke ends a connection that takes nothing more, after the reader has read
// what the other end had said before, such as why it ended.
func (c *Conn) broke() {
	patience := time.NewTimer(closeTimeout)
	defer patience.Stop()
	select {
	case <-c.stop:
	case <-patience.C:
	}
	c.End("the connection broke")
	c.over()
}

// turn is how many frames are written before the writer looks for what else
// there is to do.
const turn = 256

// putAll writes what is queued, in one piece where it is several frames.
func (c *Conn) putAll() bool {
	defer c.out.sent()
	frame, ok := c.out.pop()
	if !ok {
		return true
	}
	deadline := time.Now().Add(writeTimeout)
	next, more := c.out.pop()
	if !more {
		return c.put(frame, deadline)
	}
	if c.form == Binary {
		return c.putJoined(frame, next, deadline)
	}
	c.below.push()
	good := c.put(frame, deadline)
	for n := 1; good && more; n++ {
		if good = c.put(next, deadline); n == turn {
			break
		}
		next, more = c.out.pop()
	}
	return c.below.pull() == nil && good
}

// putJoined writes two frames and what is queued behind them, many in one.
func (c *Conn) putJoined(frame, next []byte, deadline time.Time) bool {
	room := frames.Get().(*bytes.Buffer)
	defer frames.Put(room)
	room.Reset()
	add := func(one []byte) bool {
		good := true
		if room.Len() > 0 && room.Len()+len(one) > corked {
			good = c.put(room.Bytes(), deadline)
			room.Reset()
		}
		if len(one) > corked {
			return good && c.put(one, deadline)
		}
		room.Write(one)
		return good
	}
	good := add(frame) && add(next)
	for n, more := 2, true; good; n++ {
		if n == turn {
			break
		}
		if next, more = c.out.pop(); !more {
			break
		}
		good = add(next)
	}
	return good && (room.Len() == 0 || c.put(room.Bytes(), deadline))
}

func (c *Conn) control(kind int, data string) bool {
	return c.ws.WriteControl(kind, []byte(data), time.Now().Add(writeTimeout)) == nil
}

func (c *Conn) put(frame []byte, deadline time.Time) bool {
	_ = c.ws.SetWriteDeadline(deadline)
	kind := websocket.TextMessage
	if c.opts.Binary {
		kind = websocket.BinaryMessage
	}
	return c.ws.WriteMessage(kind, frame) == nil
}

// linger reads on until the other end has gone too, for a moment at most: a
// connection that is closed with unread bytes is reset, and the other end could
// lose the close frame that says why.
func (c *Conn) linger() {
	end := time.AfterFunc(lingerTimeout, func() { _ = c.ws.Close() })
	defer end.Stop()
	_ = c.ws.SetReadDeadline(time.Now().Add(lingerTimeout))
	if !c.gone.Load() {
		_, _ = io.Copy(io.Discard, c.ws.NetConn())
	}
}

// finish sends what is still queued and the close frame. All of it together
// has closeTimeout, or a peer that reads just fast enough would hold up Close
// for as long as the queue is deep.
func (c *Conn) finish() {
	deadline := time.Now().Add(closeTimeout)
	for {
		frame, ok := c.out.pop()
		if !ok {
			bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, strings.ToValidUTF8(c.reason[:min(len(c.reason), 120)], ""))
			if c.ws.WriteControl(websocket.CloseMessage, bye, deadline) == nil {
				c.linger()
			}
			return
		}
		if !c.put(frame, deadline) {
			return
		}
		c.out.sent()
	}
}
