package rings

import (
	"math/bits"
	"slices"
)

// A lot is the agents that have exactly the same of every kind and measure. The
// trees have lots for entries and not agents: on a large cluster there are far fewer,
// so that trees are small, and an agent that goes from one lot to another, neither of
// which comes or ends by that, changes no tree at all. Who of a lot comes first is
// settled by ids, in a tree of its own for each, see members.go.
//
//	lots     3 cpus, 8 GiB      7 cpus, 2 GiB      7 cpus, 4 GiB
//	         a4                 a2 a7 a9           a1 a3
//
// Invariant: no two lots have the same vector, and none is without agents.

// table is what all trees share about the lots, by lot. Flat arrays without
// pointers: the collector passes over them, and a lot's row is one or two cache
// lines.
type table struct {
	kinds int
	// words are those of a vector's lanes.
	words int
	// free[lot*kinds+kind] is never below absent, and that where the lot is spare.
	free []int64
	// packed[lot*words] and on are the lanes.
	packed []uint64
	// asked counts the questions to all trees.
	asked uint64
	// home[lot*kinds+kind] is the leaf that files the lot in the tree of the
	// kind, or none.
	home []int32
}

// many is how many lots there are, spare ones too.
func (t *table) many() int { return len(t.home) / t.kinds }

func (t *table) vector(lot int32) []int64 {
	at := int(lot) * t.kinds
	return t.free[at : at+t.kinds : at+t.kinds]
}

func (t *table) lanes(lot int32) []uint64 {
	at := int(lot) * t.words
	return t.packed[at : at+t.words : at+t.words]
}

// lots finds lots by their vectors: a hash table with open addressing, in which who
// has to make way stands in the next place that is free.
type lots struct {
	*table
	// places are a power of two, at most half of them taken.
	places []place
	taken  int
	// ended are lots to be used before new ones.
	ended []int32
}

// place is one of a hash table.
type place struct {
	lot  int32 // none where it is free
	hash uint32
}

func newLots(t *table) lots {
	l := lots{table: t}
	l.resize(64)
	return l
}

// hash is that of a vector.
func hash(v []int64) uint32 {
	h := uint64(len(v))
	for _, n := range v {
		high, low := bits.Mul64(h^uint64(n), 0x9e3779b97f4a7c15)
		h = high ^ low + 1
	}
	return uint32(h ^ h>>32)
}

// find returns the lot with a vector, whose hash is at hand, or none.
func (l *lots) find(v []int64, hash uint32) int32 {
	for at := l.at(hash); ; at = l.after(at) {
		p := &l.places[at]
		if p.lot == none || p.hash == hash && slices.Equal(l.vector(p.lot), v) {
			return p.lot
		}
	}
}

// at is the place where a hash belongs.
func (l *lots) at(hash uint32) int { return int(hash) & (len(l.places) - 1) }

// after is the place after one.
func (l *lots) after(at int) int { return (at + 1) & (len(l.places) - 1) }

// begin returns a new lot with a vector.
func (l *lots) begin(v []int64, hash uint32) int32 {
	lot := int32(l.many())
	if n := len(l.ended); n > 0 {
		lot, l.ended = l.ended[n-1], l.ended[:n-1]
	} else {
		for range l.kinds {
			l.free = append(l.free, absent)
			l.home = append(l.home, none)
		}
		for range l.words {
			l.packed = append(l.packed, 0)
		}
	}
	l.write(lot, v, hash)
	return lot
}

// write gives a lot that is in no place its vector.
func (l *lots) write(lot int32, v []int64, hash uint32) {
	copy(l.vector(lot), v)
	pack(l.lanes(lot), v)
	if l.taken++; 2*l.taken > len(l.places) {
		l.resize(2 * len(l.places))
	}
	l.enter(place{lot, hash})
}

func (l *lots) enter(p place) {
	at := l.at(p.hash)
	for l.places[at].lot != none {
		at = l.after(at)
	}
	l.places[at] = p
}

// erase takes a lot out of its place. Those after it that would not be found any
// longer move up.
func (l *lots) erase(lot int32) {
	l.taken--
	at := l.at(hash(l.vector(lot)))
	for l.places[at].lot != lot {
		at = l.after(at)
	}
	for next := l.after(at); l.places[next].lot != none; next = l.after(next) {
		if wanted := l.at(l.places[next].hash); l.way(wanted, next) >= l.way(at, next) {
			l.places[at], at = l.places[next], next
		}
	}
	l.places[at] = place{lot: none}
}

// way is how many places it is from one to another.
func (l *lots) way(from, to int) int { return (to - from) & (len(l.places) - 1) }

// end gives up a lot, after which it has nothing. The trees are still to be told.
func (l *lots) end(lot int32) {
	l.erase(lot)
	v := l.vector(lot)
	for k := range v {
		v[k] = absent
	}
	clear(l.lanes(lot))
	l.ended = append(l.ended, lot)
}

// resize makes the table anew with so many places.
func (l *lots) resize(places int) {
	old := l.places
	l.places = make([]place, places)
	for at := range l.places {
		l.places[at].lot = none
	}
	for _, p := range old {
		if p.lot != none {
			l.enter(p)
		}
	}
}
