package match

import (
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// Config of a matcher. It does not change while it lives.
type Config struct {
	Rings        map[string]rings.Layout // by kind; what is missing gets a default
	Placement    offers.Placement        // where neither demand nor role names one; "" is rings
	OfferTimeout time.Duration           // life of an offer; positive
	Exclude      []string                // fair-share kinds that don't count for the dominant share
	Prematch     Prematch
	Balance      *Balance      // nil: DefaultBalance
	Matching     *Matching     // nil: DefaultMatching
	Window       time.Duration // that demands are gathered for, to be matched; 0: they wait for nobody
	Apart        int           // units times agents of a batch from which on it is handed out to be solved, see Ready.Puzzle; 0: none is
	Again        uint64        // how many matchers there were in this term before
}

// Matcher decides who is offered what. It is built when a master begins to
// lead and dropped when it stops. Not safe for concurrent use: the master's
// loop owns it.
//
// Invariants: the room of every agent holds exactly its offers and its tasks;
// the allocation of every framework is what its offers and tasks hold on
// agents that are counted; free is what the offerable agents have left.
type Matcher struct {
	config     Config
	kinds      *kinds
	index      *rings.Index
	fair       *fair
	book       *offers.Book
	agents     map[offers.AgentID]*agent
	bySlot     []*agent // by the index's slot
	gauges     gauges
	frameworks map[offers.FrameworkID]*framework
	roles      map[offers.Role]offers.RoleSettings
	tasks      map[offers.TaskRef]*task
	free       []int64          // fair kinds, offerable agents
	total      []int64          // fair kinds, counted agents
	devices    []int64          // devices per class, counted agents
	epoch      uint64           // counts changes of total and of roles
	largest    map[string]int64 // capacity of the largest device by class; nil: to be found out
	largestOf  uint64           // the epoch of largest
	makes      [][]int64        // what the known agents have in all, by column, each once; see never
	makesOf    uint64           // the epoch of makes
	placers    map[offers.Placement]*placer
	learner    learner // nil until a demand is to be placed by one
	search     search
	forms      map[string]*form // by key
	prematch   prematch

	parked   parked
	refusals refusalHeap
	grown    []*agent // have more room than at the last Ready
	drafts   drafts
	demands  uint64                  // ever stated, to order them by age
	fresh    []*demand               // stated since the last Ready
	now      time.Time               // of the last Ready
	backlogs map[*framework]*backlog // of this turn
	batch    batch
	sends    *Puzzle   // of this turn, for who calls Ready
	loose    []*demand // gangs that lost offers since the last Ready
	mustered int       // searches for units of gangs, in this turn
	rescinds []Rescind
	followed bool       // ends are noted
	ends     []OfferEnd // since the last Ready
	hopeless []Hopeless
	counters Counters
	fairTmp  []int64 // scratch of charge and count
	planTmp  []int64 // scratch of enforceLimit
	rowTmp   []int64 // scratch of moved
}

// agent is what the matcher knows of one agent.
type agent struct {
	info    *state.Agent
	room    *offers.Room
	total   []int64        // by fair kind
	classes []agentClass   // by class
	class1  [1]agentClass  // where classes lies unless there are several
	group   *group         // see lore; nil: nothing is known
	online  bool           // its session is there
	counted bool           // its total is in the cluster's
	grew    bool           // stands in Matcher.grown
	version uint64         // which change of the agents, counted over all of them, made it what a search can see
	slot    int            // in the index, -1 when it is not offered
	columns []int64        // what the index has of it while it is offered
	fair    []int64        // its part of Matcher.free while it is offered
	trait   trait          // see twoSided
	tasks   []*task        // in no order
	passers []*framework   // that pass it, and some that no longer do
	use     map[string]Use // of its device classes, as it reports; nil: nothing yet
}

// agentClass is a device class on an agent.
type agentClass struct {
	room   *offers.ClassRoom // in the agent's room; nil where it has no device
	alike  bool              // all its devices have one capacity
	milli  float64           // thousandths of its mean device per byte
	policy offers.Policy     // of the agent, where a demand has none
}

// policies returns how the agent's devices are chosen, its own way where none is
// asked for.
func (a *agent) policies(asked offers.Policy) func(class string) offers.Policy {
	if asked != "" {
		return func(string) offers.Policy { return asked }
	}
	return a.info.Policy
}

// drop takes a task out of the agent's; the last takes its place.
func (a *agent) drop(t *task) {
	end := len(a.tasks) - 1
	last := a.tasks[end]
	a.tasks[t.place], last.place = last, t.place
	a.tasks[end] = nil
	a.tasks = a.tasks[:end]
}

// task is a launch that holds room.
type task struct {
	ref     offers.TaskRef
	agent   *agent
	holding offers.Holding
	devices map[string]offers.DeviceAsk // what it asks for
	policy  offers.Policy               // of its devices; "": the agent's own
	heard   bool                        // its agent has taken the launch
	place   int                         // in its agent's tasks

	// Of the same framework for the same demand, see framework.launched.
	demand        offers.DemandID
	sooner, later *task
}

// New builds the matcher of a term from what is replicated: all agents, not
// yet online, with the room that their tasks hold, and all roles.
func New(config Config, s *state.State, term uint64) *Matcher {
	m := &Matcher{
		config:     config,
		kinds:      &kinds{},
		book:       offers.NewBookAgain(term, config.Again),
		agents:     map[offers.AgentID]*agent{},
		frameworks: map[offers.FrameworkID]*framework{},
		roles:      map[offers.Role]offers.RoleSettings{},
		tasks:      map[offers.TaskRef]*task{},
		parked:     newParked(),
		placers:    newPlacers(config),
		forms:      map[string]*form{},
	}
	for role, settings := range s.Roles() {
		m.roles[role] = settings
	}
	for a := range s.Agents() {
		m.kinds = m.kinds.with(a.Total)
	}
	m.rebuild()
	for f := range s.Frameworks() {
		if !f.Removed {
			m.FrameworkKnown(f)
		}
	}
	for a := range s.Agents() {
		if a.State == offers.AgentGone {
			continue
		}
		m.AgentChanged(a)
		for t := range s.LiveTasksOn(a.ID) {
			m.adopt(t)
		}
	}
	return m
}

// adopt counts a task that runs already.
func (m *Matcher) adopt(t *state.Task) {
	a := m.agents[t.Agent]
	if a == nil || m.tasks[t.Ref()] != nil {
		return
	}
	m.placeTask(a, t, a.room.Claim)
}

// rebuild makes everything that depends on the set of kinds anew.
func (m *Matcher) rebuild() {
	k := m.kinds
	index, err := rings.New(k.layouts(m.config.Rings))
	if err != nil {
		panic("match: ring layouts were not validated: " + err.Error())
	}
	excluded := make([]bool, k.fair())
	for _, name := range m.config.Exclude {
		if i := k.fairNamed(name); i >= 0 {
			excluded[i] = true
		}
	}
	m.index, m.bySlot, m.gauges, m.fair = index, nil, nil, newFair(k.fair(), excluded)
	m.free, m.total = make([]int64, k.fair()), make([]int64, k.fair())
	m.devices = make([]int64, len(k.classes))
	m.fairTmp, m.planTmp, m.rowTmp = make([]int64, k.fair()), make([]int64, k.fair()), make([]int64, k.columns())
	m.search = newSearch(k)
	m.prematch = m.prematch.rebuilt(k, m.config.Prematch)
	m.parked, m.epoch = newParked(), m.epoch+1
	for role, settings := range m.roles {
		m.applyRole(role, settings)
	}
	for _, f := range m.frameworks {
		f.node = m.fair.enter(f.role, string(f.id), f)
		f.active, f.passes = nil, nil
	}
	for _, a := range m.agents {
		a.slot, a.counted, a.passers = -1, false, nil
		m.fit(a)
	}
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		m.place(m.agents[id])
	}
	for _, o := range m.book.All() {
		m.charge(o.Framework, m.agents[o.Agent], &o.Held, 1, false)
	}
	for _, f := range m.frameworks {
		for _, d := range f.demands {
			d.at, d.shape, d.stopped = -1, nil, nil
			m.activate(d)
		}
	}
}

// AgentChanged takes over what is replicated about an agent: a new one, a
// changed inventory, another state. A gone agent is forgotten.
func (m *Matcher) AgentChanged(rec *state.Agent) {
	if !m.kinds.covers(rec.Total) {
		m.kinds = m.kinds.with(rec.Total)
		m.rebuild()
	}
	a := m.agents[rec.ID]
	switch {
	case rec.State == offers.AgentGone:
		if a != nil {
			m.forget(a)
		}
		return
	case a == nil:
		a = &agent{info: rec, room: offers.NewRoom(rec.Total), slot: -1}
		m.fit(a)
		m.agents[rec.ID] = a
	default:
		m.rescind(m.book.OfAgent(rec.ID), "agent_changed")
		m.unplace(a)
		moved := !maps.Equal(a.info.Attributes, rec.Attributes) || a.info.Host != rec.Host
		a.info, a.room = rec, offers.NewRoom(rec.Total)
		for _, t := range a.tasks {
			a.room.Claim(t.holding)
		}
		if moved {
			m.spreadAgain()
		}
		m.fit(a)
		m.withhold(a)
	}
	m.place(a)
}

// fit makes an agent's record for its room and the present kinds.
func (m *Matcher) fit(a *agent) {
	k, total := m.kinds, a.room.Total()
	numbers, n := make([]int64, 2*k.fair()+k.columns()), k.fair() // side by side, they are read together
	a.fair, a.total, a.columns = numbers[:n:n], numbers[n:2*n:2*n], numbers[2*n:]
	k.inventory(&total, a.total)
	a.class1, a.classes, a.group = [1]agentClass{}, nil, nil
	if n := len(k.classes); n <= len(a.class1) {
		a.classes = a.class1[:n]
	} else {
		a.classes = make([]agentClass, n)
	}
	for i, name := range k.classes {
		if c := a.room.Class(name); c != nil && len(c.Devices) > 0 {
			a.classes[i] = agentClass{c, alike(c.Devices), 1000 * float64(len(c.Devices)) / float64(a.total[scalars+i]), a.info.Policy(name)}
		}
	}
}

// AgentOnline says whether the agent's session is there. Without it the agent
// is offered to nobody and its offers are taken back.
func (m *Matcher) AgentOnline(id offers.AgentID, online bool) {
	a := m.agents[id]
	if a == nil || a.online == online {
		return
	}
	if !online {
		m.rescind(m.book.OfAgent(id), "agent_away")
	}
	m.unplace(a)
	a.online = online
	m.place(a)
}

// forget drops an agent with its offers and tasks.
func (m *Matcher) forget(a *agent) {
	m.rescind(m.book.OfAgent(a.info.ID), "agent_lost")
	for len(a.tasks) > 0 {
		m.Ended(a.tasks[len(a.tasks)-1].ref)
	}
	m.unplace(a)
	delete(m.agents, a.info.ID)
}

// Ended gives back the room of a task. A task that holds none is no error.
func (m *Matcher) Ended(ref offers.TaskRef) {
	t := m.tasks[ref]
	if t == nil {
		return
	}
	delete(m.tasks, ref)
	t.agent.drop(t)
	if f := m.frameworks[ref.Framework]; f != nil {
		m.leave(f, t)
	}
	t.agent.room.Give(t.holding)
	t.agent.regard()
	m.charge(ref.Framework, t.agent, &t.holding, -1, false)
	if m.learner != nil {
		m.learner.unitEnded()
	}
	if t.agent.use != nil && len(t.holding.Devices) > 0 {
		m.withhold(t.agent)
	}
	m.moved(t.agent)
}

// Holds reports whether the task holds room: it was accepted and has not ended.
func (m *Matcher) Holds(ref offers.TaskRef) bool { return m.tasks[ref] != nil }

// placeTask enters a task; claim takes its room.
func (m *Matcher) placeTask(a *agent, of *state.Task, claim func(offers.Holding)) {
	t := &task{
		ref: of.Ref(), agent: a, demand: of.Demand,
		holding: of.Holding, devices: of.Spec.Resources.Devices, policy: of.Policy,
	}
	m.tasks[t.ref] = t
	t.place, a.tasks = len(a.tasks), append(a.tasks, t)
	if f := m.frameworks[t.ref.Framework]; f != nil {
		f.enter(t)
	}
	claim(t.holding)
	m.charge(t.ref.Framework, a, &t.holding, 1, false)
	m.moved(a)
}

// charge adds a holding to (sign -1: takes it from) a framework's allocation,
// as far as the agent is counted.
func (m *Matcher) charge(id offers.FrameworkID, a *agent, h *offers.Holding, sign int64, counted bool) {
	f := m.frameworks[id]
	if f == nil || a == nil || !a.counted {
		return
	}
	v := m.fairTmp
	m.kinds.amounts(h, v)
	for k := range v {
		v[k] *= sign
	}
	m.fair.allocate(f.node, v, counted)
	if sign < 0 {
		m.parked.quotaMoved = true
	}
}

// place counts the agent in the totals and, when it can be offered, in the rings.
func (m *Matcher) place(a *agent) {
	if a.info.State != offers.AgentUnreachable && !a.counted {
		m.count(a, 1)
	}
	if !a.online || a.info.State != offers.AgentActive {
		return
	}
	m.kinds.read(a)
	a.slot = m.index.Set(a.info.ID, a.columns)
	for len(m.bySlot) <= a.slot {
		m.bySlot = append(m.bySlot, nil)
	}
	m.bySlot[a.slot] = a
	m.gauges.read(a)
	m.prematch.changed(a)
	m.addFree(a, 1)
	m.grow(a)
}

// unplace is the opposite of place.
func (m *Matcher) unplace(a *agent) {
	if a.slot >= 0 {
		m.addFree(a, -1)
		a.regard()
		m.index.Remove(a.info.ID)
		m.prematch.changed(a)
		m.bySlot[a.slot] = nil
		a.slot = -1
	}
	if a.counted {
		m.count(a, -1)
	}
}

// count adds an agent and its tasks to the cluster's totals or takes them out.
func (m *Matcher) count(a *agent, sign int64) {
	if sign < 0 {
		for _, t := range a.tasks {
			m.charge(t.ref.Framework, a, &t.holding, -1, false)
		}
	}
	for k, n := range a.total {
		m.total[k] += sign * n
	}
	for i := range a.classes {
		if c := a.classes[i].room; c != nil {
			m.devices[i] += sign * int64(len(c.Devices))
		}
	}
	m.epoch++
	a.counted = sign > 0
	if sign > 0 {
		for _, t := range a.tasks {
			m.charge(t.ref.Framework, a, &t.holding, 1, false)
		}
		if len(a.tasks) > 0 {
			m.enforceLimits()
		}
	}
	m.fair.setTotal(m.total)
	m.parked.quotaMoved = true
}

// moved brings the rings and the sums up to date after an agent's room changed.
func (m *Matcher) moved(a *agent) {
	if a.slot < 0 {
		return
	}
	m.addFree(a, -1)
	old := append(m.rowTmp[:0], a.columns...)
	m.kinds.read(a)
	if more(a.columns[:m.kinds.ringed()], old) {
		m.grow(a)
	}
	m.index.Move(a.slot, a.columns)
	m.gauges.read(a)
	m.addFree(a, 1)
	m.prematch.changed(a)
}

// more reports whether a has more than b of anything.
func more(a, b []int64) bool {
	for k := range a {
		if a[k] > b[k] {
			return true
		}
	}
	return false
}

func (m *Matcher) grow(a *agent) {
	if !a.grew {
		a.grew = true
		m.grown = append(m.grown, a)
	}
}

// addFree enters what the agent has free into the sums, or with sign -1 takes
// it out.
func (m *Matcher) addFree(a *agent, sign int64) {
	for k, n := range a.fair {
		m.free[k] += sign * n
	}
}
