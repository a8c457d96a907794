package health_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/health"
	"github.com/ringmaster-project/ringmaster/offers"
)

func portOf(address net.Addr) int { return address.(*net.TCPAddr).Port }

func TestHTTP(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/", "/well":
		case "/moved":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		case "/slow":
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	})
	web, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer web.Close()
	defer secure.Close()
	for _, row := range []struct {
		server *httptest.Server
		ping   offers.HTTPPing
		words  string
	}{
		{web, offers.HTTPPing{}, ""}, {web, offers.HTTPPing{Path: "/well?x=y"}, ""}, {web, offers.HTTPPing{Path: "/moved"}, ""},
		{secure, offers.HTTPPing{Scheme: "https", Path: "/well"}, ""},
		{web, offers.HTTPPing{Path: "/absent"}, "404"}, {web, offers.HTTPPing{Path: "/slow"}, "it took too long"},
		{web, offers.HTTPPing{Scheme: "https"}, "HTTP"}, {web, offers.HTTPPing{Port: 1}, "refused"},
	} {
		ctx, cancel := context.WithTimeoutCause(context.Background(), 200*time.Millisecond, errors.New("it took too long"))
		err := health.HTTP(ctx, &row.ping, portOf(row.server.Listener.Addr()))
		cancel()
		if (err == nil) != (row.words == "") || err != nil && (!strings.Contains(err.Error(), row.words) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%+v: %v, want %q", row.ping, err, row.words)
		}
	}
}

func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := portOf(l.Addr())
	if err := health.TCP(context.Background(), &offers.TCPPing{}, port); err != nil {
		t.Error(err)
	}
	if err := health.TCP(context.Background(), &offers.TCPPing{Port: port}, 1); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := health.TCP(context.Background(), &offers.TCPPing{Port: port}, 1); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}
