package master

import "runtime"

// gate lets few goroutines at a time do what takes the processor. The others wait
// at it in the order in which they came, and are not ready to run: the loop, which
// the scheduler interrupts in the middle of a turn, would wait behind all that are.
// Half of the processors are left to it.
type gate chan struct{}

func newGate() gate { return make(gate, max(1, runtime.GOMAXPROCS(0)/2)) }

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
