package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// maxBatch bounds what one turn of the loop takes in before it writes: one
// commit serves all of it.
const maxBatch = 256

// post gives the loop something to do. It reports false when the loop has
// ended and nothing will be done.
func (a *Agent) post(do func()) bool {
	select {
	case a.inbox <- do:
		return true
	case <-a.stopped:
		return false
	}
}

// loop owns the machine. It ends with ctx, or with the first commit that fails.
func (a *Agent) loop(ctx context.Context) error {
	done, closing := ctx.Done(), false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if err := a.act(); err != nil {
			return err
		}
		if closing && len(a.machine.Living()) == 0 {
			return nil
		}
		a.setTimer(timer)
		select {
		case do := <-a.inbox:
			do()
			for n := 1; n < maxBatch && len(a.inbox) > 0; n++ {
				(<-a.inbox)()
			}
		case now := <-timer.C:
			a.machine.Tick(now)
			a.tickSession(now)
		case <-done:
			if !a.config.KillTasksOnClose {
				return nil
			}
			done, closing = nil, true
			a.machine.Close("the agent ends", time.Now())
		}
	}
}

// setTimer wakes the loop when the machine or the session has something to do.
func (a *Agent) setTimer(timer *time.Timer) {
	next := a.machine.Next()
	if s := a.session; s != nil && !s.registered && (next.IsZero() || s.until.Before(next)) {
		next = s.until
	}
	wait := time.Hour
	if !next.IsZero() {
		wait = max(0, time.Until(next))
	}
	timer.Reset(wait)
}

// act does what the machine wants: first the disk, then the world.
func (a *Agent) act() error {
	for {
		shims := a.reserve()
		r := a.machine.Ready()
		if r.Empty() {
			for _, written := range a.written {
				close(written)
			}
			a.written = nil
			a.settled()
			return nil
		}
		if r.Durable() {
			if err := a.commit(&r); err != nil {
				shims.discard()
				return err
			}
		}
		for _, s := range r.Spans {
			a.config.Tracer.Record(s)
		}
		for _, l := range r.Start {
			a.start(*l, shims[l.Ref()])
		}
		for _, ref := range r.Cancel {
			if cancel := a.preparing[ref]; cancel != nil {
				cancel(errors.New("it was told to end"))
			}
		}
		for _, ref := range r.Abandon {
			a.running[ref].gate <- false
		}
		for _, ref := range r.Release {
			a.running[ref].gate <- true
		}
		a.signal(r.Signals)
		for _, l := range r.Checks {
			a.check(*l)
		}
		if r.Register {
			a.register()
		}
		if r.Usage {
			a.send(a.usage())
		}
		for m := range wire.InMessages(r.Send) {
			a.send(m)
		}
	}
}

// commit writes the durable half down. After an error nothing is known about
// the disk, and nothing further may be started or told.
func (a *Agent) commit(r *tasks.Ready) error {
	change := checkpoint.Change{Meta: r.Meta, Launched: r.Launched, Removed: r.Removed, Progress: make(map[offers.TaskRef]tasks.Progress, len(r.Changed))}
	for _, ref := range r.Changed {
		if p, ok := a.machine.Progress(ref); ok {
			change.Progress[ref] = p
		}
	}
	began := time.Now()
	err := a.store.Commit(change)
	a.meters.commits.Observe(time.Since(began).Seconds())
	if err != nil {
		return fmt.Errorf("it stops, since it can't remember what it does any more: %w", err)
	}
	if r.Meta != nil {
		a.mu.Lock()
		a.id = r.Meta.Agent
		a.mu.Unlock()
	}
	for _, l := range r.Launched {
		a.limitDisk(*l)
	}
	for ref, p := range change.Progress {
		over := p.State.Terminal()
		if lived := a.follow(ref, over); over && (lived || slices.ContainsFunc(r.Launched, func(l *tasks.Launch) bool { return l.Ref() == ref })) {
			a.meters.ended.WithLabelValues(string(p.State)).Inc()
		}
	}
	for _, ref := range r.Removed {
		a.forget(ref)
	}
	return nil
}

// limitDisk notes what a task may take of the disk while it lives.
func (a *Agent) limitDisk(l tasks.Launch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.disks[l.Ref()] = l.Task.Resources.Amounts[offers.Disk]
}

// follow lets readers of a task's log know whether more may come. It reports
// whether the task was known to live.
func (a *Agent) follow(ref offers.TaskRef, ended bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	done, living := a.ended[ref]
	switch {
	case !living && !ended:
		a.ended[ref] = make(chan struct{})
	case living && ended:
		close(done)
		delete(a.ended, ref)
		delete(a.disks, ref)
	}
	return living
}

// forget lets the collector drop what is kept of a task, its sandbox after a
// while. Nothing but a record of a process is kept; a container went when its
// task's end was written down.
func (a *Agent) forget(ref offers.TaskRef) {
	a.follow(ref, true)
	a.processes.forget(ref)
	a.sandboxes.Forgotten(ref, time.Now())
	select {
	case a.collect <- struct{}{}:
	default: // it is awake
	}
}

func (a *Agent) signal(signals []tasks.Signal) {
	for _, s := range signals {
		if sup, ok := a.running[s.Ref]; ok {
			sup.execution.Signal(s.Force)
		}
	}
}

// settled lets those go on who wait for something that is done and on disk:
// for the first registration, and the connector of a refused agent for the end
// of its tasks.
func (a *Agent) settled() {
	if a.session != nil && a.session.registered && !a.known {
		a.known = true
		close(a.registered)
	}
	if a.held != nil && a.machine.Orphans() == 0 {
		close(a.held)
		a.held = nil
	}
}

// usage returns the packed use of every device class.
func (a *Agent) usage() *wire.Usage {
	usage, err := a.machine.Usage()
	if err != nil {
		a.log.Error("not all of the use of devices is told", "error", err)
	}
	return usage
}

// send sends a message to the master that listens, if one does. What it can't
// send is sent again after the next registration.
func (a *Agent) send(m wire.Message) {
	if a.session == nil {
		return
	}
	frame, err := a.session.link.Form().Encode(m, "")
	if err != nil {
		a.log.Error("a message can't be written", "error", err)
		return
	}
	a.sendFrame(m.Type(), frame)
}

// sendFrame sends what is written already to the master that listens.
func (a *Agent) sendFrame(what string, frame []byte) {
	if err := a.session.link.Send(frame); err != nil && !errors.Is(err, wire.ErrClosed) {
		a.log.Warn("a message was not sent", "type", what, "error", err)
	}
}
