package match

import (
	"cmp"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Until an agent reports, its tasks are counted on the devices that the
// agent's own rule would choose. What it then reports wins: where a task is
// bound otherwise it is moved (Rebound), and what is used there and held by no
// task that the agent has heard of, or is unwell, is offered to nobody
// (DevicesReported).

// Use is what an agent reports of one device class.
type Use struct {
	Used   []int64        // bytes on each device, rounded up to the unit
	Unit   int64          // bytes
	Unwell map[int]string // why, by index
}

// DevicesReported takes what an agent reports of its device classes. It holds
// what the tasks hold that it has heard of, see TaskHeard. The report of an
// unknown agent, or of a class that it does not have, is passed over.
func (m *Matcher) DevicesReported(id offers.AgentID, classes map[string]Use) {
	a := m.agents[id]
	if a == nil {
		return
	}
	a.use = classes
	m.withhold(a)
}

// TaskHeard notes that a task's agent has taken its launch.
func (m *Matcher) TaskHeard(ref offers.TaskRef) {
	if t := m.task(ref); t != nil {
		t.heard = true
	}
}

// Rebound takes the devices that an agent has bound for a task and reports
// whether they are others than it was counted on. What names other amounts or
// devices than the agent can have given is passed over.
func (m *Matcher) Rebound(ref offers.TaskRef, devices offers.Devices) bool {
	t := m.task(ref)
	switch {
	case t == nil || len(devices) == 0:
		return false
	case sameGrants(t.held.Devices, devices):
		t.heard = true
		return false
	case !bindable(t, devices):
		return false
	}
	a := t.agent
	t.heard = true
	m.rebind(t, devices)
	a.regard()
	m.counters.Mismatches++
	m.withhold(a)
	m.rescindOverdrawn(a)
	m.replan(a)
	m.freed(a)
	return true
}

// replan counts the tasks that their agent has not heard of on other devices,
// where it has bound those for another task that they were counted on. It is
// what the agent does with their launches; where it can't it refuses them.
// Offers make way: which of them are in it does not show.
func (m *Matcher) replan(a *agent) {
	var wrong []*task
	for _, t := range a.tasks {
		if !t.heard && a.room.Overdrawn(*t.held) {
			wrong = append(wrong, t)
		}
	}
	if len(wrong) == 0 {
		return
	}
	slices.SortFunc(wrong, func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.of.Framework, b.of.Framework), cmp.Compare(a.of.ID, b.of.ID))
	})
	m.rescindDevices(a)
	for _, t := range wrong {
		if !a.room.Overdrawn(*t.held) {
			continue // the one before has made room
		}
		m.charge(t.of.Framework, a, t.held, -1, false)
		a.room.Give(*t.held)
		choose := func(class string) offers.Policy { return cmp.Or(t.of.Policy, a.info.Policy(class)) }
		if h, short := a.room.Plan(offers.Resources{Devices: t.of.Pattern.Resources.Devices}, choose); short == "" {
			t.hold(h.Devices)
		}
		a.room.Claim(*t.held)
		m.charge(t.of.Framework, a, t.held, 1, false)
	}
}

// rebind counts a task on other devices.
func (m *Matcher) rebind(t *task, devices offers.Devices) {
	m.charge(t.of.Framework, t.agent, t.held, -1, false)
	t.agent.room.Give(*t.held)
	t.hold(devices)
	t.agent.room.Claim(*t.held)
	m.charge(t.of.Framework, t.agent, t.held, 1, false)
}

// rescindDevices takes back the offers of an agent that hold devices.
func (m *Matcher) rescindDevices(a *agent) {
	m.rescind(slices.DeleteFunc(m.book.OfAgent(a.id), func(o *offers.Offer) bool { return len(o.Held.Devices) == 0 }), "devices_changed")
}

// LargestDevice returns the capacity of the largest device of a class that any
// known agent has, also one that is away, or 0 where none has the class.
func (m *Matcher) LargestDevice(class string) int64 {
	if m.largest == nil || m.largestOf != m.epoch {
		m.largest, m.largestOf = map[string]int64{}, m.epoch
		for _, a := range m.agents {
			for _, c := range a.room.Total().Classes {
				for _, d := range c.Devices {
					m.largest[c.Name] = max(m.largest[c.Name], d.Capacity)
				}
			}
		}
	}
	return m.largest[class]
}

// sameGrants reports whether both name the same devices, wherever they stand
// in their class.
func sameGrants(a, b offers.Devices) bool {
	return slices.EqualFunc(a, b, func(a, b offers.ClassGrants) bool {
		return a.Class == b.Class && slices.EqualFunc(a.Grants, b.Grants, func(a, b offers.Grant) bool {
			return a.ID == b.ID && a.Memory == b.Memory && a.Share == b.Share
		})
	})
}

// bindable reports whether an agent can have bound these devices for a task:
// they are its own, as many and of the same classes as were counted.
func bindable(t *task, devices offers.Devices) bool {
	total := t.agent.room.Total()
	if len(devices) != len(t.held.Devices) {
		return false
	}
	for i, held := range devices {
		own := total.Class(held.Class)
		if held.Class != t.held.Devices[i].Class || len(held.Grants) != len(t.held.Devices[i].Grants) {
			return false
		}
		for _, g := range held.Grants {
			if g.Index >= len(own) || own[g.Index].ID != g.ID || g.Memory > own[g.Index].Capacity || g.Share > offers.FullShare {
				return false
			}
		}
	}
	return true
}

// withhold keeps out of an agent's room what it reports of its devices beyond
// what is known of its tasks.
func (m *Matcher) withhold(a *agent) {
	changed := false
	classes := a.room.Classes()
	for i := range classes {
		c := &classes[i]
		away := make([]int64, len(c.Devices))
		if use, reported := a.use[c.Name]; reported && len(use.Used) == len(c.Devices) {
			m.unknown(a, c, use, away)
		}
		changed = a.room.Withhold(c.Name, away) || changed
	}
	if changed {
		a.regard()
		m.rescindOverdrawn(a)
		m.freed(a)
	}
}

// unknown writes into away what an agent reports of a class beyond its tasks.
func (m *Matcher) unknown(a *agent, c *offers.ClassRoom, use Use, away []int64) {
	held := a.heard(c)
	for d := range away {
		known := (held[d] + use.Unit - 1) / use.Unit * use.Unit
		away[d] = min(max(0, use.Used[d]-known), c.Devices[d].Capacity)
		if _, unwell := use.Unwell[d]; unwell {
			away[d] = c.Devices[d].Capacity
		} else if away[d] > 0 && (c.Away == nil || c.Away[d] == 0) {
			m.counters.Mismatches++
		}
	}
}

// heard returns the bytes that tasks which the agent has heard of hold of each
// device of a class.
func (a *agent) heard(c *offers.ClassRoom) []int64 {
	held := make([]int64, len(c.Devices))
	for _, t := range a.tasks {
		if !t.heard {
			continue
		}
		for _, g := range t.held.Devices.Of(c.Name) {
			if i := c.Position(g); i >= 0 {
				held[i] += g.Memory
			}
		}
	}
	return held
}

// rescindOverdrawn takes back the offers of an agent that hold part of a device
// of which there is less than was thought.
func (m *Matcher) rescindOverdrawn(a *agent) {
	var list []*offers.Offer
	for _, o := range m.book.OfAgent(a.id) {
		if a.room.Overdrawn(o.Held) {
			list = append(list, o)
		}
	}
	m.rescind(list, "devices_changed")
}
