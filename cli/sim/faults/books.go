package faults

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// books is what the judge knows of one leadership: what it has offered and
// what may come of it, whom it hears, and what it has done when.
type books struct {
	m       *master
	core    *lead.Core
	began   time.Time
	leaps   int       // of the clock of m
	leapt   time.Time // what it showed after the last one
	touched bool
	offered map[offers.OfferID]sold
	may     map[offers.TaskRef]int       // launches that the accepts of this turn may bring
	heard   map[offers.AgentID]time.Time // when the agent said something last
	left    map[offers.AgentID]time.Time // when its connection ended
	removed int                          // agents that were given up for their silence
	absent  map[offers.AgentID]bool      // overdue already at the last audit
}

// sold is one offer that was sent.
type sold struct {
	framework offers.FrameworkID
	expires   time.Time
}

func newBooks(m *master) *books {
	return &books{
		m: m, core: m.core, began: m.clock, leaps: m.leaps, touched: true,
		offered: map[offers.OfferID]sold{}, may: map[offers.TaskRef]int{},
		heard: map[offers.AgentID]time.Time{}, left: map[offers.AgentID]time.Time{}, absent: map[offers.AgentID]bool{},
	}
}

// asked looks at what a framework asks, before the core does.
func (b *books) asked(s *served, msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.Accept:
		b.touched = true
		b.accept(s, msg)
	case *wire.Decline:
		b.touched = true
		for _, id := range msg.OfferIDs {
			b.end(s, id)
		}
	case *wire.DemandMessage, *wire.Suppress, *wire.Revive:
		b.touched = true
	case *wire.Acknowledge:
		s.mail.acknowledged(letter{offers.TaskRef{Framework: s.id, Task: msg.TaskID}, msg.UpdateID}, s.m.clock)
	case *wire.Reconcile:
		s.answers = map[offers.TaskID]bool{}
		for _, id := range msg.TaskIDs {
			s.answers[id] = false
		}
	}
}

// accept notes which launches may come of an accept: none where one of its
// offers is not this framework's, was used or taken back, or is over.
func (b *books) accept(s *served, msg *wire.Accept) {
	good := s.id != "" && len(msg.OfferIDs) > 0
	for _, id := range msg.OfferIDs {
		o, open := b.offered[id]
		good = good && open && o.framework == s.id && o.expires.After(b.m.clock)
		b.end(s, id)
	}
	if !good {
		b.m.w.report.Refused++
		return
	}
	for _, raw := range msg.Tasks {
		var t struct {
			ID offers.TaskID `json:"id"`
		}
		if json.Unmarshal(raw, &t) == nil {
			b.may[offers.TaskRef{Framework: s.id, Task: t.ID}]++
		}
	}
}

func (b *books) end(s *served, id offers.OfferID) {
	if b.offered[id].framework == s.id {
		delete(b.offered, id)
	}
}

// sent looks at what concerns offers in what the leader sends.
func (b *books) sent(s *served, msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.Registered:
		b.touched, s.books = true, b
		b.forget(s.id)
		for _, o := range b.m.served {
			if o != s && o.books == b && o.id == s.id && o.end.open {
				b.m.w.broken("%s serves two instances of framework %s", b.m.name, s.id)
			}
		}
	case *wire.AgentRegistered:
		b.touched, s.books = true, b
		b.heard[s.agentID] = s.heard
	case *wire.OffersMessage:
		b.touched = true
		for i := range msg.Offers {
			b.issued(s, &msg.Offers[i])
		}
	case *wire.Rescind:
		b.touched = true
		for _, id := range msg.OfferIDs {
			b.end(s, id)
		}
	}
}

func (b *books) issued(s *served, o *wire.Offer) {
	j := b.m.w.judge
	if j.offers[o.ID] {
		b.m.w.broken("%s issues the offer %s a second time", b.m.name, o.ID)
	}
	j.offers[o.ID] = true
	b.offered[o.ID] = sold{s.id, o.Expires}
}

// ended follows the end of a connection.
func (b *books) ended(s *served) {
	b.touched = true
	if s.books != b {
		return // of a leadership before, or never registered
	}
	if s.agentID != "" {
		b.heard[s.agentID], b.left[s.agentID] = s.heard, b.m.clock
	}
	for _, o := range b.m.served {
		if o.books == b && o.id == s.id && s.id != "" {
			return // a later connection of the framework is there
		}
	}
	b.forget(s.id)
}

func (b *books) forget(id offers.FrameworkID) {
	for o, to := range b.offered {
		if to.framework == id {
			delete(b.offered, o)
		}
	}
}

// turned looks at the end of a turn.
func (b *books) turned(steps []lead.Step) {
	for i := range steps {
		c := &steps[i].Command
		switch {
		case c.Launch != nil:
			ref := c.Launch.Task.Ref()
			if b.may[ref]--; b.may[ref] < 0 {
				b.m.w.broken("%s launches %s, and no accept of an open offer names it", b.m.name, ref)
			}
		case c.SetAgentState != nil && c.SetAgentState.State == offers.AgentUnreachable:
			if b.m.w.raft.state.Agent(c.SetAgentState.ID).Registrations == c.SetAgentState.Of {
				b.unreachable(c.SetAgentState.ID)
			}
		}
	}
	clear(b.may)
	if b.touched && b.m.core.Changed() {
		b.touched = false
		b.check(b.m.flying == 0 && len(steps) == 0 && b.m.w.raft.term == b.m.term)
	}
}

// committed follows what is committed: of what is acknowledged nothing is sent
// again, and an agent that registered was heard, though it may be away again.
func (b *books) committed(steps []lead.Step, results []state.Result) {
	writes := 0
	for i := range steps {
		if c := &steps[i].Command; (c.Put != nil || c.Delete != nil) && results[i].Err == nil {
			writes++
		}
		if a := steps[i].Command.Acknowledge; a != nil {
			for _, s := range b.m.served {
				s.mail.acknowledged(letter{a.Ref, a.UpdateID}, b.m.clock)
			}
		}
		if steps[i].Command.RegisterAgent != nil && results[i].Err == nil {
			b.heard[results[i].Value.(*state.Agent).ID] = b.m.clock
		}
	}
	if b.m.w.raft.term == b.m.term {
		b.m.w.judge.heard(writes)
	}
}

// unreachable checks that an agent was given up no sooner than promised.
func (b *books) unreachable(id offers.AgentID) {
	b.removed++
	o, elapsed := &b.m.w.options, b.m.clock.Sub(b.began)
	if most := removalBurst + int(elapsed/removalEvery); b.removed > most {
		b.m.w.broken("%s gives up %d agents within %s, at most %d", b.m.name, b.removed, elapsed, most)
	}
	since := b.began
	if at, ok := b.heard[id]; ok {
		since = at
	}
	if silent := b.m.clock.Sub(since); silent < o.agentTimeout {
		b.m.w.broken("%s gives up agent %s after a silence of %s, the agent timeout is %s", b.m.name, id, silent, o.agentTimeout)
	}
	for _, s := range b.m.served {
		if s.books == b && s.agentID == id && !s.over && s.end.open {
			b.m.w.broken("%s gives up agent %s, which is connected", b.m.name, id)
		}
	}
}

// check looks at what the leader counts: tasks and offers fit into each agent,
// every offer was sent to a framework that is there, and used is what lives.
// All launches are decided where nothing is under way, and no later leader has
// changed what is committed.
func (b *books) check(decided bool) {
	w, m := b.m.w, b.m
	o := m.core.Observe()
	for _, v := range o.Match.Agents {
		a := o.State.Agent(v.ID)
		if a == nil {
			continue
		}
		room := offers.NewRoom(a.Total)
		for _, h := range []offers.Holding{v.Used, v.Offered} {
			if err := room.Take(h); err != nil {
				w.broken("%s counts more on agent %s than it has: %v (used %+v, offered %+v)", m.name, v.ID, err, v.Used, v.Offered)
			}
		}
		if free := room.Free(); free != v.Free.Amounts {
			w.broken("%s counts %v free on agent %s, its tasks and offers leave %v", m.name, v.Free.Amounts, v.ID, free)
		}
		if used := living(o.State, v.ID); decided && used != v.Used.Amounts {
			w.broken("%s counts %v used on agent %s, its living tasks hold %v", m.name, v.Used.Amounts, v.ID, used)
		}
	}
	for i := range o.Match.Offers {
		if one := &o.Match.Offers[i]; !o.Connected[one.Framework] || b.offered[one.ID].framework != one.Framework {
			w.broken("%s keeps room for offer %s of %s, which is not there or has no such offer", m.name, one.ID, one.Framework)
		}
	}
}

func living(s *state.State, id offers.AgentID) (sum offers.Amounts) {
	for t := range s.LiveTasksOn(id) {
		sum = sum.Plus(t.Holding.Amounts)
	}
	return sum
}

// audit looks every second at what should have happened by now. Only what is
// late twice in a row counts: what was due while this master was paused is done
// in the turn between.
func (b *books) audit() {
	w, m := b.m.w, b.m
	for _, s := range m.served {
		if s.books != b || s.id == "" || s.over || !s.end.open {
			continue
		}
		if l, late := s.mail.overdue(m.clock, m.leaps, time.Second); late {
			w.broken("%s does not resend %s of %s to its framework", m.name, l.id, l.ref)
		}
	}
	if w.raft.leader != m || w.raft.term != m.term || !w.raft.leads() || m.flying > 0 || m.leaps != b.leaps {
		clear(b.absent)
		if m.leaps != b.leaps {
			b.leaps, b.leapt = m.leaps, m.clock
		}
		return
	}
	for a := range w.raft.state.Agents() {
		if a.State == offers.AgentGone || a.State == offers.AgentUnreachable || !b.away(a.ID) {
			delete(b.absent, a.ID)
			continue
		}
		if b.absent[a.ID] {
			w.broken("agent %s is away for long and not unreachable for %s", a.ID, m.name)
		}
		b.absent[a.ID] = true
	}
}

// serves reports whether the leader has a connection of an agent.
func (b *books) serves(id offers.AgentID) bool {
	return slices.ContainsFunc(b.m.served, func(s *served) bool { return s.books == b && s.agentID == id && !s.over })
}

// away reports whether an agent is without a connection for longer than its
// loss may take to be committed.
func (b *books) away(id offers.AgentID) bool {
	if b.serves(id) {
		return false
	}
	since := b.began
	if at, ok := b.heard[id]; ok {
		since = at
	}
	turn := removalEvery*time.Duration(len(b.m.w.agents)+1) + 5*time.Second // all may be due at once
	return b.m.clock.Sub(since) > b.m.w.options.agentTimeout+turn && b.m.clock.Sub(b.left[id]) > turn && b.m.clock.Sub(b.leapt) > turn
}
