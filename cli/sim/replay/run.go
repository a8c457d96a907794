package replay

import (
	"context"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Marks are the shares of arrived demand, in %, that a result tells of.
var Marks = []int{90, 95, 100, 110, 130}

// Workload is what is replayed.
type Workload struct {
	Nodes  []Node
	Tasks  []Task
	Orders []Order // each is a run of its own
}

// Result is what a strategy came to, as means over the orders.
type Result struct {
	Placement offers.Placement
	Alloc     map[int]float64 // allocated devices in % of all, by mark; without marks that were not reached
	// FirstRefusal is how much had arrived, in % of all devices, when a task
	// that asks for devices was refused first; 0 where none was.
	FirstRefusal float64
	Runs         []Tally
}

// Run replays all orders under each strategy, on all cores, and ends early
// with the context. done, which may be nil, hears of every order that is over,
// from several goroutines.
func Run(ctx context.Context, w Workload, placements []offers.Placement, config match.Config, done func()) ([]Result, error) {
	results := make([]Result, len(placements))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, placement := range placements {
		results[i] = Result{Placement: placement, Runs: make([]Tally, len(w.Orders))}
		own := config
		own.Placement = placement
		for j, order := range w.Orders {
			g.Go(func() error {
				tally, err := replay(ctx, w, order, own)
				results[i].Runs[j] = tally
				if done != nil {
					done()
				}
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

// Tally is what one run came to.
type Tally struct {
	Seed         int64
	Alloc        map[int]float64 // allocated in %, mean over the arrivals at each rounded % of arrived
	FirstRefusal float64         // 0: no task that asks for devices was refused
	Placed       int
	Refused      int
}

// replay runs one order: tasks arrive one at a time and stay for ever, or are
// dropped where nothing fits.
func replay(ctx context.Context, w Workload, order Order, config match.Config) (Tally, error) {
	b := newBed(config, w.Nodes, order.Rank, w.Tasks)
	t := Tally{Seed: order.Seed, Alloc: map[int]float64{}}
	seen := map[int]int{}
	all := float64(max(capacity(w.Nodes), 1)) / 100
	var arrived, placed int64
	for n, task := range order.Tasks {
		if n%1024 == 0 && ctx.Err() != nil {
			return t, ctx.Err()
		}
		gpu := w.Tasks[task].GPU()
		arrived += gpu
		if b.place(task) {
			placed += gpu
			t.Placed++
		} else {
			t.Refused++
			if gpu > 0 && t.FirstRefusal == 0 {
				t.FirstRefusal = float64(arrived) / all
			}
		}
		mark := int(math.Round(float64(arrived) / all))
		t.Alloc[mark] += float64(placed) / all
		seen[mark]++
	}
	for mark, n := range seen {
		t.Alloc[mark] /= float64(n)
	}
	return t, nil
}

// sum makes the means over the runs.
func (r *Result) sum() {
	r.Alloc = map[int]float64{}
	for _, mark := range Marks {
		values := make([]float64, 0, len(r.Runs))
		for _, t := range r.Runs {
			if v, reached := t.Alloc[mark]; reached {
				values = append(values, v)
			}
		}
		if len(values) == len(r.Runs) {
			r.Alloc[mark] = mean(values)
		}
	}
	var refusals []float64
	for _, t := range r.Runs {
		if t.FirstRefusal > 0 {
			refusals = append(refusals, t.FirstRefusal)
		}
	}
	r.FirstRefusal = mean(refusals)
}

// mean adds in a fixed order, so that it is the same every time.
func mean(values []float64) float64 {
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}
