package offers

import "math/bits"

// laneOnes holds, for b bits a lane, a word with the lowest bit of each of its
// floor(64/b) lanes set.
var laneOnes = func() (ones [65]uint64) {
	for b := 1; b <= 64; b++ {
		for lane := range 64 / b {
			ones[b] |= 1 << (lane * b)
		}
	}
	return ones
}()

// Have reports whether n devices have an amount of x or more each; x and n
// are at least 1. All devices of a word are compared at once, without
// unpacking: the lower bits of each lane by a subtraction that can't borrow
// from the next lane, because every lane's top bit is set before it, and then
// the top bits.
// Source: L. Lamport, "Multiple byte processing with full-word instructions",
// CACM 18(8), 1975.
func (p Packed) Have(n int, x uint64) bool {
	if x == 0 || bits.Len64(x) > p.Bits {
		return false
	}
	ones := laneOnes[p.Bits]
	tops := ones << (p.Bits - 1)
	want := ones * x
	low := want &^ tops
	if n == 1 { // by far the most asked; no branch depends on what the devices have
		some := uint64(0)
		for _, word := range p.Words {
			some |= word&^want | ^(word^want)&((word|tops)-low)
		}
		return some&tops != 0
	}
	have := 0
	for _, word := range p.Words {
		lower := (word | tops) - low // a lane keeps its top bit where its lower bits suffice
		have += bits.OnesCount64((word&^want | ^(word^want)&lower) & tops)
	}
	return have >= n
}

// Minus returns p - q, device by device, where no device of q has more than
// that of p and both are packed alike: then no lane borrows from the next.
func (p Packed) Minus(q Packed) Packed {
	out := Packed{Bits: p.Bits, Words: make([]uint64, len(p.Words))}
	for i, word := range p.Words {
		out.Words[i] = word - q.Words[i]
	}
	return out
}

// set writes the amount of device i, which fits.
func (p Packed) set(i int, amount uint64) {
	per := 64 / p.Bits
	shift := uint(i%per) * uint(p.Bits)
	mask := ^uint64(0) >> (64 - uint(p.Bits)) << shift
	p.Words[i/per] = p.Words[i/per]&^mask | amount<<shift
}

// fit makes c the empty room of a class, which keeps what is free in packed form
// too. Its numbers lie in amounts and words where there is room for them.
func (c *ClassRoom) fit(class DeviceClass, amounts []int64, words []uint64) {
	n := len(class.Devices)
	*c = ClassRoom{Name: class.Name, Devices: class.Devices, unit: PackedUnit(class.Devices)}
	if len(amounts) < 3*n {
		amounts = make([]int64, 3*n)
	}
	c.alongside(amounts[:3*n])
	largest := int64(0)
	for _, d := range class.Devices {
		largest = max(largest, d.Capacity)
	}
	b := BitsFor(uint64(largest / c.unit)) // every capacity is a multiple of the unit
	need := (n + 64/b - 1) / (64 / b)
	if len(words) < need {
		words = make([]uint64, need)
	}
	c.lanes = Packed{Bits: b, Words: words[:need:need]}
	for i := range class.Devices {
		c.mark(i)
	}
}

// alongside has Used, Shares and left share one array, because they are read
// together: of eight devices they are three cache lines side by side.
func (c *ClassRoom) alongside(all []int64) {
	n := len(all) / 3
	c.Used, c.Shares, c.left = all[:n:n], all[n:2*n:2*n], all[2*n:]
}

// mark brings what is derived of device i up to date.
func (c *ClassRoom) mark(i int) {
	if c.left != nil {
		c.left[i] = c.free(i)
	}
	if c.lanes.Bits > 0 {
		c.lanes.set(i, uint64((c.Free(i)+c.unit-1)/c.unit))
	}
}

// mayFit reports whether count devices may have so many bytes free each. What
// is free is rounded up and what is asked down, so a no is certain; a yes is
// for the exact amounts to confirm.
func (c *ClassRoom) mayFit(memory int64, count int) bool {
	if c.lanes.Bits == 0 || memory < c.unit {
		return true
	}
	return c.lanes.Have(count, uint64(memory/c.unit))
}
