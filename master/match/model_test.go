package match

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// market is a matcher beside what can be told of it from outside: which offers
// it made and took back, and which launches came of them.
type market struct {
	*bench
	term       uint64
	names      int
	frameworks []offers.FrameworkID
	agents     []offers.AgentID
	online     map[offers.AgentID]bool
	closed     map[offers.AgentID]bool
	connected  map[offers.FrameworkID]bool
	counts     map[offers.FrameworkID]map[offers.DemandID]int
	limits     map[offers.FrameworkID]map[offers.DemandID]offers.Constraint

	out   map[offers.OfferID]issued
	spent []offers.OfferID // over, in this term or an older one
	tasks map[offers.TaskRef]placed
}

type issued struct {
	framework offers.FrameworkID
	demand    offers.DemandID
	agent     offers.AgentID
	units     int
	unit      offers.Resources
	held      offers.Holding
	issued    time.Time
	expires   time.Time
}

type placed struct {
	agent  offers.AgentID
	demand offers.DemandID
	held   offers.Holding
}

var someRoles = []offers.Role{"default", "eng", "eng/ml", "eng/web", "ops"}

func newMarket(t *rapid.T) *market {
	timeout := time.Duration(rapid.IntRange(5, 30).Draw(t, "offer timeout")) * time.Second
	window := time.Duration(rapid.IntRange(0, 2).Draw(t, "window")) * time.Second
	placement := rapid.SampledFrom(offers.Placements()).Draw(t, "placement of the master")
	grace := time.Duration(rapid.IntRange(0, 5).Draw(t, "grace")) * time.Second
	m := &market{
		bench: newBench(t, Config{OfferTimeout: timeout, OfferGrace: grace, Window: window, Placement: placement}), term: 1,
		online: map[offers.AgentID]bool{}, closed: map[offers.AgentID]bool{}, connected: map[offers.FrameworkID]bool{}, counts: map[offers.FrameworkID]map[offers.DemandID]int{},
		limits: map[offers.FrameworkID]map[offers.DemandID]offers.Constraint{},
		out:    map[offers.OfferID]issued{}, tasks: map[offers.TaskRef]placed{},
	}
	for range 2 {
		m.newAgent(t)
	}
	for range 3 {
		id := m.framework(m.name("f"), rapid.SampledFrom(someRoles).Draw(t, "role"))
		m.frameworks, m.connected[id], m.counts[id] = append(m.frameworks, id), true, map[offers.DemandID]int{}
		m.limits[id] = map[offers.DemandID]offers.Constraint{}
	}
	return m
}

func (m *market) name(prefix string) string { m.names++; return fmt.Sprint(prefix, m.names) }

func (m *market) someone(t *rapid.T) offers.FrameworkID {
	return rapid.SampledFrom(m.frameworks).Draw(t, "framework")
}

func (m *market) somewhere(t *rapid.T) offers.AgentID {
	return rapid.SampledFrom(m.agents).Draw(t, "agent")
}

// inventory is what an agent has at one time.
func inventory(t *rapid.T) string {
	total := fmt.Sprintf(`"cpus":%d,"mem":%d`, rapid.IntRange(0, 16).Draw(t, "cpus"), rapid.IntRange(0, 64).Draw(t, "mem"))
	if class := rapid.SampledFrom([]string{"gpu", "", "npu"}).Draw(t, "class"); class != "" {
		size := rapid.IntRange(8, 32).Draw(t, "capacity")
		ids := rapid.SampledFrom([]string{`"x","y"`, `"y","x"`, `"y","z"`}).Draw(t, "ids")
		total += fmt.Sprintf(`,"devices":{"%s":{"ids":[%s],"capacity":[%d,24]}}`, class, ids, size)
	}
	return "{" + total + "}"
}

func (m *market) newAgent(t *rapid.T) {
	name := m.name("a")
	m.agent(name, inventory(t))
	m.agents = append(m.agents, m.ids[name])
	m.online[m.ids[name]] = true
}

// asks draws resources for a demand or a task.
func asks(t *rapid.T) string {
	switch rapid.IntRange(0, 5).Draw(t, "ask") {
	case 3:
		return fmt.Sprintf(`{"cpus":1,"devices":{"gpu":{"memory":%d}}}`, rapid.IntRange(1, 12).Draw(t, "slice"))
	case 4:
		return fmt.Sprintf(`{"devices":{"gpu":{"count":%d}}}`, rapid.IntRange(1, 2).Draw(t, "whole"))
	case 5:
		return fmt.Sprintf(`{"mem":%d}`, rapid.IntRange(1, 8).Draw(t, "mem"))
	}
	return fmt.Sprintf(`{"cpus":%d,"mem":%d}`, rapid.IntRange(1, 4).Draw(t, "cpus"), rapid.IntRange(0, 8).Draw(t, "mem"))
}

func (m *market) demands(t *rapid.T) {
	f, id, count := m.someone(t), offers.DemandID(fmt.Sprint("d", rapid.IntRange(0, 3).Draw(t, "demand"))), -1
	placement := rapid.SampledFrom(append(offers.Placements(), "")).Draw(t, "placement")
	text := fmt.Sprintf(`"id":"%s","resources":%s,"placement":"%s"`, id, asks(t), placement)
	if rapid.IntRange(0, 3).Draw(t, "counted") < 3 {
		count = rapid.IntRange(0, 7).Draw(t, "count")
		text += fmt.Sprintf(`,"count":%d`, count)
		if rapid.IntRange(0, 2).Draw(t, "gang") == 0 {
			text += fmt.Sprintf(`,"gang":%d`, rapid.IntRange(1, 20).Draw(t, "seconds of the gang"))
		}
	}
	delete(m.limits[f], id)
	if limit := rapid.SampledFrom([]string{"", "", "distinct agent", "at most 2 per agent", "at most 3 per host"}).Draw(t, "limit"); limit != "" && count >= 0 {
		text += fmt.Sprintf(`,"constraints":["%s"]`, limit)
		m.limits[f][id], _ = offers.ParseConstraint(limit)
	}
	m.demand(f, "{"+text+"}")
	m.counts[f][id] = count
}

// ended enters offers that are over.
func (m *market) ended(ids ...offers.OfferID) {
	for _, id := range ids {
		delete(m.out, id)
		m.spent = append(m.spent, id)
	}
}

// outstanding are the ids of those that suit, sorted.
func (m *market) outstanding(suits func(issued) bool) []offers.OfferID {
	var ids []offers.OfferID
	for id, o := range m.out {
		if suits(o) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// named draws offers as a framework names them: most of them good.
func (m *market) named(t *rapid.T) (offers.FrameworkID, []offers.OfferID) {
	good := m.outstanding(func(issued) bool { return true })
	if len(good) == 0 {
		return m.someone(t), []offers.OfferID{"o0-0"}
	}
	first := rapid.SampledFrom(good).Draw(t, "offer")
	ids := []offers.OfferID{first}
	if rapid.Bool().Draw(t, "all of the agent") {
		o := m.out[first]
		ids = m.outstanding(func(p issued) bool { return p.agent == o.agent && p.framework == o.framework })
	}
	f := m.out[first].framework
	switch rapid.IntRange(0, 9).Draw(t, "wrong") {
	case 6:
		f = m.someone(t)
	case 7:
		ids = append(ids, rapid.SampledFrom(good).Draw(t, "another"))
	case 8:
		ids = append(ids, "o0-0")
	case 9:
		if len(m.spent) > 0 {
			ids = append(ids, rapid.SampledFrom(m.spent).Draw(t, "spent"))
		}
	}
	return f, ids
}

// accept holds an acceptance against the rules: it launches only when every
// offer is outstanding, the framework's and of one agent, and then no more
// than they held; every task gets exactly one answer.
func (m *market) accept(t *rapid.T) {
	f, ids := m.named(t)
	var drafts []Draft
	for range rapid.IntRange(0, 8).Draw(t, "tasks") {
		var r offers.Resources
		text := `{"cpus":0.1}`
		switch o, there := m.out[ids[0]]; rapid.IntRange(0, 3).Draw(t, "size") {
		case 1:
			text = asks(t)
		case 2, 3:
			if there && o.units > 0 {
				text = ""
				r = o.unit
			}
		}
		if err := r.UnmarshalJSON([]byte(text)); text != "" && err != nil {
			t.Fatal(err)
		}
		id := offers.TaskID(fmt.Sprint("t", rapid.IntRange(0, 60).Draw(t, "task")))
		drafts = append(drafts, Draft{Task: offers.Task{ID: id, Resources: r}})
	}
	inUse := func(id offers.TaskID) bool { _, used := m.tasks[offers.TaskRef{Framework: f, Task: id}]; return used }
	acc := m.Accept(f, ids, drafts, time.Duration(rapid.IntRange(0, 20).Draw(t, "refuse"))*time.Second, inUse, m.now)

	good, agent, held := true, offers.AgentID(""), []offers.Holding(nil)
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		o, there := m.out[id]
		if good = good && there && o.framework == f && (agent == "" || agent == o.agent); !there || o.framework != f {
			continue
		}
		agent, held = o.agent, append(held, o.held)
		m.ended(id)
	}
	if !good {
		used := 0
		for _, d := range drafts {
			if inUse(d.Task.ID) {
				used++
			}
		}
		if len(acc.Launches) > 0 || len(acc.Errors) != used+1 || len(acc.Updates) != len(drafts)-used {
			t.Fatalf("%s accepts %v, not all of them good: %+v", f, ids, acc)
		}
		for _, u := range acc.Updates {
			if u.State != offers.Dropped {
				t.Fatalf("task %s of a void accept is %s", u.Task, u.State)
			}
		}
		return
	}
	if len(acc.Launches)+len(acc.Updates)+len(acc.Errors) != len(drafts) {
		t.Fatalf("%d tasks are answered by %+v", len(drafts), acc)
	}
	m.launched(t, acc, agent, held)
}

// launched makes the launches of a good acceptance durable.
func (m *market) launched(t *rapid.T, acc Acceptance, agent offers.AgentID, held []offers.Holding) {
	var used []offers.Holding
	for _, l := range acc.Launches {
		if l.Task.Agent != agent {
			t.Fatalf("%s is launched on %s out of an offer of %s", l.Task.Ref(), l.Task.Agent, agent)
		}
		if _, twice := m.tasks[l.Task.Ref()]; twice {
			t.Fatalf("%s is launched twice", l.Task.Ref())
		}
		used = append(used, l.Task.Holding)
		m.tasks[l.Task.Ref()] = placed{agent, l.Task.Demand, l.Task.Holding}
		m.apply(state.Command{Launch: &l})
	}
	was, now := sum(held...), sum(used...)
	for kind, n := range now {
		if n > was[kind] {
			t.Fatalf("tasks got %d of %s out of offers that held %d", n, kind, was[kind])
		}
	}
}

// sum counts holdings by kind: scalars, ports, and bytes and share of every device.
func sum(holdings ...offers.Holding) map[string]int64 {
	out := map[string]int64{}
	for _, h := range holdings {
		for k, n := range h.Amounts {
			out[offers.Scalar(k).String()] += n
		}
		for _, port := range h.Ports.Each() {
			out[fmt.Sprint("port ", port)]++
		}
		for class, grants := range h.Devices.Map() {
			for _, g := range grants {
				out[class+" "+g.ID] += g.Memory
				out[class+" share "+g.ID] += g.Share
			}
		}
	}
	return out
}

// total is what sum may come to on an agent.
func total(v offers.Inventory) map[string]int64 {
	all := offers.Holding{Amounts: v.Amounts, Ports: v.Ports}
	for _, c := range v.Classes {
		for _, d := range c.Devices {
			all.Devices = all.Devices.With(c.Name, offers.Grant{ID: d.ID, Memory: d.Capacity, Share: offers.FullShare})
		}
	}
	return sum(all)
}

// turn finishes a turn and holds what came of it against the promises.
func (m *market) turn(t *rapid.T) {
	if rapid.Bool().Draw(t, "claims again") {
		m.ClaimAgain()
	}
	m.Claim(m.now)
	r := m.Ready(m.now)
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	for _, rescind := range r.Rescinds {
		for _, id := range rescind.Offers {
			if o, there := m.out[id]; !there || o.framework != rescind.Framework || rescind.Reason == "expired" && o.expires.After(m.now) || rescind.Reason == "fair_share" && m.now.Before(o.issued.Add(m.config.OfferGrace)) {
				t.Fatalf("at %v %s is told that %s is %s: %+v", m.now, rescind.Framework, id, rescind.Reason, o)
			}
			m.ended(id)
		}
	}
	for _, o := range r.Offers {
		_, twice := m.out[o.ID]
		a := m.state.Agent(o.Agent)
		if twice || slices.Contains(m.spent, o.ID) || !m.online[o.Agent] || m.closed[o.Agent] || a.State != offers.AgentActive || !m.connected[o.Framework] || !o.Expires.After(m.now) {
			t.Fatalf("%s is offered to %s on %s (%s)", o.ID, o.Framework, o.Agent, a.State)
		}
		m.out[o.ID] = issued{o.Framework, o.Demand, o.Agent, o.Units, o.Unit, o.Held, o.Issued, o.Expires}
	}
	for _, o := range r.Offers {
		if limit := m.limits[o.Framework][o.Demand]; limit.Limit() > 0 && m.together(o, limit) > limit.Limit() {
			t.Fatalf("%s is offered to %s for %s beyond %s", o.ID, o.Framework, o.Demand, limit)
		}
	}
	m.promises(t)
	m.whole(t)
	if !r.More {
		m.nobodyWaitsInVain(t)
	}
}

// nobodyWaitsInVain verifies that of those who wait nobody would find an agent. Left out
// are counted demands of who refused some: where somebody else takes a part of the device
// that was refused, the next one may be larger than what was refused, and is not offered
// before that ends.
func (m *market) nobodyWaitsInVain(t *rapid.T) {
	for id, f := range m.Matcher.frameworks {
		for _, d := range f.demands {
			if d.gang() || d.counted() && slices.Contains(d.stopped, stopRefused) || !d.parked() || !f.online || f.suppressed {
				continue
			}
			if m.compile(d); m.find(d).agent != nil {
				t.Fatalf("%s waits for %v with demand %s and would be offered agent %s", id, d.stopped, d.spec.ID, m.find(d).agent.id)
			}
		}
	}
}

// together counts the units of an offer's demand that a limit counts with it.
func (m *market) together(o *offers.Offer, limit offers.Constraint) int {
	at := func(id offers.AgentID) string {
		a := m.state.Agent(id)
		under, _ := limit.Together(&a.Agent)
		return under
	}
	n := 0
	for _, out := range m.out {
		if out.framework == o.Framework && out.demand == o.Demand && at(out.agent) == at(o.Agent) {
			n += out.units
		}
	}
	for ref, task := range m.tasks {
		if ref.Framework == o.Framework && task.demand == o.Demand && at(task.agent) == at(o.Agent) {
			n++
		}
	}
	return n
}

// promises verifies that nothing is given twice and nothing lives too long.
func (m *market) promises(t *rapid.T) {
	if got := m.book.Len(); got != len(m.out) {
		t.Fatalf("%d offers are in the book, %d were made and not taken back", got, len(m.out))
	}
	offered, held := map[offers.AgentID][]offers.Holding{}, map[offers.AgentID][]offers.Holding{}
	units := map[offers.FrameworkID]map[offers.DemandID]int{}
	for id, o := range m.out {
		if !o.expires.After(m.now) {
			t.Fatalf("at %v %s of %v is still outstanding", m.now, id, o.expires)
		}
		offered[o.agent] = append(offered[o.agent], o.held)
		if units[o.framework] == nil {
			units[o.framework] = map[offers.DemandID]int{}
		}
		units[o.framework][o.demand] += o.units
		if n := m.counts[o.framework][o.demand]; n >= 0 && units[o.framework][o.demand] > n {
			t.Fatalf("%s has more than %d units of %s offered", o.framework, n, o.demand)
		}
	}
	for _, p := range m.tasks {
		held[p.agent] = append(held[p.agent], p.held)
	}
	for _, id := range m.agents {
		a := m.state.Agent(id)
		has, out := total(a.Total), sum(offered[id]...)
		for kind, n := range sum(append(held[id], offered[id]...)...) {
			// What runs may pass an agent that came back smaller; an offer may not.
			if n > has[kind] && (out[kind] > 0 || !m.shrunk[id]) {
				t.Fatalf("agent %s has %d of %s, %d are offered and %d given away in all", id, has[kind], kind, out[kind], n)
			}
		}
	}
}

// leader is a change of leader: another matcher of the same state, which
// knows no offer, no session and no demand.
func (m *market) leader(t *rapid.T) {
	m.term++
	m.ended(slices.Sorted(maps.Keys(m.out))...)
	m.Matcher = New(m.config, m.state, m.term)
	for _, id := range m.frameworks {
		m.counts[id] = map[offers.DemandID]int{}
		m.connected[id] = rapid.Bool().Draw(t, "connected")
		m.FrameworkOnline(id, m.connected[id])
	}
	for _, id := range m.agents {
		m.online[id] = m.online[id] && m.state.Agent(id).State != offers.AgentGone
		m.AgentOnline(id, m.online[id])
	}
	clear(m.closed)
}

func (m *market) reconnect(t *rapid.T) {
	id := m.someone(t)
	m.ended(m.outstanding(func(o issued) bool { return o.framework == id })...)
	m.counts[id], m.connected[id] = map[offers.DemandID]int{}, rapid.Bool().Draw(t, "connected")
	m.FrameworkOnline(id, m.connected[id])
}

func (m *market) setState(t *rapid.T) {
	states := []offers.AgentState{offers.AgentActive, offers.AgentUnreachable, offers.AgentDraining, offers.AgentActive, offers.AgentGone}
	id, to := m.somewhere(t), rapid.SampledFrom(states).Draw(t, "state")
	if m.state.Agent(id).State == offers.AgentGone || to == offers.AgentGone && len(m.agents) < 3 {
		return
	}
	r := m.apply(state.Command{SetAgentState: &state.SetAgentState{ID: id, State: to, Time: m.now}})
	m.AgentChanged(m.state.Agent(id))
	for _, over := range r.Ended {
		delete(m.tasks, over.Ref())
		m.apply(state.Command{Acknowledge: &state.Acknowledge{Ref: over.Ref()}})
	}
	if to == offers.AgentGone {
		m.online[id] = false
	}
}

func (m *market) endTask(t *rapid.T) {
	if len(m.tasks) == 0 {
		return
	}
	ref := rapid.SampledFrom(slices.SortedFunc(maps.Keys(m.tasks), func(a, b offers.TaskRef) int {
		return slices.Compare([]string{a.String()}, []string{b.String()})
	})).Draw(t, "task")
	m.apply(state.Command{EndTask: &state.EndTask{Ref: ref, Status: offers.Status{State: offers.Finished, Time: m.now}}})
	m.apply(state.Command{Acknowledge: &state.Acknowledge{Ref: ref}})
	delete(m.tasks, ref)
	m.Ended(ref)
}

func (m *market) setRole(t *rapid.T) {
	settings := &offers.RoleSettings{Weight: float64(rapid.IntRange(1, 3).Draw(t, "weight"))}
	amount := offers.QuotaAmounts{"cpus": int64(rapid.IntRange(0, 20).Draw(t, "cpus")) * 1000}
	switch rapid.IntRange(0, 2).Draw(t, "quota") {
	case 1:
		settings.Quota.Limit = amount
	case 2:
		settings.Quota.Guarantee = amount
	}
	role := rapid.SampledFrom(someRoles).Draw(t, "role")
	m.apply(state.Command{SetRole: &state.SetRole{Role: role, Settings: settings}})
	m.RoleChanged(role, settings)
}

// goOnline follows an agent's session; the state of one that comes back is
// what it registered.
func (m *market) goOnline(t *rapid.T) {
	id := m.somewhere(t)
	a := m.state.Agent(id)
	if a.State == offers.AgentGone {
		return
	}
	m.online[id] = rapid.IntRange(0, 2).Draw(t, "online") < 2
	m.AgentOnline(id, m.online[id])
}

// goClosed has an agent say that it can take no more tasks, or can again.
func (m *market) goClosed(t *rapid.T) {
	id := m.somewhere(t)
	if m.state.Agent(id).State == offers.AgentGone {
		return
	}
	why := rapid.SampledFrom([]string{"", "", "its disk is full", "it is tired"}).Draw(t, "closed")
	m.closed[id] = why != ""
	m.AgentClosed(id, why)
}

func (m *market) comeBack(t *rapid.T) {
	id := m.somewhere(t)
	if a := m.state.Agent(id); a.State != offers.AgentGone {
		m.resize(a.Name, inventory(t))
	}
}

// devices has an agent report any use of its devices, and that one is unwell.
// Some of its tasks it has heard of.
func (m *market) devices(t *rapid.T) {
	id := m.somewhere(t)
	for ref, p := range m.tasks {
		if p.agent == id && rapid.Bool().Draw(t, "heard") {
			m.TaskHeard(ref)
		}
	}
	uses := map[string]Use{}
	for _, c := range m.state.Agent(id).Total.Classes {
		u := Use{Unit: rapid.Int64Range(1, 3).Draw(t, "unit")}
		for i := range c.Devices {
			u.Used = append(u.Used, rapid.SampledFrom([]int64{0, 0, 6, 12, 60}).Draw(t, "used"))
			if rapid.IntRange(0, 4).Draw(t, "unwell") == 0 {
				u.Unwell = map[int]string{i: "XID 79"}
			}
		}
		uses[c.Name] = u
	}
	m.DevicesReported(id, uses)
}

// TestPromisesOfTheMatcher: after every turn of a drawn history nothing is
// given twice, no offer is good twice or in another term, and what the matcher
// counts is what there is.
func TestPromisesOfTheMatcher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMarket(t)
		actions := map[string]func(*rapid.T){
			"accept": m.accept, "accept 2": m.accept, "demand": m.demands, "demand 2": m.demands,
			"devices": m.devices, "come back": m.comeBack, "online": m.goOnline, "closed": m.goClosed, "state of an agent": m.setState,
			"end of a task": m.endTask, "role": m.setRole, "session": m.reconnect, "term": m.leader,
			"a new agent": func(t *rapid.T) {
				if len(m.agents) < 6 {
					m.newAgent(t)
				}
			},
			"decline": func(t *rapid.T) {
				f, ids := m.named(t)
				m.Decline(f, ids, time.Duration(rapid.IntRange(0, 20).Draw(t, "refuse"))*time.Second, m.now)
				for _, id := range ids {
					if o, there := m.out[id]; there && o.framework == f {
						m.ended(id)
					}
				}
			},
			"suppress": func(t *rapid.T) { m.Suppress(m.someone(t)) },
			"revive":   func(t *rapid.T) { m.Revive(m.someone(t)) },
			"time": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "seconds")) * time.Second)
			},
			"": m.turn,
		}
		for range 4 {
			t.Repeat(actions)
		}
		m.rest(t)
	})
}

// rest lets everything end: all that was given must come back.
func (m *market) rest(t *rapid.T) {
	for _, id := range m.frameworks {
		m.FrameworkOnline(id, false)
	}
	for ref := range m.tasks {
		m.Ended(ref)
	}
	clear(m.tasks)
	clear(m.out)
	for _, id := range m.agents {
		m.DevicesReported(id, nil)
	}
	m.turn(t)
	for _, id := range m.agents {
		if a := m.Matcher.agents[id]; a != nil {
			for _, c := range a.room.Classes() {
				if int(c.Idle()) != len(c.Devices) {
					t.Errorf("agent %s: %d of %d devices are idle after everything ended", id, c.Idle(), len(c.Devices))
				}
			}
		}
	}
	for k, n := range m.fair.root.alloc.n {
		if n != 0 {
			t.Errorf("kind %d: %d are still allocated after everything ended", k, n)
		}
	}
}
