package master

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestConnectionsAreNumberedAsTheyCome: by when they came, and not by when they
// are read; one that served other requests before counts as new.
func TestConnectionsAreNumberedAsTheyCome(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks(r)
		if r.URL.Path == "/upgrade" {
			fmt.Fprint(w, numberOf(r))
		}
	}))
	server.Config.ConnContext = numbered()
	server.Start()
	t.Cleanup(server.Close)
	connect := func() func(path string) string {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		in := bufio.NewReader(conn)
		return func(path string) string {
			t.Helper()
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			answer, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
	}
	used, early, late := connect(), connect(), connect()
	used("/status")
	for _, c := range []struct {
		ask  func(string) string
		want string
	}{{late, "3"}, {early, "2"}, {used, "4"}} {
		if got := c.ask("/upgrade"); got != c.want {
			t.Errorf("number %s, want %s", got, c.want)
		}
	}
}

// TestConnectionWaitsForTheElection: one that comes while nobody leads is
// answered as soon as somebody does, and on a new leader once it has begun.
func TestConnectionWaitsForTheElection(t *testing.T) {
	s := newScene(t, "")
	s.hold, s.leader, s.leads = time.Hour, replica.Member{}, make(chan struct{})
	dial := func() chan error {
		done := make(chan error, 1)
		go func() {
			link, err := wire.Dial(context.Background(), "ws"+strings.TrimPrefix(s.server.URL, "http")+wire.AgentPath, wire.AgentProtocol, nil, nil, wire.Options{})
			if err == nil {
				link.Close("the test is over")
			}
			done <- err
		}()
		return done
	}
	waiting := func(what string, done chan error) {
		t.Helper()
		select {
		case err := <-done:
			t.Fatalf("%s: the connection was answered: %v", what, err)
		case <-time.After(20 * time.Millisecond): // a wrong answer comes within that, most times
		}
	}

	first := dial()
	waiting("nobody leads", first)
	s.elect(replica.Member{ID: "m2@2", Name: "m2", HTTP: "127.0.0.2:5050"})
	var elsewhere *wire.RedirectError
	if err := <-first; !errors.As(err, &elsewhere) || !strings.HasPrefix(elsewhere.Location, "ws://127.0.0.2:5050/") {
		t.Errorf("m2 leads: %v; want a redirect there", err)
	}

	s.elect(replica.Member{})
	second := dial()
	waiting("nobody leads again", second)
	s.elect(self)
	waiting("the leader has not begun", second)
	close(s.leads)
	if err := <-second; err != nil {
		t.Errorf("the leader has begun: %v", err)
	}

	// What an old leadership began counts for nothing.
	s.elect(replica.Member{})
	third := dial()
	waiting("it leads no more", third)
	s.elect(self)
	if err := <-third; err != nil {
		t.Errorf("it leads again: %v", err)
	}
}

func TestConnectionWaitsNoLonger(t *testing.T) {
	s := newScene(t, "")
	s.hold, s.leader = time.Millisecond, replica.Member{}
	_, err := wire.Dial(context.Background(), "ws"+strings.TrimPrefix(s.server.URL, "http")+wire.FrameworkPath, wire.FrameworkProtocol, nil, nil, wire.Options{})
	var status *wire.StatusError
	if !errors.As(err, &status) || status.Status != 503 || !strings.Contains(status.Reason, "no master leads") {
		t.Errorf("%v; want 503", err)
	}
}
