package offers

// list is the outstanding offers of one agent or framework, eldest first. The
// links are in the offers, so that neither a new one nor one that ends costs
// memory.
type list struct{ eldest, youngest *Offer }

// link is the place of an offer in a list.
type link struct{ elder, younger *Offer }

// Along which of its links an offer is followed.
func alongAgent(o *Offer) *link     { return &o.ofAgent }
func alongFramework(o *Offer) *link { return &o.ofFramework }

// enter puts the youngest offer at the end of its list.
func enter[K comparable](lists map[K]list, key K, o *Offer, along func(*Offer) *link) {
	l := lists[key]
	*along(o) = link{elder: l.youngest}
	if l.youngest == nil {
		l.eldest = o
	} else {
		along(l.youngest).younger = o
	}
	l.youngest = o
	lists[key] = l
}

// leave takes an offer out of its list; an empty list is forgotten.
func leave[K comparable](lists map[K]list, key K, o *Offer, along func(*Offer) *link) {
	at := *along(o)
	*along(o) = link{}
	if at.elder != nil && at.younger != nil {
		along(at.elder).younger, along(at.younger).elder = at.younger, at.elder
		return
	}
	l := lists[key]
	switch {
	case at.elder != nil:
		along(at.elder).younger, l.youngest = nil, at.elder
	case at.younger != nil:
		along(at.younger).elder, l.eldest = nil, at.younger
	default:
		delete(lists, key)
		return
	}
	lists[key] = l
}

func (l list) all(along func(*Offer) *link) []*Offer {
	var out []*Offer
	for o := l.eldest; o != nil; o = along(o).younger {
		out = append(out, o)
	}
	return out
}
