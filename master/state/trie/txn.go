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
			key, s = nil, n.slots[0] // all below are as near
			continue
		}
		i, has := n.find(key[at])
		if key = key[at+1:]; !has {
			key, i = nil, 0
		}
		s = n.slots[i]
	}
	if len(s.few) == 0 {
		return nil
	}
	i, has := s.search(x.path, &p, key)
	if has || i == 0 {
		return s.few[i]
	}
	before := s.few[i-1]
	if i == len(s.few) || x.shared(before, &p) >= x.shared(s.few[i], &p) {
		return before
	}
	return s.few[i]
}

// shared returns how much the key of a record has in common with that of a path.
func (x *Txn[T]) shared(v *T, p *Path) int {
	var one, two [keySpace]byte
	theirs := x.path(v)
	return common(theirs.appendTo(one[:0]), p.appendTo(two[:0]))
}

// Below yields the records whose paths begin with the texts of a prefix, in the
// order of the keys.
func (x *Txn[T]) Below(prefix Path) iter.Seq[*T] { return below(x.root, x.path, prefix) }

// Put enters a record and returns the one whose place it took, or nil.
func (x *Txn[T]) Put(v *T) (old *T) {
	p := x.path(v)
	var buf [keySpace]byte
	key, s, at := p.appendTo(buf[:0]), &x.root, 0
	for s.node != nil {
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
			n.labels, n.slots = slices.Insert(n.labels, i, key[at]), slices.Insert(n.slots, i, slot[T]{})
		}
		s, at = &n.slots[i], at+1
	}
	i, has := s.search(x.path, &p, key[at:])
	if has {
		old = s.few[i]
		s.few = slices.Clone(s.few)
		s.few[i] = v
		return old
	}
	x.n++
	few := make([]*T, len(s.few)+1)
	copy(few, s.few[:i])
	few[i] = v
	copy(few[i+1:], s.few[i:])
	if len(few) > most {
		*s = slot[T]{node: x.part(few, at)}
		return nil
	}
	copy(s.heads[i+1:], s.heads[i:])
	s.few, s.heads[i] = few, head(key[at:])
	return nil
}

// part returns the node of records that are no longer few, and whose keys are the
// same up to at.
func (x *Txn[T]) part(many []*T, at int) *node[T] {
	var one, two [keySpace]byte
	first, last := x.path(many[0]), x.path(many[len(many)-1])
	key := first.appendTo(one[:0])
	k := at + common(key[at:], last.appendTo(two[:0])[at:])
	n := &node[T]{owner: x.owner, prefix: string(key[at:k])}
	for i, v := range many {
		p := x.path(v)
		key := p.appendTo(one[:0])
		if i == 0 || n.labels[len(n.labels)-1] != key[k] {
			n.labels, n.slots = append(n.labels, key[k]), append(n.slots, slot[T]{few: many[i:i:i]})
		}
		s := &n.slots[len(n.slots)-1]
		s.heads[len(s.few)] = head(key[k+1:])
		s.few = many[i-len(s.few) : i+1 : i+1]
	}
	return n
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
	above := s // of s
	for at := 0; s.node != nil; {
		n := x.own(s.node)
		s.node, above = n, s
		key = key[len(n.prefix):]
		at = bytes.IndexByte(n.labels, key[0])
		s, key = &n.slots[at], key[1:]
	}
	i, _ := s.search(x.path, &p, key)
	few := make([]*T, len(s.few)-1)
	copy(few, s.few[:i])
	copy(few[i:], s.few[i+1:])
	copy(s.heads[i:], s.heads[i+1:])
	if s.few = few; above.node != nil {
		x.close(above)
	}
	return old
}

// close gives up a node, of which a record was taken out, once what is below it is
// few, or it has only one slot left.
func (x *Txn[T]) close(s *slot[T]) {
	n := s.node
	if i := slices.IndexFunc(n.slots, func(s slot[T]) bool { return s.node == nil && len(s.few) == 0 }); i >= 0 {
		n.labels, n.slots = slices.Delete(n.labels, i, i+1), slices.Delete(n.slots, i, i+1)
	}
	if last := n.slots[0]; len(n.slots) == 1 && last.node != nil {
		prefix := n.prefix + string(n.labels) + last.node.prefix
		last.node = x.own(last.node)
		last.node.prefix = prefix
		*s = last
		return
	}
	few := 0
	for _, under := range n.slots {
		if few += len(under.few); under.node != nil || few > most/2 && len(n.slots) > 1 {
			return
		}
	}
	all := slot[T]{few: make([]*T, 0, few)}
	for i, under := range n.slots {
		first := n.labels[i]
		if n.prefix != "" {
			first = n.prefix[0]
		}
		for _, v := range under.few {
			all.heads[len(all.few)] = first
			all.few = append(all.few, v)
		}
	}
	*s = all
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
