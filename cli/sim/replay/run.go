package replay

import (
	"container/heap"
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringmaster-project/ringmaster/master/match"
)

// Marks are the shares of arrived demand, in %, that a result tells of.
var Marks = []int{90, 95, 100, 110, 130}

// Run replays all orders under each policy, on all cores, and ends early with
// the context. done, which may be nil, hears how many arrivals more are over,
// from several goroutines.
func Run(ctx context.Context, w Workload, policies []Policy, config match.Config, done func(arrivals int)) ([]Result, error) {
	results := make([]Result, len(policies))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	if done == nil {
		done = func(int) {}
	}
	for i, policy := range policies {
		results[i] = Result{Policy: policy, Runs: make([]Tally, len(w.Orders))}
		for j := range w.Orders {
			g.Go(func() error {
				tally, err := play(ctx, &w, &w.Orders[j], policy.allocator(&w, &w.Orders[j], config), done)
				results[i].Runs[j] = tally
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i := range results {
		results[i].sum()
	}
	return results, nil
}

// allocator is who is tried out: the matcher of a master, or a yardstick. Jobs
// are named by their place in the order.
type allocator interface {
	ask(job int)                      // from now on it waits for room
	drop(job int)                     // it waits no more
	end(job int)                      // it has run and gives its room back
	serve(at time.Duration) []started // who gets room now
}

type started struct {
	job int
	spot
}

var (
	_ allocator = (*bed)(nil)
	_ allocator = (*yard)(nil)
)

// play is one run: it brings an order before an allocator, event by event.
func play(ctx context.Context, w *Workload, order *Order, a allocator, done func(int)) (Tally, error) {
	const checked = 1024 // arrivals between two looks at the context
	r := newRecorder(w, order)
	var ends endings
	next, waits := 0, w.Way == Waiting
	for next < len(order.Jobs) || waits && len(ends) > 0 && r.waiting > 0 {
		now := ends.next()
		if arrives := next < len(order.Jobs); arrives && (len(ends) == 0 || order.Jobs[next].Arrive < now) {
			now = order.Jobs[next].Arrive
		}
		r.advance(now)
		for len(ends) > 0 && ends.next() == now {
			job := heap.Pop(&ends).(ending).job
			a.end(job)
			r.ended(job)
		}
		asked := next
		for next < len(order.Jobs) && order.Jobs[next].Arrive == now && (waits || next == asked) {
			a.ask(next)
			r.asked(next)
			if next++; next%checked == 0 {
				if ctx.Err() != nil {
					return Tally{}, ctx.Err()
				}
				done(checked)
			}
		}
		if next == asked && r.waiting == 0 {
			continue
		}
		for _, s := range a.serve(now) {
			if err := r.started(s, now); err != nil {
				return Tally{}, err
			}
			if run := order.Jobs[s.job].Run; run > 0 {
				heap.Push(&ends, ending{now + run, s.job})
			}
		}
		if !waits && r.waiting > 0 {
			a.drop(asked)
			r.refused(asked)
		}
		r.settled()
	}
	done(len(order.Jobs) % checked)
	return r.tally(), nil
}

// endings are the jobs that run, who ends next at the front; between equals the
// one that arrived first.
type endings []ending

type ending struct {
	at  time.Duration
	job int
}

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].job < e[j].job
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)   { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// next returns when the first of them ends, 0 where there is none.
func (e endings) next() time.Duration {
	if len(e) == 0 {
		return 0
	}
	return e[0].at
}

// mistake is a fault of the allocator: never seen in a good one.
func mistake(order *Order, job int, node *Node) error {
	return fmt.Errorf("seed %d: node %s was given job %d, for which it has no room: this is a bug", order.Seed, node.Name, job)
}
