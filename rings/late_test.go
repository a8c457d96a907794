package rings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// TestLateTrees: an index that was asked in one kind only, while thousands of
// agents came, changed and went, has the same order in all kinds as one in
// which they were filed just now.
func TestLateTrees(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 11))
	x := newIndex(t, benchLayouts(t)...)
	now := map[offers.AgentID][]int64{}
	need := []int64{1000, 0, 0, 0, 0}
	for range 3 {
		for i := range 6000 {
			id := offers.AgentID(fmt.Sprintf("agent-%04d", rnd.IntN(3000)))
			if rnd.IntN(10) == 0 {
				x.Remove(id)
				delete(now, id)
			} else {
				now[id] = mixedAgent(rnd)
				x.Set(id, now[id])
			}
			if i%50 == 0 {
				x.Closest(cpus, need)
			}
		}
		filedAsNow(t, x, now)
	}
}

// TestSleep: a kind that nobody asks for, for as many questions as there are agents,
// is left as it is, whoever comes, changes and goes, and has its order when it is
// asked again.
func TestSleep(t *testing.T) {
	rnd := rand.New(rand.NewPCG(19, 19))
	x := newIndex(t, benchLayouts(t)...)
	now := map[offers.AgentID][]int64{}
	id := func() offers.AgentID { return offers.AgentID(fmt.Sprintf("agent-%04d", rnd.IntN(2000))) }
	for round := range 3 {
		for range 8000 {
			if id := id(); rnd.IntN(10) == 0 {
				x.Remove(id)
				delete(now, id)
			} else {
				now[id] = mixedAgent(rnd)
				x.Set(id, now[id])
			}
			x.Closest(cpus, []int64{1000, 0, 0, 0, 0})
		}
		if got := x.Asleep(); got != 4 {
			t.Fatalf("round %d: %d of the 4 kinds that nobody asked for are asleep", round, got)
		}
		filedAsNow(t, x, now)
	}
}

// TestIDsThatDifferLate: agents alike in all kinds are in the order of their
// ids, wherever these differ and however many went before.
func TestIDsThatDifferLate(t *testing.T) {
	x := newIndex(t, benchLayouts(t)...)
	ids := []offers.AgentID{
		"01890000-agent-000017", "01890000-agent-000003", "01890000-agent-000003b", "01890000-agent-0000030000000001",
		"01890000-agent-0000030000000000", "01890000-agen", "0189", "0189\x00", "b", "a000001-3f9c", "a000001-3f9b",
	}
	for _, id := range ids {
		x.Set(id, []int64{8000, gib, gib, -1, -1})
		if err := x.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := inOrder(x, cpus), slices.Sorted(slices.Values(ids)); !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}

// filedAsNow checks that an index has the order in all kinds of one in which the same
// agents were filed just now.
func filedAsNow(t *testing.T, x *rings.Index, now map[offers.AgentID][]int64) {
	t.Helper()
	fresh := newIndex(t, benchLayouts(t)...)
	for id, v := range now {
		fresh.Set(id, v)
	}
	for kind, name := range x.Kinds() {
		if got, want := inOrder(x, kind), inOrder(fresh, kind); !slices.Equal(got, want) {
			t.Fatalf("%s: %d agents in another order than %d that were filed now", name, len(got), len(want))
		}
	}
	if err := x.Check(); err != nil {
		t.Fatal(err)
	}
}

func inOrder(x *rings.Index, kind rings.Kind) []offers.AgentID {
	var out []offers.AgentID
	for r := range x.Rings(kind) {
		for id := range x.Agents(kind, r.Number) {
			out = append(out, id)
		}
	}
	return out
}

// TestExhausted: agents that have a kind and nothing free of it are come to by
// whoever asks for nothing of the kind, however they came to have nothing and
// whatever was asked before.
func TestExhausted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 17))
	x := newIndex(t, benchLayouts(t)...)
	now := map[offers.AgentID][]int64{}
	for round := range 40 {
		for range 300 {
			id := offers.AgentID(fmt.Sprintf("agent-%03d", rnd.IntN(200)))
			if rnd.IntN(20) == 0 {
				x.Remove(id)
				delete(now, id)
				continue
			}
			v := mixedAgent(rnd)
			for k := range v {
				if rnd.IntN(2) == 0 {
					v[k] = min(v[k], 0)
				}
			}
			now[id] = v
			x.Set(id, v)
			x.Closest(cpus, []int64{1000, 0, 0, 0, 0})
		}
		if err := x.Check(); err != nil {
			t.Fatal(err)
		}
		if round%4 > 0 {
			continue
		}
		fresh := newIndex(t, benchLayouts(t)...)
		for id, v := range now {
			fresh.Set(id, v)
		}
		for kind, name := range x.Kinds() {
			need := make([]int64, 5)
			got, want := agents(x.Candidates(kind, need)), agents(fresh.Candidates(kind, need))
			if !slices.Equal(got, want) {
				t.Fatalf("round %d: %s: a walk for nothing came to %d agents, to %d that were filed now", round, name, len(got), len(want))
			}
			has := 0
			for _, v := range now {
				if v[kind] >= 0 {
					has++
				}
			}
			if len(got) != has {
				t.Fatalf("round %d: %s: a walk for nothing came to %d of %d agents", round, name, len(got), has)
			}
		}
	}
}

func agents(c rings.Cursor) []offers.AgentID {
	var out []offers.AgentID
	for a, ok := c.Next(); ok; a, ok = c.Next() {
		out = append(out, a.Agent)
	}
	return out
}
