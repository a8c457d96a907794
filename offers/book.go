package offers

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/heap"
)

// Book is the life of the outstanding offers of one leader in one term. It
// lives only while leading. Not safe for concurrent use.
//
// Invariant: an offer is in byID, in its agent's list, in its framework's list
// and in the heap, or in none of them. Both lists are in order of issue.
type Book struct {
	suffix      string // of offers' ids
	issued      uint64
	byID        map[OfferID]*Offer
	byAgent     map[AgentID]*list
	byFramework map[FrameworkID]*list
	expiring    heap.Heap[*Offer]
}

// NewBook returns an empty book. Ids of its offers end in the term, so that
// an offer of an older term is unknown in every later one.
func NewBook(term uint64) *Book { return NewBookAgain(term, 0) }

// NewBookAgain returns a book for a leader that had so many in this term
// before. Its offers have other ids than theirs.
func NewBookAgain(term, before uint64) *Book {
	suffix := fmt.Sprintf("-%d", term)
	if before > 0 {
		suffix += fmt.Sprintf(".%d", before)
	}
	return &Book{
		suffix:      suffix,
		byID:        map[OfferID]*Offer{},
		byAgent:     map[AgentID]*list{},
		byFramework: map[FrameworkID]*list{},
		expiring:    heap.New(expiresBefore, func(o *Offer) *int { return &o.heaped }),
	}
}

// Issue enters o, gives it its id and returns it. The book owns o from here.
func (b *Book) Issue(o *Offer) *Offer {
	b.issued++
	o.issued = b.issued
	var id [40]byte
	o.ID = OfferID(append(strconv.AppendUint(append(id[:0], 'o'), b.issued, 10), b.suffix...))
	b.byID[o.ID] = o
	enter(b.byAgent, o.Agent, o, alongAgent)
	enter(b.byFramework, o.Framework, o, alongFramework)
	b.expiring.Push(o)
	return o
}

// Get returns an outstanding offer.
func (b *Book) Get(id OfferID) (*Offer, bool) {
	o, ok := b.byID[id]
	return o, ok
}

// Len returns how many offers are outstanding.
func (b *Book) Len() int { return len(b.byID) }

// Issued returns how many offers the book ever issued.
func (b *Book) Issued() uint64 { return b.issued }

// Consume ends the offers of framework named by ids and returns those that
// were outstanding, each once. The error is OfferGone when one of them is
// unknown (never issued, used, rescinded, expired, another framework's) and
// MixedAgents when they are not all of one agent; what is returned beside an
// error has ended too, since its framework has given it up.
func (b *Book) Consume(framework FrameworkID, ids []OfferID) (ended []*Offer, err error) {
	if len(ids) == 0 {
		return nil, Errorf(BadMessage, "offer_ids is empty")
	}
	for _, id := range ids {
		o, ok := b.byID[id]
		if !ok || o.Framework != framework {
			if !slices.ContainsFunc(ended, func(e *Offer) bool { return e.ID == id }) && err == nil {
				err = Errorf(OfferGone, "offer %s is not outstanding: it was used, rescinded or has expired", clip(string(id)))
			}
			continue
		}
		if len(ended) > 0 && ended[0].Agent != o.Agent && err == nil {
			err = Errorf(MixedAgents, "offers %s and %s are of different agents", ended[0].ID, o.ID)
		}
		b.End(o)
		ended = append(ended, o)
	}
	return ended, err
}

// End removes one outstanding offer.
func (b *Book) End(o *Offer) {
	delete(b.byID, o.ID)
	leave(o, alongAgent)
	leave(o, alongFramework)
	b.expiring.Remove(o)
}

// OfAgent returns the agent's outstanding offers, eldest first.
func (b *Book) OfAgent(id AgentID) []*Offer { return b.byAgent[id].all(alongAgent) }

// Offered reports whether an offer of the agent is outstanding.
func (b *Book) Offered(id AgentID) bool {
	l := b.byAgent[id]
	return l != nil && l.eldest != nil
}

// OfFramework returns the framework's outstanding offers, eldest first.
func (b *Book) OfFramework(id FrameworkID) []*Offer {
	return b.byFramework[id].all(alongFramework)
}

// EachOfFramework goes through the framework's outstanding offers, eldest first.
// None may be issued or end meanwhile.
func (b *Book) EachOfFramework(id FrameworkID) iter.Seq[*Offer] {
	l := b.byFramework[id]
	if l == nil {
		l = &list{}
	}
	return l.each(alongFramework)
}

// ForgetAgent drops what is kept for the offers of an agent, which must have none
// and may have some again.
func (b *Book) ForgetAgent(id AgentID) { delete(b.byAgent, id) }

// ForgetFramework is [Book.ForgetAgent] for a framework.
func (b *Book) ForgetFramework(id FrameworkID) { delete(b.byFramework, id) }

// All returns every outstanding offer, eldest first.
func (b *Book) All() []*Offer {
	return slices.SortedFunc(maps.Values(b.byID), func(a, b *Offer) int { return cmp.Compare(a.issued, b.issued) })
}

// NextExpiry returns when the next offer expires, and whether there is one.
func (b *Book) NextExpiry() (time.Time, bool) {
	if b.expiring.Len() == 0 {
		return time.Time{}, false
	}
	return b.expiring.First().Expires, true
}

// Expired ends and returns every offer whose time has come, in order.
func (b *Book) Expired(now time.Time) []*Offer {
	var ended []*Offer
	for b.expiring.Len() > 0 && !b.expiring.First().Expires.After(now) {
		o := b.expiring.First()
		b.End(o)
		ended = append(ended, o)
	}
	return ended
}

// expiresBefore orders offers by expiry, then by issue.
func expiresBefore(a, b *Offer) bool {
	if a.Expires.Equal(b.Expires) {
		return a.issued < b.issued
	}
	return a.Expires.Before(b.Expires)
}
