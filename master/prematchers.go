package master

import (
	"sync"
	"sync/atomic"

	"github.com/ringmaster-project/ringmaster/master/match"
)

// prematchers are goroutines for the matcher, which has none: so many with the
// loop's own, started for every set of jobs and waited for before the loop goes
// on, so that nothing changes under them.
func prematchers(workers int) match.Prematch {
	return match.Prematch{Workers: workers, Run: func(jobs int, job func(worker, i int)) {
		var taken atomic.Int64
		work := func(worker int) {
			for i := int(taken.Add(1)) - 1; i < jobs; i = int(taken.Add(1)) - 1 {
				job(worker, i)
			}
		}
		var others sync.WaitGroup
		for w := 1; w < min(workers, jobs); w++ {
			others.Go(func() { work(w) })
		}
		work(0)
		others.Wait()
	}}
}
