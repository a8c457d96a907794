package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const (
	// detachedFor is the failover timeout of a detached run.
	detachedFor = 365 * 24 * time.Hour
	// attachedFor is that of one that somebody watches: long enough for a
	// change of leader, short enough that a killed run leaves little behind.
	attachedFor = 30 * time.Second
	// waitNotice is when a run that got no room, or no output, says why.
	waitNotice = 3 * time.Second
	// killPatience is how long a run waits for its tasks to end after Ctrl-C.
	killPatience = 15 * time.Second
	// outputPatience is how long it waits for their last output then.
	outputPatience = 2 * time.Second
)

// running is one run command under way.
type running struct {
	job    *job
	fw     *framework.Client
	client *client
	out    *console

	waiting   atomic.Int64           // tasks that no update told of yet
	never     atomic.Bool            // no agent there is could take them, which is said
	seen      map[offers.TaskID]bool // whose output is followed; owned by RunBatch's caller
	follows   context.Context        // of the followers
	following sync.WaitGroup
	cutOff    sync.Once // said that output can't be read
}

func (j *job) run(c *cli.Context) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	if _, err := cl.Read(c.Context, "/v1/status"); err != nil {
		return err // says which masters don't answer, before a framework waits for them
	}
	timeout := offers.Duration(attachedFor)
	if j.detach {
		timeout = offers.Duration(detachedFor)
	}
	fw, err := framework.Connect(c.Context, framework.Config{
		Masters: cl.Masters(), Door: cl.Door(),
		Info: wire.FrameworkInfo{Name: "run " + j.name, Role: j.role, User: j.task.Command.User, FailoverTimeout: &timeout},
	})
	if err != nil {
		return err
	}
	r := &running{
		job: j, fw: fw, client: cl, out: &console{out: c.App.Writer, err: c.App.ErrWriter},
		seen: map[offers.TaskID]bool{},
	}
	r.waiting.Store(int64(j.count))
	if j.detach {
		return r.detach(c.Context)
	}
	return r.attend(c.Context)
}

// tasks returns what is to be launched.
func (j *job) tasks() []offers.Task {
	t := j.task
	t.ID = offers.TaskID(j.taskName())
	if j.count == 1 {
		return []offers.Task{t}
	}
	return framework.Repeat(t, j.count)
}

// attend follows the tasks to their ends and removes the framework.
func (r *running) attend(ctx context.Context) error {
	var stop context.CancelFunc
	r.follows, stop = context.WithCancel(context.WithoutCancel(ctx))
	quiet := r.notice(ctx)
	results, err := framework.RunBatch(ctx, r.fw, r.job.tasks(), framework.BatchOptions{
		Demand: r.job.demand, OnUpdate: r.updated, OnWaits: r.hopeless, KillWait: killPatience,
	})
	quiet()
	r.drain(ctx)
	stop()
	r.following.Wait()
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if terr := r.fw.Teardown(bye); err == nil && terr != nil {
		r.out.say("framework %s could not be ended: %v", r.fw.ID(), terr)
	}
	if ctx.Err() != nil {
		return exitCause(ctx)
	}
	if err != nil {
		return err
	}
	for _, result := range results {
		if code := codeOfEnd(result.Status); code != 0 {
			return exitError(code)
		}
	}
	return nil
}

// notice says after a while why nothing was launched. The returned function
// ends it and waits.
func (r *running) notice(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
			return
		case <-time.After(waitNotice):
		}
		if n := r.waiting.Load(); n > 0 && !r.never.Load() {
			why := r.client.whyWaiting(ctx, r.job)
			if ctx.Err() == nil {
				r.out.say("%s of %d: %s", plural(int(n), "task"), r.job.count, why)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// hopeless says at once that no agent there is could ever take the tasks.
func (r *running) hopeless(w framework.Waits) {
	r.never.Store(true)
	r.out.say("%s for an agent that is not there: %s", waitFor(int(r.waiting.Load())), w.Why)
}

func waitFor(n int) string {
	if n == 1 {
		return "1 task waits"
	}
	return fmt.Sprintf("%d tasks wait", n)
}

// drain waits for the rest of the output, after an interrupt not for long.
func (r *running) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		r.following.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(outputPatience):
	}
}

// exitCause is the exit code of a run that was interrupted.
func exitCause(ctx context.Context) error {
	var cause interrupted
	if errors.As(context.Cause(ctx), &cause) {
		return exitError(128 + int(cause.signal))
	}
	return exitError(130)
}

// updated follows a task's output from its start, and says why one ended
// that did not end by itself.
func (r *running) updated(u framework.BatchUpdate) {
	s := u.Status
	if s.State == offers.Dropped {
		r.out.say("task %s did not reach its agent: %s", s.Task, sentence(s))
		return
	}
	if r.seen[s.Task] {
		r.ended(s)
		return
	}
	if s.State == offers.Running || s.State.Terminal() {
		r.seen[s.Task] = true
		r.waiting.Add(-1)
		// One that never ran has written nothing, and may have no sandbox.
		if s.State == offers.Running || s.ExitCode != nil || s.Signal != "" {
			r.follow(s.Task, u.Index)
		}
	}
	r.ended(s)
}

// ended says what the exit code alone does not tell.
func (r *running) ended(s offers.Status) {
	if !s.State.Terminal() || s.State == offers.Finished {
		return
	}
	plain := s.State == offers.Failed && s.ExitCode != nil && s.Reason == ""
	if !plain {
		r.out.say("task %s is %s: %s", s.Task, s.State, sentence(s))
	}
}

func sentence(s offers.Status) string {
	switch {
	case s.Message != "":
		return s.Message
	case s.Reason != "":
		return s.Reason
	case s.Signal != "":
		return "ended by " + s.Signal
	}
	return "no reason was given"
}

// codeOfEnd is the exit code that a run passes on.
func codeOfEnd(s offers.Status) int {
	switch {
	case s.State == offers.Finished:
		return 0
	case s.Signal != "":
		if n := unix.SignalNum(s.Signal); n > 0 {
			return 128 + int(n)
		}
	case s.ExitCode != nil && *s.ExitCode != 0:
		return *s.ExitCode & 0xff
	}
	return 1
}

// console keeps the lines of several tasks whole.
type console struct {
	mu       sync.Mutex
	out, err io.Writer
}

// say writes one line of our own to standard error.
func (c *console) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.err, "ringmaster: "+format+"\n", args...)
}
