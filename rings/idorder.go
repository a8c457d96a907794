package rings

import (
	"encoding/binary"
	"strings"
)

// rank enters the order of a new agent's id. An id that differs from all others
// earlier than they did makes the orders of all anew, which happens at most once
// for each of its bytes.
func (m *members) rank(slot int32) {
	id := string(m.ids[slot])
	if len(m.ids) == 1 {
		m.common = id
	}
	if !strings.HasPrefix(id, m.common) {
		n := 0
		for n < len(id) && id[n] == m.common[n] {
			n++
		}
		m.common = m.common[:n]
		for i, other := range m.ids {
			m.nodes[i].order = eight(string(other), n)
		}
	}
	m.nodes[slot].order = eight(id, len(m.common))
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
