package rings

// The tops are what lets a search pass over a subtree unread: where one of
// them is below the need, nothing under it can fit. They are upper bounds. An
// agent that gets more raises them at once; one that gets less, or leaves,
// only marks its leaf loose, because to lower them exactly would mean to read
// every vector of the leaf on every allocation. A search that passed through a
// loose node in vain measures it anew, so the price is paid at most once per
// change, and only where searches go.

// lift raises each top to the amount in v, and says whether any rose.
func lift(tops, v []int64) bool {
	rose := false
	for k, amount := range v {
		if amount > tops[k] {
			tops[k], rose = amount, true
		}
	}
	return rose
}

// fits says whether v, an agent's free amounts or a child's tops, has what is
// needed of every kind asked for. Without branches, which would be guessed wrong:
// short is below nothing if an amount that is above it is more than there is.
func fits(v, need []int64) bool {
	v = v[:len(need)]
	short := int64(0)
	for k, amount := range need {
		short |= (v[k] - amount) & -amount
	}
	return short >= 0
}

// raise makes the tops above a leaf cover an agent in it. Where one level
// already covers it, so do all above.
func (t *tree) raise(id int32, v []int64) {
	for nd := t.nodes[id]; nd.parent != none; nd = t.nodes[id] {
		up := t.nodes[nd.parent]
		i := up.indexOf(id)
		if !lift(up.tops[i*t.kinds:(i+1)*t.kinds], v) {
			return
		}
		id = nd.parent
	}
}

// measure sets the tops of the child at i to what is under it, as far as the
// child itself knows.
func (t *tree) measure(up *node, i int) {
	tops := up.tops[i*t.kinds : (i+1)*t.kinds]
	for k := range tops {
		tops[k] = absent
	}
	nd := t.nodes[up.kids[i]]
	if nd.leaf() {
		for _, slot := range nd.slot[:nd.n] {
			lift(tops, t.vector(slot))
		}
	} else {
		for j := range int(nd.n) {
			lift(tops, nd.tops[j*t.kinds:(j+1)*t.kinds])
		}
	}
	nd.loose = false
	up.loose = true
}

// tighten measures a node if that can lower its tops.
func (t *tree) tighten(id int32) {
	nd := t.nodes[id]
	if !nd.loose || nd.parent == none {
		return
	}
	up := t.nodes[nd.parent]
	t.measure(up, up.indexOf(id))
}
