package match

// lap is one round through the frameworks that have somebody to serve. Fair share
// alone would serve the one with the lowest share until none of its demands is left
// that could be offered anything, and a search that finds nobody adds nothing to
// its share: the thousands of demands that it may have would all come before the
// first of the next. So a framework whose searches in vain came to vainLooks within a
// lap steps aside until everybody else was served or has stepped aside, too. A demand
// waits for the vain searches of each other framework of one lap at most, and not
// for all of all.
//
// Who steps aside may miss room that goes to somebody with a higher share
// meanwhile. Within so few searches in vain nobody does, so that most clusters
// are shared as if there were no laps.
//
// A lap may take several turns, and is over when nobody is left to serve.
type lap struct {
	number uint64
	aside  []*framework
}

// vain is what a framework's searches in vain came to.
type vain struct {
	lap   uint64 // in which they were
	looks int    // at agents
	aside bool   // it is in lap.aside
}

// vainLooks is for how many looks at agents a framework may search in vain within a
// lap. A search counts for vainSearch more, which finding out what stops
// a demand costs.
const (
	vainLooks  = 4096
	vainSearch = 16
)

// noteVain counts a search in vain of a framework.
func (m *Matcher) noteVain(f *framework, looks int) {
	v := &f.vain
	if v.lap != m.lap.number {
		v.lap, v.looks = m.lap.number, 0
	}
	if v.looks += vainSearch + looks; v.looks >= vainLooks && !v.aside {
		v.aside = true
		m.lap.aside = append(m.lap.aside, f)
		m.fair.sleep(f.node)
	}
}

// nextLap begins another one, and reports whether somebody had stepped aside.
func (m *Matcher) nextLap() bool {
	aside := m.lap.aside
	m.lap = lap{number: m.lap.number + 1}
	for _, f := range aside {
		f.vain.aside = false
		m.rouse(f)
	}
	return len(aside) > 0
}
