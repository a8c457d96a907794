package offers

import (
	"iter"
	"slices"
)

// list is the outstanding offers of one agent or framework, eldest first. The
// links are in the offers, so that neither a new one nor one that ends costs
// memory.
type list struct{ eldest, youngest *Offer }

// link is the place of an offer in a list, or nowhere.
type link struct {
	in             *list
	elder, younger *Offer
}

// Along which of its links an offer is followed.
func alongAgent(o *Offer) *link     { return &o.ofAgent }
func alongFramework(o *Offer) *link { return &o.ofFramework }

// enter puts the youngest offer at the end of its list. The list stays when it is
// empty again, since the next offer will soon be made.
func enter[K comparable](lists map[K]*list, key K, o *Offer, along func(*Offer) *link) {
	l := lists[key]
	if l == nil {
		l = &list{}
		lists[key] = l
	}
	*along(o) = link{in: l, elder: l.youngest}
	if l.youngest == nil {
		l.eldest = o
	} else {
		along(l.youngest).younger = o
	}
	l.youngest = o
}

// leave takes an offer out of its list.
func leave(o *Offer, along func(*Offer) *link) {
	at := *along(o)
	*along(o) = link{}
	if at.elder == nil {
		at.in.eldest = at.younger
	} else {
		along(at.elder).younger = at.younger
	}
	if at.younger == nil {
		at.in.youngest = at.elder
	} else {
		along(at.younger).elder = at.elder
	}
}

// all returns the offers of a list; none where there is no list.
func (l *list) all(along func(*Offer) *link) []*Offer {
	if l == nil {
		return nil
	}
	return slices.Collect(l.each(along))
}

// each goes through the offers of a list, which must not change meanwhile.
func (l *list) each(along func(*Offer) *link) iter.Seq[*Offer] {
	return func(yield func(*Offer) bool) {
		for o := l.eldest; o != nil && yield(o); o = along(o).younger {
		}
	}
}
