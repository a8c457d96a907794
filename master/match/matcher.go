package match

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/heap"
	"github.com/ringmaster-project/ringmaster/rings"
)

// Config of a matcher. It does not change while it lives.
type Config struct {
	Rings        map[string]rings.Layout // by kind; what is missing gets a default
	Placement    offers.Placement        // where neither demand nor role names one; "" is rings
	OfferTimeout time.Duration           // life of an offer; positive
	OfferGrace   time.Duration           // for which an offer is left to a framework with a higher share that does not answer, see Claim; 0: its whole life
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
	numbers    numbers  // of the agents
	bySlot     []*agent // by the index's slot
	gauges     gauges
	frameworks map[offers.FrameworkID]*framework
	roles      map[offers.Role]offers.RoleSettings
	tasks      *trie.Txn[task]  // by framework and id
	free       sums             // fair kinds, offerable agents
	total      sums             // fair kinds, counted agents
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
	lap      lap
	claims   claims
	refusals heap.Heap[*refusal]
	grown    []*agent // have more room than at the last Ready
	drafts   drafts
	round    uint64                  // counts turns, and batches closed in them: a shape that failed in one fails again, see form
	demands  uint64                  // ever stated, to order them by age
	standing int                     // demands that stand
	fresh    []*demand               // stated since the last Ready
	now      time.Time               // of the last Ready
	backlogs map[*framework]*backlog // of this turn
	batch    batch
	sends    *Puzzle   // of this turn, for who calls Ready
	loose    []*demand // gangs that lost offers since the last Ready
	mustered int       // searches for units of gangs, in this turn
	rescinds []Rescind
	followed bool       // what comes now is noted
	ends     []OfferEnd // since the last Ready
	waiting  []*demand  // parked since the last Ready for something else than is known
	hopeless []Hopeless
	counters Counters
	fairTmp  []int64 // scratch of charge and count
	planTmp  []int64 // scratch of enforceLimit
	rowTmp   []int64 // scratch of moved
	keyTmp   []byte  // scratch of Demand
}

// task is a launch that holds room. There may be a million, so it points to what
// the state has of it anyway.
type task struct {
	of    *state.Task // the state's of the launch once that is committed; not its later ones
	agent *agent
	held  *offers.Holding // of its agent's room: that of the launch, unless other devices were bound
	heard bool            // its agent has taken the launch
	place int32           // in its agent's tasks

	sooner, later *task // of the same framework for the same demand, see framework.launched
}

func (t *task) ref() offers.TaskRef { return t.of.Ref() }

func (t *task) path() trie.Path { return pathOf(t.ref()) }

func pathOf(ref offers.TaskRef) trie.Path { return trie.Path{string(ref.Framework), string(ref.Task)} }

// task returns the task of that name that holds room, or nil.
func (m *Matcher) task(ref offers.TaskRef) *task { return m.tasks.Get(pathOf(ref)) }

// hold has it hold other devices.
func (t *task) hold(devices offers.Devices) {
	t.held = &offers.Holding{Amounts: t.held.Amounts, Ports: t.held.Ports, Devices: devices}
}

// New builds the matcher of a term from what is replicated: all agents, not
// yet online, with the room that their tasks hold, and all roles.
func New(config Config, s *state.State, term uint64) *Matcher {
	m := &Matcher{
		config:     config,
		kinds:      newKinds(nil),
		book:       offers.NewBookAgain(term, config.Again),
		agents:     map[offers.AgentID]*agent{},
		frameworks: map[offers.FrameworkID]*framework{},
		roles:      map[offers.Role]offers.RoleSettings{},
		tasks:      trie.New((*task).path).Txn(),
		parked:     newParked(),
		refusals:   newRefusals(),
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
	if a == nil || m.task(t.Ref()) != nil {
		return
	}
	m.placeTask(a, t, a.room.Claim)
	m.moved(a)
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
	m.free, m.total = newSums(k.fair()), newSums(k.fair())
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
		f.active, f.passes, f.room, f.quota, f.hope = nil, nil, line{}, line{}, hope{}
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
			d.at, d.shape, d.line, d.waiter, d.stopped = -1, nil, nil, nil, nil
			m.activate(d)
		}
	}
}

// Unknown lists the kinds that the configuration names and no agent that is
// known has, in order. A class of devices may have any name, so that they may
// still come.
func (m *Matcher) Unknown() []string {
	named := slices.Clone(m.config.Exclude)
	named = slices.AppendSeq(named, maps.Keys(m.config.Rings))
	if m.config.Balance != nil {
		named = slices.AppendSeq(named, maps.Keys(m.config.Balance.Weights))
	}
	for i := range named {
		named[i] = strings.TrimSuffix(named[i], offers.SliceSuffix)
	}
	named = slices.DeleteFunc(named, func(kind string) bool { return m.kinds.fairNamed(kind) >= 0 })
	slices.Sort(named)
	return slices.Compact(named)
}

// Ended gives back the room of a task. A task that holds none is no error.
func (m *Matcher) Ended(ref offers.TaskRef) {
	t := m.tasks.Delete(pathOf(ref))
	if t == nil {
		return
	}
	t.agent.drop(t)
	if f := m.frameworks[ref.Framework]; f != nil {
		m.leave(f, t)
	}
	t.agent.room.Give(*t.held)
	t.agent.regard()
	m.charge(ref.Framework, t.agent, t.held, -1, false)
	if m.learner != nil {
		m.learner.unitEnded()
	}
	if t.agent.use != nil && len(t.held.Devices) > 0 {
		m.withhold(t.agent)
	}
	m.freed(t.agent)
}

// LaunchFailed says that a launch came to nothing. Where its agent is forgotten its room
// is already, and its id may be that of another launch.
func (m *Matcher) LaunchFailed(rec *state.TaskRecord) {
	if t := m.task(rec.Ref()); t != nil && t.agent.id == rec.Agent {
		m.Ended(rec.Ref())
	}
}

// Holds reports whether the task holds room: it was accepted and has not ended.
func (m *Matcher) Holds(ref offers.TaskRef) bool { return m.task(ref) != nil }

// Launched says that a launch is committed, and with what record.
func (m *Matcher) Launched(rec *state.Task) {
	t := m.task(rec.Ref())
	if t == nil {
		return
	}
	if t.held == t.of.Holding {
		t.held = rec.Holding
	}
	t.of = rec
}

// placeTask enters a task; claim takes its room. The rings still have the agent as
// it was.
func (m *Matcher) placeTask(a *agent, of *state.Task, claim func(offers.Holding)) {
	t := &task{of: of, agent: a, held: of.Holding, place: int32(len(a.tasks))}
	m.tasks.Put(t)
	a.tasks = append(a.tasks, t)
	if len(t.held.Devices) > 0 {
		a.binders++
	}
	if f := m.frameworks[of.Framework]; f != nil {
		f.enter(t)
	}
	claim(*of.Holding)
	m.charge(of.Framework, a, of.Holding, 1, false)
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
