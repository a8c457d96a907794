package rings

// split halves a full node, making room for a sibling in the parent first.
func (t *tree) split(id int32) {
	nd := t.nodes[id]
	if nd.parent == none {
		t.deepen()
	} else if t.nodes[nd.parent].n == width {
		t.split(nd.parent)
	}
	sibling := t.grow(nd.leaf())
	up := t.nodes[nd.parent]
	i := up.indexOf(id)
	up.openKid(i+1, t.kinds)
	up.kids[i+1] = sibling
	t.nodes[sibling].parent = nd.parent
	t.carry(id, width/2, sibling)
	up.put(i+1, t.nodes[sibling].entry(0))
	t.measure(up, i)
	t.measure(up, i+1)
}

// deepen puts a new root above the present one.
func (t *tree) deepen() {
	old := t.root
	t.root = t.grow(false)
	top := t.nodes[t.root]
	top.openKid(0, t.kinds)
	top.kids[0] = old
	top.put(0, t.nodes[old].entry(0))
	t.nodes[old].parent = t.root
	t.measure(top, 0)
}

// carry moves the entries of a node from a position on to the end of another
// of the same level.
func (t *tree) carry(from int32, at int, to int32) {
	src, dst := t.nodes[from], t.nodes[to]
	n, m := int(src.n), int(dst.n)
	copy(dst.own[m:], src.own[at:n])
	copy(dst.next[m:], src.next[at:n])
	copy(dst.slot[m:], src.slot[at:n])
	if src.leaf() {
		for _, slot := range src.slot[at:n] {
			*t.homeOf(slot) = to
		}
	} else {
		copy(dst.kids[m:], src.kids[at:n])
		copy(dst.tops[m*t.kinds:], src.tops[at*t.kinds:n*t.kinds])
		for _, kid := range src.kids[at:n] {
			t.nodes[kid].parent = to
		}
	}
	for i := at; i < n; i++ {
		src.own[i] = unused
	}
	src.n, dst.n = int32(at), int32(m+n-at)
	dst.loose = dst.loose || src.loose
}

// shrunk restores the shape after a node lost an entry: an empty one goes, one
// less than a quarter full joins a sibling if together they leave a quarter of
// a node free, so that the next insertions do not split it again.
func (t *tree) shrunk(id int32) {
	nd := t.nodes[id]
	if nd.parent == none {
		t.flatten()
		return
	}
	if nd.n >= width/4 {
		return
	}
	up := t.nodes[nd.parent]
	i := up.indexOf(id)
	switch {
	case nd.n == 0:
		t.drop(up, i)
	case i > 0 && t.join(up, i-1):
	case i+1 < int(up.n) && t.join(up, i):
	default:
		return
	}
	t.shrunk(nd.parent)
}

// join merges the children at i and i+1, if they fit well into one.
func (t *tree) join(up *node, i int) bool {
	left, right := up.kids[i], up.kids[i+1]
	if t.nodes[left].n+t.nodes[right].n > width*3/4 {
		return false
	}
	t.carry(right, 0, left)
	lift(up.tops[i*t.kinds:(i+1)*t.kinds], up.tops[(i+1)*t.kinds:(i+2)*t.kinds])
	t.drop(up, i+1)
	return true
}

// drop gives up the empty child at i.
func (t *tree) drop(up *node, i int) {
	gone := up.kids[i]
	up.closeKid(i, t.kinds)
	up.loose = true
	if i == 0 && up.n > 0 {
		t.lead(t.nodes[gone].parent)
	}
	t.release(gone)
}

// flatten takes roots away that have a single child. None is without any, since
// this happens as soon as a root is down to one.
func (t *tree) flatten() {
	for top := t.nodes[t.root]; !top.leaf() && top.n == 1; top = t.nodes[t.root] {
		t.release(t.root)
		t.root = top.kids[0]
		t.nodes[t.root].parent = none
	}
}
