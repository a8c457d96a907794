package rings_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

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

// inward are all rings down to the one that holds the need.
func (m *model) inward(kind rings.Kind, need int64) []int {
	var order []int
	for r := len(m.layouts[kind].Bounds); r >= m.ringOf(kind, need); r-- {
		order = append(order, r)
	}
	return order
}

// ringed is how many kinds are no measures.
func (m *model) ringed() int {
	first := slices.IndexFunc(m.layouts, func(l rings.Layout) bool { return l.Measure })
	if first < 0 {
		return len(m.layouts)
	}
	return first
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
		if k := m.ringed(); k < len(m.layouts) && m.free[a][k] != m.free[b][k] {
			return cmp.Compare(m.free[a][k], m.free[b][k])
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
	return m.fitting(kind, need, m.visits(kind, need[kind]))
}

// fitting are the agents of some rings that have what is needed.
func (m *model) fitting(kind rings.Kind, need []int64, visits []int) []string {
	var out []string
	for _, ring := range visits {
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

// perRing is candidates cut to the first n of each ring.
func (m *model) perRing(kind rings.Kind, need []int64, n int) []string {
	var out []string
	seen := map[string]int{}
	for _, c := range m.candidates(kind, need) {
		_, ring, _ := strings.Cut(c, "@")
		if seen[ring]++; seen[ring] <= n {
			out = append(out, c)
		}
	}
	return out
}

// distinct is candidates without those that have what the one before has.
func (m *model) distinct(kind rings.Kind, need []int64) []string {
	var out []string
	var last []int64
	for _, c := range m.candidates(kind, need) {
		id, _, _ := strings.Cut(c, "@")
		if free := m.free[offers.AgentID(id)]; !slices.Equal(free, last) {
			out, last = append(out, c), free
		}
	}
	return out
}

// twin applies everything to the index and to the model and compares them.
type twin struct {
	t     rapid.TB
	index *rings.Index
	model model
	// slots and holders are the same, both ways round.
	slots   map[offers.AgentID]int
	holders map[int]offers.AgentID

	// cursor has still to give open; nil when there is none.
	cursor *rings.Cursor
	open   []string
}

func newTwin(t rapid.TB, layouts []rings.Layout) *twin {
	return &twin{
		t: t, index: newIndex(t, layouts...), slots: map[offers.AgentID]int{}, holders: map[int]offers.AgentID{},
		model: model{layouts: layouts, free: map[offers.AgentID][]int64{}},
	}
}

func newIndex(t rapid.TB, layouts ...rings.Layout) *rings.Index {
	t.Helper()
	x, err := rings.New(layouts)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (w *twin) set(id offers.AgentID, free []int64) {
	w.t.Helper()
	slot := w.index.Set(id, free)
	if old, known := w.slots[id]; known && old != slot {
		w.t.Fatalf("%s had slot %d and was given %d", id, old, slot)
	}
	if holder, taken := w.holders[slot]; taken && holder != id {
		w.t.Fatalf("slot %d of %s was given to %s", slot, holder, id)
	}
	w.slots[id], w.holders[slot] = slot, id
	w.became(id, free)
}

// move is set for an agent that is there, by its slot.
func (w *twin) move(id offers.AgentID, free []int64) {
	w.t.Helper()
	w.index.Move(w.slots[id], free)
	w.became(id, free)
}

func (w *twin) remove(id offers.AgentID) {
	w.t.Helper()
	_, known := w.model.free[id]
	w.index.Remove(id)
	delete(w.model.free, id)
	if slot, ok := w.slots[id]; ok {
		delete(w.holders, slot)
	}
	delete(w.slots, id)
	w.changed(known)
}

// became enters what the index was told, and says that cursors end by it.
func (w *twin) became(id offers.AgentID, free []int64) {
	w.t.Helper()
	row := slices.Clone(free)
	for k := range row {
		row[k] = max(row[k], -1)
	}
	old, known := w.model.free[id]
	if !known {
		old = slices.Repeat([]int64{-1}, len(row))
	}
	w.model.free[id] = row
	w.changed(!slices.Equal(old, row))
}

// changed holds the open cursor against its promise to end by a change alone.
func (w *twin) changed(really bool) {
	w.t.Helper()
	if w.cursor == nil || !really {
		return
	}
	expectPanic(w.t, func() { w.cursor.Next() })
	expectPanic(w.t, w.cursor.SkipRing)
	w.cursor = nil
}

// take allocates the need on its closest agent.
func (w *twin) take(kind rings.Kind, need []int64) {
	w.t.Helper()
	want := w.model.candidates(kind, need)
	c, ok := w.index.Closest(kind, need)
	if ok != (len(want) > 0) || ok && fmt.Sprintf("%s@%d", c.Agent, c.Ring) != want[0] {
		w.t.Fatalf("kind %d need %d: closest is %v %v, want the first of %v", kind, need, c, ok, want)
	}
	w.allocate(c, ok, need)
}

// allocate takes the need from a candidate, if there is one.
func (w *twin) allocate(c rings.Candidate, ok bool, need []int64) {
	w.t.Helper()
	if !ok {
		return
	}
	if c.Slot != w.slots[c.Agent] || !slices.Equal(c.Free, w.model.free[c.Agent]) {
		w.t.Fatalf("%s at slot %d has %d, found as %+v", c.Agent, w.slots[c.Agent], w.model.free[c.Agent], c)
	}
	left := slices.Clone(c.Free)
	for k, amount := range need {
		left[k] -= amount
	}
	w.move(c.Agent, left)
}

func (w *twin) compareWalk(kind rings.Kind, need []int64) {
	w.t.Helper()
	got, want := walk(w.index, kind, need), w.model.candidates(kind, need)
	if !slices.Equal(got, want) {
		w.t.Fatalf("kind %d need %d:\n got %v\nwant %v", kind, need, got, want)
	}
}

// compareSkips walks with the first n of each ring only.
func (w *twin) compareSkips(kind rings.Kind, need []int64, n int) {
	w.t.Helper()
	c := w.index.Candidates(kind, need)
	c.SkipRing() // before the first there is nothing to skip
	var got []string
	ring, in := 0, 0
	for a, ok := c.Next(); ok; a, ok = c.Next() {
		if a.Ring != ring {
			ring, in = a.Ring, 0
		}
		got = append(got, fmt.Sprintf("%s@%d", a.Agent, a.Ring))
		if in++; in == n {
			c.SkipRing()
		}
	}
	if want := w.model.perRing(kind, need, n); !slices.Equal(got, want) {
		w.t.Fatalf("kind %d need %d, %d of each ring:\n got %v\nwant %v", kind, need, n, got, want)
	}
}

// compareSample holds a sample against the steps and skips that it stands for.
func (w *twin) compareSample(kind rings.Kind, need []int64, room, ofRing int) {
	w.t.Helper()
	for _, walk := range []func(rings.Kind, []int64) rings.Cursor{w.index.Candidates, w.index.Outermost} {
		c := walk(kind, need)
		var want []int32
		ring, in := 0, 0
		for slot, ok := c.Step(); ok && len(want) < room; slot, ok = c.Step() {
			want = append(want, int32(slot))
			if c.SkipAlike(); c.Ring() != ring {
				ring, in = c.Ring(), 0
			}
			if in++; in == ofRing {
				c.SkipRing()
			}
		}
		c = walk(kind, need)
		some := make([]rings.Sampled, room)
		var got []int32
		for _, a := range some[:c.Sample(some, ofRing)] {
			got = append(got, a.Slot)
			if free := w.index.FreeOf(a); !slices.Equal(free, w.index.FreeAt(int(a.Slot))) {
				w.t.Fatalf("%s is sampled with %d, has %d", w.holders[int(a.Slot)], free, w.index.FreeAt(int(a.Slot)))
			}
		}
		if !slices.Equal(got, want) {
			w.t.Fatalf("kind %d need %d, %d of each ring:\n got slots %v\nwant %v", kind, need, ofRing, got, want)
		}
	}
}

// read takes n more candidates from the open cursor, which other walks over
// the unchanged index must not disturb.
func (w *twin) read(n int) {
	w.t.Helper()
	for range n {
		a, ok := w.cursor.Next()
		if ok != (len(w.open) > 0) || ok && fmt.Sprintf("%s@%d", a.Agent, a.Ring) != w.open[0] {
			w.t.Fatalf("the open cursor gives %v %v, want the first of %v", a, ok, w.open)
		}
		if !ok {
			w.cursor = nil
			return
		}
		w.open = w.open[1:]
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
	for kind, name := range w.index.Kinds() {
		l := w.model.layouts[kind]
		n := 0
		for ring := range w.index.Rings(kind) {
			want := rings.Ring{Number: n + 1, From: l.Bounds[n], Open: n+1 == len(l.Bounds)}
			if !want.Open {
				want.To = l.Bounds[n+1]
			}
			if ring != want || name != l.Name {
				w.t.Fatalf("ring %+v of %s, want %+v of %s", ring, name, want, l.Name)
			}
			n++
			w.compareRing(kind, n)
		}
		if n != len(l.Bounds) {
			w.t.Fatalf("kind %s has %d rings, want %d", name, n, len(l.Bounds))
		}
	}
}

func (w *twin) compareRing(kind rings.Kind, ring int) {
	w.t.Helper()
	var got []offers.AgentID
	for id, free := range w.index.Agents(kind, ring) {
		if got = append(got, id); free != w.model.free[id][kind] {
			w.t.Fatalf("kind %d ring %d shows %s with %d, it has %d", kind, ring, id, free, w.model.free[id])
		}
	}
	if want := w.model.inRing(kind, ring); !slices.Equal(got, want) {
		w.t.Fatalf("kind %d ring %d holds %v, want %v", kind, ring, got, want)
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
	return collect(x.Candidates(kind, need))
}

func collect(c rings.Cursor) []string {
	var out []string
	for {
		a, ok := c.Next()
		if !ok {
			return out
		}
		out = append(out, fmt.Sprintf("%s@%d", a.Agent, a.Ring))
	}
}
