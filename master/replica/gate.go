package replica

import (
	"sync"

	"github.com/ringmaster-project/ringmaster/offers"
)

// gate counts who is inside Raft. A Raft that shuts down leaves what waits in
// its queues without an answer for ever; one that runs answers everything, if
// only because it steps down. So closing lets nobody in any more, waits for
// those who are inside, and only then is Raft stopped.
type gate struct {
	mu      sync.Mutex
	closed  bool
	inside  sync.WaitGroup
	futures map[*Future]struct{} // not waited for yet; at most maxInFlight
}

func errStops() error { return offers.Errorf(offers.Unavailable, "this master stops") }

// through runs call inside.
func (g *gate) through(call func() error) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return errStops()
	}
	g.inside.Add(1)
	g.mu.Unlock()
	defer g.inside.Done()
	return call()
}

// propose makes f pending with start, unless the gate is closed or full.
func (g *gate) propose(f *Future, start func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errStops()
	case len(g.futures) >= maxInFlight:
		return offers.Errorf(offers.Unavailable, "%d batches wait for a majority of the masters already", maxInFlight)
	}
	if g.futures == nil {
		g.futures = map[*Future]struct{}{}
	}
	g.futures[f] = struct{}{}
	start()
	return nil
}

func (g *gate) decided(f *Future) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.futures, f)
}

// close returns when nobody is inside and every future is decided.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	var pending []*Future
	for f := range g.futures {
		pending = append(pending, f)
	}
	g.mu.Unlock()
	for _, f := range pending {
		_, _ = f.Wait()
	}
	g.inside.Wait()
}
