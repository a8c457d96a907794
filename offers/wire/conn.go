package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Link is one connection as sessions see it: a [Conn] or one end of a [Pipe].
type Link interface {
	// Send queues a frame and never blocks. It reports [ErrSlow] when the
	// queue is full and [ErrClosed] after the end; either way the link is
	// closed then and the frame is lost. Safe for concurrent use.
	Send(frame []byte) error
	// Receive returns the next frame. One goroutine at a time may call it.
	Receive() ([]byte, error)
	// Close sends what is queued, says why, and waits until the link's
	// goroutines have ended. Only the first call has an effect; it is safe
	// beside Send and Receive, which fail from then on.
	Close(reason string)
	// End begins what Close does and does not wait, for callers that must not;
	// somebody calls Close all the same.
	End(reason string)
	// Form is how the two ends write messages. It does not change.
	Form() Form
	// Heard is when the other end gave a sign of life last, be it a ping, or up to
	// a 64th of Options.Silence later. It is safe beside all others.
	Heard() time.Time
}

// Why a link does not send.
var (
	ErrClosed = errors.New("the connection is closed")
	ErrSlow   = errors.New("the connection was closed because its reader is too slow")
)

// Options of a connection.
type Options struct {
	Message int64         // bytes of one message that is received; 0 means MaxMessage
	Queue   int           // frames that may wait to be sent; 0 means 262,144
	Bytes   int           // of the frames that may wait to be sent; 0 means 32 MiB
	Ping    time.Duration // after so long without a frame, ping or pong one is asked for by a ping; 0 means 5 s, or a third of Silence
	Silence time.Duration // after so long without a frame or pong Receive fails, which counts only while it waits; 0 means 30 s
	Binary  bool          // what is sent is no text
	Compact bool          // messages are written in [Binary] form if the other end would have it so, too
	Dial    Dialer        // how Dial connects; nil: over the network
}

// Dialer connects to an address, as [net.Dialer.DialContext] does.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (o Options) filled() Options {
	if o.Message == 0 {
		o.Message = MaxMessage
	}
	if o.Queue == 0 {
		o.Queue = 1 << 18
	}
	if o.Bytes == 0 {
		o.Bytes = 32 << 20
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Second
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Ping == 0 {
		o.Ping = min(5*time.Second, o.Silence/3)
	}
	return o
}

// pingSlot is the time into which pings are gathered: those of all connections
// of the hosts whose clocks agree go out at its multiples, so that a leader with
// very many agents is woken for some of them at once and not for each.
const pingSlot = 20 * time.Millisecond

// tillPing returns how long to wait before an end that has been quiet for so long
// is asked, or asked again.
func (o *Options) tillPing(now time.Time, quiet time.Duration) time.Duration {
	left := o.Ping - quiet
	if left <= 0 {
		left = o.Ping
	}
	return now.Add(left + pingSlot).Truncate(pingSlot).Sub(now)
}

const (
	handshakeTimeout = 10 * time.Second
	writeTimeout     = 10 * time.Second
	closeTimeout     = 2 * time.Second
	lingerTimeout    = 100 * time.Millisecond // for the other end to read why
)

// Conn is a websocket connection: whoever calls Receive reads, and one goroutine
// writes while there is something to write. What waits to be sent is bounded by
// Options.Queue and Options.Bytes; a peer that lets it fill is cut off.
type Conn struct {
	ws    *websocket.Conn
	below *cork // of ws, handled by the writer
	opts  Options
	form  Form
	out   *backlog
	last  atomic.Int64 // when the other end was heard, in nanoseconds of the clock since born
	born  time.Time
	away  atomic.Bool // whoever reads is busy with a frame, so pings are not answered
	gone  atomic.Bool // nothing more is to be heard

	writes atomic.Bool // the writer runs, or has run for the last time
	asks   atomic.Bool // it is to send a ping
	pings  *time.Timer // calls ask

	closing sync.Once
	reason  string
	stop    chan struct{} // closed to end the writer
	ended   chan struct{} // closed by the writer when it has ended
}

var _ Link = (*Conn)(nil)

// Upgrade turns a request into a connection of protocol. On failure it has answered the
// request. The caller has checked the origin already.
func Upgrade(w http.ResponseWriter, r *http.Request, protocol string, opts Options) (*Conn, error) {
	up := websocket.Upgrader{
		HandshakeTimeout: handshakeTimeout,
		WriteBufferSize:  4096,
		WriteBufferPool:  &writeBuffers,
		Subprotocols:     spoken(protocol, opts),
		CheckOrigin:      func(*http.Request) bool { return true },
	}
	below := &corking{ResponseWriter: w}
	ws, err := up.Upgrade(below, r, nil)
	if err != nil {
		return nil, fmt.Errorf("upgrade to %s: %w", protocol, err)
	}
	return newConn(ws, below.cork, protocol, opts), nil
}

// spoken are the names of a protocol's forms, the best one first.
func spoken(protocol string, opts Options) []string {
	if compact := BinaryProtocol(protocol); opts.Compact && compact != "" {
		return []string{compact, protocol}
	}
	return []string{protocol}
}

var writeBuffers sync.Pool

// RedirectError is the answer of a master that does not lead: dial Location.
type RedirectError struct{ Location string }

func (e *RedirectError) Error() string { return "redirected to " + e.Location }

// StatusError is the answer of a server that refuses to upgrade.
type StatusError struct {
	URL    string
	Status int    // of HTTP
	Reason string // what the server said, "" where it did not
}

func (e *StatusError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("dial %s: %s", e.URL, e.Reason)
	}
	return fmt.Sprintf("dial %s: %d %s", e.URL, e.Status, http.StatusText(e.Status))
}

// Dial connects to url (ws or wss). A redirect comes back as *RedirectError,
// any other refusal as *StatusError.
func Dial(ctx context.Context, url, protocol string, header http.Header, conf *tls.Config, opts Options) (*Conn, error) {
	var below *cork
	d := websocket.Dialer{
		NetDialContext:   dialCork(&below, opts.filled().Dial),
		HandshakeTimeout: handshakeTimeout,
		ReadBufferSize:   4096,
		WriteBufferSize:  4096,
		WriteBufferPool:  &writeBuffers,
		Subprotocols:     spoken(protocol, opts),
		TLSClientConfig:  conf,
	}
	ws, resp, err := d.DialContext(ctx, url, header)
	if err != nil {
		if resp != nil && resp.StatusCode == http.StatusTemporaryRedirect {
			at := resp.Header.Get("Location")
			if rest, found := strings.CutPrefix(at, "http"); found {
				at = "ws" + rest // and https becomes wss
			}
			return nil, &RedirectError{Location: at}
		}
		if resp != nil {
			return nil, &StatusError{URL: url, Status: resp.StatusCode, Reason: reasonIn(resp.Body)}
		}
		return nil, fmt.Errorf("dial %s: %w", url, err)
	}
	if !slices.Contains(d.Subprotocols, ws.Subprotocol()) {
		_ = ws.Close()
		return nil, fmt.Errorf("dial %s: who answers does not speak %s", url, protocol)
	}
	return newConn(ws, below, protocol, opts), nil
}

// reasonIn reads the error out of a refusal, of which the library keeps the
// first kilobyte. What is no answer of ours is one line of text or nothing.
func reasonIn(body io.Reader) string {
	text, err := io.ReadAll(body)
	if err != nil {
		return ""
	}
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil {
		return answer.Error.Message
	}
	if line := strings.TrimSpace(string(text)); offers.Printable(line) {
		return line
	}
	return ""
}

func newConn(ws *websocket.Conn, below *cork, protocol string, opts Options) *Conn {
	c := &Conn{ws: ws, below: below, born: time.Now(), opts: opts.filled(), stop: make(chan struct{}), ended: make(chan struct{})}
	if ws.Subprotocol() != protocol && ws.Subprotocol() != "" {
		c.form, c.opts.Binary = Binary, true
	}
	c.out = newBacklog(c.opts)
	ws.SetReadLimit(c.opts.Message)
	_ = ws.SetReadDeadline(time.Now().Add(c.opts.Silence))
	ws.SetPongHandler(func(string) error { c.heard(); return nil })
	answer := ws.PingHandler()
	ws.SetPingHandler(func(data string) error { c.heard(); return answer(data) })
	c.pings = time.AfterFunc(time.Hour, c.ask) // which Reset says exactly
	c.pings.Reset(c.opts.tillPing(time.Now(), 0))
	return c
}

// Heard implements [Link].
func (c *Conn) Heard() time.Time {
	now := time.Now()
	return now.Add(min(c.opts.Silence/heardParts-c.quiet(), 0))
}

// heardParts is into how many parts Silence is divided to say when somebody was
// heard.
const heardParts = 64

// heard notes a sign of life. The deadline is put off now and then, which is
// what takes time.
func (c *Conn) heard() {
	if quiet := c.quiet(); quiet > c.opts.Silence/heardParts {
		c.last.Add(int64(quiet))
		_ = c.ws.SetReadDeadline(time.Now().Add(c.opts.Silence))
	}
}

// quiet returns for how long nothing was heard, or up to a 64th of Silence more.
func (c *Conn) quiet() time.Duration { return time.Since(c.born) - time.Duration(c.last.Load()) }

// Form implements [Link].
func (c *Conn) Form() Form { return c.form }

// Send implements [Link].
func (c *Conn) Send(frame []byte) error {
	if c.stopped() {
		return ErrClosed
	}
	if !c.out.push(frame) {
		c.End("too slow a reader")
		_ = c.ws.UnderlyingConn().Close()
		return ErrSlow
	}
	c.rouse()
	return nil
}

// Receive implements [Link].
func (c *Conn) Receive() ([]byte, error) {
	if c.away.Swap(false) && c.quiet() > c.opts.Silence/heardParts {
		_ = c.ws.SetReadDeadline(time.Now().Add(c.opts.Silence)) // the silence was ours
	}
	frame, err := c.readFrame()
	c.away.Store(true)
	if err != nil {
		if errors.Is(err, websocket.ErrReadLimit) {
			c.drain()
		}
		c.gone.Store(true)
		c.End("the connection broke")
		_ = c.ws.SetReadDeadline(time.Now()) // the writer need not linger
		return nil, fmt.Errorf("receive: %w", err)
	}
	c.heard()
	return frame, nil
}

// readFrame reads a message into as much memory as it needs.
func (c *Conn) readFrame() ([]byte, error) {
	_, in, err := c.ws.NextReader()
	if err != nil {
		return nil, err
	}
	room := frames.Get().(*bytes.Buffer)
	defer frames.Put(room)
	room.Reset()
	if _, err := room.ReadFrom(in); err != nil {
		return nil, err
	}
	frame := bytes.Clone(room.Bytes())
	if room.Cap() > corked { // rare, and too much to keep
		*room = bytes.Buffer{}
	}
	return frame, nil
}

var frames = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// drain reads on for a bounded time after a message over the limit: closing
// with unread bytes would reset the connection, and the peer could lose the
// close frame that says why.
func (c *Conn) drain() {
	_ = c.ws.SetReadDeadline(time.Now().Add(closeTimeout))
	_, _ = io.Copy(io.Discard, c.ws.NetConn())
}

// Close implements [Link].
func (c *Conn) Close(reason string) {
	c.End(reason)
	<-c.ended
}

// End implements [Link].
func (c *Conn) End(reason string) {
	c.closing.Do(func() {
		c.reason = reason
		close(c.stop)
		c.rouse()
	})
}

// ask has the other end pinged if it is quiet.
func (c *Conn) ask() {
	if c.stopped() {
		return
	}
	quiet := c.quiet()
	c.pings.Reset(c.opts.tillPing(time.Now(), quiet))
	if quiet >= c.opts.Ping || c.away.Load() { // else it lives; whether we do it asks itself
		c.asks.Store(true)
		c.rouse()
	}
}

func (c *Conn) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// rouse starts the writer unless it runs. Whoever has something for it puts that
// there before.
func (c *Conn) rouse() {
	if !c.writes.Swap(true) {
		go c.write()
	}
}

// write owns all writing, including pings and the close frame. It returns when
// there is nothing left to write, since most connections are idle. What End finds
// has writeTimeout like all else, a turn of it at least.
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
			good = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout)) == nil
		case c.out.waits():
			good = c.putAll()
		default:
			c.writes.Store(false)
			if !(c.stopped() || c.asks.Load() || c.out.waits()) || c.writes.Swap(true) {
				return
			}
		}
	}
}

// over ends the connection; the writer runs no more.
func (c *Conn) over() {
	c.pings.Stop()
	c.ws.Close()
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
			bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, c.reason[:min(len(c.reason), 120)])
			if c.ws.WriteControl(websocket.CloseMessage, bye, deadline) == nil {
				c.linger()
			}
			return
		}
		if !c.put(frame, deadline) {
			return
		}
	}
}
