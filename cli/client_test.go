package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/door"
)

// hosts is a network in memory: who listens where. Whoever is nil is stopped:
// it takes connections and reads nothing.
type hosts map[string]http.Handler

func (h hosts) client(t *testing.T, masters ...string) *client {
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cl := openClient(masters, d)
	cl.http.Transport.(*http.Transport).DialContext = func(_ context.Context, _, at string) (net.Conn, error) {
		handler, there := h[at]
		if !there {
			return nil, errors.New("connection refused")
		}
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		if handler != nil {
			door := make(lobby, 1)
			door <- theirs
			server := &http.Server{Handler: handler}
			go server.Serve(door)
			t.Cleanup(func() { close(door); server.Close() })
		}
		return ours, nil
	}
	return cl
}

// lobby is a listener for connections that are there.
type lobby chan net.Conn

func (l lobby) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (lobby) Close() error   { return nil }
func (lobby) Addr() net.Addr { return &net.TCPAddr{} }

// TestStoppedMasterHoldsNoCommandUp: a command finds the leader although the
// first master is stopped, or the one that the others still take for the
// leader.
func TestStoppedMasterHoldsNoCommandUp(t *testing.T) {
	leads := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("done")) })
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			time.Sleep(10 * time.Second)
		}
		leads(w, r)
	})
	sentTo := func(at string, until time.Duration) http.Handler {
		began := time.Time{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				return
			}
			if began.IsZero() {
				began = time.Now()
			}
			if time.Since(began) >= until {
				leads(w, r)
				return
			}
			http.Redirect(w, r, "http://"+at+r.URL.Path, http.StatusTemporaryRedirect)
		})
	}
	for name, c := range map[string]struct {
		network hosts
		want    time.Duration
	}{
		"the first leads":             {hosts{"a:1": leads, "b:1": nil, "c:1": nil}, 0},
		"the first is stopped":        {hosts{"a:1": nil, "b:1": leads}, probePatience},
		"two are stopped":             {hosts{"a:1": nil, "b:1": nil, "c:1": leads}, 2 * probePatience},
		"the first is gone":           {hosts{"b:1": leads}, 0},
		"the answer takes long":       {hosts{"a:1": slow, "b:1": leads}, 10 * time.Second},
		"the leader has just stopped": {hosts{"a:1": sentTo("b:1", 2*time.Second), "b:1": nil}, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := c.network.client(t, "a:1", "b:1", "c:1")
				defer cl.http.CloseIdleConnections()
				for _, most := range []time.Duration{c.want, c.want} {
					began := time.Now()
					text, err := cl.send(t.Context(), http.MethodPost, "/v1/order", []byte("{}"))
					if err != nil || string(text) != "done" {
						t.Fatalf("%q, %v", text, err)
					}
					if took := time.Since(began); took > most {
						t.Errorf("it took %v, want at most %v", took, most)
					}
				}
			})
		})
	}
}
