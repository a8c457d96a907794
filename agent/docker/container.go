package docker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

var (
	// ErrClosed is what Wait returns after Close.
	ErrClosed = errors.New("the container is not watched any more")
	// ErrLost says that a container which may have run is gone, and with it how
	// it ended.
	ErrLost = errors.New("its container is gone, and with it how it ended")
)

// Container is one task's. Its methods may be called side by side; Open and
// Wait are called once each, in this order.
type Container struct {
	x        *Executor
	key      string
	identity record.Identity
	sandbox  string

	ctx    context.Context // until Close
	cancel context.CancelCauseFunc
	opened bool          // it was started by Open
	never  bool          // it was given up by Abandon
	failed error         // of Open: the engine could not start it
	live   io.ReadCloser // what it writes, from its first byte on; nil: adopted
	broke  place         // where live broke off; zero once that is of no interest
	from   place         // from where on the files follow the log; zero: from the beginning
	force  atomic.Bool   // the order is to kill
	orders chan struct{} // there is an order
}

func (x *Executor) container(key string, id record.Identity, sandbox string) *Container {
	c := &Container{x: x, key: key, identity: id, sandbox: sandbox, orders: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Identity returns which container it is.
func (c *Container) Identity() record.Identity { return c.identity }

func (c *Container) id() string { return c.identity.Container }

// Open starts the container. What becomes of that Wait tells.
func (c *Container) Open() {
	defer c.x.turn(c.ctx)()
	var err error
	if c.live, err = c.x.engine.attach(c.ctx, c.id()); err != nil {
		c.live = nil // the log has it too, a little later
	}
	err = c.x.engine.start(c.ctx, c.id())
	c.opened = err == nil
	if err != nil && c.ctx.Err() == nil && !errors.Is(err, ErrAway) {
		c.failed = err
	}
}

// Abandon takes the place of Open where the container is never to start.
func (c *Container) Abandon() {
	c.never = true
	if err := c.Remove(); err != nil {
		c.x.log.Warn("a container that never started is left for now", "task", c.key, "error", err)
	}
}

// Wait returns how the container ended, once all that it wrote is in the
// sandbox. It calls runs as soon as it knows that the container runs, if it
// ever does. It returns ErrClosed after Close.
func (c *Container) Wait(runs func()) (record.Exit, error) {
	if c.live != nil {
		defer c.live.Close()
	}
	if c.never {
		return record.Exit{Never: true, Time: time.Now().UTC()}, nil
	}
	if c.failed != nil {
		return record.Exit{Error: c.failed.Error(), Time: time.Now().UTC()}, nil
	}
	begun := false
	var helpers sync.WaitGroup
	watching, stop := context.WithCancel(c.ctx)
	begin := func() {
		if begun {
			return
		}
		begun = true
		runs()
		helpers.Go(func() { c.follow(watching) })
		helpers.Go(func() { c.obey(watching) })
	}
	if c.opened {
		begin()
	}
	exit, err := c.end(begin)
	stop()
	helpers.Wait()
	if err == nil && !exit.Never {
		c.drain()
	}
	if c.ctx.Err() != nil {
		return record.Exit{}, ErrClosed
	}
	return exit, err
}

// Signal asks the container to end, as its image wants to be asked, or kills
// it. It returns at once; the order is delivered when the engine takes it.
func (c *Container) Signal(force bool) {
	if force {
		c.force.Store(true)
	}
	select {
	case c.orders <- struct{}{}:
	default: // one waits already and will see what is wanted
	}
}

// obey delivers orders.
func (c *Container) obey(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.orders:
		}
		err := patiently(ctx, func() error { return wrongAnswer(c.deliver(ctx)) })
		if err != nil && ctx.Err() == nil && !refused(err, http.StatusConflict) && !refused(err, http.StatusNotFound) {
			c.x.log.Warn("a container was not told to end", "task", c.key, "container", c.id(), "error", err)
		}
	}
}

func (c *Container) deliver(ctx context.Context) error {
	signal := "SIGKILL"
	if !c.force.Load() {
		d, err := c.x.engine.inspect(ctx, c.id())
		if err != nil {
			return err
		}
		if signal = d.Config.StopSignal; signal == "" {
			signal = "SIGTERM"
		}
	}
	return c.x.engine.kill(ctx, c.id(), signal)
}

const removeTime = 20 * time.Second

// Remove takes the container away, once nobody needs to be told any more how
// it ended, or because it is never to start. What an engine that is away keeps
// is left to Tidy.
func (c *Container) Remove() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), removeTime, ErrAway)
	defer cancel()
	return c.x.Remove(ctx, c.identity)
}

// Close stops watching; a Wait returns.
func (c *Container) Close() { c.cancel(ErrClosed) }
