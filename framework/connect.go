package framework

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// How a client looks for the leader.
const (
	firstPause    = 50 * time.Millisecond
	longestPause  = 3 * time.Second
	electionPause = 250 * time.Millisecond // the longest while masters elect
	maxRedirects  = 4                      // in a row, before it pauses
	tickPeriod    = time.Second
)

// search is how far the look for the leader has come.
type search struct {
	turn      int           // of the masters
	lost      string        // the address that was lost last: tried after the others
	next      string        // where a redirect leads
	redirects int           // in a row
	pause     time.Duration // before the next try
}

// address returns what to try now: a redirect first, then the masters in turn.
func (s *search) address(masters []string) string {
	if at := s.next; at != "" {
		s.next = ""
		return at
	}
	at := masters[s.turn%len(masters)]
	if s.turn++; at == s.lost && len(masters) > 1 {
		at = masters[s.turn%len(masters)]
		s.turn++
	}
	s.lost = ""
	return at
}

// after says how long to wait after a try that ended with err. Masters that
// answer without leading, or that send us to a leader that is dead, are about
// to elect, which takes little: the pause stays short. It grows while nobody
// answers.
func (s *search) after(err error) time.Duration {
	var redirect *wire.RedirectError
	var status *wire.StatusError
	if errors.As(err, &redirect) && s.redirects < maxRedirects {
		s.redirects++
		s.next = redirect.Location
		return 0
	}
	longest := longestPause
	if s.redirects > 0 || errors.As(err, &status) && status.Status == http.StatusServiceUnavailable {
		longest = electionPause
	}
	pause := min(s.pause, longest)
	s.redirects, s.pause = 0, min(2*pause, longest)
	return pause/2 + rand.N(pause)
}

// run owns the connection: it dials, reads until the link breaks, and looks
// for the next leader.
func (c *Client) run(ctx context.Context) {
	defer close(c.done)
	defer c.dialling.Wait()
	s := search{pause: firstPause}
	for ctx.Err() == nil && c.ending() == nil {
		link, at := c.reach(ctx, &s)
		if link == nil {
			continue
		}
		registered, err := c.serve(ctx, link, at)
		if registered {
			s = search{turn: s.turn, lost: at, pause: firstPause}
		}
		c.failed(at, err)
		c.sleep(ctx, s.after(err))
	}
	c.stop()
}

// failed notes why a try failed, and ends the client when no other can do.
func (c *Client) failed(at string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastErr = err
	var status *wire.StatusError
	if !errors.As(err, &status) {
		return
	}
	switch status.Status {
	case http.StatusUnauthorized:
		c.finish(offers.Errorf(offers.Unauthenticated, "%s asks for a token, or for another one", at))
	case http.StatusForbidden:
		c.finish(offers.Errorf(offers.Forbidden, "%s forbids this framework to connect", at))
	}
}

func (c *Client) sleep(ctx context.Context, d time.Duration) {
	if d == 0 || c.ending() != nil {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// stop ends every call that waits. What Next has queued stays.
func (c *Client) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(ErrClosed)
	for n, ch := range c.calls {
		delete(c.calls, n)
		close(ch)
	}
	c.log.Info("framework ended", "framework", c.session.ID(), "reason", c.end)
}

// serve speaks on one link until it breaks. The goroutine it starts watches
// the time and ctx, and has ended when serve returns.
func (c *Client) serve(ctx context.Context, link wire.Link, at string) (registered bool, err error) {
	c.mu.Lock()
	c.link = link
	c.session.Connected(time.Now(), link.Form())
	c.flush()
	c.mu.Unlock()

	broken, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		c.watch(ctx, link, at, broken)
	}()
	registered, err = c.read(ctx, link)
	close(broken)
	<-watched
	link.Close(err.Error())

	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = nil
	if c.end != nil || ctx.Err() != nil {
		return registered, err // the end is told by itself
	}
	c.session.Lost(err)
	c.flush()
	if registered {
		c.log.Warn("framework disconnected", "framework", c.session.ID(), "error", err)
	}
	return registered, err
}

// read feeds the session. While the event queue is full it does not read, so
// that the master feels it; a caller that stays away for longer than the
// link's silence loses the connection, and nothing else: updates are resent.
func (c *Client) read(ctx context.Context, link wire.Link) (registered bool, err error) {
	for {
		if err := c.awaitRoom(ctx); err != nil {
			return registered, err
		}
		frame, err := link.Receive()
		if err != nil {
			return registered, err
		}
		c.mu.Lock()
		c.session.Frame(time.Now(), frame)
		if !registered && c.session.Live() {
			registered = true
			c.welcome()
		}
		hangup := c.flush()
		c.mu.Unlock()
		if hangup != "" {
			return registered, errors.New(hangup)
		}
	}
}

// welcome is called under mu when a link has registered.
func (c *Client) welcome() {
	c.log.Info("framework registered", "framework", c.session.ID(), "term", c.session.Term())
	select {
	case <-c.first:
	default:
		close(c.first)
	}
}

func (c *Client) awaitRoom(ctx context.Context) error {
	for {
		c.mu.Lock()
		full := len(c.queue) >= c.config.Queue
		if c.stalled && !full {
			c.session.Heard(time.Now())
		}
		c.stalled = full
		c.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-c.room:
		case <-ctx.Done():
			return fmt.Errorf("read: %w", context.Cause(ctx))
		}
	}
}

// watch closes the link when ctx ends or the master has been silent too long, and
// asks the others about a master that is silent.
func (c *Client) watch(ctx context.Context, link wire.Link, at string, broken <-chan struct{}) {
	tick := time.NewTicker(tickPeriod)
	defer tick.Stop()
	asking, known := context.WithCancel(ctx)
	defer known()
	asked := make(chan struct{}, 1) // holds a token while the others are asked
	for {
		select {
		case <-broken:
			return
		case <-ctx.Done():
			link.Close("the framework disconnects")
			return
		case now := <-tick.C:
			c.mu.Lock()
			var hangup string
			doubtful := false
			if !c.stalled {
				c.session.Tick(now)
				hangup, doubtful = c.flush(), c.session.Doubtful(now)
			}
			c.mu.Unlock()
			if doubtful {
				select {
				case asked <- struct{}{}:
					c.dialling.Go(func() {
						c.doubt(asking, link, at)
						<-asked
					})
				default:
				}
			}
			if hangup != "" {
				link.Close(hangup)
				return
			}
		}
	}
}
