package master

import "runtime"

// gate lets few goroutines at a time do what takes the processor. The others wait
// at it in the order in which they came, and are not ready to run: the loop, which
// the scheduler interrupts in the middle of a turn, would wait behind all that are.
type gate chan struct{}

// gatePlaces is how many there are for each processor: with a single one nobody
// would go on while the host has taken the processor from who is in.
const gatePlaces = 4

func newGate() gate { return make(gate, gatePlaces*runtime.GOMAXPROCS(0)) }

func (g gate) enter() { g <- struct{}{} }

// enterOr is enter that gives up when done is closed, and then reports false.
func (g gate) enterOr(done <-chan struct{}) bool {
	select {
	case g <- struct{}{}:
		return true
	case <-done:
		return false
	}
}

// leave lets the next one in, behind what is ready to run: whom a channel wakes the
// scheduler takes next, so that each would go on from the one before it, and what
// they have begun, and the loop, would wait for the end of all of them.
func (g gate) leave() {
	runtime.Gosched()
	<-g
}
