package match

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestRandomScenes drives the matcher through random inputs and verifies every
// invariant after every turn; at the end everything that was taken comes back.
func TestRandomScenes(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomScene(t, seed) })
	}
}

func randomScene(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	b := newBench(t, Config{OfferTimeout: time.Duration(5+rnd.IntN(30)) * time.Second})
	var frameworks []offers.FrameworkID
	var running []offers.TaskRef
	var names int
	name := func(prefix string) string { names++; return fmt.Sprint(prefix, names) }
	roles := []offers.Role{"default", "eng", "eng/ml", "eng/web", "ops"}
	for range 4 {
		frameworks = append(frameworks, b.framework(name("f"), roles[rnd.IntN(len(roles))]))
	}
	someone := func() offers.FrameworkID { return frameworks[rnd.IntN(len(frameworks))] }
	for range 400 {
		switch rnd.IntN(14) {
		case 0:
			total := fmt.Sprintf(`{"cpus":%d,"mem":%d}`, 1+rnd.IntN(16), 1+rnd.IntN(64))
			if rnd.IntN(3) == 0 {
				total = fmt.Sprintf(`{"cpus":%d,"devices":{"gpu":{"ids":["x","y"],"capacity":[%d,24]}}}`, 1+rnd.IntN(16), 8+rnd.IntN(24))
			}
			b.agent(name("a"), total)
		case 1, 2, 3:
			d := fmt.Sprintf(`"resources":{"cpus":%d,"mem":%d}`, 1+rnd.IntN(4), rnd.IntN(8))
			switch rnd.IntN(5) {
			case 0:
				d = fmt.Sprintf(`"resources":{"cpus":1,"devices":{"gpu":{"memory":%d}}}`, 1+rnd.IntN(12))
			case 1:
				d = fmt.Sprintf(`"resources":{"devices":{"gpu":{"count":%d}}}`, 1+rnd.IntN(2))
			}
			if rnd.IntN(4) > 0 {
				d += fmt.Sprintf(`,"count":%d`, rnd.IntN(8))
			}
			b.demand(someone(), fmt.Sprintf(`{"id":"d%d",%s}`, rnd.IntN(4), d))
		case 4:
			b.Decline(someone(), someOffers(b, rnd), time.Duration(rnd.IntN(20))*time.Second, b.now)
		case 5, 6, 7:
			running = append(running, acceptSome(b, rnd, name)...)
		case 8:
			if len(running) > 0 {
				i := rnd.IntN(len(running))
				b.Ended(running[i])
				running = append(running[:i], running[i+1:]...)
			}
		case 9:
			for _, id := range b.ids {
				b.AgentOnline(id, rnd.IntN(3) > 0)
				break
			}
		case 10:
			if f := someone(); rnd.IntN(2) == 0 {
				b.Suppress(f)
			} else {
				b.Revive(f)
			}
		case 11:
			f := someone()
			b.FrameworkOnline(f, false)
			b.FrameworkOnline(f, true)
		case 12:
			settings := &offers.RoleSettings{Weight: float64(1 + rnd.IntN(3))}
			if rnd.IntN(2) == 0 {
				settings.Quota.Limit = offers.QuotaAmounts{"cpus": int64(rnd.IntN(20)) * 1000}
			}
			if rnd.IntN(3) == 0 {
				settings.Quota = offers.Quota{Guarantee: offers.QuotaAmounts{"cpus": int64(rnd.IntN(8)) * 1000}}
			}
			b.RoleChanged(roles[rnd.IntN(len(roles))], settings)
		case 13:
			for n, id := range b.ids {
				states := []offers.AgentState{offers.AgentActive, offers.AgentUnreachable, offers.AgentDraining, offers.AgentActive, offers.AgentGone}
				s := states[rnd.IntN(len(states))]
				b.apply(state.Command{SetAgentState: &state.SetAgentState{ID: id, State: s, Time: b.now}})
				if a := b.state.Agent(id); a != nil {
					b.AgentChanged(a)
				}
				if s == offers.AgentGone {
					delete(b.ids, n)
				}
				break
			}
		}
		b.now = b.now.Add(time.Duration(rnd.IntN(3)) * time.Second)
		b.offered()
	}
	for _, f := range frameworks {
		b.FrameworkOnline(f, false)
	}
	for _, ref := range running {
		b.Ended(ref)
	}
	b.offered()
	for k, n := range b.fair.root.alloc {
		if n != 0 {
			t.Errorf("kind %d: %d are still allocated after everything ended", k, n)
		}
	}
}

func someOffers(b *bench, rnd *rand.Rand) []offers.OfferID {
	var ids []offers.OfferID
	for _, o := range b.book.All() {
		if rnd.IntN(3) == 0 {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

func acceptSome(b *bench, rnd *rand.Rand, name func(string) string) []offers.TaskRef {
	list := b.book.All()
	if len(list) == 0 {
		return nil
	}
	o := list[rnd.IntN(len(list))]
	ids := []offers.OfferID{o.ID}
	for _, other := range list {
		if other.Agent == o.Agent && other.Framework == o.Framework && other.ID != o.ID {
			ids = append(ids, other.ID)
		}
	}
	var drafts []Draft
	for range rnd.IntN(4) {
		var r offers.Resources
		r.Amounts[offers.CPUs] = int64(rnd.IntN(4)) * 1000
		if rnd.IntN(3) == 0 {
			r.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: int64(rnd.IntN(12))}}
		}
		drafts = append(drafts, Draft{Task: offers.Task{ID: offers.TaskID(name("t")), Resources: r}})
	}
	acc := b.Accept(o.Framework, ids, drafts, time.Duration(rnd.IntN(3))*time.Second, func(offers.TaskID) bool { return false }, b.now)
	var refs []offers.TaskRef
	for _, l := range acc.Launches {
		refs = append(refs, l.Ref())
	}
	return refs
}
