package rings

// Slots is a set of slots. The zero value is empty.
type Slots []uint64

// Has reports whether a slot is in the set.
func (s Slots) Has(slot int) bool {
	word := slot >> 6
	return word < len(s) && s[word]&(1<<(slot&63)) != 0
}

// With returns the set with a slot, in the same memory where that is enough.
func (s Slots) With(slot int) Slots {
	for len(s) <= slot>>6 {
		s = append(s, 0)
	}
	s[slot>>6] |= 1 << (slot & 63)
	return s
}

// Drop takes a slot out of the set.
func (s Slots) Drop(slot int) {
	if slot>>6 < len(s) {
		s[slot>>6] &^= 1 << (slot & 63)
	}
}
