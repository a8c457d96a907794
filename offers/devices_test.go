package offers_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// class builds the use of devices of one capacity.
func class(capacity int64, used ...int64) *offers.ClassRoom {
	c := &offers.ClassRoom{Name: "gpu", Used: used, Shares: make([]int64, len(used))}
	for i := range used {
		c.Devices = append(c.Devices, offers.Device{ID: fmt.Sprint("g", i), Capacity: capacity})
	}
	return c
}

// The golden case of ALGORITHMS section 3.
func TestPackGolden(t *testing.T) {
	p, err := offers.PackAmounts(8, []uint64{3, 0, 20, 7})
	if err != nil || len(p.Words) != 1 || p.Words[0] != 0x07140003 { // 118751235
		t.Fatalf("packed to %#x, %v", p.Words, err)
	}
	for i, want := range []uint64{3, 0, 20, 7} {
		if got := p.At(i); got != want {
			t.Errorf("device %d: %d, want %d", i, got, want)
		}
	}
}

func TestBindGolden(t *testing.T) {
	c := class(24, 3, 0, 20, 7)
	for _, row := range []struct {
		ask    offers.DeviceAsk
		policy offers.Policy
		want   []int // indexes from 0; nil for no fit
	}{
		{offers.DeviceAsk{Count: 1, Memory: 5}, offers.Spread, []int{1}},
		{offers.DeviceAsk{Count: 1, Memory: 5}, offers.Pack, []int{3}},
		{offers.DeviceAsk{Count: 1, Memory: 18}, offers.Spread, []int{1}},
		{offers.DeviceAsk{Count: 1, Memory: 18}, offers.Pack, []int{0}},
		{offers.DeviceAsk{Count: 1, Memory: 5}, "", []int{3}}, // nothing said means pack
		{offers.DeviceAsk{Count: 1, Memory: 4}, offers.Pack, []int{2}},
		{offers.DeviceAsk{Count: 1, Memory: 24}, offers.Pack, []int{1}},
		{offers.DeviceAsk{Count: 1, Memory: 25}, offers.Pack, nil},
		{offers.DeviceAsk{Count: 2, Memory: 5}, offers.Pack, []int{0, 3}},
		{offers.DeviceAsk{Count: 2, Memory: 5}, offers.Spread, []int{0, 1}},
		{offers.DeviceAsk{Count: 4, Memory: 4}, offers.Pack, []int{0, 1, 2, 3}},
		{offers.DeviceAsk{Count: 4, Memory: 5}, offers.Pack, nil},
		{offers.DeviceAsk{Count: 1}, offers.Pack, []int{1}},
		{offers.DeviceAsk{Count: 2}, offers.Pack, nil},
		{offers.DeviceAsk{Count: 1, Share: 500}, offers.Pack, []int{3}}, // 12 of its 17
	} {
		grants, ok := c.Bind(row.ask, row.policy)
		var got []int
		for _, g := range grants {
			got = append(got, g.Index)
			if g.ID != c.Devices[g.Index].ID {
				t.Errorf("%+v: device %d is called %s", row.ask, g.Index, g.ID)
			}
		}
		if ok != (row.want != nil) || !slices.Equal(got, row.want) {
			t.Errorf("%+v %s: bound %v, %v; want %v", row.ask, row.policy, got, ok, row.want)
		}
		if ok != c.Fits(row.ask) {
			t.Errorf("%+v: Fits says %v, Bind %v", row.ask, c.Fits(row.ask), ok)
		}
	}
}

func TestBindTiesAndShares(t *testing.T) {
	even := class(10, 4, 4, 4)
	for _, policy := range []offers.Policy{offers.Spread, offers.Pack} {
		if g, ok := even.Bind(offers.DeviceAsk{Count: 1, Memory: 1}, policy); !ok || g[0].Index != 0 {
			t.Errorf("%s: a tie goes to %v", policy, g)
		}
	}
	c := class(10, 0, 0)
	c.Shares[0] = 700
	if g, ok := c.Bind(offers.DeviceAsk{Count: 1, Memory: 1, Share: 300}, offers.Pack); !ok || g[0].Index != 0 {
		t.Errorf("300 beside 700 thousandths: %v", g)
	}
	if g, ok := c.Bind(offers.DeviceAsk{Count: 1, Memory: 1, Share: 301}, offers.Pack); !ok || g[0].Index != 1 {
		t.Errorf("301 beside 700 thousandths: %v", g)
	}
	if g, ok := c.Bind(offers.DeviceAsk{Count: 1}, offers.Pack); !ok || g[0].Index != 1 || g[0].Share != offers.FullShare || g[0].Memory != 10 {
		t.Errorf("a whole device: %v", g)
	}
	if c.Idle() != 1 || c.LargestSlice() != 10 {
		t.Errorf("idle %d, largest slice %d", c.Idle(), c.LargestSlice())
	}
}

func TestDeviceAskBytes(t *testing.T) {
	for _, row := range []struct {
		ask            offers.DeviceAsk
		capacity, want int64
	}{
		{offers.DeviceAsk{Count: 2}, 24, 48},
		{offers.DeviceAsk{Count: 2, Memory: 10}, 24, 20},
		{offers.DeviceAsk{Count: 1, Share: 500}, 24, 12},
		{offers.DeviceAsk{Count: 1, Share: 300}, 24, 7}, // rounds down
		{offers.DeviceAsk{Count: 1, Share: 1}, 24, 1},   // and to no less than a byte
		{offers.DeviceAsk{Count: 3, Share: 333}, 1000, 999},
		{offers.DeviceAsk{Count: 1, Share: 1000}, offers.MaxAmount, offers.MaxAmount},
		{offers.DeviceAsk{Count: 1, Share: 999}, offers.MaxAmount, 8998192055486250},
		{offers.DeviceAsk{Count: 1, Memory: 7, Share: 500}, 24, 7},
	} {
		if got := row.ask.Bytes(row.capacity); got != row.want {
			t.Errorf("%+v of %d: %d bytes, want %d", row.ask, row.capacity, got, row.want)
		}
	}
}

// TestSharesFillADevice: shares that add up to a device fit on it, whatever its
// size; none takes more than its part.
func TestSharesFillADevice(t *testing.T) {
	for _, capacity := range []int64{24 << 30, 16 << 30, 80<<30 - 1, 1_000_000_007, 1001} {
		for _, shares := range [][]int64{slices.Repeat([]int64{100}, 10), slices.Repeat([]int64{200}, 5), {333, 333, 333, 1}, {999, 1}, slices.Repeat([]int64{1}, 1000)} {
			room := offers.NewRoom(offers.Inventory{Classes: []offers.DeviceClass{{Name: "gpu", Devices: []offers.Device{{ID: "g", Capacity: capacity}}}}})
			for n, share := range shares {
				ask := offers.Resources{Devices: map[string]offers.DeviceAsk{"gpu": {Count: 1, Share: share}}}
				h, short := room.Plan(ask, func(string) offers.Policy { return offers.Pack })
				if short != "" {
					t.Errorf("of %d bytes, %d of the shares %d... fit: %s", capacity, n, shares[0], short)
					break
				}
				if err := room.Take(h); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestBitsFor(t *testing.T) {
	for largest, want := range map[uint64]int{0: 1, 1: 1, 2: 2, 3: 2, 4: 3, 255: 8, 256: 9, 1<<63 - 1: 63, 1 << 63: 64, ^uint64(0): 64} {
		if got := offers.BitsFor(largest); got != want {
			t.Errorf("%d: %d bits, want %d", largest, got, want)
		}
	}
}

func TestPackOutOfRange(t *testing.T) {
	for _, row := range []struct {
		bits    int
		amounts []uint64
	}{
		{8, []uint64{256}}, {8, []uint64{0, 1, 1 << 40}}, {1, []uint64{2}}, {63, []uint64{1 << 63}},
		{0, []uint64{0}}, {-1, nil}, {65, []uint64{1}},
	} {
		if p, err := offers.PackAmounts(row.bits, row.amounts); err == nil {
			t.Errorf("%d bits, %v: packed to %+v, want an error", row.bits, row.amounts, p)
		}
	}
}

// 16 devices of 141 GiB take 18 bits each in MiB: 3 to a word, 6 words.
func TestPackSixteenLargeDevices(t *testing.T) {
	const capacity = 141 * gib
	used := make([]int64, 16)
	for i := range used {
		used[i] = int64(i) * 9 * gib
	}
	used[7], used[15] = 1, capacity // one byte rounds up to one unit
	c := class(capacity, used...)
	p, unit, err := c.Packed()
	if err != nil || unit != mib || p.Bits != 18 || len(p.Words) != 6 {
		t.Fatalf("unit %d, %d bits, %d words, %v", unit, p.Bits, len(p.Words), err)
	}
	for i, u := range used {
		if want := uint64((u + mib - 1) / mib); p.At(i) != want {
			t.Errorf("device %d: %d MiB, want %d", i, p.At(i), want)
		}
	}
	if p.Words[0]>>54 != 0 {
		t.Errorf("a device straddles two words: %#x", p.Words[0])
	}
}

func TestPackedUnit(t *testing.T) {
	for _, row := range []struct {
		capacity, want int64
	}{{24 * gib, mib}, {mib, mib}, {mib + 1, 1}, {10, 1}} {
		if got := offers.PackedUnit(class(row.capacity, 0).Devices); got != row.want {
			t.Errorf("%d bytes: unit %d, want %d", row.capacity, got, row.want)
		}
	}
	if p, unit, err := class(1).Packed(); err != nil || len(p.Words) != 0 || unit != mib {
		t.Errorf("no devices: %+v, %d, %v", p, unit, err)
	}
}

// Packed and unpacked must give the same answers to what the master filters
// by, for every width.
func TestPackedAgainstPlain(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		bits := 1 + r.IntN(64)
		amounts := make([]uint64, r.IntN(40))
		for i := range amounts {
			amounts[i] = r.Uint64() >> (64 - bits)
		}
		p, err := offers.PackAmounts(bits, amounts)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if per := 64 / bits; len(p.Words) != (len(amounts)+per-1)/per {
			t.Fatalf("seed %d: %d words for %d devices of %d bits", seed, len(p.Words), len(amounts), bits)
		}
		for i, want := range amounts {
			if p.At(i) != want {
				t.Fatalf("seed %d: device %d of %d bits: %d, want %d", seed, i, bits, p.At(i), want)
			}
		}
		again, err := offers.PackAmounts(bits, unpack(p, len(amounts)))
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d: %+v and %+v differ (%v)", seed, p, again, err)
		}
	}
}

func unpack(p offers.Packed, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = p.At(i)
	}
	return out
}

func FuzzPacked(f *testing.F) {
	f.Add(8, []byte{3, 0, 20, 7})
	f.Add(64, []byte{255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Add(0, []byte{})
	f.Fuzz(func(t *testing.T, bits int, data []byte) {
		var amounts []uint64
		for chunk := range slices.Chunk(data, 8) {
			var n uint64
			for _, b := range chunk {
				n = n<<8 | uint64(b)
			}
			amounts = append(amounts, n)
		}
		p, err := offers.PackAmounts(bits, amounts)
		fits := bits >= 1 && bits <= 64
		for _, n := range amounts {
			fits = fits && (bits >= 64 || n < 1<<bits)
		}
		if (err == nil) != fits {
			t.Fatalf("%d bits, %v: %v", bits, amounts, err)
		}
		if err == nil && !slices.Equal(unpack(p, len(amounts)), append([]uint64{}, amounts...)) {
			t.Fatalf("%d bits: %v comes back as %v", bits, amounts, unpack(p, len(amounts)))
		}
	})
}
