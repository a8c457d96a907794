package cli_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// load is a framework that fills a cluster with tasks of one size.
type load struct {
	b        *testing.B
	ctx      context.Context
	client   *framework.Client
	unit     offers.Resources
	launched int // t0, t1, ...
}

func newLoad(b *testing.B, c *cluster, unit offers.Resources) *load {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	client, err := framework.Connect(ctx, framework.Config{Masters: c.http, Info: wire.FrameworkInfo{Name: "load"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	return &load{b: b, ctx: ctx, client: client, unit: unit}
}

func (l *load) demand(id offers.DemandID, count int) {
	l.b.Helper()
	if err := l.client.Demand(offers.Demand{ID: id, Resources: l.unit, Count: &count}); err != nil {
		l.b.Fatal(err)
	}
}

// until waits for an event.
func (l *load) until(what string, is func(framework.Event) bool) {
	l.b.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	for {
		e, err := l.client.Next(ctx)
		if err != nil {
			l.b.Fatalf("waiting for %s: %v", what, err)
		}
		if is(e) {
			return
		}
	}
}

// run launches n more tasks and waits until all of them run.
func (l *load) run(n int, command *offers.Command) {
	l.b.Helper()
	l.demand("run", n)
	running := 0
	l.until("running tasks", func(e framework.Event) bool {
		switch e := e.(type) {
		case framework.Offered:
			for _, o := range e.Offers {
				l.accept(o, command)
			}
		case framework.Updated:
			if e.Status.State == offers.Running {
				running++
			} else if e.Status.State.Terminal() {
				l.b.Fatalf("%+v", e.Status)
			}
		}
		return running == n
	})
}

// accept fills an offer.
func (l *load) accept(o wire.Offer, command *offers.Command) {
	l.b.Helper()
	var tasks []offers.Task
	for range framework.Units(o.Resources, l.unit) {
		tasks = append(tasks, offers.Task{ID: offers.TaskID(fmt.Sprintf("t%d", l.launched)), Name: "load", Resources: l.unit, Command: command})
		l.launched++
	}
	if err := l.client.Accept([]offers.OfferID{o.ID}, tasks...); err != nil {
		l.b.Fatal(err)
	}
}

// quantiles reports the median and the longest of what was measured.
func quantiles(b *testing.B, what string, took []time.Duration) {
	b.Helper()
	took = slices.Sorted(slices.Values(took))
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, what+"-max-ms")
}
