package wire

import "sync"

// pipeEnd is one end of an in-memory link with the contract of [Conn].
type pipeEnd struct {
	shared *pipeState
	in     *backlog
	out    *backlog
	form   Form
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
	a, b := newBacklog(opts), newBacklog(opts)
	s := &pipeState{closed: make(chan struct{})}
	form := JSON
	if opts.Compact {
		form = Binary
	}
	return &pipeEnd{shared: s, in: a, out: b, form: form}, &pipeEnd{shared: s, in: b, out: a, form: form}
}

// Form implements [Link].
func (p *pipeEnd) Form() Form { return p.form }

// Send implements [Link].
func (p *pipeEnd) Send(frame []byte) error {
	select {
	case <-p.shared.closed:
		return ErrClosed
	default:
	}
	if !p.out.push(frame) {
		p.Close("too slow a reader")
		return ErrSlow
	}
	return nil
}

// Receive implements [Link].
func (p *pipeEnd) Receive() ([]byte, error) {
	for {
		if frame, ok := p.in.pop(); ok {
			return frame, nil
		}
		select {
		case <-p.in.wake:
		case <-p.shared.closed:
			if frame, ok := p.in.pop(); ok {
				return frame, nil
			}
			return nil, ErrClosed
		}
	}
}

// Close implements [Link].
func (p *pipeEnd) Close(reason string) { p.End(reason) }

// End implements [Link].
func (p *pipeEnd) End(string) { p.shared.once.Do(func() { close(p.shared.closed) }) }
