package match

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPrices are cases that can be found by hand.
func TestPrices(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int
		parts []float64
		worth map[int]float64 // of gaps
	}{
		{"whole devices", []int{1000}, []float64{1}, map[int]float64{0: 0, 999: 0, 1000: 1}},
		{"thirds", []int{320}, []float64{5}, map[int]float64{319: 0, 320: 1. / 3, 350: 1. / 3, 640: 2. / 3, 1000: 1}},
		{"nothing goes beside", []int{160, 810}, []float64{7, 100}, map[int]float64{160: 0, 190: 0, 810: 1, 1000: 1}},
		{"all that goes beside comes", []int{190, 810}, []float64{100, 7}, map[int]float64{190: 0.2, 380: 0.4, 810: 0.8, 1000: 1}},
		{"pairs", []int{320, 650}, []float64{4, 4}, map[int]float64{970: 1, 1000: 1}},
		{"165 exchanges",
			[]int{1, 2, 3, 5, 6, 7, 8, 12, 27, 33, 60, 84, 94, 137, 192, 405, 601, 853, 868, 959},
			[]float64{3, 17, 1, 2, 20, 13, 50, 34, 4, 50, 1, 30, 50, 29, 8, 8, 2, 50, 8, 45}, map[int]float64{94: 3. / 32, 405: 13. / 32, 853: 29. / 32, 1000: 1}},
		{"a device less in all", []int{300, 500, 700}, []float64{3, 2, 3}, map[int]float64{500: 0.5, 1000: 1}},
	} {
		var p prices
		p.learn(c.sizes, c.parts)
		for x, want := range c.worth {
			if got := p.gap[x]; math.Abs(got-want) > rounding {
				t.Errorf("%s: a gap of %d is worth %v, want %v", c.name, x, got, want)
			}
		}
	}
}

// TestPricesAreDual: at the prices no pattern comes to more than a device, and what
// is demanded comes to just the devices that are cut for it. Each bounds the other,
// so that both are the best there are, which first-fit decreasing can't be better
// than. Learning on gives what learning anew does.
func TestPricesAreDual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.IntRange(1, fullDevice), 1, 20, rapid.ID[int]).Draw(t, "sizes")
		slices.Sort(sizes)
		var p prices
		for range 3 {
			parts := make([]float64, len(sizes))
			for i := range parts {
				parts[i] = float64(rapid.IntRange(1, 50).Draw(t, "part"))
			}
			p.learn(sizes, parts)
			least := demandedAt(t, &p, parts)
			if packed := firstFitDecreasing(sizes, parts); least > packed+1e-6 {
				t.Fatalf("%v devices for %v of %v; first fit decreasing needs %v", least, parts, sizes, packed)
			}
			var anew prices
			if anew.learn(sizes, parts); math.Abs(demandedAt(t, &anew, parts)-least) > 1e-6*least {
				t.Fatalf("%v devices for %v of %v, anew %v", least, parts, sizes, demandedAt(t, &anew, parts))
			}
		}
	})
}

// demandedAt checks the prices and returns what the demands come to by them.
func demandedAt(t *rapid.T, p *prices, parts []float64) float64 {
	var most [fullDevice + 1]float64 // that slices in so much come to, size by size
	sum := 0.0
	for j, size := range p.sizes {
		price := 0.0
		for _, row := range p.inverse {
			price += row[j]
		}
		if price < -1e-6 {
			t.Fatalf("a slice of %d is worth %v", size, price)
		}
		sum += price * parts[j]
		for x := size; x <= fullDevice; x++ {
			most[x] = max(most[x], most[x-size]+price)
		}
	}
	for x, want := range most {
		if math.Abs(p.gap[x]-want) > 1e-6 || want > 1+1e-6 {
			t.Fatalf("a gap of %d is worth %v, its slices come to %v", x, p.gap[x], want)
		}
	}
	cut := 0.0
	for _, n := range p.cuts(parts) {
		if n < -1e-6 {
			t.Fatalf("a pattern is cut %v times", n)
		}
		cut += n
	}
	if math.Abs(cut-sum) > 1e-6*sum {
		t.Fatalf("what is demanded comes to %v devices, %v are cut", sum, cut)
	}
	return sum
}

// firstFitDecreasing returns how many devices it takes.
func firstFitDecreasing(sizes []int, parts []float64) float64 {
	var left []int
	for i, size := range slices.Backward(sizes) {
		for range int(parts[i]) {
			at := slices.IndexFunc(left, func(room int) bool { return room >= size })
			if at < 0 {
				at, left = len(left), append(left, fullDevice)
			}
			left[at] -= size
		}
	}
	return float64(len(left))
}

// TestPricesBrokenOff: where there was no time to find the best patterns no pattern
// comes to more than a device all the same.
func TestPricesBrokenOff(t *testing.T) {
	sizes, parts := manySizes(400) // more than lore ever asks for
	var p prices
	p.learn(sizes, parts)
	if p.gap[fullDevice] > 1 {
		t.Errorf("a device is worth %v", p.gap[fullDevice])
	}
	for x := 1; x <= fullDevice; x++ {
		if p.gap[x] < p.gap[x-1] || p.gap[x]+p.gap[fullDevice-x] > 1+rounding {
			t.Fatalf("gaps of %d and %d are worth %v and %v", x, fullDevice-x, p.gap[x], p.gap[fullDevice-x])
		}
	}
}

// manySizes are n sizes and how often each is asked for.
func manySizes(n int) (sizes []int, parts []float64) {
	rnd := rand.New(rand.NewPCG(5, 5))
	sizes = rnd.Perm(fullDevice)[:n]
	for i := range sizes {
		sizes[i]++
		parts = append(parts, float64(1+rnd.IntN(1000)))
	}
	slices.Sort(sizes)
	return sizes, parts
}

// BenchmarkPrices is what it costs to find the prices, and to see that they still
// do.
func BenchmarkPrices(b *testing.B) {
	for _, n := range []int{16, pricedSizes} {
		sizes, parts := manySizes(n)
		b.Run(fmt.Sprintf("sizes=%d/anew", n), func(b *testing.B) {
			for b.Loop() {
				var p prices
				p.learn(sizes, parts)
			}
		})
		b.Run(fmt.Sprintf("sizes=%d/again", n), func(b *testing.B) {
			var p prices
			for p.learn(sizes, parts); b.Loop(); {
				p.learn(sizes, parts)
			}
		})
	}
}
