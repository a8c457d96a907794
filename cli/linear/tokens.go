package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringmaster-project/ringmaster/offers"
)

// expirySlack is how long after its time a leader may take to end an offer.
const expirySlack = 5 * time.Second

// tokenModel is the life of one offer that came on one connection. It is
// there or it is gone; what takes it away without an answer (a rescind, a
// later term, another connection of the framework, its time) may do so
// whenever it likes until it was seen to have done it.
func tokenModel(made *Op) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return true },
		Step: func(state, input, _ any) (bool, any) {
			o := input.(*Op)
			if o.Kind != Accept {
				return true, false
			}
			return state.(bool) && o.Conn == made.Conn && o.Outcome != Refused, false
		},
		DescribeOperation: describe,
		DescribeState: func(state any) string {
			if state.(bool) {
				return "outstanding"
			}
			return "gone"
		},
	}
}

// tokensOf cuts the history into one part for each offer that somebody tried
// to accept. Launched says which tasks became durable in the end: it tells
// whether an accept without answer was carried out, and shows one that was
// refused and carried out all the same.
func tokensOf(ops []*Op, c Config) []part {
	made, rescinded, tried := map[offers.OfferID]*Op{}, map[offers.OfferID]*Op{}, map[offers.OfferID][]*Op{}
	var order []offers.OfferID
	for _, o := range ops {
		switch o.Kind {
		case Offered:
			made[o.Offers[0]] = o
		case Rescinded:
			rescinded[o.Offers[0]] = o
		case Accept:
			for _, id := range slices.Compact(slices.Sorted(slices.Values(o.Offers))) {
				if tried[id] == nil {
					order = append(order, id)
				}
				tried[id] = append(tried[id], o)
			}
		}
	}
	terms, links := ends(ops)
	var out []part
	for _, id := range order {
		offer := made[id]
		if offer == nil {
			offer = &Op{Kind: Offered} // nobody was shown it: whoever consumes it is wrong
		}
		p := part{"tokens", string(id), tokenModel(offer), nil}
		for _, o := range tried[id] {
			if o.Outcome == Done || slices.ContainsFunc(o.Tasks, func(t offers.TaskID) bool {
				return c.Launched(offers.TaskRef{Framework: o.Framework, Task: t})
			}) {
				p.ops = append(p.ops, o)
			}
		}
		if len(p.ops) == 0 {
			continue
		}
		gone := func(kind Kind, at int64) {
			p.ops = append(p.ops, &Op{Who: "the masters", Kind: kind, Offers: []offers.OfferID{id}, Outcome: Done, Call: offer.Call, Return: max(at, offer.Call)})
		}
		if r := rescinded[id]; r != nil {
			gone(Rescinded, r.Return)
		}
		if at, ok := terms.after(offer.Term); ok {
			gone(termOver, at)
		}
		if at, ok := links.after(offer); ok {
			gone(linkOver, at)
		}
		if offer.Expires > 0 {
			gone(expired, offer.Expires+int64(expirySlack+c.Skew))
		}
		out = append(out, p)
	}
	return out
}

// terms is when somebody was first registered in each term.
type terms map[uint64]int64

// after returns when a term after old was first seen.
func (t terms) after(old uint64) (first int64, ok bool) {
	for term, at := range t {
		if term > old && (!ok || at < first) {
			first, ok = at, true
		}
	}
	return first, ok
}

// links are the registrations of each framework.
type links map[offers.FrameworkID][]*Op

// after returns when the framework was first registered on another connection
// after it had got the offer.
func (l links) after(offer *Op) (first int64, ok bool) {
	for _, o := range l[offer.Framework] {
		if o.Conn != offer.Conn && o.Call > offer.Call && (!ok || o.Return < first) {
			first, ok = o.Return, true
		}
	}
	return first, ok
}

func ends(ops []*Op) (terms, links) {
	t, l := terms{}, links{}
	for _, o := range ops {
		if o.Kind != Register || o.Outcome != Done {
			continue
		}
		if at, there := t[o.Term]; !there || o.Return < at {
			t[o.Term] = o.Return
		}
		l[o.Framework] = append(l[o.Framework], o)
	}
	return t, l
}
