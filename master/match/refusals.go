package match

import (
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// refusal hides room of one agent, up to an amount, from one framework.
type refusal struct {
	amounts []int64 // fair kinds
	until   time.Time
}

// refusalEnd is when the refusals of a framework on an agent are looked at
// again.
type refusalEnd struct {
	until     time.Time
	framework offers.FrameworkID
	agent     offers.AgentID
}

// maxRefusals bounds what one framework refuses of one agent at a time; past
// it the one that ends first is forgotten.
const maxRefusals = 8

// refuse hides up to h on an agent from f for so long.
func (m *Matcher) refuse(f *framework, id offers.AgentID, h *offers.Holding, now time.Time, span time.Duration) {
	if span <= 0 || h.Zero() {
		return
	}
	r := refusal{amounts: make([]int64, m.kinds.fair()), until: now.Add(span)}
	m.kinds.amounts(h, r.amounts)
	kept := f.refused[id][:0]
	for _, old := range f.refused[id] {
		if old.until.After(r.until) || more(old.amounts, r.amounts) {
			kept = append(kept, old)
		}
	}
	kept = append(kept, r)
	if len(kept) > maxRefusals {
		first := 0
		for i := range kept {
			if kept[i].until.Before(kept[first].until) {
				first = i
			}
		}
		kept = append(kept[:first], kept[first+1:]...)
	}
	f.refused[id] = kept
	m.refusals.push(refusalEnd{r.until, f.id, id})
	m.pass(f, m.agents[id], r.amounts)
}

// hidden reports whether f refused so much of the agent.
func (f *framework) hidden(id offers.AgentID, amounts []int64) bool {
	for _, r := range f.refused[id] {
		if len(r.amounts) == len(amounts) && !more(amounts, r.amounts) {
			return true
		}
	}
	return false
}

// endRefusals forgets the refusals whose time has come and wakes their frameworks.
func (m *Matcher) endRefusals(now time.Time) {
	for len(m.refusals) > 0 && !m.refusals[0].until.After(now) {
		end := m.refusals.pop()
		f := m.frameworks[end.framework]
		if f == nil || f.refused[end.agent] == nil {
			continue
		}
		kept := f.refused[end.agent][:0]
		for _, r := range f.refused[end.agent] {
			if r.until.After(now) {
				kept = append(kept, r)
			}
		}
		if len(kept) == len(f.refused[end.agent]) {
			continue
		}
		f.refused[end.agent] = kept
		if a := m.agents[end.agent]; a != nil && a.slot >= 0 {
			f.passes.Drop(a.slot)
		}
		if len(kept) == 0 {
			delete(f.refused, end.agent)
		}
		m.wakeFramework(f)
	}
}

// pass marks an agent as one that f need not look at: it refused all that is
// free there, of which no offer is out, so that it can only become more by what
// calls regard, or by the end of the refusal.
func (m *Matcher) pass(f *framework, a *agent, refused []int64) {
	if a == nil || a.slot < 0 || f.passes.Has(a.slot) || more(a.fair, refused) || m.book.Offered(a.id) {
		return
	}
	f.passes = f.passes.With(a.slot)
	if a.passers = append(a.passers, f); len(a.passers) > 2*len(m.frameworks) {
		a.forgetPassers()
	}
}

// regard has everybody look at an agent again: its tasks hold less than they did,
// or it is another.
func (a *agent) regard() {
	for _, f := range a.passers {
		f.passes.Drop(a.slot)
	}
	a.passers = a.passers[:0]
}

// forgetPassers drops those of the passers that no longer are, or stand there
// twice: a framework that revives leaves itself behind.
func (a *agent) forgetPassers() {
	a.passers = slices.DeleteFunc(a.passers, func(f *framework) bool {
		passes := f.passes.Has(a.slot)
		f.passes.Drop(a.slot)
		return !passes
	})
	for _, f := range a.passers {
		f.passes = f.passes.With(a.slot)
	}
}

// passes reports whether the search may leave out the agents that the demand's
// framework passes, without a look at what else speaks against them.
func (s *search) passes() bool {
	return s.trail == nil && !s.d.counted() && len(s.d.spec.Constraints) == 0
}
