package rings_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// model is the naive index: it sorts everything at every question, straight
// from the words of the algorithm.
type model struct {
	layouts []rings.Layout
	free    map[offers.AgentID][]int64
}

func (m *model) ringOf(kind rings.Kind, amount int64) int {
	ring := 1
	for i, bound := range m.layouts[kind].Bounds {
		if amount >= bound {
			ring = i + 1
		}
	}
	return ring
}

// visits are the rings of a walk in order.
func (m *model) visits(kind rings.Kind, need int64) []int {
	l := m.layouts[kind]
	order := []int{m.ringOf(kind, need)}
	for r := order[0] + 1; r <= l.Reach; r++ {
		order = append(order, r)
	}
	for r := len(l.Bounds); r > order[0]; r-- {
		if !slices.Contains(order, r) {
			order = append(order, r)
		}
	}
	return order
}

// inRing are the agents of a ring, closest first.
func (m *model) inRing(kind rings.Kind, ring int) []offers.AgentID {
	var ids []offers.AgentID
	for id, free := range m.free {
		if free[kind] >= 0 && m.ringOf(kind, free[kind]) == ring {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b offers.AgentID) int {
		if c := cmp.Compare(m.free[a][kind], m.free[b][kind]); c != 0 {
			return c
		}
		for k := range m.layouts {
			if c := cmp.Compare(m.free[a][k], m.free[b][k]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	})
	return ids
}

func (m *model) candidates(kind rings.Kind, need []int64) []string {
	var out []string
	for _, ring := range m.visits(kind, need[kind]) {
		for _, id := range m.inRing(kind, ring) {
			fits := true
			for k, amount := range need {
				fits = fits && (amount == 0 || m.free[id][k] >= amount)
			}
			if fits {
				out = append(out, fmt.Sprintf("%s@%d", id, ring))
			}
		}
	}
	return out
}

// twin applies everything to the index and to the model and compares them.
type twin struct {
	t     testing.TB
	index *rings.Index
	model model
	slots map[int]offers.AgentID
}

func newTwin(t testing.TB, layouts []rings.Layout) *twin {
	return &twin{
		t: t, index: newIndex(t, layouts...), slots: map[int]offers.AgentID{},
		model: model{layouts: layouts, free: map[offers.AgentID][]int64{}},
	}
}

func newIndex(t testing.TB, layouts ...rings.Layout) *rings.Index {
	t.Helper()
	x, err := rings.New(layouts)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (w *twin) set(id offers.AgentID, free []int64) {
	slot := w.index.Set(id, free)
	if holder, taken := w.slots[slot]; taken && holder != id {
		w.t.Fatalf("slot %d of %s given to %s", slot, holder, id)
	}
	w.slots[slot] = id
	row := slices.Clone(free)
	for k := range row {
		row[k] = max(row[k], -1)
	}
	w.model.free[id] = row
}

func (w *twin) remove(id offers.AgentID) {
	w.index.Remove(id)
	delete(w.model.free, id)
	for slot, holder := range w.slots {
		if holder == id {
			delete(w.slots, slot)
		}
	}
}

// take allocates the need on its closest agent.
func (w *twin) take(kind rings.Kind, need []int64) {
	c, ok := w.index.Closest(kind, need)
	if !ok {
		return
	}
	left := slices.Clone(c.Free)
	for k, amount := range need {
		left[k] -= amount
	}
	w.index.Move(c.Slot, left)
	for k := range left {
		left[k] = max(left[k], -1)
	}
	w.model.free[c.Agent] = left
}

func (w *twin) compareWalk(kind rings.Kind, need []int64) {
	w.t.Helper()
	got, want := walk(w.index, kind, need), w.model.candidates(kind, need)
	if !slices.Equal(got, want) {
		w.t.Fatalf("kind %d need %d:\n got %v\nwant %v", kind, need, got, want)
	}
}

func (w *twin) compareView() {
	w.t.Helper()
	if w.index.Len() != len(w.model.free) {
		w.t.Fatalf("Len %d, want %d", w.index.Len(), len(w.model.free))
	}
	for id, free := range w.model.free {
		if !slices.Equal(w.index.Free(id), free) {
			w.t.Fatalf("Free(%s) = %d, want %d", id, w.index.Free(id), free)
		}
	}
	for kind := range w.index.Kinds() {
		for ring := range w.index.Rings(kind) {
			var got []offers.AgentID
			for id := range w.index.Agents(kind, ring.Number) {
				got = append(got, id)
			}
			if want := w.model.inRing(kind, ring.Number); !slices.Equal(got, want) {
				w.t.Fatalf("kind %d ring %d holds %v, want %v", kind, ring.Number, got, want)
			}
		}
	}
}

func (w *twin) check() {
	w.t.Helper()
	if err := w.index.Check(); err != nil {
		w.t.Fatal(err)
	}
}

// walk is all candidates as AGENT@RING.
func walk(x *rings.Index, kind rings.Kind, need []int64) []string {
	var out []string
	for c := x.Candidates(kind, need); ; {
		a, ok := c.Next()
		if !ok {
			return out
		}
		out = append(out, fmt.Sprintf("%s@%d", a.Agent, a.Ring))
	}
}
