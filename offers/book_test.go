package offers_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func issue(b *offers.Book, framework offers.FrameworkID, agent offers.AgentID, seconds int) *offers.Offer {
	return b.Issue(&offers.Offer{Framework: framework, Agent: agent, Expires: epoch.Add(time.Duration(seconds) * time.Second)})
}

func ids(list []*offers.Offer) (out []offers.OfferID) {
	for _, o := range list {
		out = append(out, o.ID)
	}
	return out
}

func TestConsume(t *testing.T) {
	for _, row := range []struct {
		name  string
		ids   func(own, second, elsewhere, foreign, used, expired *offers.Offer) []offers.OfferID
		ended int
		code  offers.Code // "" for none
	}{
		{"one", func(own, _, _, _, _, _ *offers.Offer) []offers.OfferID { return []offers.OfferID{own.ID} }, 1, ""},
		{"two of an agent", func(own, second, _, _, _, _ *offers.Offer) []offers.OfferID {
			return []offers.OfferID{second.ID, own.ID}
		}, 2, ""},
		{"named twice", func(own, _, _, _, _, _ *offers.Offer) []offers.OfferID { return []offers.OfferID{own.ID, own.ID} }, 1, ""},
		{"none", func(_, _, _, _, _, _ *offers.Offer) []offers.OfferID { return nil }, 0, offers.BadMessage},
		{"two agents", func(own, _, elsewhere, _, _, _ *offers.Offer) []offers.OfferID {
			return []offers.OfferID{own.ID, elsewhere.ID}
		}, 2, offers.MixedAgents},
		{"unknown", func(own, _, _, _, _, _ *offers.Offer) []offers.OfferID { return []offers.OfferID{own.ID, "o99-7"} }, 1, offers.OfferGone},
		{"foreign", func(own, _, _, foreign, _, _ *offers.Offer) []offers.OfferID {
			return []offers.OfferID{foreign.ID, own.ID}
		}, 1, offers.OfferGone},
		{"used", func(_, _, _, _, used, _ *offers.Offer) []offers.OfferID { return []offers.OfferID{used.ID} }, 0, offers.OfferGone},
		{"expired", func(_, _, _, _, _, expired *offers.Offer) []offers.OfferID { return []offers.OfferID{expired.ID} }, 0, offers.OfferGone},
		{"older term", func(own, _, _, _, _, _ *offers.Offer) []offers.OfferID {
			return []offers.OfferID{issue(offers.NewBook(6), "f", "a", 9).ID, own.ID}
		}, 1, offers.OfferGone},
		{"gone and mixed", func(own, _, elsewhere, _, used, _ *offers.Offer) []offers.OfferID {
			return []offers.OfferID{used.ID, own.ID, elsewhere.ID}
		}, 2, offers.OfferGone},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := offers.NewBook(7)
			own, second, elsewhere, foreign := issue(b, "f", "a", 9), issue(b, "f", "a", 9), issue(b, "f", "b", 9), issue(b, "g", "a", 9)
			used, expired := issue(b, "f", "a", 9), issue(b, "f", "a", 1)
			if _, err := b.Consume("f", []offers.OfferID{used.ID}); err != nil {
				t.Fatal(err)
			}
			if got := b.Expired(epoch.Add(time.Second)); len(got) != 1 || got[0] != expired {
				t.Fatalf("expired: %v", ids(got))
			}
			ended, err := b.Consume("f", row.ids(own, second, elsewhere, foreign, used, expired))
			if row.code == "" && err != nil || row.code != "" && !errors.Is(err, &offers.Error{Code: row.code}) {
				t.Errorf("got the error %v, want the code %q", err, row.code)
			}
			if len(ended) != row.ended || b.Len() != 4-row.ended {
				t.Errorf("%d ended and %d are left, want %d ended", len(ended), b.Len(), row.ended)
			}
			if _, ok := b.Get(foreign.ID); !ok {
				t.Error("another framework's offer ended")
			}
		})
	}
}

func TestExpiryOrder(t *testing.T) {
	b := offers.NewBook(1)
	var want []offers.OfferID
	for _, seconds := range []int{5, 1, 3, 1, 4} {
		issue(b, "f", "a", seconds)
	}
	want = []offers.OfferID{"o2-1", "o4-1", "o3-1"} // same moment: by issue
	if got := ids(b.Expired(epoch.Add(3 * time.Second))); !slices.Equal(got, want) {
		t.Errorf("expired %v, want %v", got, want)
	}
	if next, ok := b.NextExpiry(); !ok || !next.Equal(epoch.Add(4*time.Second)) {
		t.Errorf("next at %v, %v", next, ok)
	}
	if got := b.Expired(epoch.Add(3 * time.Second)); got != nil {
		t.Errorf("expired again: %v", ids(got))
	}
	b.Expired(epoch.Add(time.Hour))
	if _, ok := b.NextExpiry(); ok || b.Len() != 0 || b.Issued() != 5 {
		t.Errorf("%d are left, %d issued", b.Len(), b.Issued())
	}
}

// bookModel is a list in order of issue.
type bookModel struct{ list []*offers.Offer }

func (m *bookModel) where(keep func(*offers.Offer) bool) (out []offers.OfferID) {
	for _, o := range m.list {
		if keep(o) {
			out = append(out, o.ID)
		}
	}
	return out
}

func (m *bookModel) drop(gone []*offers.Offer) {
	m.list = slices.DeleteFunc(m.list, func(o *offers.Offer) bool { return slices.Contains(gone, o) })
}

func (m *bookModel) check(t testing.TB, b *offers.Book) {
	t.Helper()
	if got, want := ids(b.All()), m.where(func(*offers.Offer) bool { return true }); !slices.Equal(got, want) || b.Len() != len(want) {
		t.Fatalf("outstanding are %v, the model says %v", got, want)
	}
	for i := range 4 {
		agent, framework := offers.AgentID(fmt.Sprint("a", i)), offers.FrameworkID(fmt.Sprint("f", i))
		if got, want := ids(b.OfAgent(agent)), m.where(func(o *offers.Offer) bool { return o.Agent == agent }); !slices.Equal(got, want) {
			t.Fatalf("of %s are %v, the model says %v", agent, got, want)
		}
		if got, want := ids(b.OfFramework(framework)), m.where(func(o *offers.Offer) bool { return o.Framework == framework }); !slices.Equal(got, want) {
			t.Fatalf("of %s are %v, the model says %v", framework, got, want)
		}
	}
	next, ok := b.NextExpiry()
	if ok != (len(m.list) > 0) {
		t.Fatalf("something to expire: %v, the model has %d", ok, len(m.list))
	}
	for _, o := range m.list {
		if o.Expires.Before(next) {
			t.Fatalf("the next expiry is %v, but %s expires at %v", next, o.ID, o.Expires)
		}
		if got, found := b.Get(o.ID); !found || got != o {
			t.Fatalf("%s is not found", o.ID)
		}
	}
}

func TestBookAgainstModel(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		b, m, seen := offers.NewBook(seed), &bookModel{}, map[offers.OfferID]bool{}
		now := 0
		for range 80 {
			switch r.IntN(6) {
			case 0, 1, 2:
				o := issue(b, offers.FrameworkID(fmt.Sprint("f", r.IntN(4))), offers.AgentID(fmt.Sprint("a", r.IntN(4))), now+r.IntN(20))
				if seen[o.ID] {
					t.Fatalf("seed %d: the id %s was given twice", seed, o.ID)
				}
				seen[o.ID] = true
				m.list = append(m.list, o)
			case 3:
				now += r.IntN(5)
				limit := epoch.Add(time.Duration(now) * time.Second)
				want := slices.DeleteFunc(slices.Clone(m.list), func(o *offers.Offer) bool { return o.Expires.After(limit) })
				slices.SortStableFunc(want, func(x, y *offers.Offer) int { return x.Expires.Compare(y.Expires) })
				got := b.Expired(limit)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d: expired %v, the model says %v", seed, ids(got), ids(want))
				}
				m.drop(got)
			case 4:
				if len(m.list) > 0 {
					o := m.list[r.IntN(len(m.list))]
					b.End(o)
					m.drop([]*offers.Offer{o})
				}
			case 5:
				consumeRandom(t, r, b, m)
			}
			m.check(t, b)
		}
	}
}

func consumeRandom(t testing.TB, r *rand.Rand, b *offers.Book, m *bookModel) {
	framework := offers.FrameworkID(fmt.Sprint("f", r.IntN(4)))
	var named []offers.OfferID
	var want []*offers.Offer
	code, agents := offers.Code(""), map[offers.AgentID]bool{}
	for range 1 + r.IntN(3) {
		id := offers.OfferID("o0-0")
		if len(m.list) > 0 && r.IntN(8) > 0 {
			id = m.list[r.IntN(len(m.list))].ID
		}
		named = append(named, id)
		o, ok := b.Get(id)
		switch {
		case ok && o.Framework == framework && !slices.Contains(want, o):
			want = append(want, o)
			agents[o.Agent] = true
			if len(agents) > 1 && code == "" {
				code = offers.MixedAgents
			}
		case (!ok || o.Framework != framework) && code == "":
			code = offers.OfferGone
		}
	}
	got, err := b.Consume(framework, named)
	if (err == nil) != (code == "") || code != "" && !errors.Is(err, &offers.Error{Code: code}) || !slices.Equal(got, want) {
		t.Fatalf("%s consumes %v: %v, %v; want %v and the code %q", framework, named, ids(got), err, ids(want), code)
	}
	m.drop(got)
}
