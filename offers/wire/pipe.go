package wire

import (
	"sync"
	"sync/atomic"
	"time"
)

// pipeEnd is one end of an in-memory link with the contract of [Conn].
type pipeEnd struct {
	shared *pipeState
	in     *mailbox
	out    *mailbox
	form   Form
	term   uint64
	heard  atomic.Pointer[time.Time] // when the last frame was received, or the link began
}

// mailbox is what waits for the one who receives it.
type mailbox struct {
	*backlog
	wake chan struct{} // holds a token when frames came
}

type pipeState struct {
	once   sync.Once
	closed chan struct{}
}

var _ Link = (*pipeEnd)(nil)

// Pipe returns the two ends of an in-memory link, for tests and simulations; the first
// is whose that dialed.
// Frames that were sent before the end are still received.
func Pipe(opts Options) (Link, Link) {
	opts = opts.filled()
	a, b := newMailbox(opts), newMailbox(opts)
	s := &pipeState{closed: make(chan struct{})}
	form := JSON
	if opts.Compact {
		form = Binary
	}
	now := time.Now()
	near, far := &pipeEnd{shared: s, in: a, out: b, form: form, term: opts.Term}, &pipeEnd{shared: s, in: b, out: a, form: form}
	near.heard.Store(&now)
	far.heard.Store(&now)
	return near, far
}

func newMailbox(o Options) *mailbox {
	o.Unsent = nil // what is sent is at the other end at once
	return &mailbox{newBacklog(o), make(chan struct{}, 1)}
}

// Form implements [Link].
func (p *pipeEnd) Form() Form { return p.form }

// Term implements [Link].
func (p *pipeEnd) Term() uint64 { return p.term }

// Send implements [Link].
func (p *pipeEnd) Send(frame []byte) error {
	select {
	case <-p.shared.closed:
		return ErrClosed
	default:
	}
	if err := p.out.push(frame); err != nil {
		p.Close("too slow a reader")
		return err
	}
	select {
	case p.out.wake <- struct{}{}:
	default:
	}
	return nil
}

// Heard implements [Link].
func (p *pipeEnd) Heard() time.Time { return *p.heard.Load() }

// Receive implements [Link].
func (p *pipeEnd) Receive() ([]byte, error) {
	frame, err := p.next()
	if err == nil {
		now := time.Now()
		p.heard.Store(&now)
	}
	return frame, err
}

func (p *pipeEnd) next() ([]byte, error) {
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
