package frameworktest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Master is a fake master on a real socket. A test plays its part.
type Master struct {
	tb     testing.TB
	server *httptest.Server
	conns  chan *Conn

	mu       sync.Mutex // guards what follows
	redirect string
	status   int
	serve    func(wire.Link)
	open     []*Conn
}

// NewMaster starts a master that ends with the test.
func NewMaster(tb testing.TB) *Master {
	m := &Master{tb: tb, conns: make(chan *Conn, 64)}
	m.server = httptest.NewServer(m)
	tb.Cleanup(m.Stop)
	return m
}

// Address returns its host:port.
func (m *Master) Address() string { return m.server.Listener.Addr().(*net.TCPAddr).String() }

// Redirect makes it answer with 307 to the master at address.
func (m *Master) Redirect(address string) { m.set(func() { m.redirect, m.status = address, 0 }) }

// Refuse makes it answer with that HTTP status.
func (m *Master) Refuse(status int) { m.set(func() { m.redirect, m.status = "", status }) }

// Serve makes it hand every connection to f instead of to [Master.Conn].
func (m *Master) Serve(f func(wire.Link)) { m.set(func() { m.redirect, m.status, m.serve = "", 0, f }) }

func (m *Master) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// Stop closes the socket and every connection.
func (m *Master) Stop() {
	m.mu.Lock()
	open := m.open
	m.open = nil
	m.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
	m.server.Close()
}

// ServeHTTP implements [http.Handler].
func (m *Master) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	redirect, status, serve := m.redirect, m.status, m.serve
	m.mu.Unlock()
	switch {
	case redirect != "":
		http.Redirect(w, r, "http://"+redirect+r.URL.Path, http.StatusTemporaryRedirect)
		return
	case status != 0:
		w.Header().Set("Retry-After", "1")
		http.Error(w, http.StatusText(status), status)
		return
	case !strings.HasPrefix(r.URL.Path, wire.FrameworkPath):
		http.NotFound(w, r)
		return
	}
	conn, err := wire.Upgrade(w, r, wire.FrameworkProtocol, wire.Options{})
	if err != nil {
		return // the request has been answered
	}
	c := Over(m.tb, conn)
	m.mu.Lock()
	m.open = append(m.open, c)
	m.mu.Unlock()
	if serve != nil {
		serve(conn)
		conn.Close("done")
		return
	}
	m.conns <- c
}

// Conn waits for the next connection of a framework.
func (m *Master) Conn() *Conn { return <-m.conns }

// Conn is one framework's connection, seen by the master.
type Conn struct {
	tb   testing.TB
	link wire.Link
}

// Over returns the master's side of any link, such as a wire.Pipe.
func Over(tb testing.TB, link wire.Link) *Conn { return &Conn{tb: tb, link: link} }

// Close ends the connection.
func (c *Conn) Close() { c.link.Close("the fake master closes") }

// Send sends a message; request is echoed when it is not empty.
func (c *Conn) Send(m wire.Message, request string) {
	c.tb.Helper()
	frame, err := wire.Encode(m, request)
	if err != nil {
		c.tb.Fatalf("fake master: %v", err)
	}
	if err := c.link.Send(frame); err != nil {
		c.tb.Fatalf("fake master: send %s: %v", m.Type(), err)
	}
}

// Update sends a status.
func (c *Conn) Update(s offers.Status) { c.tb.Helper(); c.Send(&wire.Update{Status: s}, "") }

// Register expects register and answers it.
func (c *Conn) Register(id offers.FrameworkID, term uint64) wire.FrameworkInfo {
	c.tb.Helper()
	r, request := Expect[*wire.Register](c)
	c.Send(&wire.Registered{FrameworkID: id, Master: wire.MasterInfo{Name: "fake", Term: term}, Heartbeat: offers.Duration(15e9)}, request)
	return r.Framework
}

// Expect returns the next message, which must be of type M, and its request
// id. A test that has to wait in vain ends with the test binary's timeout.
func Expect[M wire.Message](c *Conn) (M, string) {
	c.tb.Helper()
	var none M
	frame, err := c.link.Receive()
	if err != nil {
		c.tb.Fatalf("fake master: waiting for %T: %v", none, err)
	}
	m, env, err := wire.Decode(wire.FromFramework, frame)
	if err != nil {
		c.tb.Fatalf("fake master: %v", err)
	}
	got, ok := m.(M)
	if !ok {
		c.tb.Fatalf("fake master: got %s, want %T", frame, none)
	}
	return got, env.RequestID
}
