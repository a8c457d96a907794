package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/ringmaster-project/ringmaster/agent/inventory"
)

// What may be allocated until the garbage collector runs again, by what was in
// use when it ran last: twice that, but no less than leastRoom, and no more than
// mostRoom or, where that is more, what makes wholeHeap of both; half of what is
// in use in any case. The more is in use, the longer a collection lasts, so the
// seldomer it should come, as long as there is memory for it. A collection
// takes a core that the loop, Raft and the connections want, for a tenth of a
// second and more where the machine is busy; what a launch waits for most is that.
// A heap that grows from nothing would otherwise be collected every few hundred
// milliseconds at first.
const (
	leastRoom = 384 << 20
	mostRoom  = 512 << 20
	wholeHeap = 1 << 30
	// loadRoom is leastRoom of the processes that only make load, and so the whole
	// heap: to collect the garbage of 19,000 agents of one process takes a core for as
	// long as a leader's, and none of them would have it in a process of its own.
	loadRoom = wholeHeap
	// scarce is the part of the memory there is that leastRoom may take.
	scarce = 16
	// leastHeap is what the runtime takes for in use where less is: its least heap
	// at GOGC=100, which grows with the percentage.
	leastHeap = 4 << 20
)

// collectLess has the garbage collector run when that has been allocated, with wanted
// in the place of leastRoom, unless GOGC says otherwise. It starts no goroutine: the
// runtime calls it after each collection.
func collectLess(wanted int64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	least := uint64(0)
	if memory, err := inventory.Memory(); err == nil {
		least = uint64(min(memory/scarce, wanted))
	}
	debug.SetGCPercent(percentFor(heapInUse(), least))
	afterEachCollection(func(inUse uint64) { debug.SetGCPercent(percentFor(inUse, least)) })
}

// percentFor returns how much may be allocated, as GOGC has it.
func percentFor(inUse, least uint64) int {
	inUse = max(inUse, leastHeap)
	most := uint64(mostRoom)
	if inUse < wholeHeap-mostRoom {
		most = wholeHeap - inUse
	}
	room := max(min(max(2*inUse, least), most), inUse/2)
	return int(100 * room / inUse)
}

// afterEachCollection calls do with what was in use after each collection, from
// the runtime's goroutine for cleanups.
func afterEachCollection(do func(inUse uint64)) {
	var arm func()
	arm = func() {
		runtime.AddCleanup(new([64]byte), func(struct{}) { // unreachable at once, so it goes with the next collection
			do(heapInUse())
			arm()
		}, struct{}{})
	}
	arm()
}

// heapInUse returns what was in use after the last collection, in bytes.
func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
