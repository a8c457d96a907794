package door

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// calls is a listener in memory.
type calls struct {
	conns chan net.Conn
	over  chan struct{}
}

func (c *calls) Accept() (net.Conn, error) {
	select {
	case conn := <-c.conns:
		return conn, nil
	case <-c.over:
		return nil, net.ErrClosed
	}
}

func (c *calls) Close() error   { close(c.over); return nil }
func (c *calls) Addr() net.Addr { return &net.TCPAddr{} }

// caller is one connection to a server.
type caller struct {
	testing.TB
	net.Conn
	answers *bufio.Reader
}

// called starts a server that is patient, and calls it.
func called(t *testing.T, h http.HandlerFunc) *caller {
	near, far := net.Pipe()
	l := &calls{make(chan net.Conn, 1), make(chan struct{})}
	l.conns <- far
	server := &http.Server{Handler: Patient(h), IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		near.Close()
		server.Close()
		<-served
	})
	return &caller{t, near, bufio.NewReader(near)}
}

func (c *caller) say(text string) {
	c.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.Fatal(err)
	}
}

// answer returns the status and the body of an answer, and when it began to come.
func (c *caller) answer() (status int, body string, at time.Time) {
	c.Helper()
	resp, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		c.Fatal(err)
	}
	at = time.Now()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return resp.StatusCode, string(text), at
}

// ended fails unless the connection is closed by now.
func (c *caller) ended() {
	c.Helper()
	if n, err := c.answers.Read(make([]byte, 1)); err == nil || n > 0 {
		c.Errorf("the connection goes on: %d, %v", n, err)
	}
}

// readAll answers with how much there was, or with what was wrong.
func readAll(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch {
	case errors.Is(err, ErrStill):
		w.WriteHeader(http.StatusRequestTimeout)
	case err != nil:
		w.WriteHeader(http.StatusInternalServerError)
	}
	fmt.Fprintf(w, "%d, %v", len(body), err)
}

const head = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n"

func TestBodyThatStandsStill(t *testing.T) {
	for what, c := range map[string]struct {
		serve  http.HandlerFunc
		begins string
		status int
		body   string
	}{
		"never comes":       {readAll, head, http.StatusRequestTimeout, "0, nothing more of the request's body came for 30s"},
		"comes in part":     {readAll, head + "12345", http.StatusRequestTimeout, "5, nothing more of the request's body came for 30s"},
		"in chunks":         {readAll, strings.Replace(head, "Content-Length: 10", "Transfer-Encoding: chunked", 1), http.StatusRequestTimeout, "0, nothing more of the request's body came for 30s"},
		"nobody reads it":   {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "no") }, head, http.StatusOK, "no"},
		"nor its last part": {func(w http.ResponseWriter, r *http.Request) { r.Body.Read(make([]byte, 2)); fmt.Fprint(w, "no") }, head + "12345", http.StatusOK, "no"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				call, began := called(t, c.serve), time.Now()
				call.say(c.begins)
				status, body, at := call.answer()
				if status != c.status || body != c.body {
					t.Errorf("the answer is %d %q, want %d %q", status, body, c.status, c.body)
				}
				if waited := at.Sub(began); waited != BodyPatience {
					t.Errorf("it comes after %v", waited)
				}
				call.ended()
			})
		})
	}
}

func TestBodyThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := called(t, func(w http.ResponseWriter, r *http.Request) {
			readAll(w, r)
			select { // what is done with it may take longer
			case <-time.After(5 * time.Minute):
			case <-r.Context().Done():
				t.Error("the request was given up:", r.Context().Err())
			}
		})
		for range 3 { // one after the other, on one connection
			call.say(head)
			for range 10 {
				time.Sleep(BodyPatience - time.Second)
				call.say("x")
			}
			if status, body, _ := call.answer(); status != http.StatusOK || body != "10, <nil>" {
				t.Errorf("the answer is %d %q", status, body)
			}
			time.Sleep(time.Minute)
		}
	})
}

// What a handler hands on may be read when it has returned; the connection serves
// somebody else by then.
func TestBodyThatIsReadTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late io.Reader
		call := called(t, func(w http.ResponseWriter, r *http.Request) {
			if late == nil {
				late = r.Body
				readAll(w, r)
				return
			}
			if _, err := late.Read(make([]byte, 1)); err == nil {
				t.Error("there is more of the first request")
			}
			<-time.After(BodyPatience + time.Second)
			if err := r.Context().Err(); err != nil {
				t.Error("the second request was given up:", err)
			}
		})
		call.say(head + "0123456789")
		call.answer()
		call.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if status, _, _ := call.answer(); status != http.StatusOK {
			t.Errorf("the answer is %d", status)
		}
	})
}
