package master

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/wire/wiretest"
)

// callers is a listener to which somebody always comes, until it is closed.
type callers struct {
	net.Listener
	closed bool
}

func (c *callers) Accept() (net.Conn, error) {
	if c.closed {
		return nil, net.ErrClosed
	}
	near, _ := net.Pipe()
	return near, nil
}

// TestFewArriveAtOnce: so many come in at once, the next when one of them has
// made its request, went, or kept it waiting for long enough.
func TestFewArriveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(&callers{})
		begin := time.Now()
		next := func(want time.Duration) net.Conn {
			t.Helper()
			conn, err := a.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(begin); waited != want {
				t.Errorf("it was let in after %v; want %v", waited, want)
			}
			begin = time.Now()
			return conn
		}
		first := next(0)
		for range arriving - 2 {
			next(0)
		}
		last := next(0)
		impatient := next(arrivalWait)
		a.arrived(first, http.StateNew)
		next(arrivalWait)
		a.arrived(impatient, http.StateActive) // has no place
		next(arrivalWait)
		a.arrived(first, http.StateActive)
		a.arrived(first, http.StateHijacked)
		next(0)
		next(arrivalWait)
		a.arrived(tls.Server(last, nil), http.StateClosed)
		next(0)
		time.AfterFunc(arrivalWait/2, func() { <-a.places })
		next(arrivalWait / 2)
	})
}

// TestNobodyArrives: what could not be accepted takes no place.
func TestNobodyArrives(t *testing.T) {
	a := newArrivals(&callers{closed: true})
	for range 2 * arriving {
		if _, err := a.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
	}
	if n := len(a.places); n != 0 {
		t.Errorf("%d places are taken", n)
	}
}

// TestArrivalsMakeRoom: whoever asked, left without a word, or became a
// websocket has no place any more; who says nothing keeps it.
func TestArrivalsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		come := make(wiretest.Lobby)
		a := newArrivals(come)
		server := &http.Server{ConnState: a.arrived, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/taken" {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				t.Cleanup(func() { conn.Close() })
			}
		})}
		served := make(chan error, 1)
		go func() { served <- server.Serve(a) }()
		for i := range 3 * arriving {
			near, far := net.Pipe()
			come <- far
			switch i % 3 {
			case 0:
				near.Close()
			default:
				_, _ = fmt.Fprintf(near, "GET /%s HTTP/1.1\r\nHost: m\r\n\r\n", []string{1: "", 2: "taken"}[i%3])
				if answer, err := http.ReadResponse(bufio.NewReader(near), nil); err != nil || answer.StatusCode >= 300 {
					t.Fatal(answer, err)
				}
				t.Cleanup(func() { near.Close() })
			}
		}
		synctest.Wait()
		const next = 1 // is held for who comes next
		if n := len(a.places); n != next {
			t.Errorf("%d places are taken; want %d", n, next)
		}
		silent, far := net.Pipe()
		come <- far
		synctest.Wait()
		if n := len(a.places); n != next+1 {
			t.Errorf("%d places are taken with one that says nothing; want %d", n, next+1)
		}
		silent.Close()
		close(come)
		server.Close()
		<-served
	})
}
