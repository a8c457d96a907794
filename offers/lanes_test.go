package offers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestHave holds the comparison of whole words against unpacking, for
// every number of bits, with amounts and limits at the edges of their lanes.
func TestHave(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for b := 1; b <= 64; b++ {
		top := ^uint64(0) >> (64 - b)
		pick := func() uint64 {
			edges := [...]uint64{0, 1, top, top - 1, top >> 1, top>>1 + 1, r.Uint64() & top}
			return edges[r.IntN(len(edges))] & top
		}
		for range 2000 {
			amounts := make([]uint64, r.IntN(20))
			for i := range amounts {
				amounts[i] = pick()
			}
			p, err := offers.PackAmounts(b, amounts)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []uint64{max(1, pick()), r.Uint64() | 1} {
				want := 0
				for i := range amounts {
					if p.At(i) >= x {
						want++
					}
				}
				for n := 1; n <= len(amounts)+1; n++ {
					if got := p.Have(n, x); got != (want >= n) {
						t.Fatalf("%d bits: %d of %v have %d: %v, want %v", b, n, amounts, x, got, want >= n)
					}
				}
			}
		}
	}
	if (offers.Packed{Bits: 8, Words: []uint64{5}}).Have(1, 0) {
		t.Error("whether devices have nothing is no question")
	}
}

func TestPackedMinus(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for b := 1; b <= 64; b++ {
		capacity, used := make([]uint64, 11), make([]uint64, 11)
		for i := range capacity {
			capacity[i] = r.Uint64() >> (64 - b)
			if used[i] = capacity[i]; capacity[i] > 0 && i%3 > 0 {
				used[i] = r.Uint64N(capacity[i])
			}
		}
		c, errC := offers.PackAmounts(b, capacity)
		u, errU := offers.PackAmounts(b, used)
		if errC != nil || errU != nil {
			t.Fatal(errC, errU)
		}
		free := c.Minus(u)
		for i := range capacity {
			if got := free.At(i); got != capacity[i]-used[i] {
				t.Fatalf("%d bits, device %d: %d - %d is %d", b, i, capacity[i], used[i], got)
			}
		}
	}
}

// TestMillionSteps gives and takes back parts of devices a million times, with
// devices that become unwell in between. On every device what is used, and the
// share of it, is the sum of what is held, never passes what there is, and
// what the packed form refuses has no room.
func TestMillionSteps(t *testing.T) {
	steps := 1_000_000
	if testing.Short() {
		steps = 50_000
	}
	const n = 8
	class := offers.DeviceClass{Name: "gpu"}
	for i := range n {
		class.Devices = append(class.Devices, offers.Device{ID: fmt.Sprint("g", i), Capacity: int64(8+i%3) * 3 * mib})
	}
	room := offers.NewRoom(offers.Inventory{Classes: []offers.DeviceClass{class}})
	c := room.Class("gpu")
	r := rand.New(rand.NewPCG(5, 6))
	var held []offers.Holding
	var used, shares [n]int64
	count := func(h offers.Holding, sign int64) {
		for _, g := range h.Devices.Of("gpu") {
			used[g.Index] += sign * g.Memory
			shares[g.Index] += sign * g.Share
		}
	}
	granted, refused := 0, 0
	for step := range steps {
		switch k := r.IntN(100); {
		case k == 0:
			away := make([]int64, n)
			if i := r.IntN(n); r.IntN(3) > 0 {
				away[i] = class.Devices[i].Capacity
			}
			room.Withhold("gpu", away)
		case k < 45 && len(held) > 0:
			i := r.IntN(len(held))
			room.Give(held[i])
			count(held[i], -1)
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
		default:
			ask := [...]offers.DeviceAsk{
				{Count: 1 + r.IntN(3)}, {Count: 1, Memory: 1 + r.Int64N(20*mib)}, {Count: 1 + r.IntN(4), Memory: 1 + r.Int64N(6*mib)},
				{Count: 1, Share: 1 + r.Int64N(1000)}, {Count: 1, Memory: 1 + r.Int64N(mib), Share: 1 + r.Int64N(300)},
			}[r.IntN(5)]
			h, short := room.Plan(offers.Resources{Devices: map[string]offers.DeviceAsk{"gpu": ask}},
				func(string) offers.Policy { return [...]offers.Policy{offers.Spread, offers.Pack}[r.IntN(2)] })
			if fits := (&offers.ClassRoom{Devices: c.Devices, Used: c.Used, Shares: c.Shares, Away: c.Away}).Fits(ask); fits != (short == "") {
				t.Fatalf("step %d: %+v fits: %v without the packed form, short %q with it", step, ask, fits, short)
			}
			if short != "" {
				refused++
				continue
			}
			if err := room.Take(h); err != nil {
				t.Fatalf("step %d: what was planned can't be taken: %v", step, err)
			}
			granted++
			count(h, 1)
			held = append(held, h)
		}
		for i, d := range class.Devices {
			if c.Used[i] != used[i] || c.Shares[i] != shares[i] || used[i] > d.Capacity || shares[i] > offers.FullShare {
				t.Fatalf("step %d, device %d: %d bytes and %d thousandths are counted, %d and %d held", step, i, c.Used[i], c.Shares[i], used[i], shares[i])
			}
		}
	}
	if granted < steps/10 || refused < steps/100 {
		t.Errorf("%d steps granted and %d refused: the walk says little", granted, refused)
	}
}

func TestWithhold(t *testing.T) {
	class := offers.DeviceClass{Name: "gpu", Devices: []offers.Device{{ID: "g0", Capacity: 10}, {ID: "g1", Capacity: 10}}}
	room := offers.NewRoom(offers.Inventory{Classes: []offers.DeviceClass{class}})
	half := offers.Holding{Devices: offers.OneDevice("gpu", offers.Grant{ID: "g0", Index: 0, Memory: 4})}
	if err := room.Take(half); err != nil {
		t.Fatal(err)
	}
	if !room.Withhold("gpu", []int64{10, 3}) || room.Withhold("gpu", []int64{10, 3}) {
		t.Error("a change is not told from none")
	}
	c := room.Class("gpu")
	if c.LargestSlice() != 7 || c.Idle() != 0 || c.Fits(offers.DeviceAsk{Count: 1, Memory: 8}) || !c.Fits(offers.DeviceAsk{Count: 1, Memory: 7}) {
		t.Errorf("largest slice %d, idle %d", c.LargestSlice(), c.Idle())
	}
	if rest := room.Rest().Devices.Of("gpu"); len(rest) != 1 || rest[0].Index != 1 || rest[0].Memory != 7 {
		t.Errorf("the rest is %+v", rest)
	}
	if !room.Overdrawn(half) || room.Overdrawn(offers.Holding{Devices: offers.OneDevice("gpu", offers.Grant{ID: "g1", Index: 1, Memory: 7})}) {
		t.Error("the holding on the first device alone is overdrawn")
	}
	clone := room.Clone()
	if !room.Withhold("gpu", []int64{0, 0}) || c.LargestSlice() != 10 {
		t.Errorf("it did not come back: %d", c.LargestSlice())
	}
	if clone.Class("gpu").LargestSlice() != 7 {
		t.Error("a clone changed with its original")
	}
}

// BenchmarkCanTakeSlice asks 10,000 agents of 8 devices, 80 GiB each, one by
// one whether any device has so much free, on the packed form.
func BenchmarkCanTakeSlice(b *testing.B) {
	const agents, devices = 10_000, 8
	r := rand.New(rand.NewPCG(7, 8))
	var capacity [devices]uint64
	for i := range capacity {
		capacity[i] = 80 << 10 // MiB
	}
	bits := offers.BitsFor(capacity[0])
	full, err := offers.PackAmounts(bits, capacity[:])
	if err != nil {
		b.Fatal(err)
	}
	free := make([]offers.Packed, agents)
	for i := range free {
		var used [devices]uint64
		for d := range used {
			used[d] = r.Uint64N(capacity[d] + 1)
		}
		p, err := offers.PackAmounts(bits, used[:])
		if err != nil {
			b.Fatal(err)
		}
		free[i] = full.Minus(p)
	}
	takes := make([]bool, agents)
	for b.Loop() {
		for i := range free {
			takes[i] = free[i].Have(1, 70<<10)
		}
	}
	if !slices.Contains(takes, true) || !slices.Contains(takes, false) {
		b.Fatal("all agents can take it, or none: the benchmark says little")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*agents), "ns/agent")
}
