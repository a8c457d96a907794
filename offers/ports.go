package offers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PortRange is the TCP and UDP ports First to Last, both included.
type PortRange struct{ First, Last uint16 }

// Ports is a set of ports as ascending ranges that neither touch nor overlap.
// In JSON it is a list of numbers and "first-last" strings. Values are
// immutable: every operation returns a new set.
type Ports []PortRange

// MakePorts returns the set of the given ranges in any order.
func MakePorts(ranges ...PortRange) Ports {
	in := slices.Clone(ranges)
	slices.SortFunc(in, func(a, b PortRange) int { return cmp.Compare(a.First, b.First) })
	var out Ports
	for _, r := range in {
		out = out.with(r)
	}
	return out
}

// ParsePorts reads "31000-32000" or "8080".
func ParsePorts(text string) (PortRange, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	a, err := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(last, 10, 16)
	if err != nil || err2 != nil || a == 0 || b < a {
		return PortRange{}, fmt.Errorf("%q is not a port or a range of ports from 1 to 65535", clip(text))
	}
	return PortRange{uint16(a), uint16(b)}, nil
}

// Within reports whether every port of p is in q.
func (p Ports) Within(q Ports) bool {
	i := 0
	for _, r := range p {
		for i < len(q) && q[i].Last < r.First {
			i++
		}
		if i == len(q) || q[i].First > r.First || q[i].Last < r.Last {
			return false
		}
	}
	return true
}

// Plus returns the union of both sets.
func (p Ports) Plus(q Ports) Ports {
	if len(q) == 0 {
		return p
	}
	if len(p) == 0 {
		return q
	}
	out := make(Ports, 0, len(p)+len(q))
	for len(p) > 0 || len(q) > 0 {
		if len(p) == 0 || len(q) > 0 && q[0].First < p[0].First {
			p, q = q, p
		}
		out, p = out.with(p[0]), p[1:]
	}
	return out
}

// with adds a range to a set that is being made, none of whose ranges begins
// behind it.
func (p Ports) with(r PortRange) Ports {
	if n := len(p); n > 0 && int(r.First) <= int(p[n-1].Last)+1 {
		p[n-1].Last = max(p[n-1].Last, r.Last)
		return p
	}
	return append(p, r)
}

// Minus returns the ports of p that are not in q.
func (p Ports) Minus(q Ports) Ports {
	if len(q) == 0 || len(p) == 0 {
		return p
	}
	out := make(Ports, 0, len(p)+len(q)) // each hole makes one range more at most
	for _, r := range p {
		first := int(r.First)
		for len(q) > 0 && int(q[0].Last) < first {
			q = q[1:]
		}
		for _, hole := range q {
			if hole.First > r.Last {
				break
			}
			if int(hole.First) > first {
				out = append(out, PortRange{uint16(first), hole.First - 1})
			}
			first = int(hole.Last) + 1
		}
		if first <= int(r.Last) {
			out = append(out, PortRange{uint16(first), r.Last})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Count returns how many ports are in the set.
func (p Ports) Count() (n int) {
	for _, r := range p {
		n += int(r.Last) - int(r.First) + 1
	}
	return n
}

// Next returns n ports of the set: those that follow after, and then on from the
// set's first. Where it has fewer it returns all.
func (p Ports) Next(after uint16, n int) Ports {
	later := p.Minus(Ports{{0, after}})
	out := later.first(n)
	return out.Plus(p.Minus(later).first(n - out.Count()))
}

// first returns the n lowest ports, or all.
func (p Ports) first(n int) (out Ports) {
	for _, r := range p {
		if n <= 0 {
			break
		}
		r.Last = uint16(min(int(r.Last), int(r.First)+n-1))
		n -= int(r.Last) - int(r.First) + 1
		out = append(out, r)
	}
	return out
}

// Each returns every port of the set, ascending.
func (p Ports) Each() []uint16 {
	var out []uint16
	for _, r := range p {
		for n := int(r.First); n <= int(r.Last); n++ {
			out = append(out, uint16(n))
		}
	}
	return out
}

// MarshalJSON writes single ports as numbers and ranges as strings.
func (p Ports) MarshalJSON() ([]byte, error) {
	out := make([]any, len(p))
	for i, r := range p {
		if r.First == r.Last {
			out[i] = r.First
		} else {
			out[i] = fmt.Sprintf("%d-%d", r.First, r.Last)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes; a port named twice is refused.
func (p *Ports) UnmarshalJSON(data []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil || items == nil {
		return fmt.Errorf("ports is not a list of ports")
	}
	var ranges []PortRange
	for _, item := range items {
		r, err := ParsePorts(strings.Trim(string(item), `"`))
		if err != nil {
			return fmt.Errorf("ports: %w", err)
		}
		ranges = append(ranges, r)
	}
	set := MakePorts(ranges...)
	if set.Count() != Ports(ranges).Count() {
		return fmt.Errorf("ports names a port twice")
	}
	*p = set
	return nil
}
