package lead

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/master/events"
)

// TestTurnTakesWhatItHolds: what a turn hands on has no room to spare and is not
// held twice, and the next turn does not write over it.
func TestTurnTakesWhatItHolds(t *testing.T) {
	for _, n := range []int{0, 1, 5, gathered, gathered + 1} {
		var list []events.Event
		for range n {
			list = append(list, events.Event{Name: "first"})
		}
		out := taken(&list)
		if len(out) != n || n <= gathered && (cap(out)-n)*8 > n {
			t.Errorf("of %d events there are %d, with room for %d", n, len(out), cap(out))
		}
		if len(list) != 0 || n <= gathered && cap(list) < n {
			t.Errorf("after %d events there are %d, with room for %d", n, len(list), cap(list))
		}
		for _, e := range list[:cap(list)] {
			if e.Name != "" {
				t.Fatalf("%d events are still held", n)
			}
		}
		for range n {
			list = append(list, events.Event{Name: "second"})
		}
		for _, e := range out {
			if e.Name != "first" {
				t.Fatalf("of %d events one was written over", n)
			}
		}
	}
}
