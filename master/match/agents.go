package match

import (
	"maps"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// agent is what the matcher knows of one agent.
type agent struct {
	id      offers.AgentID
	number  int // below how many agents were known at a time, its own as long as it is known
	info    *state.Agent
	room    *offers.Room
	total   []int64         // by fair kind
	classes []agentClass    // by class
	class1  [1]agentClass   // where classes lies unless there are several
	number1 [numbers1]int64 // likewise total, fair and columns
	group   *group          // see lore; nil: nothing is known
	online  bool            // its session is there
	closed  string          // why it is offered to nobody for now, as it says; "": it can be
	counted bool            // its total is in the cluster's
	grew    bool            // stands in Matcher.grown
	claimed uint64          // the last of the demands tried by Claim that came to it
	version uint64          // which change of the agents, counted over all of them, made it what a search can see
	slot    int             // in the index, -1 when it is not offered
	columns []int64         // what the index has of it while it is offered
	fair    []int64         // its part of Matcher.free while it is offered
	trait   trait           // see twoSided
	tasks   []*task         // in no order
	binders int             // of the tasks, those that hold devices
	passers []*framework    // that pass it, and some that no longer do
	refused []int64         // the amounts of the latest refusal; to be read only
	use     map[string]Use  // of its device classes, as it reports; nil: nothing yet
}

// agentClass is a device class on an agent.
type agentClass struct {
	room   *offers.ClassRoom // in the agent's room; nil where it has no device
	alike  bool              // all its devices have one capacity
	milli  float64           // thousandths of its mean device per byte
	policy offers.Policy     // of the agent, where a demand has none
}

// numbers1 is how many numbers an agent has of the kinds where there is one class:
// two fair vectors, and the columns with both measures.
const numbers1 = 2*(scalars+1) + scalars + 2 + 2

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
	if len(t.held.Devices) > 0 {
		a.binders--
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
		a = &agent{id: rec.ID, number: m.numbers.take(), info: rec, room: offers.NewRoom(rec.Total), slot: -1}
		m.fit(a)
		m.agents[rec.ID] = a
	default:
		m.rescind(m.book.OfAgent(rec.ID), "agent_changed")
		m.unplace(a)
		moved := !maps.Equal(a.info.Attributes, rec.Attributes) || a.info.Host != rec.Host
		a.info, a.room = rec, offers.NewRoom(rec.Total)
		for _, t := range a.tasks {
			a.room.Claim(*t.held)
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
	numbers, n := a.number1[:], k.fair() // side by side, they are read together
	if all := 2*n + k.columns(); all > len(numbers) {
		numbers = make([]int64, all)
	} else {
		clear(numbers)
	}
	a.fair, a.total, a.columns = numbers[:n:n], numbers[n:2*n:2*n], numbers[2*n:2*n+k.columns()]
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

// AgentClosed says why an agent is to be offered to nobody for now, as it reports;
// "" that it can be offered. Its tasks go on, and what it has counts in fair shares.
// It returns whether that is news.
func (m *Matcher) AgentClosed(id offers.AgentID, why string) bool {
	a := m.agents[id]
	if a == nil || a.closed == why {
		return false
	}
	if a.closed == "" {
		m.rescind(m.book.OfAgent(id), "agent_closed")
	}
	m.unplace(a)
	a.closed = why
	m.place(a)
	return true
}

// forget drops an agent with its offers and tasks.
func (m *Matcher) forget(a *agent) {
	m.rescind(m.book.OfAgent(a.id), "agent_lost")
	for len(a.tasks) > 0 {
		m.Ended(a.tasks[len(a.tasks)-1].ref())
	}
	m.unplace(a)
	m.forgetRefusals(a)
	m.numbers.give(a.number)
	m.book.ForgetAgent(a.id)
	delete(m.agents, a.id)
}

// place counts the agent in the totals and, when it can be offered, in the rings.
func (m *Matcher) place(a *agent) {
	if a.info.State != offers.AgentUnreachable && !a.counted {
		m.count(a, 1)
	}
	if !a.online || a.closed != "" || a.info.State != offers.AgentActive {
		return
	}
	m.kinds.read(a)
	a.slot = m.index.Set(a.id, a.columns)
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
		m.index.Remove(a.id)
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
			m.charge(t.of.Framework, a, t.held, -1, false)
		}
	}
	for k, n := range a.total {
		m.total.add(k, sign*n)
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
			m.charge(t.of.Framework, a, t.held, 1, false)
		}
		if len(a.tasks) > 0 {
			m.enforceLimits()
		}
	}
	m.fair.setTotal(m.total.n)
	m.parked.quotaMoved = true
}

// moved brings the rings and the sums up to date after an agent's room changed.
func (m *Matcher) moved(a *agent) {
	if a.slot < 0 {
		return
	}
	old := append(m.rowTmp[:0], a.columns...)
	m.addFree(a, -1)
	m.kinds.read(a)
	m.addFree(a, 1)
	if more(a.columns[:m.kinds.ringed()], old) {
		m.grow(a)
	}
	m.index.Move(a.slot, a.columns)
	m.gauges.read(a)
	m.prematch.changed(a)
}

// freed does so after some of its room was given back, and has everybody look who
// waits for what no ring shows: ports, compute, the memory of a device that is not
// the emptiest, or what is left for a role beside what is held back for others.
func (m *Matcher) freed(a *agent) {
	m.moved(a)
	m.grow(a)
	m.parked.quotaMoved = true
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
		m.free.add(k, sign*n)
	}
}
