package offers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// islands builds n devices in which those of one island of that size are
// linked closely, by NVLink say, and those of one half by their socket.
func islands(n, size int) *offers.ClassRoom {
	c := &offers.ClassRoom{Name: "gpu", Used: make([]int64, n), Shares: make([]int64, n)}
	for i := range n {
		d := offers.Device{ID: fmt.Sprint("g", i), Capacity: 10, Links: map[string]int{}}
		for j := range n {
			switch {
			case i == j:
			case i/size == j/size:
				d.Links[fmt.Sprint("g", j)] = 100
			case i/(n/2) == j/(n/2):
				d.Links[fmt.Sprint("g", j)] = 10
			}
		}
		c.Devices = append(c.Devices, d)
	}
	return c
}

func TestBindPrefersLinkedDevices(t *testing.T) {
	for _, row := range []struct {
		name  string
		busy  []int
		count int
		want  []int
	}{
		{"an island that is wholly free", nil, 2, []int{0, 1}},
		{"the first pair is broken", []int{0}, 2, []int{2, 3}},
		{"two pairs of one socket", []int{1}, 4, []int{4, 5, 6, 7}},
		{"no pair left: one socket", []int{0, 2, 4, 7}, 2, []int{1, 3}},
		{"a pair and the third of its socket", []int{0, 2, 3}, 3, []int{4, 5, 6}},
		{"all that are left", []int{0, 2, 4, 6}, 4, []int{1, 3, 5, 7}},
		{"one alone: the lowest", []int{0}, 1, []int{1}},
	} {
		for _, policy := range []offers.Policy{offers.Spread, offers.Pack} {
			c := islands(8, 2)
			for _, i := range row.busy {
				c.Used[i] = 1
			}
			grants, ok := c.Bind(offers.DeviceAsk{Count: row.count}, policy)
			var got []int
			for _, g := range grants {
				got = append(got, g.Index)
			}
			if !ok || !slices.Equal(got, row.want) {
				t.Errorf("%s, %s: bound %v, want %v", row.name, policy, got, row.want)
			}
		}
	}
}

// TestLinkedIsBest holds the choice against looking at every set of
// devices, for islands of every size and any of 8 devices busy.
func TestLinkedIsBest(t *testing.T) {
	for _, size := range []int{1, 2, 4, 8} {
		for busy := range 1 << 8 {
			c := islands(8, size)
			for i := range 8 {
				c.Used[i] = int64(busy >> i & 1)
			}
			for count := 2; count <= 8; count++ {
				grants, ok := c.Bind(offers.DeviceAsk{Count: count}, offers.Pack)
				best := bestSum(c, busy, count)
				if ok != (best >= 0) {
					t.Fatalf("islands of %d, busy %08b, %d asked: bound %v", size, busy, count, ok)
				}
				set := 0
				for _, g := range grants {
					set |= 1 << g.Index
				}
				if ok && sumOf(c, set) != best {
					t.Fatalf("islands of %d, busy %08b, %d asked: %08b has links of %d, the best set %d", size, busy, count, set, sumOf(c, set), best)
				}
			}
		}
	}
}

func sumOf(c *offers.ClassRoom, set int) (sum int) {
	for i := range c.Devices {
		for j := range i {
			if set>>i&1 == 1 && set>>j&1 == 1 {
				sum += c.Devices[i].Links[c.Devices[j].ID]
			}
		}
	}
	return sum
}

// bestSum looks at every set of so many free devices; -1 when there is none.
func bestSum(c *offers.ClassRoom, busy, count int) int {
	best := -1
	for set := range 1 << len(c.Devices) {
		ones := 0
		for i := range c.Devices {
			ones += set >> i & 1
		}
		if ones == count && set&busy == 0 {
			best = max(best, sumOf(c, set))
		}
	}
	return best
}

// BenchmarkBindLinked binds half of an agent's devices, all of them idle and
// linked.
func BenchmarkBindLinked(b *testing.B) {
	for _, n := range []int{8, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := islands(n, 4)
			for b.Loop() {
				if _, ok := c.Bind(offers.DeviceAsk{Count: n / 2}, offers.Pack); !ok {
					b.Fatal("no room")
				}
			}
		})
	}
}
