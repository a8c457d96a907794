package offers

import (
	"fmt"
	"math/bits"
)

// Packed holds one amount per device of a class in 64-bit words: with b bits
// an amount, word 0 holds the first floor(64/b) devices, the first in its
// lowest bits; no device straddles two words.
//
//	word 0   | dev 3 | dev 2 | dev 1 | dev 0 |     b = 16
//	word 1   |   -   |   -   | dev 5 | dev 4 |
//
// Source: ALGORITHMS section 3, "Packing".
type Packed struct {
	Bits  int      // bits per device, 1 to 64
	Words []uint64 // ceil(devices / floor(64/Bits)) words
}

// BitsFor returns the bits that hold every amount up to largest, at least 1.
func BitsFor(largest uint64) int { return max(1, bits.Len64(largest)) }

// PackAmounts packs amounts with b bits each. An amount that needs more is an error.
func PackAmounts(b int, amounts []uint64) (Packed, error) {
	if b < 1 || b > 64 {
		return Packed{}, fmt.Errorf("pack: %d bits per device; 1 to 64 are possible", b)
	}
	per := 64 / b
	p := Packed{Bits: b, Words: make([]uint64, (len(amounts)+per-1)/per)}
	for i, s := range amounts {
		if bits.Len64(s) > b {
			return Packed{}, fmt.Errorf("pack: device %d uses %d, more than %d bits hold", i, s, b)
		}
		p.Words[i/per] |= s << (uint(i%per) * uint(b))
	}
	return p, nil
}

// At returns the amount of device i.
func (p Packed) At(i int) uint64 {
	per := 64 / p.Bits
	return p.Words[i/per] >> (uint(i%per) * uint(p.Bits)) & (^uint64(0) >> (64 - uint(p.Bits)))
}

// PackedUnit is the number of bytes that one packed step of a class of those
// capacities stands for: 1 MiB, or 1 where a capacity is no multiple of it.
func PackedUnit(devices []Device) int64 {
	for _, d := range devices {
		if d.Capacity%(1<<20) != 0 {
			return 1
		}
	}
	return 1 << 20
}

// Packed returns the used amounts in packed form and the bytes per unit. Used
// rounds up, capacity down, to the unit.
func (c *ClassRoom) Packed() (p Packed, unit int64, err error) {
	unit = PackedUnit(c.Devices)
	var largest int64
	used := make([]uint64, len(c.Used))
	for i, u := range c.Used {
		largest = max(largest, c.Devices[i].Capacity, u+unit-1) // u passes the capacity after a Claim
		used[i] = uint64((u + unit - 1) / unit)
	}
	p, err = PackAmounts(BitsFor(uint64(largest/unit)), used)
	return p, unit, err
}
