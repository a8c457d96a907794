package match

import (
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// found is the outcome of a search: an agent and what one unit (or, for a
// whole-agent demand, the offer) would hold there, or why there is none.
type found struct {
	agent   *agent
	holding offers.Holding
	ring    offers.RingRef
	quota   bool // a quota stopped it, not the room
	refused bool // some agent was passed over because the framework refused it
}

// find looks for the agent to offer for one unit of d: the candidates of the
// rings in gradient order, the first that meets the constraints, was not
// refused, has the devices, and stays within the quotas.
// Source: ALGORITHMS section 1, "Serving a demand".
func (m *Matcher) find(d *demand) found {
	var f found
	if d.column < 0 {
		return f
	}
	m.fair.headroom(d.owner.node, m.free, m.headTmp)
	if stop := m.overHeadroom(d); stop >= 0 {
		f.quota = d.spec.Resources.Amounts[stop] <= m.free[stop]
		return f
	}
	cursor := m.index.Candidates(rings.Kind(d.column), d.need)
	for {
		c, ok := cursor.Next()
		if !ok {
			return f
		}
		a := m.bySlot[c.Slot]
		if !meets(d, a) {
			continue
		}
		h, quota, ok := m.claim(d, a)
		if !ok {
			f.quota = f.quota || quota
			continue
		}
		m.kinds.amounts(&h, m.planTmp)
		if d.owner.hidden(a.info.ID, m.planTmp) {
			f.refused = true
			continue
		}
		f.agent, f.holding, f.quota = a, h, false
		f.ring = offers.RingRef{Resource: m.kinds.columnName(d.column), Index: c.Ring}
		return f
	}
}

func meets(d *demand, a *agent) bool {
	for i := range d.spec.Constraints {
		if !d.spec.Constraints[i].Met(&a.info.Agent) {
			return false
		}
	}
	return true
}

// claim returns what d would hold on a. Without ok, quota tells whether room
// was there and the quota forbade it.
func (m *Matcher) claim(d *demand, a *agent) (h offers.Holding, quota, ok bool) {
	h, short := a.room.Plan(d.spec.Resources, d.policy(a))
	if short != "" {
		return h, false, false
	}
	if !d.counted() {
		h = m.cut(a.room.Rest())
		if h.Zero() || offers.Inside(a.room.Total(), h).Short(d.spec.Resources) != "" {
			return h, true, false
		}
		return h, false, true
	}
	m.kinds.amounts(&h, m.planTmp)
	if more(m.planTmp, m.positiveHeadroom()) {
		return h, true, false
	}
	return h, false, true
}

// positiveHeadroom raises a negative headroom to nothing, so that kinds of
// which nothing is asked never stop a demand.
func (m *Matcher) positiveHeadroom() []int64 {
	for k, n := range m.headTmp {
		m.headTmp[k] = max(n, 0)
	}
	return m.headTmp
}

// cut returns the part of a holding that the headroom allows.
func (m *Matcher) cut(h offers.Holding) offers.Holding {
	head := m.positiveHeadroom()
	for s := range h.Amounts {
		h.Amounts[s] = min(h.Amounts[s], head[s])
	}
	for class, grants := range h.Devices {
		left := head[scalars+m.kinds.class(class)]
		kept := grants[:0]
		for _, g := range grants {
			if g.Memory <= left {
				left -= g.Memory
				kept = append(kept, g)
			}
		}
		h.Devices[class] = kept
		if len(kept) == 0 {
			delete(h.Devices, class)
		}
	}
	return h
}

// overHeadroom returns the first scalar kind of which one unit asks more than
// the headroom, or -1; devices are looked at once it is known which they are.
func (m *Matcher) overHeadroom(d *demand) int {
	for s, n := range d.spec.Resources.Amounts {
		if n > 0 && n > m.headTmp[s] {
			return s
		}
	}
	return -1
}

// policy returns how the devices of d are chosen on a, by class.
func (d *demand) policy(a *agent) func(class string) offers.Policy {
	if p := d.spec.DevicePolicy; p != "" {
		return func(string) offers.Policy { return p }
	}
	return a.info.Policy
}

// stoppedBy names the kind that keeps d waiting: the first of which no agent
// alone has enough, or else the kind it was looked up in.
func (m *Matcher) stoppedBy(d *demand) string {
	if d.column < 0 {
		for class, ask := range d.spec.Resources.Devices {
			if m.kinds.class(class) < 0 {
				return offers.KindOf(class, ask)
			}
		}
	}
	for c, n := range d.need {
		if n == 0 {
			continue
		}
		alone := make([]int64, len(d.need))
		alone[c] = n
		if _, ok := m.index.Closest(rings.Kind(c), alone); !ok {
			return m.kinds.columnName(c)
		}
	}
	return m.kinds.columnName(max(d.column, 0))
}
