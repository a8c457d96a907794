package match

// hope is that of one framework: something changed that demands in its lines
// wait for. Such a framework is among those to serve although none of these demands
// is woken. When it is its turn the eldest is that suits what is left by then, so that
// a unit that comes free wakes the one demand that takes it, and not all that would.
//
//	who grew       a1 a7          room and quotas as they are by now
//	fair share     f2 ─▶ f1 ─▶ f3
//	lines of f2    d4 d9 │ d12 d17 d20 ..
//	               after ┘ └─ the first that suits is woken
//
// In a turn room and what quotas leave only become less. So whoever does not suit when
// it would be its turn would not have been offered anything had it been woken, and the
// order in which demands are served is that of all of them woken at once. Three things
// differ: a search that is not made counts for no lap, so that a framework steps aside
// later if at all; what stops a demand is said as it was at its last search; and where a
// turn is cut, what comes up meanwhile is for when those are through that hope already.
//
// Demands of the strategies that look at several demands at once (`balance`, `match`) or
// are pre-matched, gangs, and demands for whole agents, of which quotas leave more or
// less, stand in no line: they are woken all together.
//
// Invariant: a framework that hopes and is served stands in fair share's heaps.
type hope struct {
	on    bool
	after uint64 // age: those in the lines up to it were looked at
}

// lines reports whether a demand waits in a line of its framework.
func (d *demand) lines() bool {
	if !d.counted() || d.gang() {
		return false
	}
	switch d.placer.strategy.(type) {
	case gradientRings, *waste:
		return true
	}
	return false
}

// parked reports whether a demand waits for something to change.
func (d *demand) parked() bool { return d.shape != nil || d.quota || d.line != nil }

// inspire has those hope that have demands in lines.
func (m *Matcher) inspire() {
	for f := range m.parked.lined {
		if f.online && !f.suppressed {
			f.hope = hope{on: true}
			m.rouse(f)
		}
	}
}

// despair ends a framework's hope.
func (m *Matcher) despair(f *framework) {
	f.hope.on = false
	if len(f.active) == 0 {
		m.fair.sleep(f.node)
	}
}

// beckon wakes the eldest demand in the lines of a framework, whose turn it is, that
// suits what came up, if it is elder than those that are awake. It reports whether the
// framework has anybody to serve now, or it is not known since as many demands were
// looked at as may be in a turn.
func (m *Matcher) beckon(f *framework) (serve, cut bool) {
	before := uint64(noAge)
	if len(f.active) > 0 {
		before = f.active[0].age
	}
	if !f.hope.on || f.hope.after >= before {
		return len(f.active) > 0, false
	}
	w, glanced := &m.parked.sweep, false
	d := f.room.root.eldest(f.hope.after, before, w.free, func(d *demand) bool {
		if cut = w.looks <= 0; cut {
			return true
		}
		suits, held := suited(w.agents, d.need, d.meets(), w.most)
		if w.looks -= held; !suits && !glanced { // free is perhaps of when there was more
			w.glance(m.kinds.columns())
			glanced = true
		}
		return suits
	})
	if d != nil {
		before = d.age
	}
	m.fair.headroom(f.node, m.free.n, m.search.head)
	if e := f.quota.root.eldest(f.hope.after, before, m.search.head, func(*demand) bool { return true }); e != nil {
		d, before, cut = e, e.age, false
	}
	if cut {
		f.hope.after = before - 1
		return false, true
	}
	f.hope.after = before
	switch {
	case d != nil:
		m.activate(d)
	case len(f.active) == 0:
		m.despair(f)
		return false, false
	}
	return true, false
}

// glance finds out the most that one of the agents that grew has free of each column, in
// place: it is read meanwhile.
func (w *sweep) glance(columns int) {
	w.free = append(w.free[:0], make([]int64, columns)...)
	for _, a := range w.agents {
		for k := 0; k < columns && a.slot >= 0; k++ {
			w.free[k] = max(w.free[k], a.columns[k])
		}
	}
}
