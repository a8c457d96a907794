package rings

import (
	"encoding/binary"
	"strings"
)

// rank enters the order of a new agent's id. An id that differs from all others
// earlier than they did makes the orders of all anew, which happens at most once
// for each of its bytes.
func (t *table) rank(slot int32) {
	id := string(t.ids[slot])
	if len(t.ids) == 1 {
		t.common = id
	}
	if !strings.HasPrefix(id, t.common) {
		n := 0
		for n < len(id) && id[n] == t.common[n] {
			n++
		}
		t.common = t.common[:n]
		for i, other := range t.ids {
			t.order[i] = eight(string(other), n)
		}
	}
	t.order[slot] = eight(id, len(t.common))
}

// eight is the eight bytes of an id from a position on. What is missing at the
// end counts as the least byte, so that equal eights say nothing.
func eight(id string, from int) uint64 {
	var b [8]byte
	if from < len(id) {
		copy(b[:], id[from:])
	}
	return binary.BigEndian.Uint64(b[:])
}
