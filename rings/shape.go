package rings

// grow returns a new empty node.
func (t *tree) grow(asLeaf bool) int32 {
	spare := &t.spareInners
	if asLeaf {
		spare = &t.spareLeaves
	}
	var id int32
	switch n := len(*spare); {
	case n > 0:
		id, *spare = (*spare)[n-1], (*spare)[:n-1]
	case asLeaf:
		id = int32(len(t.leaves))
		t.leaves, t.leafHeads = append(t.leaves, leaf{}), append(t.leafHeads, head{})
	default:
		id = ^int32(len(t.inners))
		t.inners, t.innerHeads = append(t.inners, inner{}), append(t.innerHeads, head{})
		t.tops = append(t.tops, make([]uint64, width*t.words)...)
	}
	*t.head(id) = head{parent: none}
	keys, _ := t.entries(id)
	for i := range keys {
		keys[i] = unused
	}
	return id
}

// release gives a node up. Its memory is for the next one.
func (t *tree) release(id int32) {
	if isLeaf(id) {
		t.spareLeaves = append(t.spareLeaves, id)
	} else {
		t.spareInners = append(t.spareInners, id)
	}
}

// room is how many entries a node can hold.
func room(id int32) int32 {
	if isLeaf(id) {
		return leafWidth
	}
	return width
}

// split halves a full node, making room for a sibling in the parent first.
func (t *tree) split(id int32) {
	if t.head(id).parent == none {
		t.deepen()
	} else if up := t.head(id).parent; t.head(up).n == width {
		t.split(up)
	}
	sibling := t.grow(isLeaf(id))
	up := t.head(id).parent
	i := t.indexOf(up, id)
	t.carry(id, int(room(id)/2), sibling)
	t.insertKid(up, i+1, sibling)
	t.measure(up, i)
	t.measure(up, i+1)
}

// deepen puts a new root above the present one.
func (t *tree) deepen() {
	old := t.root
	t.root = t.grow(false)
	t.insertKid(t.root, 0, old)
	t.measure(t.root, 0)
}

// carry moves the entries of a node from a position on to the end of another
// of the same level.
func (t *tree) carry(from int32, at int, to int32) {
	src, dst := t.head(from), t.head(to)
	n, m := int(src.n), int(dst.n)
	keys, lots := t.entries(from)
	toKeys, toLots := t.entries(to)
	copy(toKeys[m:], keys[at:n])
	copy(toLots[m:], lots[at:n])
	if isLeaf(from) {
		for _, lot := range lots[at:n] {
			*t.homeOf(lot) = to
		}
	} else {
		kids := t.inners[^from].kids[at:n]
		copy(t.inners[^to].kids[m:], kids)
		copy(t.allTops(to)[m*t.words:], t.allTops(from)[at*t.words:n*t.words])
		for _, kid := range kids {
			t.head(kid).parent = to
		}
	}
	for i := at; i < n; i++ {
		keys[i] = unused
	}
	src.n, dst.n = int32(at), int32(m+n-at)
	dst.loose = dst.loose || src.loose
}

// shrunk restores the shape after a node lost an entry: an empty one goes, one
// less than a quarter full joins a sibling if together they leave a quarter of
// a node free, so that the next insertions do not split it again.
func (t *tree) shrunk(id int32) {
	h := t.head(id)
	if h.parent == none {
		t.flatten()
		return
	}
	if h.n >= room(id)/4 {
		return
	}
	up, n := h.parent, h.n
	i := t.indexOf(up, id)
	switch {
	case n == 0:
		t.drop(up, i)
	case i > 0 && t.join(up, i-1):
	case i+1 < int(t.head(up).n) && t.join(up, i):
	default:
		return
	}
	t.shrunk(up)
}

// join merges the children at i and i+1, if they fit well into one.
func (t *tree) join(up int32, i int) bool {
	kids := t.kids(up)
	left, right := kids[i], kids[i+1]
	if t.head(left).n+t.head(right).n > room(left)*3/4 {
		return false
	}
	t.carry(right, 0, left)
	lift(t.topsOf(up, i), t.topsOf(up, i+1))
	t.drop(up, i+1)
	return true
}

// drop gives up the empty child at i.
func (t *tree) drop(up int32, i int) {
	gone := t.kids(up)[i]
	t.extractKid(up, i)
	h := t.head(up)
	h.loose = true
	if i == 0 && h.n > 0 {
		t.lead(up)
	}
	t.release(gone)
}

// flatten takes roots away that have a single child. None is without any, since
// this happens as soon as a root is down to one.
func (t *tree) flatten() {
	for !isLeaf(t.root) && t.head(t.root).n == 1 {
		t.release(t.root)
		t.root = t.inners[^t.root].kids[0]
		t.head(t.root).parent = none
	}
}
