package wire

import "sync"

// pipeEnd is one end of an in-memory link with the contract of [Conn].
type pipeEnd struct {
	shared *pipeState
	in     <-chan []byte
	out    chan<- []byte
}

type pipeState struct {
	once   sync.Once
	closed chan struct{}
}

var _ Link = (*pipeEnd)(nil)

// Pipe returns the two ends of an in-memory link, for tests and simulations.
// Frames that were sent before the end are still received.
func Pipe(opts Options) (Link, Link) {
	opts = opts.filled()
	a, b := make(chan []byte, opts.Queue), make(chan []byte, opts.Queue)
	s := &pipeState{closed: make(chan struct{})}
	return &pipeEnd{shared: s, in: a, out: b}, &pipeEnd{shared: s, in: b, out: a}
}

// Send implements [Link].
func (p *pipeEnd) Send(frame []byte) error {
	select {
	case <-p.shared.closed:
		return ErrClosed
	default:
	}
	select {
	case p.out <- frame:
		return nil
	default:
		p.Close("too slow a reader")
		return ErrSlow
	}
}

// Receive implements [Link].
func (p *pipeEnd) Receive() ([]byte, error) {
	select {
	case frame := <-p.in:
		return frame, nil
	default:
	}
	select {
	case frame := <-p.in:
		return frame, nil
	case <-p.shared.closed:
		select {
		case frame := <-p.in:
			return frame, nil
		default:
			return nil, ErrClosed
		}
	}
}

// Close implements [Link].
func (p *pipeEnd) Close(reason string) { p.End(reason) }

// End implements [Link].
func (p *pipeEnd) End(string) { p.shared.once.Do(func() { close(p.shared.closed) }) }
