package match

import (
	"math"
	"slices"
)

// prices are what slices of devices are worth to each other. If demands go on
// coming in the proportions seen so far, how few devices can hold them is the
// cutting-stock problem, over all patterns of slices that fit a device together:
//
//	least  sum of cuts    with  sum over patterns of pattern[size] * cuts = part[size]
//	most   sum of part[size] * price[size]    with  sum of prices <= 1 in every pattern
//
// The second is its dual: the price of a slice is which part of a device it costs
// the cluster, whatever else lies there. A gap is worth the most that slices which
// fit it together come to. Where three slices of 320 share a device each is worth
// a third, and so is a gap of 350. Where slices of 810 come a hundred times as
// often as those that fit beside them, one is worth a whole device, and the gap of
// 190 that it leaves nothing.
//
// Source: P. C. Gilmore, R. E. Gomory, "A linear programming approach to the
// cutting-stock problem", Operations Research 9(6), 1961: the revised simplex
// method, a better pattern being found as a knapsack. To let such prices decide
// while it is not known what comes is from K. T. Talluri, G. J. van Ryzin, "An
// analysis of bid-price controls for network revenue management", Management
// Science 44(11), 1998.
//
// The zero value knows of no slices, and no gap is worth anything.
type prices struct {
	sizes   []int                   // thousandths of a device, 1 to fullDevice, each once
	inverse [][]float64             // of the patterns that are cut, a column for each, sizes down
	gap     [fullDevice + 1]float64 // what one of so many thousandths is worth, of a device
	last    [fullDevice + 1]int16   // position of a size that gap is come to with, -1: it is as one thousandth below
}

const (
	fullDevice = 1000
	// pricedSizes is how many sizes get a price at most, and maxPivots how often a
	// pattern is exchanged where they are so many, or more often the fewer they are:
	// together they bound what learning may take, 10 ms.
	pricedSizes = 64
	maxPivots   = 150
	// rounding is how far from 0 and 1 a number may be that is to be just that.
	rounding = 1e-9
)

// learn finds the prices where the sizes are demanded in these proportions, all
// above 0. Where the patterns of the last time still do, so do its prices.
func (p *prices) learn(sizes []int, parts []float64) {
	if slices.Equal(sizes, p.sizes) && slices.Min(p.cuts(parts)) >= -rounding {
		return
	}
	p.begin(sizes)
	cuts := p.cuts(parts)
	p.appraise()
	for n := 0; n*len(sizes) < maxPivots*pricedSizes && p.gap[fullDevice] > 1+rounding && p.exchange(cuts); n++ {
		p.appraise()
	}
	// A pattern that comes to more than a device is left only where it was broken
	// off. Divided by it the prices are right for all patterns (A. A. Farley, "A note
	// on bounding a class of linear programming problems", Operations Research 38(5),
	// 1990).
	for x, most := 0, max(p.gap[fullDevice], 1); x <= fullDevice; x++ {
		p.gap[x] /= most
	}
}

// begin cuts from each device slices of one size only, as many as it has room for.
func (p *prices) begin(sizes []int) {
	p.sizes = slices.Clone(sizes)
	p.inverse = make([][]float64, len(sizes))
	for i, size := range sizes {
		p.inverse[i] = make([]float64, len(sizes))
		p.inverse[i][i] = 1 / float64(fullDevice/size)
	}
}

// cuts returns how often each pattern is cut.
func (p *prices) cuts(parts []float64) []float64 {
	out := make([]float64, len(p.inverse))
	for i, row := range p.inverse {
		for j, part := range parts {
			out[i] += row[j] * part
		}
	}
	return out
}

// appraise finds what the gaps are worth at the prices by which every pattern that
// is cut comes to just one device.
func (p *prices) appraise() {
	clear(p.gap[:])
	for x := range p.last {
		p.last[x] = -1
	}
	for j, size := range p.sizes {
		price := 0.0
		for _, row := range p.inverse {
			price += row[j]
		}
		for x := size; x <= fullDevice; x++ {
			if worth := p.gap[x-size] + price; worth > p.gap[x] {
				p.gap[x], p.last[x] = worth, int16(j)
			}
		}
	}
}

// exchange takes up the pattern that comes to the most, in place of the one that
// is used up first, and keeps cuts right. False says that rounding has left none.
func (p *prices) exchange(cuts []float64) bool {
	part := make([]float64, len(p.sizes))
	for x := fullDevice; p.last[x] >= 0; x -= p.sizes[p.last[x]] {
		part[p.last[x]]++
	}
	instead := p.cuts(part) // of each pattern, for one cut of the new
	out, least := -1, math.Inf(1)
	for i, n := range instead {
		if n > rounding && cuts[i]/n < least {
			out, least = i, cuts[i]/n
		}
	}
	if out < 0 {
		return false
	}
	row := p.inverse[out]
	for j := range row {
		row[j] /= instead[out]
	}
	cuts[out] = least
	for i, n := range instead {
		if i != out && n != 0 {
			for j := range row {
				p.inverse[i][j] -= n * row[j]
			}
			cuts[i] = max(cuts[i]-n*least, 0)
		}
	}
	return true
}
