package framework

import (
	"context"
	"errors"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const (
	dialPatience = 3 * time.Second        // for one address
	stagger      = 300 * time.Millisecond // before another is tried beside it
)

// try is one address that is dialled, or what came of it.
type try struct {
	at   string
	link wire.Link
	err  error
}

// reach looks for a master that takes the connection. A master that is stopped
// or cut off accepts one and then says nothing; so whoever is slow is waited
// for, but beside the others, each address once at a time. It returns no link
// when ctx ends or no other try can help.
func (c *Client) reach(ctx context.Context, s *search) (link wire.Link, at string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found, busy := make(chan try), map[string]bool{}
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-due.C:
			if at, ok := s.idle(c.config.Masters, busy); ok {
				busy[at] = true
				c.dialling.Go(func() { c.dial(ctx, at, found) })
			}
			due.Reset(stagger)
		case t := <-found:
			delete(busy, t.at)
			if t.err == nil {
				return t.link, t.at
			}
			if c.failed(t.at, t.err); c.ending() != nil {
				return nil, ""
			}
			due.Reset(s.afterBeside(t.err, busy))
		case <-ctx.Done():
			return nil, ""
		}
	}
}

// dial belongs to a reach that may be over before it: then nobody wants the
// link any more.
func (c *Client) dial(ctx context.Context, at string, found chan<- try) {
	within, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	link, err := c.config.Dial(within, at)
	select {
	case found <- try{at, link, err}:
	case <-ctx.Done():
		if err == nil {
			link.Close("another master was faster")
		}
	}
}

// idle returns the next address that is not being tried already.
func (s *search) idle(masters []string, busy map[string]bool) (string, bool) {
	for range len(masters) + 1 { // one more for a redirect
		if at := s.address(masters); !busy[at] {
			return at, true
		}
	}
	return "", false
}

// afterBeside says how long to wait after a try that ended with err while
// others go on. A redirect to one of those tells nothing new.
func (s *search) afterBeside(err error, busy map[string]bool) time.Duration {
	pause := s.after(err)
	var redirect *wire.RedirectError
	if errors.As(err, &redirect) && busy[s.next] {
		s.next = ""
		return electionPause
	}
	return pause
}
