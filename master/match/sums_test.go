package match

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestSumsStopAndComeBack: they are the exact ones as far as these fit.
func TestSumsStopAndComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const kinds = 3
		s, exact := newSums(kinds), [kinds]*big.Int{new(big.Int), new(big.Int), new(big.Int)}
		amount := rapid.OneOf(rapid.Int64Range(-10, 10), rapid.SampledFrom([]int64{math.MaxInt64, -math.MaxInt64, math.MinInt64, offers.MaxAmount}), rapid.Int64())
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			k, n := rapid.IntRange(0, kinds-1).Draw(t, "kind"), amount.Draw(t, "amount")
			s.add(k, n)
			exact[k].Add(exact[k], big.NewInt(n))
			for k, want := range exact {
				stopped := s.n[k]
				switch {
				case want.IsInt64() && stopped == want.Int64():
				case want.Cmp(big.NewInt(math.MaxInt64)) > 0 && stopped == math.MaxInt64:
				case want.Cmp(big.NewInt(math.MinInt64)) < 0 && stopped == math.MinInt64:
				default:
					t.Fatalf("kind %d is %d, and exactly %d", k, stopped, want)
				}
			}
		}
	})
}

// TestManyVeryLargeAgents are offered, and shared fairly: together they have more of
// a kind than an amount can say.
func TestManyVeryLargeAgents(t *testing.T) {
	const agents = 3000
	b := newBench(t, Config{})
	for i := range agents {
		b.agent(fmt.Sprintf("a%04d", i), fmt.Sprintf(`{"cpus":4,"disk":%d}`, offers.MaxAmount))
	}
	poor, rich := b.framework("poor", "poor"), b.framework("rich", "rich")
	whole := func(f offers.FrameworkID, id string, count int) {
		b.demand(f, fmt.Sprintf(`{"id":%q,"count":%d,"resources":{"cpus":1,"disk":%d}}`, id, count, offers.MaxAmount))
	}
	whole(rich, "d", agents/6)
	list := b.offered()
	if len(list) != agents/6 {
		t.Fatalf("%d agents are offered, want %d", len(list), agents/6)
	}
	whole(rich, "e", agents)
	whole(poor, "d", agents)
	got := map[offers.FrameworkID]int{}
	for n, o := range b.offered() {
		if got[o.Framework]++; got[rich] > 0 && got[poor] < agents/6-1 {
			t.Fatalf("offer %d goes to who has more", n)
		}
	}
	if all := got[poor] + got[rich]; all != agents*5/6 {
		t.Errorf("%d agents more are offered, want all %d", all, agents*5/6)
	}
	for _, o := range list {
		b.Decline(rich, []offers.OfferID{o.ID}, 0, b.now)
	}
	for i := range agents {
		b.AgentOnline(b.ids[fmt.Sprintf("a%04d", i)], false)
	}
	if err := b.check(); err != nil {
		t.Error(err)
	}
}
