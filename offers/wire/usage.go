package wire

import (
	"fmt"
	"strconv"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Pack returns the use of a class as it travels.
func Pack(c *offers.ClassRoom) (PackedClass, error) {
	packed, unit, err := c.Packed()
	if err != nil {
		return PackedClass{}, err
	}
	out := PackedClass{Bits: packed.Bits, Unit: unit}
	for _, word := range packed.Words {
		out.Used = append(out.Used, fmt.Sprintf("0x%016x", word))
	}
	return out, nil
}

// Amounts returns the used bytes of each of a class's devices, rounded up to
// the unit. The error says what is wrong with the packed form.
func (c *PackedClass) Amounts(devices int) ([]int64, error) {
	if c.Bits < 1 || c.Bits > 64 || c.Unit < 1 || c.Unit > offers.MaxAmount {
		return nil, fmt.Errorf("%d bits and a unit of %d bytes can't be", c.Bits, c.Unit)
	}
	per := 64 / c.Bits
	if want := (devices + per - 1) / per; len(c.Used) != want {
		return nil, fmt.Errorf("%d words of %d bits for %d devices; %d are needed", len(c.Used), c.Bits, devices, want)
	}
	packed := offers.Packed{Bits: c.Bits}
	for _, text := range c.Used {
		word, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("%.60q is not a word", text)
		}
		packed.Words = append(packed.Words, word)
	}
	out := make([]int64, devices)
	for i := range out {
		units := packed.At(i)
		if units > uint64(offers.MaxAmount/c.Unit) {
			return nil, fmt.Errorf("device %d uses %d units of %d bytes, more than any device has", i, units, c.Unit)
		}
		out[i] = int64(units) * c.Unit
	}
	return out, nil
}
