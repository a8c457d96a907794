package wire

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
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
	// Term is of the leader at the other end, as it told when it took the
	// connection; 0 where it told none. It does not change.
	Term() uint64
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
	Unsent  *Unsent       // bounds them over many connections; nil: nothing does
	Ping    time.Duration // after so long without a frame, ping or pong one is asked for by a ping; 0 means 5 s, or a third of Silence
	Silence time.Duration // after so long without a piece of a message, ping or pong Receive fails, which counts only while it waits; 0 means 30 s
	Binary  bool          // what is sent is no text
	Compact bool          // messages are written in [Binary] form if the other end would have it so, too
	Dial    Dialer        // how Dial connects; nil: over the network
	Large   Places        // for large frames that are received; nil: any number of them
	Term    uint64        // of the leader who takes the connection, which Upgrade tells; 0: none
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
		o.Dial = overNetwork
	}
	if o.Ping == 0 {
		o.Ping = min(5*time.Second, o.Silence/3)
	}
	return o
}

var overNetwork Dialer = new(net.Dialer).DialContext

const (
	handshakeTimeout = 10 * time.Second
	writeTimeout     = 10 * time.Second
	closeTimeout     = 2 * time.Second
	lingerTimeout    = 100 * time.Millisecond // for the other end to read why

	// readBuffer is what a connection has all its life, most of them idle: enough for
	// a few messages of an agent. What is longer is read past it.
	readBuffer = 1024
)

// termHeader is where the answer to an upgrade has the term of the leader.
const termHeader = "Ringmaster-Term"

// Conn is a websocket connection: whoever calls Receive reads, and one goroutine
// writes while there is something to write. What waits to be sent is bounded by
// Options.Queue, Options.Bytes and Options.Unsent; a peer that lets it fill is cut
// off. What is received is bounded by Options.Large.
type Conn struct {
	ws    *websocket.Conn
	below *cork // of ws, handled by the writer
	opts  Options
	form  Form
	term  uint64
	in    pieces // owned by whoever reads
	out   *backlog
	last  atomic.Int64 // when the other end was heard, in nanoseconds of the clock since born
	born  time.Time
	away  atomic.Bool // whoever reads is busy with a frame, so pings are not answered
	gone  atomic.Bool // nothing more is to be heard
	large atomic.Bool // it has one of opts.Large

	first io.LimitedReader // of the frame that is read; the reader's

	writes atomic.Bool            // the writer runs, or has run for the last time
	asks   atomic.Bool            // it is to send a ping
	asked  atomic.Pointer[string] // it is to answer a ping, which said this
	pings  *time.Timer            // calls ask

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
		ReadBufferSize:   readBuffer,
		WriteBufferSize:  4096,
		WriteBufferPool:  &writeBuffers,
		Subprotocols:     spoken(protocol, opts),
		CheckOrigin:      func(*http.Request) bool { return true },
	}
	told := http.Header{}
	if opts.Term > 0 {
		told.Set(termHeader, strconv.FormatUint(opts.Term, 10))
	}
	below := &corking{ResponseWriter: w}
	ws, err := up.Upgrade(below, r, told)
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
// any other refusal as *StatusError. It is given up as soon as ctx ends, which
// websocket.Dialer does not heed once there is a connection.
func Dial(ctx context.Context, url, protocol string, header http.Header, conf *tls.Config, opts Options) (*Conn, error) {
	var below *cork
	keep := func() bool { return true }
	d := websocket.Dialer{
		NetDialContext: dialCork(&below, func(within context.Context, network, address string) (net.Conn, error) {
			conn, err := opts.filled().Dial(within, network, address)
			if err == nil {
				keep = closeWith(ctx, conn)
			}
			return conn, err
		}),
		HandshakeTimeout: handshakeTimeout,
		ReadBufferSize:   readBuffer,
		WriteBufferSize:  4096,
		WriteBufferPool:  &writeBuffers,
		Subprotocols:     spoken(protocol, opts),
		TLSClientConfig:  conf,
	}
	ws, resp, err := d.DialContext(ctx, url, header)
	if !keep() {
		return nil, fmt.Errorf("dial %s: %w", url, context.Cause(ctx))
	}
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
	c := newConn(ws, below, protocol, opts)
	if term, err := strconv.ParseUint(resp.Header.Get(termHeader), 10, 64); err == nil {
		c.term = term
	}
	return c, nil
}

// closeWith has a connection closed when ctx ends, until keep is called, which reports
// whether it was not.
func closeWith(ctx context.Context, conn net.Conn) (keep func() bool) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = conn.Close()
	})
	return func() bool {
		if stop() {
			return true
		}
		<-closed
		return false
	}
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
	c.in.heard, c.out = c.heard, newBacklog(c.opts)
	ws.SetReadLimit(c.opts.Message)
	_ = ws.SetReadDeadline(time.Now().Add(c.opts.Silence))
	ws.SetPongHandler(func(string) error { c.heard(); return nil })
	ws.SetPingHandler(func(data string) error { c.heard(); c.answer(data); return nil })
	c.pings = time.AfterFunc(time.Hour, c.ask) // which Reset says exactly
	c.pings.Reset(c.opts.tillPing(time.Now(), 0))
	return c
}

// Form implements [Link].
func (c *Conn) Form() Form { return c.form }

// Term implements [Link].
func (c *Conn) Term() uint64 { return c.term }

// Send implements [Link].
func (c *Conn) Send(frame []byte) error {
	if c.stopped() {
		return ErrClosed
	}
	err := c.out.push(frame)
	switch err {
	case nil:
		c.rouse()
	case ErrSlow:
		c.End("too slow a reader")
		_ = c.ws.UnderlyingConn().Close()
	}
	return err
}

// Receive implements [Link].
func (c *Conn) Receive() ([]byte, error) {
	if c.away.Swap(false) && c.quiet() > c.opts.Silence/heardParts {
		_ = c.ws.SetReadDeadline(time.Now().Add(c.opts.Silence)) // the silence was ours
	}
	c.leavePlace()
	frame, err := c.readFrame()
	c.away.Store(true)
	if err != nil {
		c.leavePlace()
		if errors.Is(err, websocket.ErrReadLimit) {
			c.drain()
		}
		c.gone.Store(true)
		c.End(c.whyOver(err))
		_ = c.ws.SetReadDeadline(time.Now()) // the writer need not linger
		return nil, fmt.Errorf("receive: %w", err)
	}
	c.heard()
	return frame, nil
}

// whyOver says to the other end, if that still reads, why it is not read any more.
func (c *Conn) whyOver(err error) string {
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return "nothing was heard for " + c.opts.Silence.String()
	}
	return "the connection broke"
}

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

func (c *Conn) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}
