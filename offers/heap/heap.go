// Package heap orders things that know where among the others they are, so that
// any of them can be moved or taken out: what is due next, whose turn it is.
//
// It is pure: no goroutine, clock, lock, log or I/O. With n things Push, Pop, Fix
// and Remove are O(log n), First is O(1), Rebuild O(n).
package heap

// Heap has the least of its things in front. A thing is in one heap at a time.
// It is not safe for concurrent use. The zero Heap is of no use: see [New].
type Heap[T any] struct {
	things []T // the children of i are at 2i+1 and 2i+2, and not before it
	before func(a, b T) bool
	at     func(T) *int
}

// New returns an empty heap. before says which of two is nearer to the front, at
// where a thing keeps its place: -1 outside, where its owner puts it first.
func New[T any](before func(a, b T) bool, at func(T) *int) Heap[T] {
	return Heap[T]{before: before, at: at}
}

// Len returns how many there are.
func (h *Heap[T]) Len() int { return len(h.things) }

// First returns the least; there must be one.
func (h *Heap[T]) First() T { return h.things[0] }

// All returns them in no order but the least first, to be read only and before the
// heap changes.
func (h *Heap[T]) All() []T { return h.things }

// Has reports whether something is in the heap, if it is in none other.
func (h *Heap[T]) Has(x T) bool { return *h.at(x) >= 0 }

// Push enters something that is outside.
func (h *Heap[T]) Push(x T) {
	h.things = append(h.things, x)
	h.up(len(h.things)-1, x)
}

// Pop takes the least out; there must be one.
func (h *Heap[T]) Pop() T {
	first := h.things[0]
	h.Remove(first)
	return first
}

// Fix moves something inside to its place after its order has changed.
func (h *Heap[T]) Fix(x T) { h.settle(*h.at(x), x) }

// Remove takes something out that is inside.
func (h *Heap[T]) Remove(x T) {
	end := len(h.things) - 1
	last, at := h.things[end], *h.at(x)
	var none T
	h.things[end] = none
	h.things = h.things[:end]
	if at < end {
		h.settle(at, last)
	}
	*h.at(x) = -1
}

// Plan enters, moves or takes out something so that it is inside or not.
func (h *Heap[T]) Plan(x T, inside bool) {
	switch {
	case inside && h.Has(x):
		h.Fix(x)
	case inside:
		h.Push(x)
	case h.Has(x):
		h.Remove(x)
	}
}

// Rebuild orders all anew after the order of many has changed.
func (h *Heap[T]) Rebuild() {
	for i := len(h.things)/2 - 1; i >= 0; i-- {
		h.down(i, h.things[i])
	}
}

// settle files x at a free position, below or above it.
func (h *Heap[T]) settle(at int, x T) {
	if h.down(at, x) == at {
		h.up(at, x)
	}
}

// up files x at a free position or above.
func (h *Heap[T]) up(at int, x T) {
	for at > 0 {
		parent := (at - 1) / 2
		if !h.before(x, h.things[parent]) {
			break
		}
		h.put(at, h.things[parent])
		at = parent
	}
	h.put(at, x)
}

// down files x at a free position or below, and returns where.
func (h *Heap[T]) down(at int, x T) int {
	for kid := 2*at + 1; kid < len(h.things); kid = 2*at + 1 {
		if kid+1 < len(h.things) && h.before(h.things[kid+1], h.things[kid]) {
			kid++
		}
		if !h.before(h.things[kid], x) {
			break
		}
		h.put(at, h.things[kid])
		at = kid
	}
	h.put(at, x)
	return at
}

func (h *Heap[T]) put(at int, x T) {
	h.things[at] = x
	*h.at(x) = at
}
