// Package heap orders things that know where among the others they are, so that
// any of them can be moved or taken out: what is due next, whose turn it is.
//
// It is pure: no goroutine, clock, lock, log or I/O. With n things Push, Pop, Fix
// and Remove are O(log n), First is O(1), Rebuild O(n).
package heap

import "container/heap"

// Heap has the least of its things in front. A thing is in one heap at a time.
// It is not safe for concurrent use. The zero Heap is of no use: see [New].
type Heap[T any] struct{ in order[T] }

// New returns an empty heap. before says which of two is nearer to the front, at
// where a thing keeps its place: -1 outside, where its owner puts it first.
func New[T any](before func(a, b T) bool, at func(T) *int) Heap[T] {
	return Heap[T]{order[T]{before: before, at: at}}
}

// Len returns how many there are.
func (h *Heap[T]) Len() int { return len(h.in.things) }

// First returns the least; there must be one.
func (h *Heap[T]) First() T { return h.in.things[0] }

// All returns them in no order but the least first, to be read only and before the
// heap changes.
func (h *Heap[T]) All() []T { return h.in.things }

// Has reports whether something is in the heap, if it is in none other.
func (h *Heap[T]) Has(x T) bool { return *h.in.at(x) >= 0 }

// Push enters something that is outside.
func (h *Heap[T]) Push(x T) { heap.Push(&h.in, x) }

// Pop takes the least out; there must be one.
func (h *Heap[T]) Pop() T { return heap.Pop(&h.in).(T) }

// Fix moves something inside to its place after its order has changed.
func (h *Heap[T]) Fix(x T) { heap.Fix(&h.in, *h.in.at(x)) }

// Remove takes something out that is inside.
func (h *Heap[T]) Remove(x T) { heap.Remove(&h.in, *h.in.at(x)) }

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
func (h *Heap[T]) Rebuild() { heap.Init(&h.in) }

// order is what package container/heap asks for.
type order[T any] struct {
	things []T
	before func(a, b T) bool
	at     func(T) *int
}

var _ heap.Interface = (*order[int])(nil)

func (o *order[T]) Len() int           { return len(o.things) }
func (o *order[T]) Less(i, j int) bool { return o.before(o.things[i], o.things[j]) }
func (o *order[T]) Swap(i, j int) {
	o.things[i], o.things[j] = o.things[j], o.things[i]
	*o.at(o.things[i]), *o.at(o.things[j]) = i, j
}

// Push implements [heap.Interface].
func (o *order[T]) Push(x any) {
	thing := x.(T)
	*o.at(thing) = len(o.things)
	o.things = append(o.things, thing)
}

// Pop implements [heap.Interface].
func (o *order[T]) Pop() any {
	last := len(o.things) - 1
	thing := o.things[last]
	var none T
	o.things[last] = none
	o.things = o.things[:last]
	*o.at(thing) = -1
	return thing
}
