package master

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// BenchmarkReconnect reports what it takes a durable master that is started
// again until 10,000 agents with two tasks each are registered that all try to
// connect at once, and how long its longest turns take: the longest of all, and
// the one that one in a hundred is longer than. The agents' side costs next to
// nothing: they are bytes that are ready to be read.
//
//	make bench BENCH=Reconnect BENCHTIME=5x PACKAGES=./master
func BenchmarkReconnect(b *testing.B) {
	const agents, tasks = 10_000, 20_000
	c, known := loadedFolder(b, agents, tasks)
	frames := make([][]byte, len(known))
	for i, a := range known {
		frames[i] = registration(b, a)
	}
	var longest, near, all, processor time.Duration
	for b.Loop() {
		m, err := Open(c)
		if err != nil {
			b.Fatal(err)
		}
		turns := &lengths{Histogram: m.loop.meters.turns}
		m.loop.meters.turns = turns
		crowd := &crowd{Listener: m.listener, frames: frames, done: make(chan struct{}), closed: make(chan struct{})}
		m.listener = crowd
		ctx, end := context.WithCancel(b.Context())
		done := make(chan error, 1)
		began, before := time.Now(), processorTime(b)
		go func() { done <- m.Run(ctx) }()
		select {
		case <-crowd.done:
		case err := <-done:
			b.Fatal("it ended: ", err)
		}
		all, processor = all+time.Since(began), processor+processorTime(b)-before
		end()
		if err := <-done; err != nil && !errors.Is(err, http.ErrServerClosed) {
			b.Fatal(err)
		}
		of := turns.seen
		slices.Sort(of)
		longest, near = longest+of[len(of)-1], near+of[len(of)*99/100]
	}
	mean := func(sum time.Duration) float64 { return sum.Seconds() / float64(b.N) }
	b.ReportMetric(1000*mean(longest), "ms/turn-max")
	b.ReportMetric(1000*mean(near), "ms/turn-p99")
	b.ReportMetric(mean(all), "s/registered")
	b.ReportMetric(mean(processor), "s/processor")
}

// lengths are the turns of a loop, which owns them while it runs.
type lengths struct {
	prometheus.Histogram
	seen []time.Duration
}

func (l *lengths) Observe(seconds float64) {
	l.seen = append(l.seen, time.Duration(seconds*float64(time.Second)))
	l.Histogram.Observe(seconds)
}

// crowd is a listener to which all agents come at once, by connections in
// memory.
type crowd struct {
	net.Listener // of which it has the address
	frames       [][]byte
	came         int
	registered   atomic.Int64
	done         chan struct{} // closed when all are registered
	closed       chan struct{}
	once         sync.Once
}

func (c *crowd) Accept() (net.Conn, error) {
	if c.came == len(c.frames) {
		<-c.closed
		return nil, net.ErrClosed
	}
	a := &ghost{crowd: c, frame: c.frames[c.came], text: []byte(handshake)}
	a.news.L = &a.mu
	c.came++
	return a, nil
}

func (c *crowd) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// registration is the frame in which an agent registers that runs its tasks.
func registration(b *testing.B, m *wire.RegisterAgent) []byte {
	b.Helper()
	said, err := wire.Binary.Encode(m, "")
	if err != nil {
		b.Fatal(err)
	}
	frame := binary.BigEndian.AppendUint16([]byte{0x80 | 2, 0x80 | 126}, uint16(len(said))) // the last of a binary message, masked, and its length
	return append(append(frame, 0, 0, 0, 0), said...)                                       // behind the mask
}

var handshake = "GET " + wire.AgentPath + " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
	"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + wire.BinaryProtocol(wire.AgentProtocol) + "\r\n\r\n"

// ghost is the connection of an agent that says what it has to say, and hears
// that it was heard.
type ghost struct {
	net.Conn // nil
	crowd    *crowd
	frame    []byte // to say once it is let in; nil: it has
	answered bool

	mu    sync.Mutex
	news  sync.Cond
	text  []byte // to be read
	late  bool   // the deadline is over
	ended bool
}

func (g *ghost) Read(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.text) == 0 {
		switch {
		case g.ended:
			return 0, net.ErrClosed
		case g.late:
			return 0, os.ErrDeadlineExceeded
		}
		g.news.Wait()
	}
	n := copy(p, g.text)
	g.text = g.text[n:]
	return n, nil
}

func (g *ghost) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.frame != nil && bytes.HasPrefix(p, []byte("HTTP/1.1 101")):
		g.text, g.frame = g.frame, nil
		g.news.Broadcast()
	case g.frame != nil: // it is sent away, and would come again
		g.text = []byte(handshake)
	case !g.answered:
		g.answered = true
		if g.crowd.registered.Add(1) == int64(len(g.crowd.frames)) {
			close(g.crowd.done)
		}
	}
	return len(p), nil
}

func (g *ghost) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.news.Broadcast()
	return nil
}

func (g *ghost) SetDeadline(t time.Time) error { return g.SetReadDeadline(t) }
func (g *ghost) SetReadDeadline(t time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.late = !t.IsZero() && time.Until(t) <= 0; g.late {
		g.news.Broadcast()
	}
	return nil
}
func (g *ghost) SetWriteDeadline(time.Time) error { return nil }
func (g *ghost) LocalAddr() net.Addr              { return g.crowd.Addr() }
func (g *ghost) RemoteAddr() net.Addr             { return g.crowd.Addr() }
