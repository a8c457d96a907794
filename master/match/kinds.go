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
//	columns:  cpus mem disk bandwidth | gpu gpu.slice npu npu.slice | rest bare
//
// The last two columns are measures, which agents are not ringed by: rest is
// what is left of the agent, in millionths of its total, on the mean of its
// fair kinds; it decides between agents that are equally close, the fuller
// first. bare is 1 where no device has a free byte.
//
// It never changes; a new class makes a new one.
type kinds struct {
	classes     []string // ascending
	columnNames []string // of those that are ringed
}

func newKinds(classes []string) *kinds {
	k := &kinds{classes: classes}
	for s := range offers.Scalars {
		k.columnNames = append(k.columnNames, s.String())
	}
	for _, class := range classes {
		k.columnNames = append(k.columnNames, class, class+offers.SliceSuffix)
	}
	return k
}

const scalars = int(offers.Scalars)

func (k *kinds) fair() int    { return scalars + len(k.classes) }
func (k *kinds) ringed() int  { return scalars + 2*len(k.classes) }
func (k *kinds) rest() int    { return k.ringed() }
func (k *kinds) bare() int    { return k.ringed() + 1 }
func (k *kinds) columns() int { return k.ringed() + 2 }

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

func (k *kinds) columnName(c int) string { return k.columnNames[c] }

// columnNamed returns the column of that ring kind, or -1.
func (k *kinds) columnNamed(name string) int { return slices.Index(k.columnNames, name) }

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
	return newKinds(slices.Compact(names))
}

// amounts writes a holding as a fair vector into out.
func (k *kinds) amounts(h *offers.Holding, out []int64) {
	clear(out)
	copy(out, h.Amounts[:])
	if len(h.Devices) == 0 {
		return
	}
	for i, class := range k.classes {
		out[scalars+i] = h.DeviceBytes(class)
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

// read brings an agent's record up to date with its room: its columns (-1 where
// it has nothing of a kind at all) and what it adds to the free fair kinds.
func (k *kinds) read(a *agent) {
	total, free := a.total, a.room.Free()
	var left, parts int64 // millionths
	for s := range free {
		n := max(free[s], 0)
		a.columns[s], a.fair[s] = n, n
		if total[s] == 0 {
			a.columns[s] = -1
			continue
		}
		left += millionths(n, total[s])
		parts++
	}
	a.columns[k.bare()] = 1
	for i := range a.classes {
		c, at := a.classes[i].room, scalars+2*i
		a.columns[at], a.columns[at+1], a.fair[scalars+i] = -1, -1, 0
		if c == nil {
			continue
		}
		for d := range c.Devices {
			a.fair[scalars+i] += c.Free(d)
		}
		a.columns[at], a.columns[at+1] = c.Idle(), c.LargestSlice()
		if a.columns[at+1] > 0 {
			a.columns[k.bare()] = 0
		}
		left += millionths(max(a.fair[scalars+i], 0), total[scalars+i])
		parts++
	}
	a.columns[k.rest()] = left / max(parts, 1)
}

// millionths returns part of whole, which is more than nothing, rounded down.
func millionths(part, whole int64) int64 {
	part = min(part, whole)
	high, low := bits.Mul64(uint64(part), 1e6)
	n, _ := bits.Div64(high, low, uint64(whole))
	return int64(n)
}

// layouts returns the ring layout of every column: what was configured, and
// sensible gradients for the rest. No class can have a name with a dot.
func (k *kinds) layouts(configured map[string]rings.Layout) []rings.Layout {
	out := make([]rings.Layout, k.columns())
	out[k.rest()] = rings.Layout{Name: ".rest", Measure: true}
	out[k.bare()] = rings.Layout{Name: ".bare", Measure: true}
	for c := range k.ringed() {
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
		l.Bounds, l.Reach = steps(0, 4000, 33), 8
	case column == int(offers.Mem):
		l.Bounds = []int64{0, gib, 2 * gib, 4 * gib, 8 * gib, 16 * gib, 32 * gib, 64 * gib, 128 * gib, 256 * gib, 512 * gib, 1024 * gib}
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
