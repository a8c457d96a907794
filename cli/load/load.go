package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// connecting is how many frameworks connect, or leave, at the same time.
const connecting = 64

// Config says where the load goes.
type Config struct {
	Masters     []string // host:port of the masters' HTTP doors, at least one
	Door        *door.Door
	Constraints []offers.Constraint // of every demand
	Plan        Plan
	Stay        bool // tasks are to stay: the work is done once all of them run
}

// Load is frameworks that are registered. Open it, Run it once, then
// Close it or Leave.
type Load struct {
	config  Config
	workers []*worker
}

// Open registers a framework for each work of the plan. When ctx ends before
// that, or one is refused, those that came are gone again.
func Open(ctx context.Context, c Config) (*Load, error) {
	l := &Load{config: c, workers: make([]*worker, len(c.Plan))}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(connecting)
	for i, w := range c.Plan {
		g.Go(func() error {
			client, err := framework.Connect(within, framework.Config{
				Masters: c.Masters, Door: c.Door, Info: wire.FrameworkInfo{Name: fmt.Sprintf("load-%d", i+1)},
			})
			if err != nil {
				return err
			}
			l.workers[i] = newWorker(client, w, c)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, l.Close(context.WithoutCancel(ctx)))
	}
	return l, nil
}

// Run does the work and returns when all of it is done, when a task ended
// otherwise than it should, or when ctx ends, with its cause and how far it had come.
func (l *Load) Run(ctx context.Context) (*Trace, error) {
	g, within := errgroup.WithContext(ctx)
	begin := time.Now()
	for _, w := range l.workers {
		g.Go(func() error { return w.run(within, begin) })
	}
	err := g.Wait()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", l.progress(), context.Cause(ctx))
	}
	t := &Trace{}
	for _, w := range l.workers {
		t.Demands = append(t.Demands, w.demands...)
		t.Tasks = append(t.Tasks, w.lasting()...)
		t.Dropped += w.dropped
		t.Declined = append(t.Declined, w.declined...)
	}
	return t, err
}

// progress tells how far the load came.
func (l *Load) progress() string {
	done, declined := 0, 0
	for _, w := range l.workers {
		done, declined = done+w.done, declined+len(w.declined)
	}
	if all := l.config.Plan.Declines(); all > 0 {
		return fmt.Sprintf("%d of %d offers are declined", declined, all)
	}
	if l.config.Stay {
		return fmt.Sprintf("%d of %d tasks run", done, l.config.Plan.Tasks())
	}
	return fmt.Sprintf("%d of %d tasks have finished", done, l.config.Plan.Tasks())
}

// leaving bounds how long the masters may take to forget the frameworks.
const leaving = 10 * time.Second

// Close ends the frameworks, and with them what they still run.
func (l *Load) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, leaving, fmt.Errorf("the masters have not ended the frameworks within %v", leaving))
	defer cancel()
	return l.each(func(w *worker) error { return w.client.Teardown(ctx) })
}

// Leave disconnects the frameworks from masters that end with them.
func (l *Load) Leave() error {
	return l.each(func(w *worker) error {
		w.client.Close()
		return nil
	})
}

// each does something for every framework that came.
func (l *Load) each(do func(*worker) error) error {
	var g errgroup.Group
	g.SetLimit(connecting)
	for _, w := range l.workers {
		if w != nil {
			g.Go(func() error { return do(w) })
		}
	}
	return g.Wait()
}

// Recovery is when the frameworks of a load had their service back.
type Recovery struct {
	Found  []time.Time // of each: it was registered again
	Served []time.Time // of each: one more task of it ran
}

// Survive follows the frameworks while their masters fail, until each of them
// has found a leader again and had one more task run. The load is one that
// stays, and Run has returned without an error; several failures can follow
// each other.
func (l *Load) Survive(ctx context.Context) (Recovery, error) {
	r := Recovery{make([]time.Time, len(l.workers)), make([]time.Time, len(l.workers))}
	g, within := errgroup.WithContext(ctx)
	for i, w := range l.workers {
		g.Go(func() (err error) {
			r.Found[i], r.Served[i], err = w.survive(within)
			return err
		})
	}
	err := g.Wait()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("waiting for the frameworks' service: %w", context.Cause(ctx))
	}
	return r, err
}
