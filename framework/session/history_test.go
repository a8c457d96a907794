package session

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestHistoryOfAnIDThatIsUsedAgain: its eldest end makes way, not the latest.
func TestHistoryOfAnIDThatIsUsedAgain(t *testing.T) {
	h := history{limit: 2, known: map[offers.TaskID]ending{}}
	for _, one := range []struct {
		id   offers.TaskID
		end  offers.UpdateID
		want int // how many are remembered
	}{{"t", "u1", 1}, {"t", "u2", 1}, {"v", "u3", 2}, {"w", "u4", 2}, {"w", "u5", 1}, {"w", "u6", 1}} {
		h.forget(one.id) // as an accept of it does
		h.add(one.id, ending{state: offers.Finished, update: one.end})
		if got := h.known[one.id].update; got != one.end || len(h.known) != one.want {
			t.Errorf("after %s of %s %d are remembered, and the last as %q", one.end, one.id, len(h.known), got)
		}
	}
}
