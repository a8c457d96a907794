// Package wiretest is what tests of several packages need of connections.
package wiretest

import "net"

// Lobby is a listener to which those come who are put into it. Accept fails when it
// is closed as a channel; Close does nothing.
type Lobby chan net.Conn

// Accept implements [net.Listener].
func (l Lobby) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close implements [net.Listener].
func (Lobby) Close() error { return nil }

// Addr implements [net.Listener].
func (Lobby) Addr() net.Addr { return &net.TCPAddr{} }
