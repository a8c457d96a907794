package master

import (
	"slices"
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
