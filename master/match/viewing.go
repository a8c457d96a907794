package match

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// View returns a picture of the matcher that stays true to this moment. It
// costs O(agents + offers + frameworks), and of agents with devices or ports in
// use their tasks; the loop waits for it.
func (m *Matcher) View() *View {
	v := &View{
		Frameworks: make(map[offers.FrameworkID]FrameworkView, len(m.frameworks)),
		Waiting:    m.parked.waiting,
		Pending:    maps.Clone(m.parked.pending),
		Counters:   m.counters,
		Searches:   make(map[offers.Placement]uint64, len(m.placers)),
	}
	for name, p := range m.placers {
		v.Searches[name] = p.searches
	}
	v.Agents = make([]AgentView, 0, len(m.agents))
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		v.Agents = append(v.Agents, m.viewAgent(m.agents[id]))
	}
	for _, o := range m.book.All() {
		v.Offers = append(v.Offers, *o)
	}
	for id, f := range m.frameworks {
		v.Frameworks[id] = m.viewFramework(f)
	}
	m.viewRoles(v, m.fair.root, "")
	slices.SortFunc(v.Roles, func(a, b RoleView) int { return strings.Compare(string(a.Role), string(b.Role)) })
	m.viewRings(v)
	return v
}

// Held returns what outstanding offers hold, by agent. It costs O(offers).
func (m *Matcher) Held() map[offers.AgentID]offers.Holding {
	out := map[offers.AgentID]offers.Holding{}
	for _, o := range m.book.All() {
		out[o.Agent] = join(out[o.Agent], o.Held)
	}
	return out
}

func (m *Matcher) viewAgent(a *agent) AgentView {
	v := AgentView{ID: a.id, Online: a.online, Closed: a.closed}
	if len(a.room.Classes()) > 0 {
		v.Devices = a.room.Clone().Classes()
	}
	for name, use := range a.use {
		if len(use.Unwell) > 0 {
			if v.Unwell == nil {
				v.Unwell = map[string]map[int]string{}
			}
			v.Unwell[name] = use.Unwell
		}
	}
	for _, o := range m.book.OfAgent(a.id) {
		v.Offered = join(v.Offered, o.Held)
	}
	if a.binders == 0 && len(a.room.TakenPorts()) == 0 {
		v.Used.Amounts = a.room.Used().Minus(v.Offered.Amounts)
	} else {
		for _, t := range a.tasks {
			v.Used = join(v.Used, *t.held)
		}
	}
	v.Free = a.room.Rest()
	for s, n := range v.Free.Amounts {
		v.Free.Amounts[s] = max(n, 0)
	}
	return v
}

func (m *Matcher) viewFramework(f *framework) FrameworkView {
	share, kind := m.fair.share(f.node)
	v := FrameworkView{Share: share, Demands: len(f.demands), Suppressed: f.suppressed}
	if kind >= 0 {
		v.Dominant = m.kinds.fairName(kind)
	}
	for _, o := range m.book.OfFramework(f.id) {
		v.Offered = v.Offered.Plus(o.Held.Amounts)
	}
	copy(v.Used[:], f.node.alloc.n[:scalars])
	v.Used = v.Used.Minus(v.Offered)
	return v
}

func (m *Matcher) viewRoles(v *View, n *node, path string) {
	for name, c := range n.children {
		if name == ownName {
			continue
		}
		role := path + name
		r := RoleView{Role: offers.Role(role), Settings: offers.RoleSettings{Weight: 1}, Used: map[string]int64{}}
		if set, ok := m.roles[r.Role]; ok {
			r.Settings = set
		}
		share, kind := m.fair.share(c)
		if r.Share = share; kind >= 0 {
			r.Dominant = m.kinds.fairName(kind)
		}
		for k, used := range c.alloc.n {
			if used != 0 {
				r.Used[m.kinds.fairName(k)] = used
			}
		}
		r.Frameworks = countLeaves(c)
		v.Roles = append(v.Roles, r)
		m.viewRoles(v, c, role+"/")
	}
}

func countLeaves(n *node) int {
	if n.leaf != nil {
		return 1
	}
	sum := 0
	for _, c := range n.children {
		sum += countLeaves(c)
	}
	return sum
}

func (m *Matcher) viewRings(v *View) {
	for k, name := range m.index.Kinds() {
		set := RingSetView{Name: name}
		for r := range m.index.Rings(k) {
			ring := RingView{Index: r.Number, From: r.From, To: r.To}
			if r.Open {
				ring.To = -1
			}
			if r.Number == 1 {
				set.Lower = r.From
			}
			for id, free := range m.index.Agents(k, r.Number) {
				ring.Agents = append(ring.Agents, RingAgent{ID: id, Free: free})
			}
			set.Rings = append(set.Rings, ring)
		}
		v.Rings = append(v.Rings, set)
	}
}
