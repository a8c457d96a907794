package replay

import (
	"math"
	"math/rand/v2"
	"time"
)

// MakeChurn returns the order of a seed in which tasks come and go: what is
// asked at a time comes to load times what there is, on the mean. All tasks of the
// file arrive round after round, in another order each, so that all seeds bring
// the same mix; intervals between arrivals are exponential, run times log-normal with a mean of an hour, whatever the task
// asks. It lasts for churnSpan hours.
//
// The first churnWarm hours fill the cluster and are not measured.
func MakeChurn(seed int64, load float64, nodes []Node, tasks []Task) Order {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	by := scarce(nodes, tasks)
	var asked int64
	for i := range tasks {
		asked += tasks[i].amounts()[by]
	}
	part := float64(asked) / float64(len(tasks)) / float64(max(total(nodes)[by], 1)) // of a task, held for an hour
	between := part / load * float64(time.Hour)
	o := Order{Seed: seed, Rank: r.Perm(len(nodes))}
	var round []int
	for at := 0.0; ; {
		at += r.ExpFloat64() * between
		if at >= float64(churnSpan) {
			return o
		}
		if len(round) == 0 {
			round = r.Perm(len(tasks))
		}
		task := round[0]
		round = round[1:]
		o.Jobs = append(o.Jobs, Job{
			Task: task, Arrive: time.Duration(at),
			Run: time.Duration(math.Exp(churnSigma*r.NormFloat64()-churnSigma*churnSigma/2) * float64(time.Hour)),
		})
	}
}

const (
	churnSpan  = 10 * time.Hour
	churnWarm  = 4 * time.Hour
	churnSigma = 1.0 // of the logarithm of the run time: the median is 36 minutes
)
