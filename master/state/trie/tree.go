package trie

import (
	"bytes"
	"iter"
)

// Tree is a sorted map of records by their paths, at one moment.
//
// Invariants: see check.
type Tree[T any] struct {
	root slot[T]
	n    int
	path func(*T) Path
}

// New returns an empty tree of records that path tells the keys of. It is pure,
// and a record's key does not change.
func New[T any](path func(*T) Path) *Tree[T] { return &Tree[T]{path: path} }

// slot is a node, or a few records, or empty.
type slot[T any] struct {
	node  *node[T]
	few   []*T       // by key; shared, so another list takes its place where it changes
	heads [most]byte // of few, the first byte of what is left of each one's key
}

// most is how many records are few: where there are more they part at a node. Ids
// often count up in digits or draw them, so what begins alike is ten or sixteen:
// with a bound just below that each of them would have a slot of its own, and take
// 60 bytes more.
const most = 16

// node is where keys part.
type node[T any] struct {
	owner  *owner
	prefix string    // of what is left of the keys, common to all below
	labels []byte    // the byte after it, ascending; at least two
	slots  []slot[T] // by label
}

// owner is a transaction, for the nodes that it may change. It is not the
// transaction itself, which would be kept by them, and it has a size, so that
// each has an address of its own.
type owner struct{ _ byte }

// Len returns the number of records.
func (t *Tree[T]) Len() int { return t.n }

// Get returns the record of a path, nil where there is none.
func (t *Tree[T]) Get(p Path) *T { return get(t.root, t.path, &p) }

// All yields every record in the order of the keys.
func (t *Tree[T]) All() iter.Seq[*T] { return below(t.root, t.path, Path{}) }

// Below yields the records whose paths begin with the texts of a prefix, in the
// order of the keys.
func (t *Tree[T]) Below(prefix Path) iter.Seq[*T] { return below(t.root, t.path, prefix) }

func get[T any](s slot[T], path func(*T) Path, p *Path) *T {
	var buf [keySpace]byte
	key := p.appendTo(buf[:0])
	for n := s.node; n != nil; n = s.node {
		k := len(n.prefix)
		if len(key) <= k || string(key[:k]) != n.prefix {
			return nil
		}
		i := bytes.IndexByte(n.labels, key[k])
		if i < 0 {
			return nil
		}
		s, key = n.slots[i], key[k+1:]
	}
	if i, has := s.search(path, p, key); has {
		return s.few[i]
	}
	return nil
}

// head returns the first byte of what is left of a key, or 0, with which all keys
// end, where that was the last.
func head(rest []byte) byte {
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// search returns the place of a path among few records, or where it belongs; rest
// is what is left of its key. Mostly the heads tell the records apart, so that not
// one of them must be looked at for it.
func (s *slot[T]) search(path func(*T) Path, p *Path, rest []byte) (at int, has bool) {
	first := head(rest)
	for at < len(s.few) && s.heads[at] < first {
		at++
	}
	end := at
	for end < len(s.few) && s.heads[end] == first {
		end++
	}
	for at < end {
		middle := (at + end) / 2
		theirs := path(s.few[middle])
		switch c := theirs.compare(p); {
		case c == 0:
			return middle, true
		case c < 0:
			at = middle + 1
		default:
			end = middle
		}
	}
	return at, false
}

func below[T any](s slot[T], path func(*T) Path, prefix Path) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		var buf [keySpace]byte
		s := s
		for key := prefix.appendTo(buf[:0]); s.node != nil && len(key) > 0; {
			k := len(s.node.prefix)
			if m := min(k, len(key)); string(key[:m]) != s.node.prefix[:m] {
				return
			}
			if len(key) <= k {
				break
			}
			i := bytes.IndexByte(s.node.labels, key[k])
			if i < 0 {
				return
			}
			s, key = s.node.slots[i], key[k+1:]
		}
		if s.node != nil {
			s.walk(yield)
			return
		}
		for _, v := range s.few {
			if p := path(v); p.within(&prefix) && !yield(v) {
				return
			}
		}
	}
}

// From yields the records whose keys do not come before that of a path, in the
// order of the keys.
func (t *Tree[T]) From(p Path) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		t.root.from(p.appendTo(nil), func(s slot[T], rest []byte) []*T {
			i, _ := s.search(t.path, &p, rest)
			return s.few[i:]
		}, yield)
	}
}

// from walks what does not come before a key, of which rest is left to compare
// with; after tells that of a few records.
func (s slot[T]) from(rest []byte, after func(s slot[T], rest []byte) []*T, yield func(*T) bool) bool {
	if s.node == nil {
		return slot[T]{few: after(s, rest)}.walk(yield)
	}
	prefix := s.node.prefix
	k := common(prefix, rest)
	switch {
	case k == len(rest), k < len(prefix) && prefix[k] > rest[k]:
		return s.walk(yield)
	case k < len(prefix):
		return true
	}
	i, has := s.node.find(rest[k])
	if has && !s.node.slots[i].from(rest[k+1:], after, yield) {
		return false
	}
	if has {
		i++
	}
	for _, under := range s.node.slots[i:] {
		if !under.walk(yield) {
			return false
		}
	}
	return true
}

func (s slot[T]) walk(yield func(*T) bool) bool {
	for _, v := range s.few {
		if !yield(v) {
			return false
		}
	}
	if s.node == nil {
		return true
	}
	for _, under := range s.node.slots {
		if !under.walk(yield) {
			return false
		}
	}
	return true
}
