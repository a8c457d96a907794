package replica

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

const (
	handshakeLimit = 10 * time.Second // for TLS, hello and, on a peer call, the call
	maxHandshakes  = 256              // at a time; a connection over it is closed
)

// port is the one listener that other masters reach. What comes in proves
// itself with a hello and becomes a stream for Raft or one peer call; hostile
// bytes cost only their own connection.
type port struct {
	listener   net.Listener
	advertised string
	self       string // id of this master
	door       *door.Door
	server     *tls.Config // nil for plain TCP
	client     *tls.Config
	logger     hclog.Logger

	// idAt returns the id of the master that the cluster knows at an address,
	// answer serves peer calls; both are set before serve.
	idAt   func(address string) string
	answer func(context.Context, request) response

	streams chan net.Conn // for Raft; unbuffered, a waiting stream ends with the port
	lost    chan struct{} // holds a token when such a stream has ended
	closed  chan struct{} // closed by Raft when it wants no more of them
	closing sync.Once
	slots   chan struct{} // bounds handshakes
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]struct{} // every accepted connection that is not closed
}

var _ raft.StreamLayer = (*port)(nil)

// ErrListen says that the address of Config.Listen can't be listened on.
var ErrListen = errors.New("raft")

func openPort(c Config, self string) (*port, error) {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrListen, err)
	}
	advertised, err := Advertised(listener.Addr(), c.Advertise)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("raft: %w", err)
	}
	p := &port{
		listener: listener, advertised: advertised, self: self, door: c.Door, logger: c.Logger,
		server: c.Door.ServerTLS(), client: c.Door.ClientTLS(),
		streams: make(chan net.Conn), lost: make(chan struct{}, 1), closed: make(chan struct{}), slots: make(chan struct{}, maxHandshakes),
		open: map[net.Conn]struct{}{},
	}
	if p.server != nil && p.server.ClientCAs != nil {
		p.server.ClientAuth = tls.RequireAndVerifyClientCert
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// serve accepts connections until Close.
func (p *port) serve() {
	p.running.Go(func() {
		for {
			conn, err := p.listener.Accept()
			if err != nil {
				if p.ctx.Err() != nil {
					return
				}
				p.logger.Warn("can't accept a connection of another master", "error", err)
				select {
				case <-p.ctx.Done():
				case <-time.After(100 * time.Millisecond): // out of descriptors, most likely
				}
				continue
			}
			select {
			case p.slots <- struct{}{}:
				p.running.Go(func() { p.receive(p.track(conn)) })
			default:
				conn.Close()
			}
		}
	})
}

// receive owns a new connection until it is Raft's or has ended.
func (p *port) receive(conn net.Conn) {
	defer func() { <-p.slots }()
	_ = conn.SetDeadline(time.Now().Add(handshakeLimit))
	said, err := p.admit(conn)
	if err != nil {
		p.logger.Debug("connection on the masters' port refused", "from", conn.RemoteAddr(), "error", err)
		conn.Close()
		return
	}
	if said.Purpose == purposeCall {
		p.serveCall(conn)
		conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	conn.(*trackedConn).stream = true
	select {
	case p.streams <- conn:
	case <-p.ctx.Done():
		conn.Close()
	}
}

// admit reads the hello, lets the door decide and answers.
func (p *port) admit(conn net.Conn) (hello, error) {
	if secure, ok := conn.(*trackedConn).Conn.(*tls.Conn); ok {
		if err := secure.HandshakeContext(p.ctx); err != nil {
			return hello{}, err
		}
	}
	said, err := readHello(conn)
	if err != nil {
		return hello{}, err
	}
	err = p.door.Admit(p.door.Bearer(said.Token), door.Peer, "")
	if err == nil && said.To != p.self && (said.To != "" || said.Purpose == purposeRaft) {
		err = fmt.Errorf("this is the master %s, not %.80s", p.self, said.To)
	}
	if err != nil {
		_ = writeRefusal(conn, err.Error())
		return hello{}, err
	}
	return said, writeWelcome(conn)
}

// Accept implements [raft.StreamLayer].
func (p *port) Accept() (net.Conn, error) {
	select {
	case conn := <-p.streams:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements [raft.StreamLayer] with the advertised address, which is
// what Raft tells others.
func (p *port) Addr() net.Addr { return advertisedAddr(p.advertised) }

type advertisedAddr string

func (advertisedAddr) Network() string  { return "tcp" }
func (a advertisedAddr) String() string { return string(a) }

// Dial implements [raft.StreamLayer]. It reaches only the master that the
// cluster knows at that address.
func (p *port) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	to := p.idAt(string(address))
	if to == "" {
		return nil, fmt.Errorf("dial %s: no master of this cluster is there", address)
	}
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	return p.dial(ctx, string(address), hello{Purpose: purposeRaft, To: to})
}

// dial connects and says hello; ctx bounds both.
func (p *port) dial(ctx context.Context, address string, h hello) (net.Conn, error) {
	var conn net.Conn
	var err error
	if p.client != nil {
		conn, err = (&tls.Dialer{Config: p.client}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("dial the master at %s: %w", address, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	h.Token = p.door.Token()
	if err = h.write(conn); err == nil {
		err = readAnswer(conn)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("greet the master at %s: %w", address, err)
	}
	return conn, nil
}

// Close implements [raft.StreamLayer].
func (p *port) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return p.stop()
}

// stop ends the listener and every connection it accepted, and waits for the
// port's goroutines. Further calls do nothing.
func (p *port) stop() error {
	p.cancel()
	err := p.listener.Close()
	p.mu.Lock()
	for conn := range p.open {
		_ = conn.(*trackedConn).Conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// trackedConn leaves the port's books when it is closed.
type trackedConn struct {
	net.Conn
	port   *port
	stream bool // it is Raft's
}

func (p *port) track(conn net.Conn) net.Conn {
	if p.server != nil {
		conn = tls.Server(conn, p.server)
	}
	t := &trackedConn{Conn: conn, port: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[t] = struct{}{}
	if p.ctx.Err() != nil {
		_ = conn.Close() // Close may have passed the books already
	}
	return t
}

func (t *trackedConn) Close() error {
	t.port.mu.Lock()
	delete(t.port.open, t)
	t.port.mu.Unlock()
	if t.stream {
		select {
		case t.port.lost <- struct{}{}:
		default:
		}
	}
	return t.Conn.Close()
}
