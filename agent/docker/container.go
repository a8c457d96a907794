package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

var (
	// ErrClosed is what Wait returns after Close.
	ErrClosed = errors.New("the container is not watched any more")
	// ErrLost says that a container which may have run is gone, and with it how
	// it ended.
	ErrLost = errors.New("its container is gone, and with it how it ended: somebody has removed it")
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
	broke  time.Time     // when live broke off for the death of the engine; zero: it did not
	aside  [2]int64      // bytes of the files that came before that
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

// end waits for the end, whatever happens to the engine meanwhile.
func (c *Container) end(runs func()) (exit record.Exit, err error) {
	code, known := 0, false // what a wait has told
	err = patiently(c.ctx, func() error {
		for {
			d, err := c.x.engine.inspect(c.ctx, c.id())
			switch {
			case refused(err, http.StatusNotFound) && known:
				exit = exitOf(code, false, time.Now())
				return nil
			case refused(err, http.StatusNotFound):
				exit, err = c.remembered(false)
				return wrongAnswer(err)
			case err != nil:
				return wrongAnswer(err)
			case d.State.Running:
				runs()
				if code, err = c.x.engine.wait(c.ctx, c.id()); err == nil {
					known = true
				} else if !refused(err, http.StatusNotFound) {
					return wrongAnswer(err)
				}
				continue
			case d.State.StartedAt.IsZero():
				exit, err = c.unstarted(d.State)
				return wrongAnswer(err)
			}
			exit = exitOf(d.State.ExitCode, d.State.OOMKilled, d.State.FinishedAt)
			if exit.Signal == "SIGKILL" && !exit.OOM && !c.force.Load() {
				exit.OOM = c.outOfMemory()
			}
			return nil
		}
	})
	return exit, err
}

// outOfMemory asks a little longer whether a container that somebody killed was
// out of memory: an engine may hear of that after the end. On cgroups of
// version 1 a busy one may never hear of it.
func (c *Container) outOfMemory() bool {
	const tries = 10
	for range tries {
		d, err := c.x.engine.inspect(c.ctx, c.id())
		if err != nil || d.State.OOMKilled {
			return err == nil
		}
		past, err := c.x.engine.history(c.ctx, c.id())
		if err != nil || slices.ContainsFunc(past, func(e event) bool { return e.Action == "oom" }) {
			return err == nil
		}
		select {
		case <-c.ctx.Done():
			return false
		case <-time.After(firstPause):
		}
	}
	return false
}

// wrongAnswer takes an engine that answers with its own trouble for one that
// is away: it says nothing about the task.
func wrongAnswer(err error) error {
	var r *refusal
	if errors.As(err, &r) && r.status >= 500 {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return err
}

// unstarted takes that a container was not started, or could not be.
func (c *Container) unstarted(s state) (record.Exit, error) {
	if s.Error != "" {
		return record.Exit{Error: sentence(s.Error), Time: time.Now().UTC()}, nil
	}
	exit, err := c.fence()
	if refused(err, http.StatusConflict) {
		err = fmt.Errorf("%w: %w", ErrAway, err) // it runs after all, which is seen next time
	}
	return exit, err
}

// fence makes sure that a container which was not started never will be. Its
// start may be under way in the engine, ordered by an agent that has died
// meanwhile. Removing it without force and starting it exclude each other
// there: a running one is not removed, and one that is being removed is not
// started. What was started and ended in between is in the engine's memory of
// its last events.
func (c *Container) fence() (record.Exit, error) {
	if err := c.x.engine.remove(c.ctx, c.id(), false); err != nil {
		return record.Exit{}, err
	}
	return c.remembered(true)
}

// remembered returns how a container ended that is gone, from the engine's
// memory of its last events: somebody has removed it, or a fence whose agent
// died before it could write down what came out. It never ran where the engine
// remembers its making and no start, or if it was seen unstarted just before
// it went.
func (c *Container) remembered(unstarted bool) (record.Exit, error) {
	past, err := c.x.engine.history(c.ctx, c.id())
	if err != nil {
		return record.Exit{}, err
	}
	var exit record.Exit
	started, ended, oom := false, false, false
	for _, e := range past {
		switch e.Action {
		case "create":
			unstarted = true
		case "start":
			started = true
		case "oom":
			oom = true
		case "die":
			code, err := strconv.Atoi(e.Actor.Attributes["exitCode"])
			if ended = err == nil; ended {
				exit = exitOf(code, oom, time.Unix(0, e.Time))
			}
		}
	}
	switch {
	case ended:
		return exit, nil
	case started || !unstarted:
		return record.Exit{}, ErrLost
	default:
		return record.Exit{Never: true, Time: time.Now().UTC()}, nil
	}
}

// exitOf reads an engine's exit code, in which 128+n stands for signal n. A
// program that exits with such a code of its own can't be told from that.
func exitOf(code int, oom bool, at time.Time) record.Exit {
	exit := record.Exit{Code: code, OOM: oom, Time: at.UTC()}
	if code > 128 {
		if name := unix.SignalName(unix.Signal(code - 128)); name != "" {
			exit.Code, exit.Signal = 0, name
		}
	}
	return exit
}

// Rebooted reports whether the container was made before the host restarted
// and had not ended by then: an engine finds it ended when it comes up.
func (c *Container) Rebooted(ended time.Time) bool {
	boot, err := record.BootID()
	if err != nil || boot == c.identity.Boot {
		return false
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return true
	}
	return ended.After(time.Now().Add(-time.Duration(info.Uptime) * time.Second))
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
