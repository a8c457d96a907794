package master

import (
	"sync/atomic"
	"testing"
)

// TestPrematchers: every job is done once and before Run returns, and no worker
// has two at the same time.
func TestPrematchers(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		for _, jobs := range []int{0, 1, 5, 300} {
			done := make([]atomic.Int32, jobs)
			busy := make([]atomic.Bool, workers)
			prematchers(workers).Run(jobs, func(worker, i int) {
				if busy[worker].Swap(true) {
					t.Errorf("worker %d has two jobs", worker)
				}
				done[i].Add(1)
				busy[worker].Store(false)
			})
			for i := range done {
				if n := done[i].Load(); n != 1 {
					t.Errorf("%d workers: job %d of %d was done %d times", workers, i, jobs, n)
				}
			}
		}
	}
}
