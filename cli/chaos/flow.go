package main

import (
	"bufio"
	"io"
	"net"
	"strings"
)

// flow is one connection through the mesh.
type flow struct {
	mesh           *mesh
	from, to       string
	client, server net.Conn
	http           bool
}

// carry copies both ways until one side ends.
func (f *flow) carry() {
	f.mesh.mu.Lock()
	f.mesh.flows[f] = struct{}{}
	f.mesh.mu.Unlock()
	defer func() {
		f.mesh.mu.Lock()
		delete(f.mesh.flows, f)
		f.mesh.mu.Unlock()
	}()
	answer := bufio.NewReader(f.server)
	back := make(chan struct{})
	go func() {
		defer close(back)
		if !f.http || f.head(answer) {
			f.copy(f.client, answer, link{f.to, f.from})
		}
		f.end()
	}()
	f.copy(f.server, f.client, link{f.from, f.to})
	f.end()
	<-back
}

func (f *flow) end() {
	_ = f.client.Close()
	_ = f.server.Close()
}

// reset makes both sides see a broken connection and not an end.
func (f *flow) reset() {
	for _, c := range []net.Conn{f.client, f.server} {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

// copy hands on what src says. The end of src, too, is not known across a link
// that is cut.
func (f *flow) copy(dst io.Writer, src io.Reader, l link) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if !f.mesh.pass(l) {
			return
		}
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// head hands on the head of the one answer of a websocket's handshake. Where it
// sends the client to another master, it is sent to its own edge there.
func (f *flow) head(src *bufio.Reader) bool {
	var out strings.Builder
	for {
		line, err := src.ReadString('\n')
		if strings.HasPrefix(line, "Location: ") {
			line = f.mesh.translate(f.from, line)
		}
		out.WriteString(line)
		if err != nil || strings.TrimRight(line, "\r\n") == "" || out.Len() > 1<<16 {
			break
		}
	}
	if !f.mesh.pass(link{f.to, f.from}) {
		return false
	}
	_, err := io.WriteString(f.client, out.String())
	return err == nil
}

// translate replaces the masters' own addresses by those of from's edges.
func (m *mesh) translate(from, line string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, address := range m.doors {
		if e := m.edges[link{from, name}]; e != nil {
			line = strings.ReplaceAll(line, "//"+address+"/", "//"+e.listener.Addr().String()+"/")
		}
	}
	return line
}
