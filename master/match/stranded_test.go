package match

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// amount3 is cpus, mem and whole devices.
type amount3 struct {
	CPUs, Mem, GPUs int
}

func (a amount3) fits(in amount3) bool {
	return a.CPUs <= in.CPUs && a.Mem <= in.Mem && a.GPUs <= in.GPUs
}

func (a amount3) minus(b amount3) amount3 {
	return amount3{a.CPUs - b.CPUs, a.Mem - b.Mem, a.GPUs - b.GPUs}
}

// part is how much of what there is that makes, on the mean of the kinds.
func (a amount3) part(of amount3) float64 {
	return (float64(a.CPUs)/float64(of.CPUs) + float64(a.Mem)/float64(of.Mem) + float64(a.GPUs)/float64(of.GPUs)) / 3
}

// backlogMix is testdata/backlog.json.
type backlogMix struct {
	Seeds, Agents, Jobs      int
	Agent, Least, Most, Step amount3
}

func readBacklog(tb testing.TB) (mix backlogMix) {
	tb.Helper()
	text, err := os.ReadFile("testdata/backlog.json")
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(text, &mix); err != nil {
		tb.Fatal(err)
	}
	return mix
}

// draw returns the jobs of a seed in the order in which they wait.
func (mix *backlogMix) draw(seed uint64) []amount3 {
	rnd := rand.New(rand.NewPCG(seed, 4))
	between := func(least, most, step int) int { return least + step*rnd.IntN((most-least)/step+1) }
	jobs := make([]amount3, mix.Jobs)
	for i := range jobs {
		jobs[i] = amount3{
			between(mix.Least.CPUs, mix.Most.CPUs, mix.Step.CPUs), between(mix.Least.Mem, mix.Most.Mem, mix.Step.Mem), between(mix.Least.GPUs, mix.Most.GPUs, mix.Step.GPUs),
		}
	}
	return jobs
}

// firstFit gives each job, in order, the first agent that it fits on, and returns
// the part of the cluster that is left when all had their turn.
func (mix *backlogMix) firstFit(jobs []amount3) (stranded float64) {
	free := make([]amount3, mix.Agents)
	for i := range free {
		free[i] = mix.Agent
	}
	for _, j := range jobs {
		for i := range free {
			if j.fits(free[i]) {
				free[i] = free[i].minus(j)
				break
			}
		}
	}
	for i := range free {
		stranded += free[i].part(mix.Agent) / float64(len(free))
	}
	return stranded
}

// strands does the same with a strategy, all jobs waiting at once.
func (mix *backlogMix) strands(tb testing.TB, p offers.Placement, jobs []amount3) float64 {
	b := newBench(tb, Config{Placement: p})
	a, ids, sizes := mix.Agent, "", ""
	for i := range a.GPUs {
		ids, sizes = ids+fmt.Sprintf(`,"%d"`, i), sizes+",8"
	}
	for i := range mix.Agents {
		b.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":%d,"devices":{"gpu":{"ids":[%s],"capacity":[%s]}}}`, a.CPUs, a.Mem, ids[1:], sizes[1:]))
	}
	f := b.framework("f", "default")
	for i, j := range jobs {
		b.demand(f, fmt.Sprintf(`{"id":"%d","count":1,"resources":{"cpus":%d,"mem":%d,"devices":{"gpu":{"count":%d}}}}`, i, j.CPUs, j.Mem, j.GPUs))
	}
	b.Ready(b.now.Add(time.Hour))
	left := amount3{int(b.free.n[0] / 1000), int(b.free.n[1]), int(b.free.n[scalars] / 8)}
	return left.part(a) / float64(mix.Agents)
}

// TestBalanceStrandsHalf: of a backlog of the kind of the golden case `balance`
// leaves at most half as much capacity unused as first fit does. It was 8.7 %
// against 19.0 %, and 17.4 to 19.0 % with the strategies that let nobody pass.
func TestBalanceStrandsHalf(t *testing.T) {
	mix := readBacklog(t)
	var first, balanced float64
	for seed := range mix.Seeds {
		jobs := mix.draw(uint64(seed))
		first += 100 * mix.firstFit(jobs) / float64(mix.Seeds)
		balanced += 100 * mix.strands(t, offers.Balance, jobs) / float64(mix.Seeds)
	}
	t.Logf("first fit strands %.2f %% and balance %.2f %%", first, balanced)
	if balanced > first/2 {
		t.Errorf("balance strands %.2f %%, first fit %.2f %%", balanced, first)
	}
}
