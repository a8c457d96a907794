package wire

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
)

// cork is the connection below a websocket. While it is in, what is written
// waits, so that many frames leave by one call of the system; the answer to a
// close, which the reader writes, waits along. Safe for concurrent use, as the
// connection is; one goroutine puts it in and pulls it.
type cork struct {
	net.Conn

	mu    sync.Mutex
	waits *[]byte // nil while it is out: most connections are idle
}

// corked is how many bytes wait at most.
const corked = 32 << 10

var corkBuffers = sync.Pool{New: func() any {
	room := make([]byte, 0, corked)
	return &room
}}

// Write implements [net.Conn].
func (c *cork) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.waits == nil:
		return c.Conn.Write(p)
	case len(*c.waits)+len(p) <= cap(*c.waits):
	default:
		if err := c.flush(); err != nil {
			return 0, err
		}
		if len(p) > corked {
			return c.Conn.Write(p)
		}
	}
	*c.waits = append(*c.waits, p...)
	return len(p), nil
}

func (c *cork) push() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = corkBuffers.Get().(*[]byte)
}

// pull writes what waits.
func (c *cork) pull() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.flush()
	corkBuffers.Put(c.waits)
	c.waits = nil
	return err
}

func (c *cork) flush() error {
	if len(*c.waits) == 0 {
		return nil
	}
	_, err := c.Conn.Write(*c.waits)
	*c.waits = (*c.waits)[:0]
	return err
}

// corking is a response whose connection, once it is taken over, has a cork.
type corking struct {
	http.ResponseWriter
	cork *cork
}

// Hijack implements [http.Hijacker].
func (w *corking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.cork = &cork{Conn: conn}
	return w.cork, rw, nil
}

// dialCork dials below a websocket, and below its TLS.
func dialCork(to **cork, dial Dialer) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		*to = &cork{Conn: conn}
		return *to, nil
	}
}
