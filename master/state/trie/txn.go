package trie

import (
	"bytes"
	"iter"
	"slices"
	"sort"
)

// Txn is a tree under change. Going through it ends before the next change.
type Txn[T any] struct {
	root  slot[T]
	n     int
	path  func(*T) Path
	owner *owner
}

// Txn begins to change t, which stays as it is.
func (t *Tree[T]) Txn() *Txn[T] {
	return &Txn[T]{root: t.root, n: t.n, path: t.path, owner: new(owner)}
}

// Commit returns the tree as it is now. The transaction can go on.
func (x *Txn[T]) Commit() *Tree[T] {
	x.owner = new(owner) // what there is belongs to the tree
	return &Tree[T]{root: x.root, n: x.n, path: x.path}
}

// Len returns the number of records.
func (x *Txn[T]) Len() int { return x.n }

// Get returns the record of a path, nil where there is none.
func (x *Txn[T]) Get(p Path) *T { return get(x.root, x.path, &p) }

// Near returns a record of which the key has as much in common with that of a
// path as any has, nil where there is none.
func (x *Txn[T]) Near(p Path) *T {
	var buf [keySpace]byte
	key, s := p.appendTo(buf[:0]), x.root
	for n := s.node; n != nil; n = s.node {
		at := len(n.prefix)
		if len(key) <= at || string(key[:at]) != n.prefix {
			key, s = nil, n.slots[0]
			continue
		}
		i, has := n.find(key[at])
		if key = key[at+1:]; !has {
			key, i = nil, min(i, len(n.slots)-1)
		}
		s = n.slots[i]
	}
	return s.leaf
}

// Below yields the records whose paths begin with the texts of a prefix, in the
// order of the keys.
func (x *Txn[T]) Below(prefix Path) iter.Seq[*T] { return below(x.root, x.path, prefix) }

// Put enters a record and returns the one whose place it took, or nil.
func (x *Txn[T]) Put(v *T) (old *T) {
	p := x.path(v)
	var buf [keySpace]byte
	key, s := p.appendTo(buf[:0]), &x.root
	for at := 0; s.node != nil; {
		n := s.node
		k := common(n.prefix, key[at:])
		if k < len(n.prefix) {
			rest := x.own(n)
			s.node = &node[T]{owner: x.owner, prefix: n.prefix[:k]}
			label := n.prefix[k]
			rest.prefix = n.prefix[k+1:]
			s.node.labels, s.node.slots = []byte{label}, []slot[T]{{node: rest}}
		} else {
			s.node = x.own(n)
		}
		n, at = s.node, at+k
		i, has := n.find(key[at])
		if !has {
			n.labels, n.slots = slices.Insert(n.labels, i, key[at]), slices.Insert(n.slots, i, slot[T]{leaf: v})
			x.n++
			return nil
		}
		s, at = &n.slots[i], at+1
		if s.node == nil {
			return x.putLeaf(s, v, key, p, at)
		}
	}
	return x.putLeaf(s, v, key, p, 0)
}

// putLeaf enters v where a leaf is, or nothing at all; its key up to at is that
// leaf's.
func (x *Txn[T]) putLeaf(s *slot[T], v *T, key []byte, p Path, at int) (old *T) {
	old = s.leaf
	if old == nil {
		s.leaf = v
		x.n++
		return nil
	}
	theirs := x.path(old)
	if theirs == p {
		s.leaf = v
		return old
	}
	var buf [keySpace]byte
	other := theirs.appendTo(buf[:0])
	k := at + common(key[at:], other[at:])
	n := &node[T]{owner: x.owner, prefix: string(key[at:k]), labels: []byte{key[k], other[k]}, slots: []slot[T]{{leaf: v}, {leaf: old}}}
	if key[k] > other[k] {
		n.labels[0], n.labels[1], n.slots[0], n.slots[1] = n.labels[1], n.labels[0], n.slots[1], n.slots[0]
	}
	*s = slot[T]{node: n}
	x.n++
	return nil
}

// Delete takes the record of a path out and returns it, nil where there was
// none.
func (x *Txn[T]) Delete(p Path) (old *T) {
	if old = x.Get(p); old == nil {
		return nil
	}
	x.n--
	var buf [keySpace]byte
	key, s := p.appendTo(buf[:0]), &x.root
	if s.node == nil {
		*s = slot[T]{}
		return old
	}
	for {
		n := x.own(s.node)
		s.node = n
		key = key[len(n.prefix):]
		i := bytes.IndexByte(n.labels, key[0])
		if n.slots[i].node != nil {
			s, key = &n.slots[i], key[1:]
			continue
		}
		n.labels, n.slots = slices.Delete(n.labels, i, i+1), slices.Delete(n.slots, i, i+1)
		if len(n.slots) == 1 {
			x.close(s)
		}
		return old
	}
}

// close puts what is left of a node with one slot in its place.
func (x *Txn[T]) close(s *slot[T]) {
	n := s.node
	last := n.slots[0]
	if last.node != nil {
		prefix := n.prefix + string(n.labels) + last.node.prefix
		last.node = x.own(last.node)
		last.node.prefix = prefix
	}
	*s = last
}

// own returns a node that this transaction may change: n, or a copy.
func (x *Txn[T]) own(n *node[T]) *node[T] {
	if n.owner == x.owner {
		return n
	}
	return &node[T]{owner: x.owner, prefix: n.prefix, labels: slices.Clone(n.labels), slots: slices.Clone(n.slots)}
}

// find returns the place of a label, or where it belongs.
func (n *node[T]) find(label byte) (int, bool) {
	i := sort.Search(len(n.labels), func(i int) bool { return n.labels[i] >= label })
	return i, i < len(n.labels) && n.labels[i] == label
}

// common returns how many bytes of a are the beginning of b.
func common[A, B string | []byte](a A, b B) int {
	k := 0
	for k < min(len(a), len(b)) && a[k] == b[k] {
		k++
	}
	return k
}
