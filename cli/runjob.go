package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
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
	// change of leader, short enough that a killed run leaves nothing behind.
	attachedFor = 30 * time.Second
	// waitNotice is when a run that got no room says why.
	waitNotice = 3 * time.Second
	// killPatience is how long a run waits for its tasks to end after Ctrl-C,
	// beyond their own grace.
	killPatience = 10 * time.Second
	// outputPatience is how long it waits for their last output then.
	outputPatience = 2 * time.Second
)

// running is one run command under way. Its fields belong to the goroutine of
// loop; the followers of the output only share out and client.
type running struct {
	job    *job
	fw     *framework.Client
	client *client
	out    *console

	prefix    string
	open      []int                  // indices that wait for room
	again     int                    // how often a dropped task was opened again
	tasks     map[offers.TaskID]int  // index of each that may still end
	codes     []int                  // exit code by index
	left      int                    // tasks that did not end yet
	seen      map[offers.TaskID]bool // whose output is followed
	following sync.WaitGroup
	killed    bool
}

func (j *job) run(c *cli.Context) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	if _, err := cl.get(c.Context, "/v1/status"); err != nil {
		return err // says which masters don't answer, before a framework waits for them
	}
	timeout := offers.Duration(attachedFor)
	if j.detach {
		timeout = offers.Duration(detachedFor)
	}
	fw, err := framework.Connect(c.Context, framework.Config{
		Masters: cl.masters, Door: cl.door,
		Info: wire.FrameworkInfo{Name: "run " + j.name, Role: j.role, User: j.task.Command.User, FailoverTimeout: &timeout},
	})
	if err != nil {
		return err
	}
	r := &running{
		job: j, fw: fw, client: cl, out: &console{out: c.App.Writer, err: c.App.ErrWriter},
		prefix: j.taskName(), tasks: map[offers.TaskID]int{}, seen: map[offers.TaskID]bool{}, codes: make([]int, j.count), left: j.count,
	}
	for i := range j.count {
		r.open = append(r.open, i)
	}
	if err := fw.Demand(j.demand); err != nil {
		fw.Close()
		return err
	}
	if j.detach {
		return r.detach(c.Context)
	}
	return r.attend(c.Context)
}

// attend follows the tasks to their ends and removes the framework.
func (r *running) attend(ctx context.Context) error {
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	err := r.loop(ctx, following)
	if err == nil {
		r.drain(ctx)
	}
	stop()
	r.following.Wait()
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if terr := r.fw.Teardown(bye); err == nil && terr != nil {
		r.out.say("the framework %s could not be ended: %v", r.fw.ID(), terr)
	}
	switch {
	case r.killed:
		return exitCause(ctx)
	case err != nil:
		return err
	}
	for _, code := range r.codes {
		if code != 0 {
			return exitError(code)
		}
	}
	return nil
}

// drain waits for the rest of the output, after an interrupt not for long.
func (r *running) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		r.following.Wait()
		close(done)
	}()
	if r.killed {
		select {
		case <-done:
		case <-time.After(outputPatience):
		}
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
		r.killed = true
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

// loop deals with events until every task has ended. After an interrupt it
// kills what was launched and waits for that.
func (r *running) loop(ctx, follow context.Context) error {
	notice, stopNotice := context.WithTimeout(ctx, waitNotice)
	defer func() { stopNotice() }()
	wait := notice
	for r.left > 0 {
		e, err := r.fw.Next(wait)
		switch {
		case err == nil:
			if err := r.handle(follow, e); err != nil {
				return err
			}
		case ctx.Err() != nil && !r.killed:
			var cancel context.CancelFunc
			wait, cancel = context.WithTimeout(context.WithoutCancel(ctx), r.graceLeft())
			defer cancel()
			r.kill()
		case r.killed && wait.Err() != nil:
			return nil
		case wait == notice && wait.Err() != nil:
			wait = ctx
			if len(r.open) > 0 {
				r.out.say("%s", r.client.whyWaiting(ctx, r.job))
			}
		default:
			return err
		}
	}
	return nil
}

func (r *running) graceLeft() time.Duration {
	return offers.DefaultKillGrace.Std() + killPatience
}

// kill ends what runs; what was never launched has ended with it.
func (r *running) kill() {
	r.killed = true
	r.fw.Withdraw(r.job.demand.ID)
	for id := range r.tasks {
		r.fw.Kill(id, nil)
	}
	r.left -= len(r.open)
	r.open = nil
}

func (r *running) handle(follow context.Context, e framework.Event) error {
	switch e := e.(type) {
	case framework.Offered:
		return r.accept(e.Offers)
	case framework.Updated:
		return r.updated(follow, e.Status)
	case framework.Refused:
		if e.Request == "demand" || len(e.Tasks) == 0 && e.Request != "kill" {
			return e.Err
		}
	case framework.Disconnected:
		r.out.say("the master is away; the tasks go on, and so does this when there is a leader again")
	case framework.Reconnected:
		r.out.say("master %s leads now", e.Master.Name)
	}
	return nil
}

// accept launches as many tasks as the offers hold and are still wanted.
func (r *running) accept(list []wire.Offer) error {
	for _, o := range list {
		n := min(framework.Units(o.Resources, r.job.task.Resources), len(r.open))
		if n == 0 || r.killed {
			r.fw.Decline(0, o.ID)
			continue
		}
		tasks := make([]offers.Task, n)
		for i, index := range r.open[:n] {
			tasks[i] = r.makeTask(index)
		}
		err := r.fw.Accept([]offers.OfferID{o.ID}, tasks...)
		switch {
		case errors.Is(err, &offers.Error{Code: offers.OfferGone}):
			continue // it was rescinded meanwhile; the demand stands
		case err != nil:
			return err
		}
		for i, t := range tasks {
			r.tasks[t.ID] = r.open[i]
		}
		r.open = r.open[n:]
	}
	return nil
}

// makeTask returns the task of one index with an id that was never used.
func (r *running) makeTask(index int) offers.Task {
	t := r.job.task
	id := r.prefix
	if r.job.count > 1 {
		id = fmt.Sprintf("%s-%d", id, index)
	}
	if r.again > 0 {
		id = fmt.Sprintf("%s.%d", id, r.again)
	}
	t.ID = offers.TaskID(id)
	return t
}

// updated notes what became of a task. A task that was dropped never reached
// an agent: another one takes its place.
func (r *running) updated(follow context.Context, s offers.Status) error {
	index, ours := r.tasks[s.Task]
	if !ours {
		return nil
	}
	if s.State == offers.Running || s.State.Terminal() && s.State != offers.Rejected && s.State != offers.Dropped {
		r.follow(follow, s.Task, index)
	}
	if !s.State.Terminal() {
		return nil
	}
	delete(r.tasks, s.Task)
	if s.State == offers.Dropped && !r.killed {
		return r.relaunch(s, index)
	}
	r.left--
	r.codes[index] = codeOfEnd(s)
	if r.codes[index] != 0 && s.Message != "" || s.ExitCode == nil && s.Signal == "" {
		r.out.say("task %s is %s: %s", s.Task, s.State, sentence(s))
	}
	return nil
}

// relaunch states the demand anew for a task that was dropped.
func (r *running) relaunch(s offers.Status, index int) error {
	r.out.say("task %s did not reach its agent (%s); it is launched again", s.Task, sentence(s))
	r.open = append(r.open, index)
	r.again++
	demand, count := r.job.demand, len(r.open)
	demand.Count = &count
	return r.fw.Demand(demand)
}

func sentence(s offers.Status) string {
	switch {
	case s.Message != "":
		return s.Message
	case s.Reason != "":
		return s.Reason
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

// detach waits until every task is durable, prints the ids, and leaves.
func (r *running) detach(ctx context.Context) error {
	defer r.fw.Close()
	printed := 0
	for printed < r.job.count {
		e, err := r.fw.Next(ctx)
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case framework.Accepted:
			for _, id := range e.Tasks {
				if _, err := fmt.Fprintf(r.out.out, "%s:%s\n", r.fw.ID(), id); err != nil {
					return err
				}
				printed++
			}
		case framework.Updated:
			if s := e.Status; s.State == offers.Rejected || s.State == offers.Dropped {
				return fmt.Errorf("task %s is %s: %s", s.Task, s.State, sentence(s))
			}
		default:
			if err := r.handle(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
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
