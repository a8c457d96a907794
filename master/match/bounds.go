package match

// bounds are the limits of one demand in a batch: how many of its units are
// together, on the hosts that hold them and on agents that were offered or
// launched before.
//
// A unit is refused where one more would pass a limit. Another unit of the same
// demand that is pushed out there makes a place again, that those which were
// refused before don't come back for: as with several sizes, who is left over
// tries once more outside of the batch, see [matching].
type bounds []bound

type bound struct {
	most  int
	under []int // by host, what its units count under; -1: nothing
	count []int // by that
}

// full reports whether one more unit on a host would pass a limit.
func (bs bounds) full(host int) bool {
	for i := range bs {
		if u := bs[i].under[host]; u >= 0 && bs[i].count[u] >= bs[i].most {
			return true
		}
	}
	return false
}

// add counts n more units on a host.
func (bs bounds) add(host, n int) {
	for i := range bs {
		if u := bs[i].under[host]; u >= 0 {
			bs[i].count[u] += n
		}
	}
}

// groups says which hosts count together, by what is counted under.
type groups map[string]*grouping

type grouping struct {
	under []int
	names []string // what the numbers of under stand for
}

// boundsOf returns the bounds of a demand, nil for one without limits.
func (g groups) boundsOf(s *spread, hosts []host) bounds {
	if s == nil {
		return nil
	}
	out := make(bounds, len(s.limits))
	for i, c := range s.limits {
		by := g[c.String()]
		if by == nil {
			by = groupingOf(hosts, func(h *host) (string, bool) { return c.Together(&h.agent.info.Agent) })
			g[c.String()] = by
		}
		out[i] = bound{most: c.Limit(), under: by.under, count: make([]int, len(by.names))}
		for n, name := range by.names {
			out[i].count[n] = s.together[i][name]
		}
	}
	return out
}

func groupingOf(hosts []host, under func(*host) (string, bool)) *grouping {
	out, numbers := &grouping{under: make([]int, len(hosts))}, map[string]int{}
	for i := range hosts {
		name, has := under(&hosts[i])
		if !has {
			out.under[i] = -1
			continue
		}
		n, known := numbers[name]
		if !known {
			n = len(out.names)
			numbers[name], out.names = n, append(out.names, name)
		}
		out.under[i] = n
	}
	return out
}
