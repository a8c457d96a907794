package rings

// The tops are what lets a search pass over a subtree unread: where one of
// them is below the need, nothing under it can fit. They are upper bounds, kept
// as lanes. A lot that gets more raises them at once; one that gets less, or
// leaves, only marks its leaf loose, because to lower them exactly would mean to read
// every lot of the leaf on every allocation. A search that passed through a
// loose node in vain measures it anew, so the price is paid at most once per
// change, and only where searches go.

// allTops are those of an inner node's children, in its full width.
func (t *tree) allTops(id int32) []uint64 {
	each := width * t.words
	return t.tops[int(^id)*each : (int(^id)+1)*each]
}

// topsOf are those of the child at i.
func (t *tree) topsOf(id int32, i int) []uint64 {
	at := (int(^id)*width + i) * t.words
	return t.tops[at : at+t.words : at+t.words]
}

// fits says whether v, a lot's free amounts, has what is needed of every kind
// asked for. Without branches, which would be guessed wrong:
// short is below nothing if an amount that is above it is more than there is.
func fits(v, need []int64) bool {
	v = v[:len(need)]
	short := int64(0)
	for k, amount := range need {
		short |= (v[k] - amount) & -amount
	}
	return short >= 0
}

// raise makes the tops above a leaf cover a lot in it. Where one level
// already covers it, so do all above.
func (t *tree) raise(id int32, lot int32) {
	v := t.lanes(lot)
	for up := t.head(id).parent; up != none; id, up = up, t.head(up).parent {
		if !lift(t.topsOf(up, t.indexOf(up, id)), v) {
			return
		}
	}
}

// measure sets the tops of the child at i to what is under it, as far as the
// child itself knows.
func (t *tree) measure(up int32, i int) {
	tops := t.topsOf(up, i)
	clear(tops)
	kid := t.inners[^up].kids[i]
	h := t.head(kid)
	if isLeaf(kid) {
		for _, lot := range t.leaves[kid].lot[:h.n] {
			lift(tops, t.lanes(lot))
		}
	} else {
		for j := range int(h.n) {
			lift(tops, t.topsOf(kid, j))
		}
	}
	h.loose = false
	t.innerHeads[^up].loose = true
}

// tighten measures a node if that can lower its tops.
func (t *tree) tighten(id int32) {
	if h := t.head(id); h.loose && h.parent != none {
		t.measure(h.parent, t.indexOf(h.parent, id))
	}
}
