package match

// demandHeap is the demands of one framework that are to be served, the eldest
// first. Their ages stand in it, since a demand is seldom in a cache when it is
// compared with another.
type demandHeap []standing

type standing struct {
	age uint64
	d   *demand
}

func (h *demandHeap) push(d *demand) {
	*h = append(*h, standing{})
	h.up(len(*h)-1, standing{d.age, d})
}

// remove takes the demand at a position out.
func (h *demandHeap) remove(at int) {
	old := *h
	last := len(old) - 1
	old[at].d.at = -1
	moving := old[last]
	old[last] = standing{}
	*h = old[:last]
	switch {
	case at == last:
	case at > 0 && moving.age < old[(at-1)/2].age:
		h.up(at, moving)
	default:
		h.down(at, moving)
	}
}

// up files s at a free position or above.
func (h *demandHeap) up(at int, s standing) {
	for at > 0 && s.age < (*h)[(at-1)/2].age {
		h.put(at, (*h)[(at-1)/2])
		at = (at - 1) / 2
	}
	h.put(at, s)
}

// down files s at a free position or below.
func (h *demandHeap) down(at int, s standing) {
	list := *h
	for {
		kid := 2*at + 1
		if kid >= len(list) {
			break
		}
		if kid+1 < len(list) && list[kid+1].age < list[kid].age {
			kid++
		}
		if s.age < list[kid].age {
			break
		}
		h.put(at, list[kid])
		at = kid
	}
	h.put(at, s)
}

// eldest appends the n eldest demands in their order: each time the least of
// those whose parents are among them already.
func (h demandHeap) eldest(n int, out []*demand) []*demand {
	if len(h) == 0 {
		return out
	}
	next := append(make([]int, 0, n+1), 0) // positions
	for ; n > 0 && len(next) > 0; n-- {
		first := 0
		for i, at := range next {
			if h[at].age < h[next[first]].age {
				first = i
			}
		}
		at := next[first]
		out = append(out, h[at].d)
		next[first] = next[len(next)-1]
		next = next[:len(next)-1]
		for kid := 2*at + 1; kid <= 2*at+2 && kid < len(h); kid++ {
			next = append(next, kid)
		}
	}
	return out
}

func (h *demandHeap) put(at int, s standing) {
	(*h)[at] = s
	s.d.at = at
}
