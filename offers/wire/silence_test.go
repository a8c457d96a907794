package wire

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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

// A large message over a slow line takes longer than a silence may, and nothing
// can be said in the middle of it: each piece of it is a sign of life.
func TestSlowMessageIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{Ping: time.Hour, Silence: 12 * time.Second})
		received := make(chan string)
		go func() {
			defer close(received)
			for {
				frame, err := c.Receive()
				if err != nil {
					return
				}
				received <- string(frame)
			}
		}()
		const text = "a message"
		head := []byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0} // the last of a text, masked with zeros
		for _, piece := range append([]string{string(head)}, strings.Split(text, "")...) {
			if _, err := ws.NetConn().Write([]byte(piece)); err != nil {
				t.Fatalf("it was left in the middle of a message: %v", err)
			}
			time.Sleep(10 * time.Second)
		}
		if got := <-received; got != text {
			t.Errorf("received %q, want %q", got, text)
		}
		begin := time.Now()
		if _, err := ws.NetConn().Write(head); err != nil {
			t.Fatal(err)
		}
		go read(ws)
		<-received
		if took := time.Since(begin); took > 12*time.Second {
			t.Errorf("half a message was waited for for %v", took)
		}
		c.Close("done")
		ws.Close()
	})
}

// TestPingsAreCounted: a sign of life is noted when it comes, be it a ping, and
// not much later. Who gives one soon enough is not asked for it, and who gives
// none is asked with time enough to answer.
func TestPingsAreCounted(t *testing.T) {
	const silence, every = 30 * time.Second, 10 * time.Second
	for name, c := range map[string]struct {
		theirs time.Duration // between their pings
		asked  int64         // in just less than a minute; no two of these times are one
	}{"it pings as agents do": {7 * time.Second, 0}, "it pings seldom": {26 * time.Second, 4}, "it never pings": {time.Hour, 5}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, ws := inMemory(t, Options{Ping: every, Silence: silence})
				begin := time.Now()
				var asked, last atomic.Int64 // how often; when it gave the last sign of life, after begin
				ws.SetPingHandler(func(data string) error {
					asked.Add(1)
					last.Store(int64(time.Since(begin)))
					return ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
				})
				go read(ws)
				received := make(chan error, 1)
				go func() {
					_, err := conn.Receive()
					received <- err
				}()
				for time.Since(begin) < time.Minute-time.Second {
					if since := time.Since(begin); since > 0 && since%c.theirs == 0 {
						if err := ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)); err != nil {
							t.Fatal(err)
						}
						last.Store(int64(since))
					}
					synctest.Wait()
					at := time.Duration(last.Load())
					if late := conn.Heard().Sub(begin) - at; late < 0 || late > silence/heardParts {
						t.Fatalf("it was heard at %v; Heard says %v later", at, late)
					}
					if quiet := time.Since(begin) - at; quiet > silence*2/3 {
						t.Fatalf("it was not asked for %v", quiet)
					}
					time.Sleep(100 * time.Millisecond)
				}
				if n := asked.Load(); n != c.asked {
					t.Errorf("it was asked %d times; want %d", n, c.asked)
				}
				conn.Close("done")
				<-received
				ws.Close()
			})
		})
	}
}

// TestPingsGoOutTogether: who waits for the pings of many is woken for those of
// one moment at once. Each end is asked when it has been quiet for Ping, and no
// later than it takes until the next such moment.
func TestPingsGoOutTogether(t *testing.T) {
	const every = 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		for n := range 5 {
			time.Sleep(3 * time.Millisecond)
			c, ws := inMemory(t, Options{Ping: every, Silence: 12 * time.Second})
			last := time.Now()
			ws.SetPingHandler(func(string) error {
				since := time.Since(last)
				if at := time.Since(begin); at%pingSlot != 0 || since < every-c.opts.Silence/heardParts || since > every+pingSlot {
					t.Errorf("connection %d asks at %v, after %v; want a multiple of %v, after %v", n, at, since, pingSlot, every)
				}
				last = time.Now()
				return ws.WriteControl(websocket.PongMessage, nil, time.Now().Add(time.Second))
			})
			go read(ws)
			go func() {
				if _, err := c.Receive(); err == nil {
					t.Error("it received what nobody sent")
				}
			}()
			defer c.Close("done")
		}
		time.Sleep(time.Minute)
	})
}

// TestFramesAreHeard by the other end of a link in memory.
func TestFramesAreHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := Pipe(Options{})
		begin := far.Heard()
		time.Sleep(time.Second)
		if err := near.Send([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := far.Receive(); err != nil || far.Heard().Sub(begin) != time.Second || near.Heard() != begin {
			t.Errorf("%v: the one that was sent to heard at %v, the other at %v", err, far.Heard(), near.Heard())
		}
		near.Close("done")
	})
}

// TestABusyReaderEndsNothing: a peer that was held up, since what it said waits
// for whoever reads, is as alive as before, and is told that we are. It would come
// back otherwise, and make for more to do.
func TestABusyReaderEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silence, every = 30 * time.Second, 10 * time.Second
		c, ws := inMemory(t, Options{Ping: every, Silence: silence})
		var pings atomic.Int64
		ws.SetPingHandler(func(string) error { pings.Add(1); return nil })
		go read(ws)
		go func() {
			for range 4 {
				if err := ws.WriteMessage(websocket.TextMessage, []byte("x")); err != nil {
					return
				}
			}
		}()
		time.Sleep(every - time.Second) // so that it was just heard at each time for a ping
		for n := range 3 {
			if _, err := c.Receive(); err != nil {
				t.Fatalf("frame %d, after %v in which nobody read: %v", n, 2*silence, err)
			}
			asked := pings.Load()
			time.Sleep(2 * silence)
			synctest.Wait()
			if asked = pings.Load() - asked; asked != int64(2*silence/(every+pingSlot)) {
				t.Errorf("it was sent %d pings in %v; want one every %v", asked, 2*silence, every+pingSlot)
			}
		}
		c.Close("done")
		ws.Close()
	})
}

func TestSilenceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws := inMemory(t, Options{Ping: 5 * time.Second, Silence: 12 * time.Second})
		ws.SetPingHandler(func(string) error { return nil }) // takes pings, never answers
		told := make(chan error, 1)
		go func() {
			_, _, err := ws.ReadMessage()
			told <- err
		}()
		start := time.Now()
		_, err := c.Receive()
		if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) != 12*time.Second {
			t.Errorf("Receive returned after %v: %v", time.Since(start), err)
		}
		if err := c.Send([]byte("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("send after silence: %v", err)
		}
		if closed := (*websocket.CloseError)(nil); !errors.As(<-told, &closed) || closed.Text != "nothing was heard for 12s" {
			t.Errorf("it was told %v", closed)
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
