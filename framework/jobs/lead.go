package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/offers"
)

// leader is a daemon that works, over one registration.
type leader struct {
	daemon *Daemon
	client *framework.Client
	store  *store
	done   chan struct{}   // closed when it does not work any more
	ask    chan func()     // questions of HTTP, run in the loop
	work   *sync.WaitGroup // its goroutines

	// Owned by the loop.
	sched   *scheduler.Scheduler
	changed chan struct{} // closed at the next change that people see
	seen    uint64        // the last change that was announced
	waiting round         // what the next writing is to hold
	writing *round        // under way
	written chan error    // its result
}

// round is one writing of records, and what is due when they are on disk.
type round struct {
	writes map[string]json.RawMessage
	acks   []framework.Updated
	after  []func()
}

// errDeposed says that another instance works.
var errDeposed = errors.New("another instance has taken over")

// lead registers, takes the lease, reads the records and works.
func (d *Daemon) lead(ctx context.Context, id offers.FrameworkID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := d.config.connect(ctx, d.config.client(id, d.url))
	if err != nil {
		return err
	}
	defer client.Close()
	if id == "" {
		if eldest, err := d.eldest(ctx, client.ID()); err != nil || !eldest {
			return errors.Join(err, client.Teardown(ctx))
		}
	}
	st, err := openStore(ctx, client)
	if err != nil {
		return err
	}
	records, err := st.load(ctx)
	if err != nil {
		return err
	}
	l := &leader{
		daemon: d, client: client, store: st, done: make(chan struct{}), ask: make(chan func()), work: &sync.WaitGroup{},
		changed: make(chan struct{}), written: make(chan error, 1),
	}
	defer l.work.Wait()
	defer cancel()
	defer close(l.done)
	if l.sched, err = scheduler.New(records, st.epoch<<24, d.config.root()); err != nil {
		return err
	}
	client.Reconcile()
	d.config.Logger.Info("working", "framework", client.ID(), "epoch", st.epoch, "records", len(records))
	d.current.Store(l)
	defer d.current.Store(nil)
	d.readyOnce.Do(func() { close(d.ready) })
	return l.run(ctx)
}

// eldest reports whether a framework that was just registered is the only one,
// or the first of several that started together.
func (d *Daemon) eldest(ctx context.Context, id offers.FrameworkID) (bool, error) {
	known, err := d.config.Directory.Frameworks(ctx)
	if err != nil {
		return false, err
	}
	return len(known) > 0 && known[0].ID == id, nil
}

// run is the loop that owns the scheduler.
func (l *leader) run(ctx context.Context) error {
	events, failed := l.events(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case e := <-events:
			if err := l.event(ctx, e); err != nil {
				return err
			}
		case f := <-l.ask:
			f()
		case err := <-l.written:
			if err != nil {
				return err
			}
			l.finishRound()
		case <-timer.C:
			l.sched.Tick(time.Now())
		}
		l.act(ctx)
		l.announce()
		if at := l.sched.Wake(); !at.IsZero() {
			timer.Reset(max(time.Until(at), time.Millisecond))
		}
	}
}

// events reads the client in a goroutine of its own.
func (l *leader) events(ctx context.Context) (<-chan framework.Event, <-chan error) {
	events, failed := make(chan framework.Event), make(chan error, 1)
	l.work.Go(func() {
		for {
			e, err := l.client.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	})
	return events, failed
}

func (l *leader) event(ctx context.Context, e framework.Event) error {
	now := time.Now()
	switch e := e.(type) {
	case framework.Offered:
		for i := range e.Offers {
			l.sched.Offered(now, &e.Offers[i])
		}
	case framework.Updated:
		l.sched.Updated(now, e.Status)
		l.waiting.acks = append(l.waiting.acks, e)
	case framework.Reconciled:
		l.sched.Settled()
	case framework.Reconnected:
		return l.store.held(ctx)
	case framework.Waits:
		l.sched.DemandWaits(now, e.Demand, e.Why)
	case framework.Refused:
		if e.Request == "demand" && e.Demand != "" {
			l.sched.DemandRefused(now, e.Demand, e.Err.Error())
		}
	}
	return nil
}

// act does what the scheduler says, until it says nothing more: what could not
// be launched or demanded is told to it at once.
func (l *leader) act(ctx context.Context) {
	for told := true; told; {
		now := time.Now()
		out := l.sched.Take(now)
		told = false
		for _, a := range out.Accepts {
			if err := l.client.Accept([]offers.OfferID{a.Offer}, a.Tasks...); err != nil {
				l.sched.NotLaunched(now, a.Tasks, err.Error())
				told = true
			}
		}
		for _, d := range out.Demands {
			if err := l.client.Demand(d); err != nil {
				l.sched.DemandRefused(now, d.ID, err.Error())
				told = true
			}
		}
		if len(out.Declines) > 0 {
			l.client.Decline(unwanted, out.Declines...)
		}
		for _, id := range out.Kills {
			l.client.Kill(id, nil)
		}
		for _, s := range out.Spans {
			s.Task.Framework = l.client.ID()
			l.daemon.config.Tracer.Record(s)
		}
		if len(out.Ask) > 0 {
			l.client.Reconcile(out.Ask...)
		}
		l.waiting.add(out.Writes)
	}
	l.keep(ctx)
}

// unwanted is how long an offer that nothing waits for is hidden.
const unwanted = time.Second

func (r *round) add(writes map[string]json.RawMessage) {
	for key, text := range writes {
		if r.writes == nil {
			r.writes = map[string]json.RawMessage{}
		}
		r.writes[key] = text
	}
}

// keep begins the next writing unless one is under way. Without records what
// is due is due at once.
func (l *leader) keep(ctx context.Context) {
	if l.writing != nil {
		return
	}
	r := l.waiting
	l.waiting = round{}
	if len(r.writes) == 0 {
		l.settle(&r)
		return
	}
	l.writing = &r
	writes := scheduler.InOrder(r.writes)
	l.work.Go(func() { l.written <- l.store.write(ctx, writes) })
}

// finishRound is called when the records of a round are on disk.
func (l *leader) finishRound() {
	r := l.writing
	l.writing = nil
	keys := make([]string, 0, len(r.writes))
	for key := range r.writes {
		keys = append(keys, key)
	}
	l.sched.Written(keys)
	l.settle(r)
}

// settle does what waited for a round.
func (l *leader) settle(r *round) {
	for _, u := range r.acks {
		l.client.Acknowledge(u)
	}
	for _, f := range r.after {
		f()
	}
}

// announce wakes who watches, when there is something new.
func (l *leader) announce() {
	if n := l.sched.Changes(); n != l.seen {
		l.seen = n
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// within runs f in the loop of the daemon that works, and waits for it.
func (d *Daemon) within(ctx context.Context, f func(*leader)) error {
	l := d.current.Load()
	if l == nil {
		return offers.Errorf(offers.Unavailable, "this instance of the jobs framework stands by; ask again")
	}
	done := make(chan struct{})
	select {
	case l.ask <- func() { f(l); close(done) }:
		<-done
		return nil
	case <-l.done:
		return offers.Errorf(offers.Unavailable, "this instance of the jobs framework does not work any more; ask again")
	case <-ctx.Done():
		return fmt.Errorf("jobs: %w", context.Cause(ctx))
	}
}
