package rings

// A tree that is not asked for anything need not know where its lots belong
// just now: on a cluster where all demands are led by memory, nobody looks
// lots up by cpus. Such a tree only notes who has changed, and files them
// when it is asked, or when they are too many for that to be done in passing.
// A lot that has changed several times meanwhile is filed once.
//
// A tree that was asked not long ago files at once: there is nothing to be
// saved, and the misses of all trees overlap (see [Index.refile]). One that was
// asked last as many questions ago as there are lots falls asleep: it files
// nobody and notes nobody, and is built anew when it is asked.

const (
	// patience is after how many questions to others a tree begins to put off.
	patience = 64
	// lateness bounds how many lots a tree that is awake puts off, and so what
	// a question may have to wait for.
	lateness = 1024
)

// defers notes that the lot's vector has changed, if the tree puts it off to
// file lots; false if it is to be filed at once.
func (t *tree) defers(lot int32) bool {
	if t.asked-t.lastAsked <= patience {
		return false
	}
	t.deferring = true
	if n := t.many(); len(t.isLate) < n {
		t.isLate = append(t.isLate, make([]bool, n-len(t.isLate))...)
	}
	if t.isLate[lot] {
		return true
	}
	t.isLate[lot] = true
	switch t.late = append(t.late, lot); {
	case len(t.late) < lateness:
	case t.asked-t.lastAsked > uint64(t.many()):
		t.sleep()
	default:
		t.fileLate()
	}
	return true
}

// sleep has the tree forget whom it files.
func (t *tree) sleep() {
	for _, lot := range t.late {
		t.isLate[lot] = false
	}
	t.late = t.late[:0]
	t.asleep, t.exhausted = true, false
}

// wake files everybody anew.
func (t *tree) wake() {
	t.asleep = false
	t.leafHeads, t.leaves, t.spareLeaves = t.leafHeads[:0], t.leaves[:0], t.spareLeaves[:0]
	t.innerHeads, t.inners, t.spareInners, t.tops = t.innerHeads[:0], t.inners[:0], t.spareInners[:0], t.tops[:0]
	t.root = t.grow(true)
	for lot := range int32(t.many()) {
		*t.homeOf(lot) = none
	}
	for lot := range int32(t.many()) {
		t.file(lot)
	}
}

// catchUp brings the tree up to date before it is asked.
func (t *tree) catchUp() {
	t.asked++
	t.lastAsked = t.asked
	if t.asleep {
		t.wake()
	} else if t.deferring {
		t.fileLate()
	}
	t.deferring = false
	if t.exhausted && t.asked-t.exhaustedAsked > uint64(max(patience, t.many())) {
		t.exhausted = false // who is filed leaves with its next change
	}
}

// prepare brings the tree up to date for a question about at least so much.
func (t *tree) prepare(least int64) {
	t.catchUp()
	if least <= 0 {
		t.fileExhausted()
	}
}

// fileLate files who was put off. First all of them leave: an entry is
// compared with others by their lots' vectors, so none may be filed where
// such are that have changed.
func (t *tree) fileLate() {
	for _, lot := range t.late {
		t.isLate[lot] = false
		if home := *t.homeOf(lot); home != none {
			t.leafHeads[home].loose = true
			t.delete(home, t.find(home, lot))
		}
	}
	for _, lot := range t.late {
		t.file(lot)
	}
	t.late = t.late[:0]
}

// file files a lot that is in no leaf, if the tree has a place for it.
func (t *tree) file(lot int32) {
	t.moving, t.gone = t.entryOf(lot), !t.files(t.vector(lot)[t.kind])
	for t.aim(); t.descend(); {
	}
	t.settle()
}

// fileExhausted files the lots that have the kind and nothing free of it, for a
// question that comes to them. Nearly none does, since demands are looked up by a
// kind that they ask for, while on a full cluster such lots are the most: so they
// are left out, and what changes about them costs nothing in this tree. Once
// somebody asked they are kept for as many questions as there are lots, which is
// what to look for them costs.
func (t *tree) fileExhausted() {
	t.exhaustedAsked = t.asked
	if t.exhausted {
		return
	}
	t.exhausted = true
	for lot := range int32(t.many()) {
		if t.vector(lot)[t.kind] == 0 && *t.homeOf(lot) == none {
			t.file(lot)
		}
	}
}
