package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// link is one direction between two parties: what from says to to.
type link struct{ from, to string }

// mesh is the network: every party reaches every master through an edge of
// its own, and every link can be cut or delayed.
type mesh struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	doors   map[string]string      // where masters really listen, by name
	edges   map[link]*edge         // by who dials whom, for HTTP
	cut     map[link]int           // how many faults cut it
	delay   map[link]time.Duration // added to everything
	changed chan struct{}          // closed and replaced at every change of cut
	flows   map[*flow]struct{}     // open connections
	owner   func(port int) string  // which master a local port belongs to
}

func newMesh(owner func(port int) string) *mesh {
	m := &mesh{
		doors: map[string]string{}, edges: map[link]*edge{},
		cut: map[link]int{}, delay: map[link]time.Duration{},
		changed: make(chan struct{}), flows: map[*flow]struct{}{}, owner: owner,
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// close ends every connection and waits.
func (m *mesh) close() {
	m.cancel()
	m.reset(func(link) bool { return true })
	m.running.Wait()
}

// edge is a listener in front of one master. Clients of its HTTP door have one
// each; the masters share one, and are told apart by who owns the port that a
// connection comes from.
type edge struct {
	mesh     *mesh
	from     string // "" for the masters
	to       string
	target   string
	listener net.Listener
	http     bool
}

// open returns the address of a new edge to the master called to, which
// listens at target.
func (m *mesh) open(from, to, target string, http bool) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("edge to %s: %w", to, err)
	}
	e := &edge{mesh: m, from: from, to: to, target: target, listener: l, http: http}
	if http {
		m.mu.Lock()
		m.doors[to], m.edges[link{from, to}] = target, e
		m.mu.Unlock()
	}
	m.running.Go(e.accept)
	context.AfterFunc(m.ctx, func() { l.Close() })
	return l.Addr().String(), nil
}

func (e *edge) accept() {
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			return // only the end of the mesh closes it
		}
		e.mesh.running.Go(func() { e.serve(conn) })
	}
}

// serve carries one connection. It is made only when both directions are open,
// as a handshake needs both.
func (e *edge) serve(client net.Conn) {
	defer client.Close()
	from := e.from
	if from == "" {
		from = e.mesh.owner(client.RemoteAddr().(*net.TCPAddr).Port)
	}
	if from == "" || !e.mesh.pass(link{from, e.to}) || !e.mesh.pass(link{e.to, from}) {
		return
	}
	server, err := net.Dial("tcp", e.target)
	if err != nil {
		return // nobody is there: the client finds its connection closed
	}
	f := &flow{mesh: e.mesh, from: from, to: e.to, client: client, server: server, http: e.http}
	f.carry()
}

// pass waits while a link is cut and for its delay; false when the mesh ends.
func (m *mesh) pass(l link) bool {
	for {
		m.mu.Lock()
		shut, wait, changed := m.cut[l] > 0, m.delay[l], m.changed
		m.mu.Unlock()
		if !shut {
			return m.sleep(wait)
		}
		select {
		case <-changed:
		case <-m.ctx.Done():
			return false
		}
	}
}

func (m *mesh) sleep(d time.Duration) bool {
	if d == 0 {
		return m.ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-m.ctx.Done():
		return false
	}
}

// sever cuts links until the returned function is called. What was on its way
// arrives after that, as resent packets would.
func (m *mesh) sever(links ...link) (heal func()) {
	m.add(links, 1)
	return func() { m.add(links, -1) }
}

func (m *mesh) add(links []link, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range links {
		m.cut[l] += n
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

// slow delays everything on links until the returned function is called.
func (m *mesh) slow(d time.Duration, links ...link) (heal func()) {
	set := func(d time.Duration) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, l := range links {
			m.delay[l] = d
		}
	}
	set(d)
	return func() { set(0) }
}

// reset breaks connections as a reboot of a router would, and returns how many.
func (m *mesh) reset(which func(link) bool) int {
	m.mu.Lock()
	all := slices.Collect(maps.Keys(m.flows))
	m.mu.Unlock()
	n := 0
	for _, f := range all {
		if which(link{f.from, f.to}) {
			f.reset()
			n++
		}
	}
	return n
}

// between returns both directions between each of as and each of bs.
func between(as, bs []string) []link {
	var out []link
	for _, a := range as {
		out = append(append(out, oneWay([]string{a}, bs)...), oneWay(bs, []string{a})...)
	}
	return out
}

// oneWay returns what each of as says to each of bs.
func oneWay(as, bs []string) []link {
	var out []link
	for _, a := range as {
		for _, b := range bs {
			if a != b {
				out = append(out, link{a, b})
			}
		}
	}
	return out
}
