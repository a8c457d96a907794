package match

import "math"

// line is demands of one framework that wait, by age. What is asked of it is the
// eldest that some room might be enough for, which takes O(log demands) where their
// amounts tell, and one look at each demand of which they don't: those with
// constraints.
//
//	             age 5, needs (2, 8), least (1, 4)
//	            ┌──────────────┴──────────────┐
//	age 2, (1, 9), least (1, 9)    age 9, (3, 4), least (3, 4)
//
// It is a treap: ordered by age from left to right, by rank from above, which is drawn
// from the age, so that it is as deep as one into which they came in any order.
type line struct{ root *waiter }

// waiter is a demand in a line. A demand has one at most, which it keeps.
//
// Invariant: least is the least that anybody below it or itself needs, each amount for
// itself.
type waiter struct {
	d           *demand
	rank        uint64
	need        []int64 // to be read only
	least       []int64
	left, right *waiter // elder, younger
}

// rankOf scatters ages.
func rankOf(age uint64) uint64 {
	age = (age ^ age>>30) * 0xbf58476d1ce4e5b9
	age = (age ^ age>>27) * 0x94d049bb133111eb
	return age ^ age>>31
}

// enter has a demand wait that needs at least so much.
func (l *line) enter(d *demand, need []int64) {
	if d.waiter == nil {
		d.waiter = &waiter{d: d, rank: rankOf(d.age)}
	}
	w := d.waiter
	w.need, w.least = need, append(w.least[:0], need...)
	l.root = l.root.with(w)
	d.line = l
}

func (l *line) leave(d *demand) {
	l.root = l.root.without(d.age)
	d.line, d.waiter.left, d.waiter.right = nil, nil, nil
}

func (w *waiter) with(more *waiter) *waiter {
	switch {
	case w == nil:
		return more
	case more.rank < w.rank:
		more.left, more.right = w.split(more.d.age)
		w = more
	case more.d.age < w.d.age:
		w.left = w.left.with(more)
	default:
		w.right = w.right.with(more)
	}
	w.settle()
	return w
}

func (w *waiter) without(age uint64) *waiter {
	switch {
	case age == w.d.age:
		return w.left.beside(w.right)
	case age < w.d.age:
		w.left = w.left.without(age)
	default:
		w.right = w.right.without(age)
	}
	w.settle()
	return w
}

// split returns those elder and those younger than age.
func (w *waiter) split(age uint64) (elder, younger *waiter) {
	switch {
	case w == nil:
		return nil, nil
	case age < w.d.age:
		elder, w.left = w.left.split(age)
		younger = w
	default:
		w.right, younger = w.right.split(age)
		elder = w
	}
	w.settle()
	return elder, younger
}

// beside returns w and those that are younger than all of it as one.
func (w *waiter) beside(younger *waiter) *waiter {
	switch {
	case w == nil:
		return younger
	case younger == nil:
		return w
	case w.rank < younger.rank:
		w.right = w.right.beside(younger)
	default:
		younger.left = w.beside(younger.left)
		w = younger
	}
	w.settle()
	return w
}

// settle finds out least from those right below.
func (w *waiter) settle() {
	copy(w.least, w.need)
	for _, kid := range [...]*waiter{w.left, w.right} {
		for k := 0; kid != nil && k < len(w.least); k++ {
			w.least[k] = min(w.least[k], kid.least[k])
		}
	}
}

// noAge is what no demand comes to.
const noAge = math.MaxUint64

// eldest returns the first demand younger than after and elder than before that needs
// no more than room has, and suits; nil where there is none.
func (w *waiter) eldest(after, before uint64, room []int64, suits func(*demand) bool) *demand {
	for w != nil && covers(room, w.least) {
		if w.d.age >= before {
			w = w.left
			continue
		}
		if w.d.age > after {
			if d := w.left.eldest(after, before, room, suits); d != nil {
				return d
			}
			if covers(room, w.need) && suits(w.d) {
				return w.d
			}
		}
		w = w.right
	}
	return nil
}
