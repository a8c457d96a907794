package cli

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// What may be allocated until the garbage collector runs again, by what was in
// use when it ran last: twice that, which of a loaded master's time takes a
// seventh less than the usual once for a quarter more memory (as measured with
// bench run); but no more than roomyHeap where much is in use, for then it runs
// seldom anyhow, and no less than half of that.
const (
	mostPercent  = 200
	leastPercent = 50
	roomyHeap    = 512 << 20
)

// collectLess has the garbage collector run when that has been allocated, unless
// GOGC says otherwise. It starts no goroutine: the runtime calls it after each
// collection.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(mostPercent)
		afterEachCollection(func(inUse uint64) { debug.SetGCPercent(percentFor(inUse)) })
	}
}

// percentFor returns how much may be allocated, as GOGC has it.
func percentFor(inUse uint64) int {
	percent := math.Ceil(100 * roomyHeap / float64(max(inUse, 1)))
	return int(min(max(percent, leastPercent), mostPercent))
}

// afterEachCollection calls do with what was in use after each collection, from
// the runtime's goroutine for cleanups.
func afterEachCollection(do func(inUse uint64)) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var arm func()
	arm = func() {
		runtime.AddCleanup(new([64]byte), func(struct{}) { // unreachable at once, so it goes with the next collection
			metrics.Read(sample)
			do(sample[0].Value.Uint64())
			arm()
		}, struct{}{})
	}
	arm()
}
