package wire

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// hijacked is a response writer whose connection is in memory, so that the
// handshake and all timers run in a bubble of virtual time.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// inMemory returns a Conn whose peer is a raw websocket.
func inMemory(t *testing.T, opts Options) (*Conn, *websocket.Conn) {
	t.Helper()
	here, there := net.Pipe()
	conns := make(chan *Conn)
	go func() {
		req, err := http.ReadRequest(bufio.NewReader(here))
		if err != nil {
			t.Error(err)
		}
		c, err := Upgrade(hijacked{conn: here}, req, FrameworkProtocol, opts)
		if err != nil {
			t.Error(err)
		}
		conns <- c
	}()
	d := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return there, nil }, Subprotocols: []string{FrameworkProtocol}}
	ws, _, err := d.Dial("ws://memory/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return <-conns, ws
}

// read reads and answers pings until the end.
func read(ws *websocket.Conn) {
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			return
		}
	}
}

func TestPingKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{Ping: 5 * time.Second, Silence: 12 * time.Second})
		go read(ws)
		received := make(chan error, 1)
		go func() {
			_, err := c.Receive()
			received <- err
		}()
		time.Sleep(time.Hour)
		select {
		case err := <-received:
			t.Errorf("Receive returned after an hour of pongs: %v", err)
		default:
		}
		c.Close("done")
		<-received
		ws.Close()
	})
}

// A peer that pings is alive, too, even if it never answers.
func TestPeersPingKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{Ping: time.Hour, Silence: 12 * time.Second})
		go read(ws)
		received := make(chan error, 1)
		go func() {
			_, err := c.Receive()
			received <- err
		}()
		for range 100 {
			if err := ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		select {
		case err := <-received:
			t.Errorf("Receive returned: %v", err)
		default:
		}
		c.Close("done")
		<-received
		ws.Close()
	})
}

func TestSilenceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{Ping: 5 * time.Second, Silence: 12 * time.Second})
		ws.SetPingHandler(func(string) error { return nil }) // takes pings, never answers
		go read(ws)
		start := time.Now()
		_, err := c.Receive()
		if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) != 12*time.Second {
			t.Errorf("Receive returned after %v: %v", time.Since(start), err)
		}
		if err := c.Send([]byte("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("send after silence: %v", err)
		}
		c.Close("done")
		ws.Close()
	})
}

// Close takes a bounded time however much is queued and however slowly the
// peer reads.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{})
		for range 100 {
			if err := c.Send([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		var reader sync.WaitGroup
		reader.Go(func() {
			for {
				time.Sleep(closeTimeout * 3 / 4) // never slow enough for one frame to time out
				if _, _, err := ws.ReadMessage(); err != nil {
					return
				}
			}
		})
		start := time.Now()
		c.Close("done")
		if took := time.Since(start); took > writeTimeout+2*closeTimeout {
			t.Errorf("Close took %v", took)
		}
		ws.Close()
		reader.Wait()
	})
}

// Pings are for a silent peer: one that was just heard is not asked. Each end
// asks for itself, so neither relies on what the other leaves out.
func TestNoPingToWhoWasJustHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{Ping: 5 * time.Second, Silence: 12 * time.Second})
		pings := 0
		ws.SetPingHandler(func(string) error { pings++; return nil })
		go read(ws)
		received := make(chan struct{})
		go func() {
			defer close(received)
			for {
				if _, err := c.Receive(); err != nil {
					return
				}
			}
		}()
		time.Sleep(4 * time.Second)
		for range 100 { // a second before each time for a ping
			if err := ws.WriteMessage(websocket.TextMessage, []byte("x")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		synctest.Wait()
		if pings > 0 {
			t.Errorf("%d pings to a peer that was heard a second before", pings)
		}
		c.Close("done")
		<-received
		ws.Close()
	})
}

// A connection that has said why it ends takes, for a moment, what the other end
// had under way: it would be reset otherwise, and why it ended could be lost.
func TestLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{})
		c.End("enough")
		_, _, err := ws.ReadMessage()
		if closed := (*websocket.CloseError)(nil); !errors.As(err, &closed) || closed.Text != "enough" {
			t.Fatalf("the end came as %v", err)
		}
		for range 3 {
			if _, err := ws.NetConn().Write(make([]byte, 10_000)); err != nil {
				t.Errorf("what was under way: %v", err)
			}
		}
		start := time.Now()
		c.Close("again") // the other end stays silent
		if took := time.Since(start); took != lingerTimeout {
			t.Errorf("it lingered for %v", took)
		}
		ws.Close()
	})
}
