package match

import (
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/heap"
)

// refusal hides room of one agent, up to an amount, from one framework.
type refusal struct {
	framework *framework
	agent     *agent
	amounts   []int64 // fair kinds; to be read only
	until     time.Time
	elder     *refusal // of the same framework on the same agent
	at        int      // in Matcher.refusals
}

// newRefusals returns an empty heap of refusals, which ends first in front.
func newRefusals() heap.Heap[*refusal] {
	return heap.New(func(a, b *refusal) bool { return a.until.Before(b.until) }, func(r *refusal) *int { return &r.at })
}

// maxRefusals bounds what one framework refuses of one agent at a time; past
// it the one that ends first is forgotten.
const maxRefusals = 8

// refuse hides up to h on an agent from f for so long.
func (m *Matcher) refuse(f *framework, a *agent, h *offers.Holding, now time.Time, span time.Duration) {
	if span <= 0 || h.Zero() {
		return
	}
	m.kinds.amounts(h, m.fairTmp)
	if !slices.Equal(a.refused, m.fairTmp) { // what many refuse is mostly the same
		a.refused = slices.Clone(m.fairTmp)
	}
	r := &refusal{framework: f, agent: a, amounts: a.refused, until: now.Add(span)}
	if f.refusing.Has(a.number) {
		if !m.supersede(r) {
			return
		}
		r.elder = f.refused[a]
	}
	f.refused[a], f.refusing = r, f.refusing.With(a.number)
	m.refusals.Push(r)
	m.pass(f, a, r.amounts)
}

// supersede forgets those elders of a new refusal that hide no more and no longer,
// and where there are too many still the one that ends first; false where that is
// the new one.
func (m *Matcher) supersede(by *refusal) bool {
	kept, first := 0, by
	for r := by.framework.refused[by.agent]; r != nil; r = r.elder {
		if !r.until.After(by.until) && !more(r.amounts, by.amounts) {
			m.forgetRefusal(r)
			continue
		}
		if kept++; !r.until.After(first.until) {
			first = r
		}
	}
	if kept < maxRefusals {
		return true
	}
	if first != by {
		m.forgetRefusal(first)
	}
	return first != by
}

// hidden reports whether f refused so much of the agent.
func (f *framework) hidden(a *agent, amounts []int64) bool {
	if !f.refusing.Has(a.number) {
		return false
	}
	for r := f.refused[a]; r != nil; r = r.elder {
		if len(r.amounts) == len(amounts) && !more(amounts, r.amounts) {
			return true
		}
	}
	return false
}

// endRefusals forgets the refusals whose time has come and wakes their frameworks.
func (m *Matcher) endRefusals(now time.Time) {
	for m.refusals.Len() > 0 && !m.refusals.First().until.After(now) {
		r := m.refusals.Pop()
		r.framework.forget(r)
		m.wakeFramework(r.framework)
	}
}

func (m *Matcher) forgetRefusal(r *refusal) {
	r.framework.forget(r)
	m.refusals.Remove(r)
}

// forgetRefusals forgets what anybody refused of an agent.
func (m *Matcher) forgetRefusals(a *agent) {
	for _, f := range m.frameworks {
		for r := f.refused[a]; r != nil; r = r.elder {
			m.forgetRefusal(r)
		}
	}
}

// forgetAllRefused forgets what a framework refused of anybody.
func (m *Matcher) forgetAllRefused(f *framework) {
	for _, r := range f.refused {
		for ; r != nil; r = r.elder {
			m.refusals.Remove(r)
		}
	}
	clear(f.refused)
	clear(f.refusing)
	clear(f.passes)
}

// forget takes a refusal from those of f.
func (f *framework) forget(r *refusal) {
	latest := f.refused[r.agent]
	for at := &latest; *at != nil; at = &(*at).elder {
		if *at != r {
			continue
		}
		if *at = r.elder; latest == nil {
			delete(f.refused, r.agent)
			f.refusing.Drop(r.agent.number)
		} else {
			f.refused[r.agent] = latest
		}
		if r.agent.slot >= 0 {
			f.passes.Drop(r.agent.slot)
		}
		return
	}
}

// pass marks an agent as one that f need not look at: it refused all that is
// free there, of which no offer is out, so that it can only become more by what
// calls regard, or by the end of the refusal.
func (m *Matcher) pass(f *framework, a *agent, refused []int64) {
	if a.slot < 0 || f.passes.Has(a.slot) || more(a.fair, refused) || m.book.Offered(a.id) {
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

// numbers are small and given to one at a time.
type numbers struct {
	next  int // none so great was taken yet
	spare []int
}

func (n *numbers) take() int {
	if last := len(n.spare) - 1; last >= 0 {
		taken := n.spare[last]
		n.spare = n.spare[:last]
		return taken
	}
	n.next++
	return n.next - 1
}

func (n *numbers) give(back int) { n.spare = append(n.spare, back) }
