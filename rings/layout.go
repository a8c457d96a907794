package rings

import (
	"errors"
	"fmt"
	"math"
)

// Kind is the column of a resource kind or a measure: the position of its
// layout in the list given to [New], and of its amount in every vector handed
// to the index.
type Kind int

// MaxRings bounds how many rings one kind may have: a search that finds
// nothing may ask once in each.
const MaxRings = 4096

// Layout says how the agents of one resource kind are divided into rings.
type Layout struct {
	// Name of the kind, unique in an index.
	Name string
	// Bounds are the lower bounds of the rings, ascending and not negative.
	// Ring i (counted from 1) spans [Bounds[i-1], Bounds[i]); the last is
	// open-ended. What is below Bounds[0] belongs to ring 1, so that an agent
	// is in exactly one ring of every kind it has.
	Bounds []int64
	// Reach is the ring (1 to len(Bounds)) up to which a search climbs before
	// it turns to the outermost. Zero is invalid.
	Reach int
	// Measure marks a column that agents are not ringed by, so that it costs no
	// tree: a need may ask for it like for a kind, and the first measure comes
	// before the other kinds where agents of equal amounts are put in order. It
	// has neither Bounds nor Reach, and measures come after all kinds.
	Measure bool

	// step is the width of all rings but the last where they are equally wide, 0
	// elsewhere. Set by [New].
	step int64
}

// equallyWide returns what step is to be.
func (l *Layout) equallyWide() int64 {
	if len(l.Bounds) < 2 {
		return 0
	}
	step := l.Bounds[1] - l.Bounds[0]
	for i := 1; i < len(l.Bounds); i++ {
		if l.Bounds[i]-l.Bounds[i-1] != step {
			return 0
		}
	}
	return step
}

// Validate reports the first field that is wrong, in one sentence.
func (l Layout) Validate() error {
	if l.Name == "" {
		return errors.New("ring layout: Name is empty")
	}
	if l.Measure {
		if len(l.Bounds) > 0 || l.Reach != 0 {
			return fmt.Errorf("ring layout %q: a measure has no Bounds and no Reach", l.Name)
		}
		return nil
	}
	if len(l.Bounds) == 0 || len(l.Bounds) > MaxRings {
		return fmt.Errorf("ring layout %q: Bounds has %d entries, must have 1 to %d", l.Name, len(l.Bounds), MaxRings)
	}
	if l.Bounds[0] < 0 {
		return fmt.Errorf("ring layout %q: Bounds starts at %d, must not be negative", l.Name, l.Bounds[0])
	}
	for i := 1; i < len(l.Bounds); i++ {
		if l.Bounds[i] <= l.Bounds[i-1] {
			return fmt.Errorf("ring layout %q: Bounds[%d] is %d, must be above the %d before it",
				l.Name, i, l.Bounds[i], l.Bounds[i-1])
		}
	}
	if l.Reach < 1 || l.Reach > len(l.Bounds) {
		return fmt.Errorf("ring layout %q: Reach is %d, must name one of the %d rings", l.Name, l.Reach, len(l.Bounds))
	}
	return nil
}

// EqualBounds returns the bounds of count rings of equal width from lower on;
// count includes the open-ended outermost one.
func EqualBounds(lower, width int64, count int) ([]int64, error) {
	switch {
	case lower < 0:
		return nil, fmt.Errorf("ring bounds: lower is %d, must not be negative", lower)
	case width <= 0:
		return nil, fmt.Errorf("ring bounds: width is %d, must be positive", width)
	case count < 1 || count > MaxRings:
		return nil, fmt.Errorf("ring bounds: count is %d, must be 1 to %d", count, MaxRings)
	case count > 1 && width > (math.MaxInt64-lower)/int64(count-1):
		return nil, fmt.Errorf("ring bounds: width %d times count %d overflows", width, count)
	}
	bounds := make([]int64, count)
	for i := range bounds {
		bounds[i] = lower + int64(i)*width
	}
	return bounds, nil
}

// holding is the ring whose range holds the amount.
func (l *Layout) holding(amount int64) int {
	if l.step > 0 { // no search, whose every turn would be guessed wrong
		return int(min(max(amount-l.Bounds[0], 0)/l.step+1, int64(len(l.Bounds))))
	}
	first, end := 0, len(l.Bounds) // the first bound above it is among these
	for first < end {
		if mid := int(uint(first+end) / 2); l.Bounds[mid] > amount {
			end = mid
		} else {
			first = mid + 1
		}
	}
	return max(first, 1)
}

// first is the least amount of a ring.
func (l *Layout) first(ring int) int64 {
	if ring == 1 {
		return 0
	}
	return l.Bounds[ring-1]
}

// last is the greatest amount of a ring, inclusive so that the open-ended ring
// has one too.
func (l *Layout) last(ring int) int64 {
	if ring == len(l.Bounds) {
		return math.MaxInt64
	}
	return l.Bounds[ring] - 1
}
