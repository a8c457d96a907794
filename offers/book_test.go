package offers_test

import (
	"errors"
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
