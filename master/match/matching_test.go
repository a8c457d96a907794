package match

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// game is a batch without a matcher: units and agents of drawn scores.
type game struct {
	hosts []host
	bids  []*bid
	room  []int64 // of each host, in thousandths of a cpu
	rack  []int   // of each host, -1: in none
}

// newGame draws one; sizes are 1 to most cpus.
func newGame(t *rapid.T, units, agents, most int) *game {
	g := &game{}
	part := func(name string) float64 { return float64(rapid.IntRange(0, 1000).Draw(t, name)) / 1000 }
	for range rapid.IntRange(1, agents).Draw(t, "agents") {
		cpus := int64(rapid.IntRange(0, 3*most).Draw(t, "room")) * 1000
		g.room = append(g.room, cpus)
		g.rack = append(g.rack, rapid.IntRange(-1, 1).Draw(t, "rack"))
		g.hosts = append(g.hosts, host{
			number: len(g.hosts),
			base:   part("base"), cores: part("cores"), memory: part("memory"), cost: part("cost"),
			room: offers.NewRoom(offers.Inventory{Amounts: offers.Amounts{offers.CPUs: cpus}}), free: offers.Amounts{offers.CPUs: cpus},
		})
	}
	for i := range rapid.IntRange(1, units).Draw(t, "units") {
		r := offers.Resources{Amounts: offers.Amounts{offers.CPUs: int64(rapid.IntRange(1, most).Draw(t, "size")) * 1000}}
		w := &wish{d: &demand{spec: offers.Demand{Resources: r}}, amounts: r.Amounts, alpha: part("alpha"), worth: part("worth"), seconds: part("seconds"), late: rapid.IntRange(0, 5).Draw(t, "late") == 0}
		w.beta = 1 - w.alpha
		if rapid.IntRange(0, 4).Draw(t, "constrained") == 0 {
			w.barred = make([]bool, len(g.hosts))
			for h := range w.barred {
				w.barred[h] = rapid.Bool().Draw(t, "barred")
			}
		}
		g.bids = append(g.bids, &bid{wish: w, order: i})
	}
	slices.SortFunc(g.bids, func(a, b *bid) int { return better(a, b, 0.5) })
	return g
}

// limit has drawn units be of demands with several units and limits, and returns
// how many units of each are in the first rack already.
func (g *game) limit(t *rapid.T) map[*wish]int {
	launched := map[*wish]int{}
	for u, b := range g.bids {
		if u > 0 && rapid.Bool().Draw(t, "alike") {
			b.wish = g.bids[u-1].wish
		} else if rapid.Bool().Draw(t, "limited") {
			launched[b.wish] = rapid.IntRange(0, 1).Draw(t, "launched")
			b.bounds = bounds{{most: rapid.IntRange(1, 2).Draw(t, "most"), under: g.rack, count: []int{launched[b.wish], 0}}}
		}
	}
	return launched
}

// together counts the units of a demand by rack.
func (g *game) together(w *wish, at []int, launched int) (on [2]int) {
	on[0] = launched
	for u, b := range g.bids {
		if b.wish == w && at[u] >= 0 && g.rack[at[u]] >= 0 {
			on[g.rack[at[u]]]++
		}
	}
	return on
}

// rather reports whether a unit would rather have agent a than b; -1 is none.
func (g *game) rather(u *bid, a, b int) bool {
	switch {
	case a < 0 || a == b || u.barred != nil && u.barred[a]:
		return false
	case b < 0:
		return true
	}
	x, y := g.hosts[a].wanted(u.wish), g.hosts[b].wanted(u.wish)
	return x > y || x == y && a < b
}

// stable reports whether no unit and agent would both rather have each other,
// where all units have one size and at is where they are.
func (g *game) stable(at []int) bool {
	for u, bid := range g.bids {
		for h := range g.hosts {
			if !g.rather(bid, h, at[u]) {
				continue
			}
			free := g.room[h]
			for v, other := range g.bids {
				if at[v] == h && better(bid, other, g.hosts[h].cost) > 0 {
					free -= other.amounts[offers.CPUs]
				}
			}
			if bid.amounts[offers.CPUs] <= free {
				return false
			}
		}
	}
	return true
}

// places settles the game and returns where the units are.
func (g *game) places(t *rapid.T) []int {
	m := matching{hosts: g.hosts}
	m.settle(g.bids)
	if m.proposals > len(g.bids)*len(g.hosts) {
		t.Fatalf("%d units made %d proposals to %d agents", len(g.bids), m.proposals, len(g.hosts))
	}
	at, used := make([]int, len(g.bids)), make([]int64, len(g.hosts))
	for u, bid := range g.bids {
		if at[u] = bid.at; bid.at < 0 {
			continue
		}
		used[bid.at] += bid.amounts[offers.CPUs]
		if bid.barred != nil && bid.barred[bid.at] || !slices.Contains(g.hosts[bid.at].held, bid) {
			t.Fatalf("unit %d is on agent %d, which it can't go to or which does not hold it", u, bid.at)
		}
	}
	for h, n := range used {
		if n > g.room[h] || g.hosts[h].free[offers.CPUs] != g.room[h]-n || g.hosts[h].room.Used()[offers.CPUs] != n {
			t.Fatalf("agent %d has %d, and %d are given away", h, g.room[h], n)
		}
	}
	return at
}

// TestMatchingByBruteForce: with units of one size the result is stable, and no
// unit is better off in any other stable one, of all there are.
func TestMatchingByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t, 5, 3, 1)
		got := g.places(t)
		if !g.stable(got) {
			t.Fatalf("%v is not stable", got)
		}
		other := make([]int, len(got))
		var try func(u int)
		try = func(u int) {
			if u < len(other) {
				for other[u] = -1; other[u] < len(g.hosts); other[u]++ {
					if at := other[u]; at < 0 || g.bids[u].barred == nil || !g.bids[u].barred[at] {
						try(u + 1)
					}
				}
				return
			}
			used := make([]int64, len(g.hosts))
			for v, at := range other {
				if at >= 0 {
					used[at] += g.bids[v].amounts[offers.CPUs]
				}
			}
			for h, n := range used {
				if n > g.room[h] {
					return
				}
			}
			if !g.stable(other) {
				return
			}
			for v := range other {
				if g.rather(g.bids[v], other[v], got[v]) {
					t.Fatalf("%v is stable too, and unit %d is better off in it than in %v", other, v, got)
				}
			}
		}
		try(0)
	})
}

// inRounds is the matching as section 5 tells it: in every round all units
// without a place propose to the best agent that has not refused them, and every
// agent keeps of what it holds and what came, in the order of Q, what fits.
func (g *game) inRounds() []int {
	at, refused := make([]int, len(g.bids)), make([]map[int]bool, len(g.bids))
	for u := range at {
		at[u], refused[u] = -1, map[int]bool{}
	}
	for moved := true; moved; {
		moved = false
		came := make([][]int, len(g.hosts))
		for u, bid := range g.bids {
			best := at[u]
			for h := range g.hosts {
				if at[u] < 0 && !refused[u][h] && g.rather(bid, h, best) {
					best = h
				}
			}
			if best >= 0 {
				came[best] = append(came[best], u)
			}
		}
		for h, units := range came {
			slices.SortFunc(units, func(a, b int) int { return better(g.bids[a], g.bids[b], g.hosts[h].cost) })
			free := g.room[h]
			for _, u := range units {
				if n := g.bids[u].amounts[offers.CPUs]; n <= free {
					free -= n
					at[u] = h
					continue
				}
				at[u], refused[u][h], moved = -1, true, true
			}
		}
	}
	return at
}

// TestMatchingAgainstRounds: with units of one size proposing one after the other
// comes to the same as in rounds.
func TestMatchingAgainstRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t, 40, 10, 1)
		if want, got := g.inRounds(), g.places(t); !slices.Equal(got, want) {
			t.Fatalf("units are on %v, in rounds on %v", got, want)
		}
	})
}

// TestMatchingOfAllSizes: no agent gives more than it has and none holds what one
// that it holds behind it would have kept out.
func TestMatchingOfAllSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t, 40, 10, 8)
		at := g.places(t)
		for h := range g.hosts {
			held := g.hosts[h].held
			if !slices.IsSortedFunc(held, func(a, b *bid) int { return better(a, b, g.hosts[h].cost) }) {
				t.Fatalf("agent %d holds units in another order than it likes them", h)
			}
		}
		for u, bid := range g.bids {
			for h := range g.hosts {
				if bid.behind < 0 && at[u] < 0 && (bid.barred == nil || !bid.barred[h]) && len(g.hosts[h].held) == 0 && bid.amounts[offers.CPUs] <= g.room[h] {
					t.Fatalf("unit %d waits while agent %d is empty and has room", u, h)
				}
			}
		}
	})
}

// TestMatchingWithinLimits: no more units of a demand are together than it allows;
// and whoever was refused by all, when nobody of its demand was pushed out, would
// pass a limit or has no room wherever it was put now.
func TestMatchingWithinLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t, 30, 8, 1)
		launched := g.limit(t)
		at := g.places(t)
		pushed := map[*wish]bool{}
		for _, b := range g.bids {
			pushed[b.wish] = pushed[b.wish] || b.behind >= 0 && b.at != b.behind
		}
		for u, b := range g.bids {
			on, most := g.together(b.wish, at, launched[b.wish]), len(g.bids)
			if b.bounds != nil {
				most = b.bounds[0].most
				if on != [2]int(b.bounds[0].count) || max(on[0], on[1]) > most {
					t.Fatalf("%v are together of at most %d, and %v are counted", on, most, b.bounds[0].count)
				}
			}
			for h := range g.hosts {
				free := g.hosts[h].free[offers.CPUs] >= b.amounts[offers.CPUs] && (b.barred == nil || !b.barred[h])
				if at[u] < 0 && !pushed[b.wish] && free && (g.rack[h] < 0 || on[g.rack[h]] < most) {
					t.Fatalf("unit %d waits, and agent %d has room for it within the limits", u, h)
				}
			}
		}
	})
}

// TestMatchingMakesNoProposalThatIsRefused: of many units alike that fit nowhere
// only the first looks around.
func TestMatchingMakesNoProposalThatIsRefused(t *testing.T) {
	g := &game{}
	for range 3 {
		g.hosts = append(g.hosts, host{room: offers.NewRoom(offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 2000}}), free: offers.Amounts{offers.CPUs: 2000}})
	}
	r := offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000}}
	w := &wish{d: &demand{spec: offers.Demand{Resources: r}}, amounts: r.Amounts}
	for i := range 100 {
		g.bids = append(g.bids, &bid{wish: w, order: i})
	}
	m := matching{hosts: g.hosts}
	m.settle(g.bids)
	placed := slices.IndexFunc(g.bids, func(b *bid) bool { return b.at < 0 })
	if m.proposals != 6 || placed != 6 || !w.vain {
		t.Fatalf("6 units have room: %d proposals, the first without a place is %d", m.proposals, placed)
	}
}
