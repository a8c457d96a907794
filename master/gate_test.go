package master

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestGateLetsFewInAtATime: as many as it has places for, the others after them
// and in order, without those who gave up.
func TestGateLetsFewInAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		var order []int
		given := make(chan struct{})
		for range cap(g) {
			g.enter()
		}
		for i := range 5 {
			go func() {
				switch {
				case i%2 == 0:
					g.enter()
				case !g.enterOr(given):
					return
				}
				order = append(order, i)
			}()
			synctest.Wait()
		}
		close(given)
		synctest.Wait()
		for range 3 {
			n := len(order)
			time.Sleep(time.Second)
			if len(order) != n {
				t.Fatal("one came in without a place")
			}
			g.leave()
			synctest.Wait()
		}
		if want := []int{0, 2, 4}; !slices.Equal(order, want) {
			t.Errorf("they came in as %v; want %v", order, want)
		}
	})
}

// TestWhoLeavesTheGateLetsTheReadyGoFirst: what was ready to run, as the loop may
// be, goes before the one that is let in. On one processor the order is the
// scheduler's, which looks elsewhere first now and then.
func TestWhoLeavesTheGateLetsTheReadyGoFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rounds = 200
	first := 0
	for range rounds {
		synctest.Test(t, func(t *testing.T) {
			g := make(gate, 1)
			g.enter()
			order := make(chan string, 2)
			var all sync.WaitGroup
			all.Go(func() { g.enter(); order <- "let in" })
			synctest.Wait()
			all.Go(func() { order <- "ready" })
			g.leave()
			all.Wait()
			if <-order == "ready" {
				first++
			}
		})
	}
	if first < rounds*9/10 {
		t.Errorf("what was ready went first in %d of %d rounds", first, rounds)
	}
}
