package framework

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// ErrClosed is what a client returns after Close or Teardown.
var ErrClosed = errors.New("the client is closed")

// ErrAnswerLost says that a write to the store may have been done or not.
var ErrAnswerLost = session.ErrAnswerLost

// Client is one framework, connected to whichever master leads. All methods
// are safe for concurrent use, except that one goroutine at a time calls Next.
// None of them blocks on the network but those that take a context.
type Client struct {
	config Config
	log    hclog.Logger
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine that Connect started has ended
	first  chan struct{} // closed at the first registration

	dialling sync.WaitGroup // goroutines of run that try to connect

	more chan struct{} // capacity 1: an event is there, or the end
	room chan struct{} // capacity 1: the queue has room again

	mu      sync.Mutex // guards what follows
	session *session.Session
	link    wire.Link // nil while not connected
	queue   []Event   // at most Config.Queue and what one more frame holds
	held    *Updated  // the last returned, to be acknowledged
	calls   map[uint64]chan session.Answer
	stalled bool  // the reader waits for room in the queue
	end     error // set once, when the client has ended
	lastErr error // of the last try to connect
}

// Connect registers the framework and keeps it connected until Close,
// Teardown or an error that no other try can mend: failed_over (a newer
// instance has taken over), framework_removed, unauthenticated, or a refused
// registration. It returns after the first registration; ctx bounds only that.
func Connect(ctx context.Context, config Config) (*Client, error) {
	config, err := config.filled()
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &Client{
		config: config, log: config.Logger, cancel: cancel,
		done: make(chan struct{}), first: make(chan struct{}),
		more: make(chan struct{}, 1), room: make(chan struct{}, 1),
		session: session.New(config.Info, rand.Text()),
		calls:   map[uint64]chan session.Answer{},
	}
	go c.run(run)
	select {
	case <-c.first:
		return c, nil
	case <-c.done:
		return nil, fmt.Errorf("connect: %w", c.ending())
	case <-ctx.Done():
		c.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.lastErr != nil {
			return nil, fmt.Errorf("connect: %w; the last try: %w", context.Cause(ctx), c.lastErr)
		}
		return nil, fmt.Errorf("connect: %w", context.Cause(ctx))
	}
}

// Next returns the next event. Asking for it says that the one before is
// dealt with: if that was an update, it is acknowledged now, so that a
// program that dies while it handles one gets it again. At the end it returns
// what was still queued and then the error that ended the client.
func (c *Client) Next(ctx context.Context) (Event, error) {
	for {
		e, err := c.take()
		if e != nil || err != nil {
			return e, err
		}
		select {
		case <-c.more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *Client) take() (Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held != nil {
		c.session.Handled(*c.held)
		c.held = nil
		c.flush()
	}
	if len(c.queue) == 0 {
		return nil, c.end
	}
	e := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	if u, ok := e.(Updated); ok && !c.config.Hold {
		c.held = &u
	}
	if len(c.queue) < c.config.Queue {
		signal(c.room)
	}
	return e, nil
}

// idle reports whether no event waits.
func (c *Client) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) == 0
}

// Acknowledge acknowledges the update that Next returned last, before the
// next one is asked for. Any other is acknowledged already: nothing happens.
// With Config.Hold it is called once for every update, in any order.
func (c *Client) Acknowledge(u Updated) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config.Hold {
		c.session.Handled(u)
		c.flush()
		return
	}
	if c.held != nil && c.held.Status.Task == u.Status.Task && c.held.Status.UpdateID == u.Status.UpdateID {
		c.session.Handled(*c.held)
		c.held = nil
		c.flush()
	}
}

// ID returns the framework's id. Keep it, and give it to the next instance in
// Config.Info, to take over within the failover timeout.
func (c *Client) ID() offers.FrameworkID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.ID()
}

// Close disconnects, after sending what is queued, and waits until the
// client's goroutines have ended. The framework and its tasks go on for its
// failover timeout; see Teardown to end them.
func (c *Client) Close() {
	c.cancel()
	<-c.done
}

// Teardown ends the framework and kills its tasks, and closes the client. It
// returns when a master has confirmed it, or with the error of ctx.
func (c *Client) Teardown(ctx context.Context) error {
	defer c.Close()
	c.do(func() { c.session.Teardown() })
	select {
	case <-c.done:
		if err := c.ending(); !removed(err) {
			return fmt.Errorf("teardown: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("teardown: %w", context.Cause(ctx))
	}
}

func removed(err error) bool {
	return errors.Is(err, &offers.Error{Code: offers.FrameworkRemoved}) || errors.Is(err, &offers.Error{Code: offers.UnknownFramework})
}

// do runs f on the session and does what comes out.
func (c *Client) do(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.flush()
}

// flush does what the session says and returns why to hang up. The caller
// holds mu. A link that can't send has closed itself, which its reader sees.
func (c *Client) flush() (hangup string) {
	out := c.session.Take()
	if c.link != nil {
		for _, frame := range out.Frames {
			if c.link.Send(frame) != nil {
				break
			}
		}
	}
	c.queue = append(c.queue, out.Events...)
	for _, a := range out.Answers {
		if ch := c.calls[a.Call]; ch != nil {
			delete(c.calls, a.Call)
			ch <- a
		}
	}
	if out.End != nil {
		c.finish(out.End)
		return out.End.Error()
	}
	if len(out.Events) > 0 {
		signal(c.more)
	}
	return out.Hangup
}

// finish sets why the client has ended. The caller holds mu.
func (c *Client) finish(err error) {
	if c.end == nil {
		c.end = err
	}
	signal(c.more)
}

func (c *Client) ending() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
