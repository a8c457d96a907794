package rings

// A tree that is not asked for anything need not know where its agents belong
// just now: on a cluster where all demands are led by memory, nobody looks
// agents up by cpus. Such a tree only notes who has changed, and files them
// when it is asked, or when they are too many for that to be done in passing.
// An agent that has changed several times meanwhile is filed once.
//
// A tree that was asked not long ago files at once: there is nothing to be
// saved, and the misses of all trees overlap (see [Index.refile]).

const (
	// patience is after how many questions to others a tree begins to put off.
	patience = 64
	// lateness bounds how many agents a tree puts off, and so what a question
	// may have to wait for.
	lateness = 1024
)

// defers notes that the agent's vector has changed, if the tree puts it off to
// file agents; false if it is to be filed at once.
func (t *tree) defers(slot int32) bool {
	if t.asked-t.lastAsked <= patience {
		return false
	}
	t.deferring = true
	if n := len(t.ids); len(t.isLate) < n {
		t.isLate = append(t.isLate, make([]bool, n-len(t.isLate))...)
	}
	if t.isLate[slot] {
		return true
	}
	t.isLate[slot] = true
	if t.late = append(t.late, slot); len(t.late) == lateness {
		t.fileLate()
	}
	return true
}

// catchUp brings the tree up to date before it is asked.
func (t *tree) catchUp() {
	t.asked++
	t.lastAsked = t.asked
	if t.deferring {
		t.fileLate()
		t.deferring = false
	}
}

// fileLate files who was put off. First all of them leave: an entry is
// compared with others by their agents' vectors, so none may be filed where
// such are that have changed.
func (t *tree) fileLate() {
	for _, slot := range t.late {
		t.isLate[slot] = false
		if home := *t.homeOf(slot); home != none {
			nd := t.nodes[home]
			nd.loose = true
			t.delete(home, nd.find(slot))
		}
	}
	for _, slot := range t.late {
		t.moving = t.entryOf(slot)
		for t.aim(); t.descend(); {
		}
		t.settle()
	}
	t.late = t.late[:0]
}
