package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// manner is how an author behaves between the faults.
type manner string

const (
	steady manner = "steady" // stays
	leaver manner = "leaver" // goes, and comes back with its id
	ghost  manner = "ghost"  // goes, and comes back without its id: the one before is given up
	probe  manner = "probe"  // launches nothing, holds one tiny offer: it shows when offers come again
)

// How authors behave.
const (
	most          = 10 // tasks of one author at a time
	glance        = 200 * time.Millisecond
	ghostFailover = 8 * time.Second
	longFailover  = 5 * time.Minute // no fault takes as long
)

// author is one framework in process, with whatever client it has at the time.
type author struct {
	name    string
	manner  manner
	gpu     bool
	masters []string // its edges
	dial    func(context.Context, string) (wire.Link, error)
	book    *recorder
	work    *work
	log     hclog.Logger
	quiet   <-chan struct{} // closed: launch nothing more, and end what runs
	orders  chan order
	waiting atomic.Int64 // tasks that have not ended

	// owned by the goroutine of run
	random  *rand.Rand
	client  *framework.Client
	id      offers.FrameworkID
	open    map[offers.TaskID]*launched // that have not ended
	number  int                         // of tasks and demands
	demand  offers.DemandID
	leaveAt time.Time
}

// launched is a task that has not ended.
type launched struct {
	killAt time.Time // zero: it ends by itself
	killed bool      // it has been asked for, by the present client
}

// order is a fault that an author takes part in.
type order struct {
	stall time.Duration // read nothing for so long
	usurp bool          // a second instance takes over from the first
	crash func() func() // breaks the client's connections; what it returns mends its ways
	done  chan error
}

// run lives until ctx ends. What it leaves is a closed client.
func (a *author) run(ctx context.Context) {
	a.open = map[offers.TaskID]*launched{}
	for ctx.Err() == nil {
		if a.client == nil {
			a.connect(ctx)
			continue
		}
		if a.tend(); a.client == nil {
			continue
		}
		if a.obey(ctx); a.client == nil {
			continue
		}
		event, err := a.next(ctx, a.client)
		switch {
		case err != nil:
			a.lost(err)
		case event != nil:
			a.heard(event)
		}
	}
	if a.client != nil {
		a.client.Close()
	}
}

// next returns the next event, nil when none comes for a moment.
func (a *author) next(ctx context.Context, c *framework.Client) (framework.Event, error) {
	soon, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	e, err := c.Next(soon)
	if err != nil && soon.Err() != nil && errors.Is(err, context.Cause(soon)) {
		return nil, nil
	}
	return e, err
}

func (a *author) config() framework.Config {
	timeout := offers.Duration(longFailover)
	if a.manner == ghost {
		timeout = offers.Duration(ghostFailover)
	}
	return framework.Config{
		Masters: a.masters, Dial: a.dial, Queue: 16, Logger: a.log,
		Info: wire.FrameworkInfo{ID: a.id, Name: a.name, Role: offers.Role("chaos/" + string(a.manner)), FailoverTimeout: &timeout},
	}
}

// connect registers, and asks what became of the tasks of its former self.
func (a *author) connect(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := framework.Connect(within, a.config())
	if err != nil {
		if ctx.Err() == nil && within.Err() == nil {
			a.lost(err)
		}
		return
	}
	a.take(c)
}

func (a *author) take(c *framework.Client) {
	a.client, a.id, a.demand = c, c.ID(), ""
	a.leaveAt = time.Now().Add(time.Duration(8+a.random.IntN(12)) * time.Second)
	a.note(registered, "")
	if len(a.open) == 0 {
		return
	}
	var ids []offers.TaskID
	for id, t := range a.open {
		ids = append(ids, id)
		t.killed = false
	}
	c.Reconcile(ids...)
}

// lost handles the end of the client by itself. A newer instance may have
// fenced it, which is how it should be: then it takes over in turn.
func (a *author) lost(err error) {
	if a.client != nil {
		a.client.Close()
		a.client = nil
	}
	if errors.Is(err, &offers.Error{Code: offers.FailedOver}) {
		a.note(left, "fenced by another instance")
		return
	}
	a.note(ended, err.Error())
	a.abandon("ended")
}

// abandon gives the framework up; its tasks are the masters' to end.
func (a *author) abandon(why string) {
	a.note(abandoned, why)
	a.id = ""
	clear(a.open)
	a.waiting.Store(0)
}

func (a *author) note(d deed, text string) {
	a.book.add(entry{Author: a.name, Framework: a.id, Deed: d, Note: text})
}

// tend does what is due: kill, leave, want more.
func (a *author) tend() {
	calm := a.calm()
	now := time.Now()
	for id, t := range a.open {
		if !t.killed && (calm || !t.killAt.IsZero() && now.After(t.killAt)) {
			t.killed = true
			a.book.add(entry{Author: a.name, Framework: a.id, Deed: killAsked, Task: id})
			a.client.Kill(id, nil)
		}
	}
	switch {
	case calm:
		if a.demand != "" {
			a.client.Withdraw(a.demand)
			a.demand = ""
		}
	case a.manner == probe:
		a.want(offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1}}, 1)
	case (a.manner == leaver || a.manner == ghost) && now.After(a.leaveAt):
		a.leave()
	case len(a.open) < most:
		a.want(unit(a.gpu), min(4, most-len(a.open)))
	}
}

func (a *author) calm() bool {
	select {
	case <-a.quiet:
		return true
	default:
		return false
	}
}

// want states a demand unless one stands.
func (a *author) want(each offers.Resources, count int) {
	if a.demand != "" && a.client.Left(a.demand) > 0 {
		return
	}
	a.number++
	a.demand = offers.DemandID(fmt.Sprintf("%s-d%d", a.name, a.number))
	if err := a.client.Demand(offers.Demand{ID: a.demand, Resources: each, Count: &count}); err != nil {
		a.note(refused, "demand: "+err.Error())
	}
}

// leave closes the client as a program that crashed would, or tears the
// framework down.
func (a *author) leave() {
	if a.manner == ghost && a.random.IntN(2) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err := a.client.Teardown(ctx)
		a.client.Close()
		a.client = nil
		a.abandon(fmt.Sprintf("teardown: %v", err))
		return
	}
	a.client.Close()
	a.client = nil
	if a.manner == ghost {
		a.abandon("left without a word")
	} else {
		a.note(left, "comes back with its id")
	}
}

// obey does what a fault asks for.
func (a *author) obey(ctx context.Context) {
	select {
	case o := <-a.orders:
		switch {
		case a.client == nil:
			o.done <- errors.New("it is not connected")
		case o.crash != nil:
			heal := o.crash()
			a.client.Close()
			a.client = nil
			heal()
			a.note(left, "killed")
			o.done <- nil
		case o.usurp:
			o.done <- a.usurp(ctx)
		default:
			select {
			case <-time.After(o.stall):
			case <-ctx.Done():
			}
			o.done <- nil
		}
	default:
	}
}

// usurp starts a second instance and expects the first to be told.
func (a *author) usurp(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	second, err := framework.Connect(within, a.config())
	if err != nil {
		return fmt.Errorf("the second instance: %w", err)
	}
	first := a.client
	defer first.Close()
	for {
		e, err := first.Next(within)
		if err != nil {
			a.take(second)
			if errors.Is(err, &offers.Error{Code: offers.FailedOver}) {
				return nil
			}
			return fmt.Errorf("the first instance ended with %w and not with failed_over", err)
		}
		if u, ok := e.(framework.Updated); ok {
			a.heard(u)
		}
	}
}
