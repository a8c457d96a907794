package match

import (
	"encoding/binary"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// framework is what the matcher knows of one framework.
type framework struct {
	id         offers.FrameworkID
	role       offers.Role
	node       *node // its leaf in the fair-share tree
	online     bool
	suppressed bool
	demands    map[offers.DemandID]*demand
	met        map[offers.DemandID]*demand // of which nothing is left if all that was launched is durable
	active     demandHeap                  // demands to serve, eldest first
	room       line                        // demands that wait for room, see hope
	quota      line                        // demands that wait for a quota, likewise
	hope       hope
	vain       vain
	refused    map[*agent]*refusal       // the latest on each, with the others behind it
	refusing   rings.Slots               // numbers of the agents in refused, which are asked for far oftener than found
	passes     rings.Slots               // agents all of which it refused, see Matcher.pass
	launched   map[offers.DemandID]*task // the latest that lives of those launched for a demand, which has the others behind it
	claims     []*demand                 // that may have what others leave unanswered, see claims
	tried      []*demand                 // those for which nothing was found since the last ClaimAgain
	answered   time.Time                 // when it accepted or declined something last
	placer     *placer                   // of its demands that name no strategy
	placerOf   uint64                    // the epoch of placer
}

// demand is one standing wish.
//
// Invariant: it is in its framework's active heap (at >= 0), or parked (shape,
// line or quota set), or gathered, or part of a puzzle that is away, or wants nothing at the moment, or its framework is not
// served (offline, suppressed).
type demand struct {
	spec    offers.Demand
	owner   *framework
	age     uint64
	arrived time.Time // at the end of the turn that stated it
	left    int       // units not yet launched; counted demands only
	sent    int       // of those launched, units whose launches are not decided, see Decided
	out     int       // units in outstanding offers and drafts

	at        int      // in the owner's active heap, -1 outside
	shape     *shape   // set while parked for want of room
	quota     bool     // parked for its role's quota
	line      *line    // of its owner, set while parked in it
	waiter    *waiter  // what stands there; nil until it is parked there
	spread    *spread  // where its units are; nil where it has no limits
	told      bool     // it was told to be hopeless
	vast      string   // why no agents could ever hold so large a gang
	vastOf    uint64   // the epoch of vast
	stopped   []string // the kinds that stopped it, while parked; to be read only
	knownStop []string // stopped, as Ready told it last, see Follow; nil where it had room since
	gathered  bool     // for the next batch, see batch
	puzzled   bool     // waits for the puzzle that is away
	claims    bool     // stands in the owner's claims or tried

	// What compile derived for the totals and roles of an epoch.
	epoch  uint64
	placer *placer
	*plan
	*form

	list *list // what pre-matching found for it in this turn
}

// form is what demands of one shape share.
type form struct {
	key     string // of the shape
	made    uint64 // epoch of plan
	plan    *plan
	failed  uint64     // the latest round in which nobody could be offered it
	why     []string   // it failed; to be read only
	never   string     // why no known agent could ever take one
	neverOf uint64     // the epoch of never
	lore    *shapeLore // see lore.shapeOf
}

// plan is what a demand comes to in the present kinds. Demands of one shape
// share it; it does not change.
type plan struct {
	asks     []classAsk  // ascending by class
	oneAsk   [1]classAsk // where asks lies unless there are several
	need     []int64     // per column
	bareNeed []int64     // need of an agent without free devices; nil where they are asked for or nobody has any
	column   int         // where to look it up; -1: nobody has all classes it asks for
	tied     bool        // column was chosen by what is free now
}

// maxForms bounds how many forms are kept; past it all are forgotten, and
// demands that stand already share theirs among themselves.
const maxForms = 8192

// form returns the form of the demands with the key.
func (m *Matcher) form(key []byte) *form {
	f := m.forms[string(key)]
	if f == nil {
		if len(m.forms) >= maxForms {
			clear(m.forms)
		}
		f = &form{key: string(key)}
		m.forms[f.key] = f
	}
	return f
}

func (d *demand) counted() bool { return d.spec.Count != nil }

// gang reports whether all units are offered at once or none is, see muster.
func (d *demand) gang() bool { return d.spec.Gang > 0 }

// single reports whether each unit is placed for itself, and by the strategy
// alone.
func (d *demand) single() bool {
	return d.counted() && !d.gang() && len(d.spec.Preferences) == 0
}

// wants reports whether there is anything left to offer.
func (d *demand) wants() bool { return !d.counted() || d.out < d.left }

// FrameworkKnown enters a framework, or takes over what changed about it. It
// is served once it is online.
func (m *Matcher) FrameworkKnown(rec *state.Framework) {
	if m.frameworks[rec.ID] != nil {
		return
	}
	f := &framework{id: rec.ID, role: rec.Role, demands: map[offers.DemandID]*demand{}, met: map[offers.DemandID]*demand{}, refused: map[*agent]*refusal{}, launched: map[offers.DemandID]*task{}}
	f.node = m.fair.enter(f.role, string(f.id), f)
	m.frameworks[f.id] = f
}

// FrameworkOnline says that a framework's session began or ended. Either way
// nothing of an earlier session is left: no demands, refusals or offers.
func (m *Matcher) FrameworkOnline(id offers.FrameworkID, online bool) {
	f := m.frameworks[id]
	if f == nil {
		return
	}
	for _, d := range f.demands {
		m.withdraw(d)
	}
	clear(f.met)
	for _, o := range m.book.OfFramework(id) {
		m.end(o)
		m.ended(o, OfferRescinded, "framework_away")
	}
	m.forgetAllRefused(f)
	f.refused, f.refusing, f.passes = map[*agent]*refusal{}, nil, nil
	m.dropClaims(f, func(*demand) bool { return true })
	f.online, f.suppressed = online, false
	m.despair(f)
}

// FrameworkRemoved forgets a framework. What its tasks hold on agents stays
// held until they end, but counts for nobody.
func (m *Matcher) FrameworkRemoved(id offers.FrameworkID) {
	f := m.frameworks[id]
	if f == nil {
		return
	}
	m.FrameworkOnline(id, false)
	for k, n := range f.node.alloc.n {
		m.fairTmp[k] = -n
	}
	m.fair.allocate(f.node, m.fairTmp, false)
	m.parked.quotaMoved = true
	f.node.leaf = nil
	m.fair.prune(f.node)
	m.book.ForgetFramework(id)
	delete(m.frameworks, id)
}

// Demand states, replaces or (count 0) withdraws a demand. Both rescind its
// outstanding offers. The demand is valid.
func (m *Matcher) Demand(id offers.FrameworkID, spec offers.Demand) {
	f := m.frameworks[id]
	if f == nil {
		return
	}
	delete(f.met, spec.ID)
	if old := f.demands[spec.ID]; old != nil {
		m.withdraw(old)
		m.rescindDemand(old, "demand_changed")
	}
	if spec.Count != nil && *spec.Count == 0 {
		return
	}
	m.demands++
	d := &demand{spec: spec, owner: f, age: m.demands, at: -1, spread: m.spreadOut(f, &spec)}
	key := appendShape(m.keyTmp[:0], &spec)
	if d.spread != nil || d.gang() {
		key = appendText(appendText(key, string(f.id)), string(spec.ID)) // no agent suits another like it
	}
	m.keyTmp = key
	d.form = m.form(key)
	if d.counted() {
		d.left = *spec.Count
	}
	f.demands[spec.ID] = d
	m.standing++
	m.fresh = append(m.fresh, d)
	m.learn(d)
	m.activate(d)
}

// Demands returns how many demands a framework has.
func (m *Matcher) Demands(id offers.FrameworkID) int {
	if f := m.frameworks[id]; f != nil {
		return len(f.demands)
	}
	return 0
}

// Standing returns how many frameworks there are, and how many demands they have.
func (m *Matcher) Standing() (frameworks, demands int) { return len(m.frameworks), m.standing }

// Suppress stops offers to a framework until Revive, which has its demands claim anew.
func (m *Matcher) Suppress(id offers.FrameworkID) {
	f := m.frameworks[id]
	if f == nil || f.suppressed {
		return
	}
	f.suppressed = true
	m.dropClaims(f, func(d *demand) bool {
		d.claims = false
		return true
	})
	m.despair(f)
	m.fair.sleep(f.node)
}

// Revive starts offers again and forgets what the framework refused.
func (m *Matcher) Revive(id offers.FrameworkID) {
	f := m.frameworks[id]
	if f == nil {
		return
	}
	f.suppressed = false
	m.forgetAllRefused(f)
	for _, d := range f.demands {
		m.activate(d)
	}
	m.rouse(f)
}

// activate puts a demand that wants something among those to serve.
func (m *Matcher) activate(d *demand) {
	m.unpark(d)
	if !d.wants() || d.puzzled || d.owner.demands[d.spec.ID] != d {
		return
	}
	if d.at < 0 {
		d.owner.active.push(d)
	}
	m.rouse(d.owner)
}

func (m *Matcher) rouse(f *framework) {
	if f.online && !f.suppressed && (len(f.active) > 0 || f.hope.on) && !f.vain.aside {
		m.fair.wake(f.node)
	}
}

// rest takes a demand out of those to serve.
func (m *Matcher) rest(d *demand) {
	if d.at < 0 {
		return
	}
	d.owner.active.remove(d.at)
	if len(d.owner.active) == 0 && !d.owner.hope.on {
		m.fair.sleep(d.owner.node)
	}
}

// withdraw forgets a demand; its offers live on without it.
func (m *Matcher) withdraw(d *demand) {
	m.rest(d)
	m.unpark(d)
	if id := d.spec.ID; d.owner.demands[id] == d {
		delete(d.owner.demands, id)
		m.standing--
	}
}

// compile derives from the cluster's totals what is looked for and where.
func (m *Matcher) compile(d *demand) {
	if d.epoch == m.epoch {
		return
	}
	d.epoch, d.placer = m.epoch, m.placerOf(d)
	if d.form.made != m.epoch || d.form.plan.tied {
		d.form.made, d.form.plan = m.epoch, m.planFor(&d.spec)
	}
	d.plan = d.form.plan
}

// planFor makes the plan of a demand.
func (m *Matcher) planFor(spec *offers.Demand) *plan {
	columns := m.kinds.columns()
	needs := make([]int64, 2*columns)
	d := &plan{need: needs[:columns:columns]}
	d.asks = d.oneAsk[:0]
	r := &spec.Resources
	copy(d.need, r.Amounts[:])
	d.column, d.tied = m.dominantScalar(r)
	if len(r.Devices) == 0 {
		if spec.Count == nil && r.Zero() {
			d.need[offers.CPUs] = 1 // an offer of nothing helps nobody
		}
		if len(m.kinds.classes) > 0 {
			d.bareNeed = append(needs[columns:columns], d.need...)
			d.bareNeed[m.kinds.bare()] = 1
		}
		return d
	}
	best := -1
	for i, class := range m.kinds.classes {
		ask, asked := r.Devices[class]
		if !asked {
			continue
		}
		d.asks = append(d.asks, classAsk{i, ask})
		at := scalars + 2*i
		if ask.Whole() {
			d.need[at] = int64(ask.Count)
		} else {
			at++
			d.need[at] = max(ask.Memory, 1)
		}
		more, tied := best < 0, false
		if !more {
			more, tied = m.dominates(r, scalars+i, best)
		}
		if d.tied = d.tied || tied; more {
			best, d.column = scalars+i, at
		}
	}
	if len(d.asks) < len(r.Devices) {
		d.column = -1
	}
	return d
}

// dominantScalar returns the scalar kind in which r is largest against the
// cluster's total; tied says that it was one of several.
func (m *Matcher) dominantScalar(r *offers.Resources) (best int, tied bool) {
	for k := 1; k < scalars; k++ {
		if r.Amounts[k] == 0 {
			continue
		}
		more, equal := m.dominates(r, k, best)
		if r.Amounts[best] == 0 || more {
			best = k
		}
		tied = tied || equal
	}
	return best, tied
}

// dominates reports whether kind a of r is a larger part of the cluster than
// kind b, ties going to the kind of which less is free.
func (m *Matcher) dominates(r *offers.Resources, a, b int) (more, tied bool) {
	switch moreOf(m.asked(r, a), m.total.n[a], m.asked(r, b), m.total.n[b]) {
	case 1:
		return true, false
	case 0:
		return moreOf(max(m.free.n[a], 0), m.total.n[a], max(m.free.n[b], 0), m.total.n[b]) < 0, true
	}
	return false, false
}

// asked returns what r asks of a fair kind; a whole device counts as the
// average capacity of its class.
func (m *Matcher) asked(r *offers.Resources, k int) int64 {
	if k < scalars {
		return r.Amounts[k]
	}
	i := k - scalars
	if m.devices[i] == 0 {
		return 1
	}
	return r.Devices[m.kinds.classes[i]].Bytes(m.total.n[k] / m.devices[i])
}

// appendShape appends a key that is equal for demands that any agent suits
// equally. It is written for every demand that arrives, so by hand: as JSON it
// cost as much as the decision.
func appendShape(key []byte, d *offers.Demand) []byte {
	r := &d.Resources
	for _, n := range r.Amounts {
		key = binary.AppendVarint(key, n)
	}
	key = binary.AppendUvarint(key, uint64(r.AnyPorts))
	key = binary.AppendUvarint(key, uint64(len(r.Ports)))
	for _, p := range r.Ports {
		key = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(key, p.First), p.Last)
	}
	key = binary.AppendUvarint(key, uint64(len(r.Devices)))
	for n, last := 0, ""; n < len(r.Devices); n++ {
		last = nextClass(r.Devices, last)
		ask := r.Devices[last]
		key = binary.AppendUvarint(appendText(key, last), uint64(ask.Count))
		key = binary.AppendVarint(binary.AppendVarint(key, ask.Memory), ask.Share)
	}
	key = binary.AppendUvarint(key, uint64(len(d.Constraints)))
	for _, c := range d.Constraints {
		key = appendText(key, c.String())
	}
	if d.Count == nil {
		key = append(key, 'w')
	}
	return key
}

// nextClass returns the first class that is asked for behind another, or behind "".
func nextClass(asks map[string]offers.DeviceAsk, last string) string {
	next := ""
	for class := range asks {
		if class > last && (next == "" || class < next) {
			next = class
		}
	}
	return next
}

func appendText(key []byte, text string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

// HasDemand reports whether the framework has a demand of that id.
func (m *Matcher) HasDemand(id offers.FrameworkID, demand offers.DemandID) bool {
	f := m.frameworks[id]
	return f != nil && f.demands[demand] != nil
}
