package match

import "container/heap"

// refusalHeap orders the ends of refusals by time. Entries whose refusal was
// replaced or forgotten meanwhile do nothing when they come up.
type refusalHeap []refusalEnd

func (h *refusalHeap) push(e refusalEnd) { heap.Push((*refusalOrder)(h), e) }
func (h *refusalHeap) pop() refusalEnd   { return heap.Pop((*refusalOrder)(h)).(refusalEnd) }

type refusalOrder []refusalEnd

func (h refusalOrder) Len() int           { return len(h) }
func (h refusalOrder) Less(i, j int) bool { return h[i].until.Before(h[j].until) }
func (h refusalOrder) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *refusalOrder) Push(x any)        { *h = append(*h, x.(refusalEnd)) }
func (h *refusalOrder) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}
