package load

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Plan is what frameworks do, in the order in which they begin.
type Plan []Work

// Work is what one framework does: launch tasks, or decline offers.
type Work struct {
	Jobs     []Job
	PerOffer int // tasks that it launches in one offer at most; 0 is no limit
	Declines int // offers of whole agents that it declines, in place of jobs

	// Every is how long after one job the next is stated, the first after Begin.
	// Where it is 0 a thousand stand at a time, as long as there are so many.
	Every, Begin time.Duration
}

// Job is one demand: so many tasks of one size.
type Job struct {
	Tasks int // 1 to offers.MaxCount
	Unit  offers.Resources
}

// Tasks returns how many tasks are launched.
func (p Plan) Tasks() (n int) {
	for _, w := range p {
		for _, j := range w.Jobs {
			n += j.Tasks
		}
	}
	return n
}

// Declines returns how many offers are declined.
func (p Plan) Declines() (n int) {
	for _, w := range p {
		n += w.Declines
	}
	return n
}

// Batch is tasks of one size, shared among the frameworks, each of which has
// its part as one job.
func Batch(frameworks, tasks int, unit offers.Resources) (Plan, error) {
	return shared(frameworks, tasks, func(n int) Work { return Work{Jobs: []Job{{n, unit}}} })
}

// Single is jobs of one task each. Their sizes are drawn, evenly, from ten of
// unit to 1.9 times that.
func Single(frameworks, tasks int, unit offers.Resources, seed uint64) (Plan, error) {
	draw := rand.New(rand.NewPCG(seed, 0))
	return shared(frameworks, tasks, func(n int) Work {
		jobs := make([]Job, n)
		for i := range jobs {
			jobs[i] = Job{1, grown(unit, 10+draw.Int64N(10))}
		}
		return Work{Jobs: jobs}
	})
}

// grown returns tenths of unit's scalar amounts.
func grown(unit offers.Resources, tenths int64) offers.Resources {
	for k, n := range unit.Amounts {
		unit.Amounts[k] = n * tenths / 10
	}
	return unit
}

// Decline is offers of whole agents that have at least unit, none of which is
// taken. A framework is offered no agent twice, so there are no more than
// frameworks times agents.
func Decline(frameworks, declines, agents int, unit offers.Resources) (Plan, error) {
	if declines > frameworks*agents {
		return nil, fmt.Errorf("%d offers can't be declined: %d frameworks are offered each of %d agents once", declines, frameworks, agents)
	}
	return shared(frameworks, declines, func(n int) Work { return Work{Jobs: []Job{{0, unit}}, Declines: n} })
}

// shared gives each of the frameworks its part of the whole, as even as can be.
func shared(frameworks, whole int, work func(n int) Work) (Plan, error) {
	if frameworks < 1 || whole < frameworks {
		return nil, fmt.Errorf("%d frameworks can't share %d: each needs at least 1", frameworks, whole)
	}
	p := make(Plan, frameworks)
	for i := range p {
		p[i] = work(whole*(i+1)/frameworks - whole*i/frameworks)
	}
	return p, nil
}

// What MultiFramework is for: so many agents that have so much.
const (
	MultiAgents    = 80
	MultiResources = "cpus=64,mem=488000MB"
)

// MultiFramework is the mix of the benchmark of that name of Mesos' allocator:
// 554 frameworks of three kinds with 19,500 tasks in all, which fit at once.
// The seed draws the order in which they begin.
func MultiFramework(seed uint64) Plan {
	var p Plan
	for _, kind := range []struct{ frameworks, tasks, milliCPUs, megabytes, perOffer int }{
		{4, 4000, 70, 400, 100},
		{500, 5, 100, 4000, 1},
		{50, 20, 1000, 1000, 5},
	} {
		unit := offers.Resources{Amounts: offers.Amounts{offers.CPUs: int64(kind.milliCPUs), offers.Mem: int64(kind.megabytes) * 1e6}}
		for range kind.frameworks {
			p = append(p, Work{Jobs: []Job{{kind.tasks, unit}}, PerOffer: kind.perOffer})
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p
}

// pieces is how many jobs a framework of a paced plan states in a second at
// most.
const pieces = 100

// Paced is the plan with its jobs cut and stated evenly, so many tasks a second
// in all.
func (p Plan) Paced(rate int) Plan {
	all, out := p.Tasks(), make(Plan, len(p))
	for i, w := range p {
		tasks := Plan{w}.Tasks()
		of := float64(rate) * float64(tasks) / float64(all) // of this framework, a second
		piece := max(1, int(of/pieces))
		every := time.Duration(float64(piece) / of * float64(time.Second))
		out[i] = Work{PerOffer: w.PerOffer, Every: every, Begin: every * time.Duration(i) / time.Duration(len(p))}
		for _, j := range w.Jobs {
			for left := j.Tasks; left > 0; left -= piece {
				out[i].Jobs = append(out[i].Jobs, Job{min(piece, left), j.Unit})
			}
		}
	}
	return out
}
