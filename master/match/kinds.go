package match

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// kinds is the order of all kinds that the cluster knows. Two vectors follow
// it. In fair shares and quotas a device class counts once, in bytes:
//
//	fair:     cpus mem disk bandwidth | gpu           npu
//	columns:  cpus mem disk bandwidth | gpu gpu.slice npu npu.slice
//
// It never changes; a new class makes a new one.
type kinds struct {
	classes []string // ascending
}

const scalars = int(offers.Scalars)

func (k *kinds) fair() int    { return scalars + len(k.classes) }
func (k *kinds) columns() int { return scalars + 2*len(k.classes) }

// class returns the position of a class, or -1.
func (k *kinds) class(name string) int {
	i, ok := slices.BinarySearch(k.classes, name)
	if !ok {
		return -1
	}
	return i
}

func (k *kinds) fairName(i int) string {
	if i < scalars {
		return offers.Scalar(i).String()
	}
	return k.classes[i-scalars]
}

// fairNamed returns the fair-share kind of that name, or -1.
func (k *kinds) fairNamed(name string) int {
	if s, ok := offers.ScalarNamed(name); ok {
		return int(s)
	}
	if i := k.class(name); i >= 0 {
		return scalars + i
	}
	return -1
}

func (k *kinds) columnName(c int) string {
	if c < scalars {
		return offers.Scalar(c).String()
	}
	name := k.classes[(c-scalars)/2]
	if (c-scalars)%2 == 1 {
		name += offers.SliceSuffix
	}
	return name
}

// covers reports whether every class of the inventory is known.
func (k *kinds) covers(v offers.Inventory) bool {
	return !slices.ContainsFunc(v.Classes, func(c offers.DeviceClass) bool { return k.class(c.Name) < 0 })
}

// with returns the kinds with the classes of v added.
func (k *kinds) with(v offers.Inventory) *kinds {
	names := slices.Clone(k.classes)
	for _, c := range v.Classes {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return &kinds{classes: slices.Compact(names)}
}

// amounts writes a holding as a fair vector into out.
func (k *kinds) amounts(h *offers.Holding, out []int64) {
	clear(out)
	copy(out, h.Amounts[:])
	for class := range h.Devices {
		if i := k.class(class); i >= 0 {
			out[scalars+i] = h.DeviceBytes(class)
		}
	}
}

// inventory writes what an agent has in all as a fair vector into out.
func (k *kinds) inventory(v *offers.Inventory, out []int64) {
	clear(out)
	copy(out, v.Amounts[:])
	for _, c := range v.Classes {
		out[scalars+k.class(c.Name)] = c.Bytes()
	}
}

// free writes an agent's free column vector into out; -1 where it has nothing
// of a kind at all.
func (k *kinds) free(r *offers.Room, out []int64) {
	total, free := r.Total(), r.Free()
	for s := range free {
		out[s] = max(free[s], 0)
		if total.Amounts[s] == 0 {
			out[s] = -1
		}
	}
	for i := scalars; i < len(out); i++ {
		out[i] = -1
	}
	classes := r.Classes()
	for i := range classes {
		if c := &classes[i]; len(c.Devices) > 0 {
			at := scalars + 2*k.class(c.Name)
			out[at], out[at+1] = c.Idle(), c.LargestSlice()
		}
	}
}

// layouts returns the ring layout of every column: what was configured, and
// sensible gradients for the rest.
func (k *kinds) layouts(configured map[string]rings.Layout) []rings.Layout {
	out := make([]rings.Layout, k.columns())
	for c := range out {
		name := k.columnName(c)
		if l, ok := configured[name]; ok {
			l.Name = name
			out[c] = l
			continue
		}
		out[c] = defaultLayout(name, c)
	}
	return out
}

// Default gradients: cpus in steps of 4 cores, memory and disk geometric,
// slices in steps of 1 GiB, whole devices one by one.
func defaultLayout(name string, column int) rings.Layout {
	const gib = 1 << 30
	l := rings.Layout{Name: name}
	switch {
	case column == int(offers.CPUs):
		l.Bounds, l.Reach = steps(0, 4000, 16), 8
	case column == int(offers.Mem):
		l.Bounds = []int64{0, gib, 2 * gib, 4 * gib, 8 * gib, 16 * gib, 64 * gib}
	case column == int(offers.Disk):
		l.Bounds = []int64{0, gib, 4 * gib, 16 * gib, 64 * gib, 256 * gib, 1024 * gib, 4096 * gib}
	case column == int(offers.Bandwidth):
		l.Bounds = []int64{0, 1e8, 1e9, 1e10, 1e11}
	case strings.HasSuffix(name, offers.SliceSuffix):
		l.Bounds = steps(0, gib, 80)
	default:
		l.Bounds = steps(0, 1, 17)
	}
	if l.Reach == 0 {
		l.Reach = len(l.Bounds)
	}
	return l
}

func steps(lower, width int64, count int) []int64 {
	bounds := make([]int64, count)
	for i := range bounds {
		bounds[i] = lower + int64(i)*width
	}
	return bounds
}

// moreOf compares a/b with c/d exactly: 1, 0 or -1. A denominator of 0 makes
// its side the larger one (there is none of that kind at all).
func moreOf(a, b, c, d int64) int {
	h1, l1 := bits.Mul64(uint64(a), uint64(d))
	h2, l2 := bits.Mul64(uint64(c), uint64(b))
	switch {
	case h1 > h2 || h1 == h2 && l1 > l2:
		return 1
	case h1 == h2 && l1 == l2:
		return 0
	}
	return -1
}
