package offers

// maxLinked bounds the devices among which linked ones are looked for: all of
// their sets are looked at, 12,870 for 8 of 16.
const maxLinked = 16

// linked returns those count of the chosen devices that are closest to each
// other, by the sum of the links between them; ties, and devices without
// links, go to the lowest indexes. Looking at every set is the only way that
// never misses an island (an NVLink group, a socket) that others are busy
// around, and hosts have few devices; beyond maxLinked the order stays.
func (c *ClassRoom) linked(chosen []int, count int) []int {
	if count == len(chosen) || len(chosen) > maxLinked {
		return chosen
	}
	s := linkSearch{near: make([][]int, len(chosen)), most: -1}
	some := 0
	for a := range chosen {
		s.near[a] = make([]int, len(chosen))
		for b := range a {
			s.near[a][b] = c.link(chosen[a], chosen[b])
			s.near[b][a] = s.near[a][b]
			some += s.near[a][b]
		}
	}
	if some == 0 {
		return chosen
	}
	s.grow(make([]int, 0, count), 0, 0)
	for n, at := range s.best {
		s.best[n] = chosen[at]
	}
	return s.best
}

// link returns how close two devices are, as either of them says.
func (c *ClassRoom) link(a, b int) int {
	return max(c.Devices[a].Links[c.Devices[b].ID], c.Devices[b].Links[c.Devices[a].ID])
}

// linkSearch looks at all sets of a size, in the order of their indexes.
type linkSearch struct {
	near [][]int
	best []int
	most int // the sum of the links in best
}

// grow completes a set, whose links add up to sum, with devices from next on.
func (s *linkSearch) grow(set []int, next, sum int) {
	if len(set) == cap(set) {
		if sum > s.most {
			s.best, s.most = append([]int(nil), set...), sum
		}
		return
	}
	for at := next; at <= len(s.near)-(cap(set)-len(set)); at++ {
		closer := sum
		for _, other := range set {
			closer += s.near[at][other]
		}
		s.grow(append(set, at), at+1, closer)
	}
}
