package match

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// later lets time pass and ends turns as a core does, each second and when something is due.
func (b *bench) later(span time.Duration) (out []*offers.Offer, rescinds []Rescind) {
	b.Helper()
	for over, tick := b.now.Add(span), b.now.Add(time.Second); ; {
		for n := 0; ; n++ {
			b.Claim(b.now)
			r := b.Ready(b.now)
			if err := b.check(); err != nil {
				b.Fatal(err)
			}
			out, rescinds = append(out, r.Offers...), append(rescinds, r.Rescinds...)
			if next, due := b.Next(); !r.More && (!due || next.After(b.now)) {
				break
			}
			if n == 10_000 {
				b.Fatal("turns follow each other without an end")
			}
		}
		next, due := b.Next()
		if !due || next.After(tick) {
			next = tick
		}
		if next.After(over) {
			b.now = over
			return out, rescinds
		}
		if b.now = next; next.Equal(tick) {
			b.ClaimAgain()
			tick = tick.Add(time.Second)
		}
	}
}

// offeredTo returns the offers of a framework.
func offeredTo(f offers.FrameworkID, list []*offers.Offer) (out []*offers.Offer) {
	for _, o := range list {
		if o.Framework == f {
			out = append(out, o)
		}
	}
	return out
}

func hoarded(t *testing.T, agents, hoarders int) *bench {
	b := newBench(t, Config{OfferGrace: time.Second})
	for i := range agents {
		b.agent(fmt.Sprintf("a%d", i), `{"cpus":16}`)
	}
	for i := range hoarders {
		f := b.framework(fmt.Sprintf("hoarder-%d", i), "default")
		b.demand(f, `{"id":"all","resources":{"cpus":1},"count":1000000}`)
	}
	return b
}

// TestHoardedRoomIsClaimed: who wants one cpu where others hold all of them in
// offers that they don't answer has it once their grace is over, and again and again.
func TestHoardedRoomIsClaimed(t *testing.T) {
	b := hoarded(t, 10, 5)
	b.later(100 * time.Millisecond)
	probe := b.framework("probe", "default")
	for n := range 10 {
		id := fmt.Sprintf("p%d", n)
		b.demand(probe, fmt.Sprintf(`{"id":%q,"resources":{"cpus":1},"count":1}`, id))
		start, waited := b.now, time.Duration(-1)
		for waited < 0 && b.now.Sub(start) < 10*time.Second {
			if got, _ := b.later(10 * time.Millisecond); len(offeredTo(probe, got)) == 1 {
				waited = b.now.Sub(start)
				b.launch(offeredTo(probe, got)[0], map[string]string{id: `{"cpus":1}`})
			}
		}
		if most := map[bool]time.Duration{true: time.Second, false: 10 * time.Millisecond}[n == 0]; waited < 0 || waited > most {
			t.Errorf("demand %d waits for %v", n, waited)
		}
	}
}

// TestFreshOffersStay: nothing is taken back within the grace, from nobody who
// answers within it, and of who answers other offers only after ten times as long.
func TestFreshOffersStay(t *testing.T) {
	b := hoarded(t, 4, 1)
	hoarder := b.book.All()
	if len(hoarder) > 0 {
		t.Fatal(hoarder)
	}
	got, _ := b.later(0)
	f := got[0].Framework
	probe := b.framework("probe", "default")
	b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":1}`)
	if _, rescinds := b.later(999 * time.Millisecond); len(rescinds) > 0 {
		t.Errorf("within the grace %v", rescinds)
	}
	for n := 0; b.now.Before(epoch.Add(9900 * time.Millisecond)); n++ { // answers one offer each half second
		o := b.book.OfFramework(f)[3]
		id := fmt.Sprintf("t%d", n)
		b.launch(o, map[string]string{id: `{"cpus":16}`})
		b.Ended(offers.TaskRef{Framework: f, Task: offers.TaskID(id)})
		b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":0}`) // it is not to have what came up
		b.later(0)
		b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":1}`)
		if _, rescinds := b.later(500 * time.Millisecond); len(rescinds) > 0 && b.now.Before(epoch.Add(10*time.Second)) {
			t.Fatalf("%v after the first offers, of a framework that answers: %v", b.now.Sub(epoch), rescinds)
		}
	}
	if got, rescinds := b.later(time.Second); len(rescinds) != 1 || rescinds[0].Reason != "fair_share" || len(offeredTo(probe, got)) != 1 {
		t.Errorf("after ten times the grace %d offers, rescinds %v", len(got), rescinds)
	}
}

// TestFairSharesKeepTheirOffers: of who has no more than the one who waits nothing is
// taken, and two that answer nothing take from each other until they have the same, and
// then no more.
func TestFairSharesKeepTheirOffers(t *testing.T) {
	b := hoarded(t, 4, 1) // 64 cpus
	b.later(2 * time.Second)
	other := b.framework("other", "default")
	b.demand(other, `{"id":"all","resources":{"cpus":1},"count":1000000}`)
	b.later(time.Minute)
	cpus := func(f offers.FrameworkID) (sum int64) {
		for _, o := range b.book.OfFramework(f) {
			sum += o.Held.Amounts[offers.CPUs]
		}
		return sum / 1000
	}
	if n := cpus(other); n != 32 {
		t.Errorf("of 64 cpus the second has %d", n)
	}
	if _, rescinds := b.later(50 * time.Second); len(rescinds) > 0 {
		t.Errorf("then %v", rescinds)
	}
}

// TestClaimsKeepToQuotas: who may have no more is not made room for.
func TestClaimsKeepToQuotas(t *testing.T) {
	b := hoarded(t, 2, 1)
	b.RoleChanged("small", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: map[string]int64{"cpus": 1000}}})
	b.later(2 * time.Second)
	small := b.framework("small", "small")
	b.demand(small, `{"id":"d","resources":{"cpus":1},"count":3}`)
	got, _ := b.later(5 * time.Second)
	if n := len(offeredTo(small, got)); n != 1 {
		t.Errorf("with a limit of 1 cpu it is offered %d", n)
	}
	if _, rescinds := b.later(5 * time.Second); len(rescinds) > 0 {
		t.Errorf("at its limit it takes %v", rescinds)
	}
	// Another of its role may have half of it.
	next := b.framework("next", "small")
	b.demand(next, `{"id":"d","resources":{"cpus":0.5},"count":1}`)
	got, _ = b.later(5 * time.Second)
	if n := len(offeredTo(next, got)); n != 1 {
		t.Errorf("the next of the role is offered %d", n)
	}
}

// TestClaimsOfSeveral: an agent whose offers are of many is given up by as many as it
// takes.
func TestClaimsOfSeveral(t *testing.T) {
	b := newBench(t, Config{OfferGrace: time.Second})
	for i := range 8 {
		b.agentWith(fmt.Sprintf("a%d", i), `{"cpus":16,"devices":{"gpu":{"ids":["g0","g1"],"capacity":[24,24]}}}`, map[string]string{"rack": fmt.Sprintf("r%d", i%2)})
	}
	for i := range 4 {
		f := b.framework(fmt.Sprintf("hoarder-%d", i), "default")
		b.demand(f, `{"id":"all","resources":{"cpus":4},"count":8,"constraints":["distinct agent"]}`)
	}
	b.later(2 * time.Second)
	probe := b.framework("probe", "default")
	b.demand(probe, `{"id":"p","resources":{"cpus":15,"devices":{"gpu":{"count":1}}},"count":1,"constraints":["rack==r1"]}`)
	got, rescinds := b.later(100 * time.Millisecond)
	mine := offeredTo(probe, got)
	if len(mine) != 1 || !slices.Contains([]string{"a1", "a3", "a5", "a7"}, b.names[mine[0].Agent]) {
		t.Fatalf("offered %v, rescinds %v", mine, rescinds)
	}
	sum := 0
	for _, r := range rescinds {
		sum += len(r.Offers)
	}
	if sum != 4 {
		t.Errorf("%d offers were taken back, %v", sum, rescinds)
	}
}

// TestClaimsOfWithdrawnDemandsAreForgotten: what a framework states anew again and again
// while nobody has anything for it takes no more memory than its demands.
func TestClaimsOfWithdrawnDemandsAreForgotten(t *testing.T) {
	b := hoarded(t, 1, 1)
	b.later(0)
	probe := b.framework("probe", "default")
	for range 1000 {
		b.demand(probe, `{"id":"d","resources":{"cpus":1},"count":1}`)
		b.offered()
	}
	f := b.frameworks[probe]
	if n := len(f.claims) + len(f.tried); n > 2+spareClaims+1 {
		t.Errorf("one demand that was stated a thousand times claims %d times", n)
	}
	b.FrameworkOnline(probe, false)
	if n := len(f.claims) + len(f.tried); n > 0 {
		t.Errorf("a framework without a session claims %d times", n)
	}
	b.offered()
}

// TestWhatIsClaimedGoesToWhoClaimed: also where the other, that is left nothing, has had fewer
// allocations and so would be next, and wants all of it.
func TestWhatIsClaimedGoesToWhoClaimed(t *testing.T) {
	b := newBench(t, Config{OfferGrace: time.Second})
	b.agent("a0", `{"cpus":32}`)
	hoarder, probe := b.framework("hoarder", "default"), b.framework("probe", "default")
	for range 5 {
		b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":1}`)
		b.offered()
	}
	b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":0}`)
	b.demand(hoarder, `{"id":"all","resources":{"cpus":32},"count":1}`)
	b.offered()
	b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":1}`)
	got, rescinds := b.later(time.Minute)
	if len(offeredTo(probe, got)) != 1 || len(got) != 1 || len(rescinds) != 1 {
		t.Errorf("%d offers, %d of them to who claimed, and rescinds %v", len(got), len(offeredTo(probe, got)), rescinds)
	}
}

// TestSuppressedFrameworksClaimNothing: until they revive, and then at once.
func TestSuppressedFrameworksClaimNothing(t *testing.T) {
	b := hoarded(t, 4, 1)
	b.later(0)
	probe := b.framework("probe", "default")
	b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":1}`)
	b.later(0)
	b.Suppress(probe)
	if _, rescinds := b.later(20 * time.Second); len(rescinds) > 0 {
		t.Errorf("for a framework that wants no offers %v", rescinds)
	}
	b.Revive(probe)
	if got, _ := b.later(claimPause); len(offeredTo(probe, got)) != 1 {
		t.Errorf("once it revived %d offers", len(got))
	}
}

// TestWhoSuppressesIsNotOfferedWhatItClaimed: it went before what was taken back for
// it could be offered.
func TestWhoSuppressesIsNotOfferedWhatItClaimed(t *testing.T) {
	for what, goes := range map[string]func(*bench, offers.FrameworkID){
		"suppresses": func(b *bench, id offers.FrameworkID) { b.Suppress(id) },
		"is away":    func(b *bench, id offers.FrameworkID) { b.FrameworkOnline(id, false) },
	} {
		b := hoarded(t, 4, 1)
		b.later(0)
		probe := b.framework("probe", "default")
		b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":1}`)
		b.later(0)
		b.now = b.now.Add(time.Minute)
		if b.Claim(b.now); len(b.claims.won) != 1 {
			t.Fatalf("%d demands had something taken back for them", len(b.claims.won))
		}
		goes(b, probe)
		if got := offeredTo(probe, b.Ready(b.now).Offers); len(got) > 0 {
			t.Errorf("who %s is offered %v", what, got)
		}
	}
}

// TestDemandsThatComeBackClaim: one that was met and stands again, since its launch
// came to nothing, claims like any other, though it was forgotten among the claims
// meanwhile.
func TestDemandsThatComeBackClaim(t *testing.T) {
	b := newBench(t, Config{OfferGrace: time.Second})
	b.agent("a0", `{"cpus":32}`)
	hoarder, probe := b.framework("hoarder", "default"), b.framework("probe", "default")
	b.demand(hoarder, `{"id":"all","resources":{"cpus":32},"count":1}`)
	held := b.offered()
	for n := range 2 * spareClaims {
		b.demand(probe, fmt.Sprintf(`{"id":"d%d","resources":{"cpus":1},"count":1}`, n))
	}
	b.offered() // all of them wait
	b.demand(hoarder, `{"id":"all","resources":{"cpus":32},"count":0}`)
	b.Decline(hoarder, []offers.OfferID{held[0].ID}, 0, b.now)
	var accepts []Acceptance
	for n, o := range b.offered() {
		accepts = append(accepts, b.launch(o, map[string]string{fmt.Sprintf("t%d", n): `{"cpus":1}`}))
	}
	b.demand(probe, `{"id":"later","resources":{"cpus":32},"count":1}`)
	b.offered() // it waits, and those that are met are forgotten
	b.demand(probe, `{"id":"later","resources":{"cpus":32},"count":0}`)
	for i := range accepts {
		b.LaunchFailed(&accepts[i].Launches[0].Task)
	}
	b.demand(hoarder, `{"id":"most","resources":{"cpus":32},"count":1}`)
	b.offered()
	b.Decided(&accepts[0], 0, false)
	if got, _ := b.later(2 * time.Second); len(offeredTo(probe, got)) != 1 {
		t.Errorf("a demand that came back is offered %d times", len(offeredTo(probe, got)))
	}
}

// TestHopelessDemandsHoldNoClaimUp: what can't be met now stands in the way of nothing
// that can, and claims once an agent has enough.
func TestHopelessDemandsHoldNoClaimUp(t *testing.T) {
	b := hoarded(t, 10, 5)
	b.later(100 * time.Millisecond)
	probe := b.framework("probe", "default")
	for n := range 1000 {
		b.demand(probe, fmt.Sprintf(`{"id":"large%d","resources":{"cpus":%d},"count":1}`, n, 17+n%3))
	}
	b.demand(probe, `{"id":"small","resources":{"cpus":1},"count":1}`)
	got, _ := b.later(1100 * time.Millisecond)
	if list := offeredTo(probe, got); len(list) != 1 || list[0].Demand != "small" {
		t.Errorf("within the grace and a tenth of a second the probe is offered %v", list)
	}
}

// TestGangDoesNotHideOtherOffers: what a gang is offered is left to its framework for
// longer, and not what else that was offered, later.
func TestGangDoesNotHideOtherOffers(t *testing.T) {
	b := newBench(t, Config{OfferGrace: time.Second})
	b.agentWith("a0", `{"cpus":16}`, map[string]string{"for": "gang"})
	b.agentWith("a1", `{"cpus":16}`, map[string]string{"for": "all"})
	hoarder := b.framework("hoarder", "default")
	b.demand(hoarder, `{"id":"gang","resources":{"cpus":8},"count":2,"gang":"30s","constraints":["for==gang"]}`)
	b.later(0)
	b.demand(hoarder, `{"id":"all","resources":{"cpus":16},"count":1,"constraints":["for==all"]}`)
	if got, _ := b.later(0); len(got) != 1 {
		t.Fatalf("beside the gang there are %d offers", len(got))
	}
	probe := b.framework("probe", "default")
	b.demand(probe, `{"id":"p","resources":{"cpus":1},"count":1}`)
	if _, rescinds := b.later(999 * time.Millisecond); len(rescinds) > 0 {
		t.Errorf("within the grace %v", rescinds)
	}
	got, rescinds := b.later(10 * time.Millisecond)
	if list := offeredTo(probe, got); len(list) != 1 || b.names[list[0].Agent] != "a1" || len(rescinds) != 1 {
		t.Errorf("after the grace %v are taken back, and the probe is offered %v", rescinds, list)
	}
}
