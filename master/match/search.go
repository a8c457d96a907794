package match

import (
	"math"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// search is one question: where can a unit of a demand go? There is one per
// matcher, used again and again, so that asking allocates nothing.
type search struct {
	m    *Matcher
	d    *demand
	head []int64 // by fair kind, the most that fair share and quotas leave; not below nothing

	// Of the latest agent that suited, and after find of the one that was found.
	latest  *agent
	take    []int64        // by fair kind, what it would give
	devices []int          // by ask of a counted demand, which it would bind, or the first of several
	whole   offers.Holding // of a whole-agent demand, all of it
	cuts    []bool         // by fair kind, quotas leave a whole-agent demand less than there is

	quota   bool // some agent had room that a quota forbade
	refused bool // some agent was passed over because the framework refused it
	met     objections

	ceiling []int64 // see found; to be read only where capped is set
	capped  bool

	floor int // the least sum of preferences, where the demand has some
	below int // the largest sum below it of an agent that suits otherwise, or nobody

	looks int // at agents, ever

	trail *trail // what is seen is noted here; nil unless somebody asked for an explanation

	walk gradient // see there
}

func newSearch(k *kinds) search {
	n := k.fair()
	return search{head: make([]int64, n), take: make([]int64, n), cuts: make([]bool, n), ceiling: make([]int64, n)}
}

// found is the outcome of a search: an agent and what one unit (or, for a
// whole-agent demand, the offer) would hold there, or why there is none.
type found struct {
	agent   *agent
	holding offers.Holding
	ring    offers.RingRef
	quota   bool // a quota stopped it, not the room
	refused bool // some agent was passed over because the framework refused it
	met     objections

	// By fair kind, up to which headroom it is so: with more of one, more could be
	// offered of an agent than was refused. Nil where quotas cut none of those.
	ceiling []int64
}

// find asks the demand's strategy for an agent.
func (m *Matcher) find(d *demand) found { return m.findBy(d, d.placer.strategy) }

func (m *Matcher) findBy(d *demand, by chooser) found {
	if d.column < 0 {
		return found{}
	}
	s := &m.search
	if stop := s.begin(m, d); stop >= 0 {
		return found{quota: d.spec.Resources.Amounts[stop] <= m.free.n[stop]}
	}
	if !d.counted() && s.nothingLeft() {
		return found{quota: true}
	}
	a := s.prefer(by)
	if a == nil {
		f := found{quota: s.quota, refused: s.refused, met: s.met}
		if s.capped {
			f.ceiling = slices.Clone(s.ceiling)
		}
		return f
	}
	if s.latest != a {
		s.suits(a)
	}
	column := rings.Kind(d.column)
	return found{agent: a, holding: s.holding(a), ring: offers.RingRef{
		Resource: m.kinds.columnName(d.column), Index: m.index.Ring(column, a.columns[d.column]),
	}}
}

// begin sets out to look for a unit of d. It returns the scalar kind of which
// fair share and quotas leave too little wherever it may be, or -1.
func (s *search) begin(m *Matcher, d *demand) (stop int) {
	s.m, s.d, s.latest, s.quota, s.refused, s.met, s.capped = m, d, nil, false, false, 0, false
	m.fair.headroom(d.owner.node, m.free.n, s.head)
	stop = s.overHeadroom()
	for k, n := range s.head {
		s.head[k] = max(n, 0) // kinds of which nothing is asked never stop a demand
	}
	return stop
}

// overHeadroom returns the first scalar kind of which one unit asks more than
// the headroom, or -1; devices are looked at once it is known which they are.
func (s *search) overHeadroom() int {
	for k, n := range s.d.spec.Resources.Amounts {
		if n > 0 && n > s.head[k] {
			return k
		}
	}
	return -1
}

// nothingLeft reports whether of every kind some is free and quotas forbid all of
// it, so that no agent need be looked at for its rest.
func (s *search) nothingLeft() bool {
	for k, n := range s.head {
		if s.m.total.n[k] > 0 && (n > 0 || s.m.free.n[k] <= 0) {
			return false
		}
	}
	return true
}

// suits reports whether an agent that has enough of every column can be
// offered.
func (s *search) suits(a *agent) bool {
	s.looks++
	against := s.against(a)
	s.met |= 1 << against
	if s.trail != nil {
		against = s.trail.look(a, against)
	}
	return against == nothing
}

// against says what speaks against an agent that has enough of every column.
func (s *search) against(a *agent) objection {
	d := s.d
	s.latest = nil // take and devices are of nobody while they are written
	switch {
	case !meets(d, a):
		return byConstraint
	case d.spread.full(a) >= 0:
		return byLimit
	}
	if _, ok := a.room.PortsFor(&d.spec.Resources); !ok {
		return byPorts
	}
	if against := s.takes(a); against != nothing {
		return against
	}
	s.latest = a
	if d.owner.hidden(a, s.take) {
		s.refused = true
		if !d.counted() {
			s.noteCuts()
		}
		return byRefusal
	}
	if len(d.spec.Preferences) > 0 && !s.wanted(a) {
		return byPreference
	}
	return nothing
}

// takes finds out what the demand would take of an agent.
func (s *search) takes(a *agent) objection {
	if s.d.counted() {
		return s.binds(a)
	}
	return s.leaves(a)
}

func meets(d *demand, a *agent) bool { return meetsAll(d.spec.Constraints, a) }

func meetsAll(constraints []offers.Constraint, a *agent) bool {
	for i := range constraints {
		if !constraints[i].Met(&a.info.Agent) {
			return false
		}
	}
	return true
}

// binds finds out whether the devices of one unit are there and within the
// headroom.
func (s *search) binds(a *agent) objection {
	copy(s.take, s.d.spec.Resources.Amounts[:])
	clear(s.take[scalars:])
	s.devices = s.devices[:0]
	for _, want := range s.d.asks {
		device, bytes, ok := want.binds(s.d, a)
		if !ok {
			return byDevices
		}
		s.devices = append(s.devices, device)
		k := scalars + want.class
		if bytes > s.head[k] {
			s.quota = true
			return byQuota
		}
		s.take[k] = bytes
	}
	return nothing
}

// classAsk is what a demand asks of one class.
type classAsk struct {
	class int // position in kinds
	ask   offers.DeviceAsk
}

// binds returns the device that the ask would bind on an agent, or the first of
// several, and how many bytes it would take in all; false when it does not fit
// there.
func (w *classAsk) binds(d *demand, a *agent) (device int, bytes int64, ok bool) {
	c := a.classes[w.class].room
	if c == nil {
		return 0, 0, false
	}
	if w.ask.Count == 1 {
		device, ok = c.Best(w.ask, d.policy(a, w.class))
		switch {
		case !ok:
		case w.ask.Memory > 0:
			bytes = w.ask.Memory
		case w.ask.Whole():
			bytes = c.Free(device) // it is idle
		default:
			bytes = w.ask.Bytes(c.Devices[device].Capacity)
		}
		return device, bytes, ok
	}
	if !c.Fits(w.ask) {
		return 0, 0, false
	}
	if w.ask.Whole() && a.classes[w.class].alike {
		return 0, w.ask.Bytes(c.Devices[0].Capacity), true
	}
	grants, ok := c.Bind(w.ask, d.policy(a, w.class))
	for _, g := range grants {
		bytes += g.Memory
	}
	if ok {
		device = grants[0].Index
	}
	return device, bytes, ok
}

func alike(devices []offers.Device) bool {
	for i := range devices {
		if devices[i].Capacity != devices[0].Capacity {
			return false
		}
	}
	return true
}

// leaves finds out whether what the headroom allows of an agent's rest is still
// what a whole-agent demand calls worth offering.
func (s *search) leaves(a *agent) objection {
	h := a.room.Rest()
	enough := a.room.Short(s.d.spec.Resources) == ""
	less := s.cut(&h)
	switch {
	case !enough:
		return byDevices
	case h.Zero() || less && offers.Inside(a.room.Total(), h).Short(s.d.spec.Resources) != "":
		s.quota = true
		return byQuota
	}
	s.m.kinds.amounts(&h, s.take)
	s.whole = h
	return nothing
}

// cut leaves of a holding what the headroom allows, and reports whether that is
// less; cuts says of what.
func (s *search) cut(h *offers.Holding) (less bool) {
	clear(s.cuts)
	for k, n := range h.Amounts {
		h.Amounts[k] = min(n, s.head[k])
		s.cuts[k] = n > s.head[k]
	}
	for i := range h.Devices {
		c := &h.Devices[i]
		k := scalars + s.m.kinds.class(c.Class)
		left := s.head[k]
		c.Grants = slices.DeleteFunc(c.Grants, func(g offers.Grant) bool {
			if g.Memory > left {
				s.cuts[k] = true
				return true
			}
			left -= g.Memory
			return false
		})
	}
	h.Devices = slices.DeleteFunc(h.Devices, func(c offers.ClassGrants) bool { return len(c.Grants) == 0 })
	return slices.Contains(s.cuts, true)
}

// noteCuts notes of which kinds quotas cut what was refused of an agent.
func (s *search) noteCuts() {
	for k, cut := range s.cuts {
		if !cut {
			continue
		}
		for i := 0; i < len(s.ceiling) && !s.capped; i++ {
			s.ceiling[i] = math.MaxInt64
		}
		s.ceiling[k], s.capped = s.head[k], true
	}
}

// holding returns what the demand would hold on the latest agent that suited.
func (s *search) holding(a *agent) offers.Holding {
	d := s.d
	if !d.counted() {
		return s.whole
	}
	h := offers.Holding{Amounts: d.spec.Resources.Amounts}
	h.Ports, _ = a.room.PortsFor(&d.spec.Resources)
	if len(d.asks) == 1 && d.asks[0].ask.Count == 1 { // as most are
		c := a.classes[d.asks[0].class].room
		h.Devices = offers.OneDevice(c.Name, c.Grant(s.devices[0], d.asks[0].ask))
		return h
	}
	for n, want := range d.asks {
		c := a.classes[want.class].room
		grants := []offers.Grant{c.Grant(s.devices[n], want.ask)}
		if want.ask.Count > 1 {
			grants, _ = c.Bind(want.ask, d.policy(a, want.class))
		}
		h.Devices = append(h.Devices, offers.ClassGrants{Class: c.Name, Grants: grants})
	}
	return h
}

// policy returns how the devices of d are chosen of a class that a has.
func (d *demand) policy(a *agent, class int) offers.Policy {
	if p := d.spec.DevicePolicy; p != "" {
		return p
	}
	return a.classes[class].policy
}
