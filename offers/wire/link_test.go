package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/wire"
	"github.com/ringmaster-project/ringmaster/offers/wire/wiretest"
)

const protocol = wire.FrameworkProtocol

// serve starts a server that hands every upgraded connection to accepted.
func serve(t testing.TB, opts wire.Options) (url string, accepted <-chan *wire.Conn) {
	t.Helper()
	conns := make(chan *wire.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := wire.Upgrade(w, r, protocol, opts); err == nil {
			conns <- c
		}
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http"), conns
}

func connect(t testing.TB, opts wire.Options) (client, server wire.Link) {
	t.Helper()
	url, accepted := serve(t, opts)
	c, err := wire.Dial(context.Background(), url, protocol, nil, nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	s := <-accepted
	t.Cleanup(func() {
		c.Close("the test ends")
		s.Close("the test ends")
		noWriters(t)
	})
	return c, s
}

// noWriters checks that no goroutine of a connection outlives its Close. The
// last instructions of a goroutine come after what Close waits for, hence the
// patience.
func noWriters(t testing.TB) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		all := string(stacks[:runtime.Stack(stacks, true)])
		n := strings.Count(all, "wire.(*Conn).write(")
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d writers are left after Close:\n%s", n, all)
		}
	}
}

// The contract of Link, held by both implementations.
func TestLinks(t *testing.T) {
	for name, makeLinks := range map[string]func(testing.TB, wire.Options) (a, b wire.Link){
		"conn": connect,
		"conn from the server": func(t testing.TB, opts wire.Options) (a, b wire.Link) {
			b, a = connect(t, opts)
			return a, b
		},
		"pipe": func(_ testing.TB, opts wire.Options) (a, b wire.Link) { return wire.Pipe(opts) },
	} {
		for what, check := range map[string]func(testing.TB, wire.Link, wire.Link){
			"order": keepsOrder, "close flushes": closeFlushes, "close ends": closeEnds, "concurrent": sendsConcurrently,
			"both ways": carriesBothWays, "close while receiving": closesWhileReceiving, "close beside send": closesBesideSend,
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				a, b := makeLinks(t, wire.Options{})
				check(t, a, b)
			})
		}
		t.Run(name+"/slow reader", func(t *testing.T) {
			a, b := makeLinks(t, wire.Options{Queue: 4})
			cutsSlowReader(t, a, b)
		})
		t.Run(name+"/few large frames", func(t *testing.T) {
			a, b := makeLinks(t, wire.Options{Bytes: 64 << 10})
			boundsBytes(t, a, b)
		})
		t.Run(name+"/burst", func(t *testing.T) {
			a, b := makeLinks(t, wire.Options{})
			takesBurst(t, a, b)
		})
	}
}

// TestEnds in virtual time: what waits to be sent has a bounded time after End,
// which a reader that gets no processor would use up.
func TestEnds(t *testing.T) {
	for name, makeLinks := range map[string]func(testing.TB) (a, b wire.Link){
		"conn": connectInMemory,
		"conn from the server": func(t testing.TB) (a, b wire.Link) {
			b, a = connectInMemory(t)
			return a, b
		},
		"pipe": func(testing.TB) (a, b wire.Link) { return wire.Pipe(wire.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := makeLinks(t)
				endsWithoutWaiting(t, a, b)
			})
		})
	}
}

// connectInMemory is connect without a network, for a bubble.
func connectInMemory(t testing.TB) (client, server wire.Link) {
	t.Helper()
	here, there := net.Pipe()
	arrivals, accepted := make(wiretest.Lobby, 1), make(chan *wire.Conn, 1)
	arrivals <- there
	host := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := wire.Upgrade(w, r, protocol, wire.Options{}); err == nil {
			accepted <- c
		}
	})}
	go func() { _ = host.Serve(arrivals) }()
	c, err := wire.Dial(t.Context(), "ws://memory/", protocol, nil, nil, wire.Options{
		Dial: func(context.Context, string, string) (net.Conn, error) { return here, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := <-accepted
	t.Cleanup(func() {
		c.Close("the test ends")
		s.Close("the test ends")
		close(arrivals)
		host.Close()
	})
	return c, s
}

// TestNobodyWritesWithoutAReason: a connection that is idle, as most are, has no
// writer, and what is sent then is written all the same.
func TestNobodyWritesWithoutAReason(t *testing.T) {
	a, b := connect(t, wire.Options{})
	for n := range 3 {
		noWriters(t)
		mustSend(t, a, fmt.Sprint(n))
		wantFrame(t, b, fmt.Sprint(n))
	}
}

func mustSend(t testing.TB, l wire.Link, frame string) {
	t.Helper()
	if err := l.Send([]byte(frame)); err != nil {
		t.Fatalf("send %.20s: %v", frame, err)
	}
}

func wantFrame(t testing.TB, l wire.Link, want string) {
	t.Helper()
	if got, err := l.Receive(); err != nil || string(got) != want {
		t.Fatalf("received %.40q, %v; want %.40q", got, err, want)
	}
}

func keepsOrder(t testing.TB, a, b wire.Link) {
	for i := range 1000 {
		mustSend(t, a, fmt.Sprint(i))
	}
	for i := range 1000 {
		wantFrame(t, b, fmt.Sprint(i))
	}
}

func carriesBothWays(t testing.TB, a, b wire.Link) {
	for _, size := range []int{0, 1, 125, 126, 65535, 65536, wire.MaxMessage} {
		frame := strings.Repeat("x", size)
		mustSend(t, a, frame)
		wantFrame(t, b, frame)
		mustSend(t, b, frame)
		wantFrame(t, a, frame)
	}
}

// What was sent before Close arrives; then the other end learns of it.
func closeFlushes(t testing.TB, a, b wire.Link) {
	for i := range 100 {
		mustSend(t, a, fmt.Sprint(i))
	}
	received := make(chan error)
	go func() {
		for i := range 100 {
			if got, err := b.Receive(); err != nil || string(got) != fmt.Sprint(i) {
				received <- fmt.Errorf("frame %d is %q: %w", i, got, err)
				return
			}
		}
		if frame, err := b.Receive(); err == nil {
			received <- fmt.Errorf("received %q after the end", frame)
			return
		}
		received <- nil
	}()
	a.Close("done")
	if err := <-received; err != nil {
		t.Fatal(err)
	}
}

func closeEnds(t testing.TB, a, b wire.Link) {
	a.Close("done")
	a.Close("again")
	if err := a.Send([]byte("x")); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("send after Close: %v", err)
	}
	if frame, err := a.Receive(); err == nil {
		t.Errorf("received %q after Close", frame)
	}
	if frame, err := b.Receive(); err == nil {
		t.Errorf("the other end received %q", frame)
	}
	if err := b.Send([]byte("x")); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("send at the other end, which saw the end: %v", err)
	}
	b.Close("done")
}

// End doesn't wait for a peer that reads nothing; what was sent before it
// arrives all the same, as with Close, which finds nothing left to do.
func endsWithoutWaiting(t testing.TB, a, b wire.Link) {
	frame := strings.Repeat("x", 1<<20)
	for range 16 { // more than a connection takes from a writer nobody reads from
		mustSend(t, a, frame)
	}
	a.End("done")
	a.End("again")
	if err := a.Send([]byte("x")); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("send after End: %v", err)
	}
	for range 16 {
		wantFrame(t, b, frame)
	}
	if got, err := b.Receive(); err == nil {
		t.Errorf("received %.20q after the end", got)
	}
	a.Close("done")
}

// A peer that reads nothing is cut off by the bytes that wait for it, long
// before the number of frames would do it.
func boundsBytes(t testing.TB, a, b wire.Link) {
	frame := make([]byte, 32<<10)
	sent := 0
	for ; a.Send(frame) == nil; sent++ {
		if sent == 10_000 { // far more than the kernel holds
			t.Fatal("320 MiB wait for a peer that reads nothing")
		}
	}
	if sent == 0 {
		t.Error("not even one frame was taken")
	}
	b.Close("done")
	a.Close("done")
}

// The answer to a large reconcile comes in one go, and who reads it is not
// slow.
func takesBurst(t testing.TB, a, b wire.Link) {
	const burst = 100_000
	frame := []byte(strings.Repeat("x", 200))
	for i := range burst {
		if err := a.Send(frame); err != nil {
			t.Fatalf("frame %d of a burst: %v", i, err)
		}
	}
	for range burst {
		if _, err := b.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	a.Close("done")
	b.Close("done")
}

func sendsConcurrently(t testing.TB, a, b wire.Link) {
	const senders, each = 8, 200
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			for i := range each {
				if err := a.Send(fmt.Appendf(nil, "%d %d", s, i)); err != nil {
					t.Errorf("sender %d: %v", s, err)
				}
			}
		})
	}
	var next [senders]int
	for range senders * each {
		frame, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		var s, i int
		if _, err := fmt.Sscan(string(frame), &s, &i); err != nil || i != next[s] {
			t.Fatalf("received %q, want frame %d of that sender (%v)", frame, next[s], err)
		}
		next[s]++
	}
	all.Wait()
}

func closesWhileReceiving(t testing.TB, a, b wire.Link) {
	ended := make(chan error, 2)
	for _, l := range []wire.Link{a, b} {
		go func() {
			_, err := l.Receive()
			ended <- err
		}()
	}
	a.Close("done")
	for range 2 {
		if <-ended == nil {
			t.Error("Receive returned a frame that nobody sent")
		}
	}
}

func closesBesideSend(t testing.TB, a, b wire.Link) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for a.Send([]byte("x")) == nil {
			}
		})
	}
	all.Go(func() {
		for {
			if _, err := b.Receive(); err != nil {
				return
			}
		}
	})
	runtime.Gosched() // so that Close meets senders in full flight
	a.Close("done")
	all.Wait()
}

// A reader that does not read fills the bounded queue and is cut off; the
// sender is never blocked.
func cutsSlowReader(t testing.TB, a, b wire.Link) {
	frame := make([]byte, 1<<20)
	var err error
	sent := 0
	for err == nil && sent < 10_000 {
		err = a.Send(frame)
		sent++
	}
	if !errors.Is(err, wire.ErrSlow) {
		t.Fatalf("after %d frames: %v, want ErrSlow", sent, err)
	}
	if err := a.Send(frame); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("send after the cut: %v", err)
	}
	for err = nil; err == nil; {
		_, err = b.Receive()
	}
	a.Close("done")
	b.Close("done")
}
