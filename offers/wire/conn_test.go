package wire_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func TestDialRedirected(t *testing.T) {
	for location, want := range map[string]string{
		"http://10.0.0.2:5050/v1/framework":  "ws://10.0.0.2:5050/v1/framework",
		"https://10.0.0.2:5050/v1/framework": "wss://10.0.0.2:5050/v1/framework",
		"ws://httpd:5050/v1/framework":       "ws://httpd:5050/v1/framework",
		"wss://m2/v1/framework?from=http":    "wss://m2/v1/framework?from=http",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}))
		_, err := wire.Dial(context.Background(), "ws"+strings.TrimPrefix(server.URL, "http"), protocol, nil, nil, wire.Options{})
		server.Close()
		var redirect *wire.RedirectError
		if !errors.As(err, &redirect) || redirect.Location != want || !strings.Contains(err.Error(), want) {
			t.Errorf("redirected to %s: %v, want %s", location, err, want)
		}
	}
}

func TestDialRefused(t *testing.T) {
	for status, want := range map[int]string{http.StatusServiceUnavailable: "503", http.StatusUnauthorized: "401", http.StatusOK: "200"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		_, err := wire.Dial(context.Background(), "ws"+strings.TrimPrefix(server.URL, "http"), protocol, nil, nil, wire.Options{})
		server.Close()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("status %d: %v", status, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := wire.Dial(ctx, "ws://127.0.0.1:1", protocol, nil, nil, wire.Options{}); err == nil {
		t.Error("dialled with a context that has ended")
	}
}

// TestReasonsAreCutBetweenCharacters: part of one is an error of the protocol to
// the other end, which then does not hear why.
func TestReasonsAreCutBetweenCharacters(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := wire.Upgrade(w, r, protocol, wire.Options{}); err == nil {
			c.Close("a" + strings.Repeat("é", 100))
		}
	}))
	defer server.Close()
	c, err := wire.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), protocol, nil, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close("it was heard")
	_, err = c.Receive()
	if said := new(websocket.CloseError); !errors.As(err, &said) || said.Text != "a"+strings.Repeat("é", 59) {
		t.Error(err)
	}
}

// The header that is given is sent, and both sides speak the protocol.
func TestHandshake(t *testing.T) {
	seen := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization") + " " + r.Header.Get("Sec-WebSocket-Protocol")
		if c, err := wire.Upgrade(w, r, protocol, wire.Options{}); err == nil {
			c.Close("done")
		}
	}))
	defer server.Close()
	url := "ws" + strings.TrimPrefix(server.URL, "http")
	c, err := wire.Dial(context.Background(), url, protocol, http.Header{"Authorization": {"Bearer x"}}, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close("done")
	if got := <-seen; got != "Bearer x "+protocol {
		t.Errorf("the server saw %q", got)
	}
}

// Two ends that have no protocol in common don't go on as if they had.
func TestNoCommonProtocol(t *testing.T) {
	url, accepted := serve(t, wire.Options{})
	if _, err := wire.Dial(context.Background(), url, "ringmaster.v99", nil, nil, wire.Options{}); err == nil || !strings.Contains(err.Error(), "ringmaster.v99") {
		t.Errorf("dialled another protocol: %v", err)
	}
	(<-accepted).Close("done")
	// A bare client, such as a person at a terminal, may leave it out.
	ws, resp, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	ws.Close()
	(<-accepted).Close("done")
	noWriters(t)
}

func TestUpgradeRefuses(t *testing.T) {
	url, _ := serve(t, wire.Options{})
	resp, err := http.Get("http" + strings.TrimPrefix(url, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a plain request is answered with %s", resp.Status)
	}
}

// A message over the limit ends its connection with the close code 1009, which
// the sender must get to see, and nothing else suffers.
func TestTooLarge(t *testing.T) {
	url, accepted := serve(t, wire.Options{})
	other, err := wire.Dial(context.Background(), url, protocol, nil, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close("done")
	otherServer := <-accepted
	defer otherServer.Close("done")
	for range 20 {
		ws, resp, err := websocket.DefaultDialer.Dial(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		server := <-accepted
		received := make(chan error, 1)
		go func() {
			_, err := server.Receive()
			received <- err
		}()
		_ = ws.WriteMessage(websocket.TextMessage, make([]byte, 2*wire.MaxMessage)) // may break off
		if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
			t.Errorf("the sender sees %v, want the close code 1009", err)
		}
		ws.Close()
		if err := <-received; err == nil {
			t.Error("a message over the limit was received")
		}
		server.Close("done")
	}
	mustSend(t, other, "still here")
	wantFrame(t, otherServer, "still here")
}

// Close says why.
func TestCloseReason(t *testing.T) {
	url, accepted := serve(t, wire.Options{})
	ws, resp, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer ws.Close()
	(<-accepted).Close(strings.Repeat("long ", 100))
	_, _, err = ws.ReadMessage()
	var bye *websocket.CloseError
	if !errors.As(err, &bye) || bye.Code != websocket.CloseNormalClosure || !strings.HasPrefix(bye.Text, "long long") {
		t.Errorf("the peer sees %v", err)
	}
}

// A peer that vanishes without a word is noticed.
func TestPeerVanishes(t *testing.T) {
	url, accepted := serve(t, wire.Options{})
	ws, resp, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	server := <-accepted
	ws.NetConn().Close()
	if _, err := server.Receive(); err == nil {
		t.Error("received a frame from nowhere")
	}
	server.Close("done")
	noWriters(t)
}

func BenchmarkEcho(b *testing.B) {
	client, server := connect(b, wire.Options{})
	go func() {
		for {
			frame, err := server.Receive()
			if err != nil || server.Send(frame) != nil {
				return
			}
		}
	}()
	frame := []byte(strings.Repeat("x", 256))
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if err := client.Send(frame); err != nil {
			b.Fatal(err)
		}
		if _, err := client.Receive(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "echo/s")
}
