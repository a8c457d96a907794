package master

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// When ten thousand agents come back at once their connections must not all be
// ready to run together: the loop, which the scheduler interrupts in the middle
// of a turn, would wait behind every one of them, for a second. So few
// connections are let in of which the request has not come; who came before
// makes way for the next by the work that its request takes. One that says
// nothing, or is far away, holds the others up for a moment only.
const (
	arriving    = 16
	arrivalWait = time.Millisecond
)

// arrivals lets connections in. Its arrived is the server's ConnState.
type arrivals struct {
	net.Listener
	places chan struct{} // as many as are taken
}

func newArrivals(l net.Listener) *arrivals { return &arrivals{l, make(chan struct{}, arriving)} }

// arrival is a connection that was let in.
type arrival struct {
	net.Conn
	place atomic.Bool // it has one
}

// Accept implements [net.Listener].
func (a *arrivals) Accept() (net.Conn, error) {
	placed := a.enter()
	conn, err := a.Listener.Accept()
	if err != nil {
		if placed {
			<-a.places
		}
		return nil, err
	}
	let := &arrival{Conn: conn}
	let.place.Store(placed)
	return let, nil
}

// enter waits for a place, but not for long, and reports whether it has one.
func (a *arrivals) enter() bool {
	select {
	case a.places <- struct{}{}:
		return true
	default:
	}
	patience := time.NewTimer(arrivalWait)
	defer patience.Stop()
	select {
	case a.places <- struct{}{}:
		return true
	case <-patience.C:
		return false
	}
}

// arrived makes room once the request of a connection has come, or its end.
func (a *arrivals) arrived(conn net.Conn, state http.ConnState) {
	if state == http.StateNew {
		return
	}
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if let, ok := conn.(*arrival); ok && let.place.CompareAndSwap(true, false) {
		<-a.places
	}
}
