package trie

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// record is a record with a value beside its key.
type record struct {
	path  Path
	value int
}

func pathOf(r *record) Path { return r.path }

// check verifies that every node parts at least two keys, in order, that few
// records are few and in order, and that each is where its key leads.
func (t *Tree[T]) check() error {
	n := 0
	var down func(s slot[T], key string) error
	down = func(s slot[T], key string) error {
		if s.node != nil && len(s.few) > 0 || len(s.few) > most {
			return fmt.Errorf("at %q are %d records, and a node: %v", key, len(s.few), s.node != nil)
		}
		for i, v := range s.few {
			n++
			p := t.path(v)
			if whole := string(p.appendTo(nil)); !strings.HasPrefix(whole, key) {
				return fmt.Errorf("%q stands at %q", whole, key)
			}
			if whole := p.appendTo(nil); s.heads[i] != head(whole[len(key):]) {
				return fmt.Errorf("%q has the head %q behind %q", p, s.heads[i], key)
			}
			if i > 0 {
				if before := t.path(s.few[i-1]); bytes.Compare(before.appendTo(nil), p.appendTo(nil)) >= 0 {
					return fmt.Errorf("%q stands behind %q", p, before)
				}
			}
		}
		switch {
		case s.node == nil && len(s.few) == 0:
			return fmt.Errorf("nothing stands at %q", key)
		case s.node == nil:
			return nil
		case len(s.node.labels) < 2 || len(s.node.labels) != len(s.node.slots):
			return fmt.Errorf("the node at %q has %d labels and %d slots", key, len(s.node.labels), len(s.node.slots))
		}
		for i, label := range s.node.labels {
			if i > 0 && s.node.labels[i-1] >= label {
				return fmt.Errorf("the labels at %q are %q", key, s.node.labels)
			}
			if err := down(s.node.slots[i], key+s.node.prefix+string([]byte{label})); err != nil {
				return err
			}
		}
		return nil
	}
	if t.n > 0 {
		if err := down(t.root, ""); err != nil {
			return err
		}
	}
	if n != t.n {
		return fmt.Errorf("it has %d records and counts %d", n, t.n)
	}
	return nil
}

// model is the same as a slice in order.
type model []*record

func byPath(r *record, p Path) int {
	for i := range p {
		if c := cmp.Compare(r.path[i], p[i]); c != 0 {
			return c
		}
	}
	return 0
}

func (m model) put(r *record) (model, *record) {
	i, has := slices.BinarySearchFunc(m, r.path, byPath)
	if has {
		old := m[i]
		m = slices.Clone(m)
		m[i] = r
		return m, old
	}
	return slices.Insert(slices.Clone(m), i, r), nil
}

func (m model) delete(p Path) (model, *record) {
	i, has := slices.BinarySearchFunc(m, p, byPath)
	if !has {
		return m, nil
	}
	return slices.Delete(slices.Clone(m), i, i+1), m[i]
}

func (m model) below(prefix Path) (out []*record) {
	for _, r := range m {
		if r.path.within(&prefix) {
			out = append(out, r)
		}
	}
	return out
}

// shared returns how much of its key a record has in common with that of a path.
func (m model) shared(r *record, p Path) int {
	if r == nil {
		return -1
	}
	return common(r.path.appendTo(nil), p.appendTo(nil))
}

func (m model) mostShared(p Path) int {
	most := -1
	for _, r := range m {
		most = max(most, m.shared(r, p))
	}
	return most
}

// draw draws keys that share beginnings, are each other's beginning, and are
// alike.
func draw(rnd *rand.Rand) Path {
	texts := []string{"a", "aa", "ab", "b", "f00001-c0de", "f00002-c0de", "f000", "\xff", "t1", "t10", "t11", "t2"}
	for rnd.IntN(2) == 0 {
		texts = append(texts, fmt.Sprint("t", rnd.IntN(300)))
	}
	return Path{texts[rnd.IntN(len(texts))], texts[rnd.IntN(len(texts))], texts[len(texts)-1-rnd.IntN(3)]}
}

// TestAgainstModel compares every answer of random changes with a slice's, and
// looks at earlier versions again at the end.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		x, m := New(pathOf).Txn(), model{}
		type version struct {
			tree *Tree[record]
			is   model
		}
		var versions []version
		for step := range 1500 {
			p := draw(rnd)
			if len(m) > 0 && rnd.IntN(3) == 0 {
				p = m[rnd.IntN(len(m))].path
			}
			var got, want *record
			if rnd.IntN(5) < 3 {
				r := &record{p, step}
				got = x.Put(r)
				m, want = m.put(r)
			} else {
				got = x.Delete(p)
				m, want = m.delete(p)
			}
			if got != want {
				t.Fatalf("seed %d, step %d: %q gave %v, want %v", seed, step, p, got, want)
			}
			if p := draw(rnd); step%10 == 0 && m.shared(x.Near(p), p) != m.mostShared(p) {
				t.Fatalf("seed %d, step %d: %v is nearest to %q", seed, step, x.Near(p), p)
			}
			if rnd.IntN(40) == 0 {
				versions = append(versions, version{x.Commit(), m})
				if rnd.IntN(2) == 0 {
					x = versions[len(versions)-1].tree.Txn()
				}
			}
		}
		for _, v := range versions {
			if err := v.tree.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if got := slices.Collect(v.tree.All()); !slices.Equal(got, v.is) || v.tree.Len() != len(v.is) {
				t.Fatalf("seed %d: a version has changed or is in another order", seed)
			}
			for range 30 {
				p := draw(rnd)
				if i, has := slices.BinarySearchFunc(v.is, p, byPath); (v.tree.Get(p) != nil) != has || has && v.tree.Get(p) != v.is[i] {
					t.Fatalf("seed %d: %q is %v", seed, p, v.tree.Get(p))
				}
				at, _ := slices.BinarySearchFunc(v.is, p, byPath)
				if got := slices.Collect(v.tree.From(p)); !slices.Equal(got, v.is[at:]) {
					t.Fatalf("seed %d: %d records from %q on; want %d", seed, len(got), p, len(v.is)-at)
				}
				prefix := Path{p[0], []string{"", p[1]}[rnd.IntN(2)]}
				if got := slices.Collect(v.tree.Below(prefix)); !slices.Equal(got, v.is.below(prefix)) {
					t.Fatalf("seed %d: %d records below %q; want %d", seed, len(got), prefix, len(v.is.below(prefix)))
				}
			}
		}
	}
}

// TestStopsWhenAsked goes through a part alone.
func TestStopsWhenAsked(t *testing.T) {
	x := New(pathOf).Txn()
	for i := range 100 {
		x.Put(&record{Path{"f", fmt.Sprint("t", i)}, i})
	}
	n := 0
	for range x.Below(Path{"f"}) {
		if n++; n == 7 {
			break
		}
	}
	if n != 7 || x.Len() != 100 {
		t.Errorf("%d of %d", n, x.Len())
	}
}

// TestLookupAllocatesNothing: it is done for every message of every task.
func TestLookupAllocatesNothing(t *testing.T) {
	tree := hundredThousand(t)
	p := Path{"f00001-c0de", "t50000"}
	if n := testing.AllocsPerRun(100, func() {
		if tree.Get(p) == nil {
			t.Fatal("it is not there")
		}
	}); n > 0 {
		t.Errorf("a lookup allocates %v times", n)
	}
}

func hundredThousand(tb testing.TB) *Tree[record] {
	tb.Helper()
	x := New(pathOf).Txn()
	for i := range 100_000 {
		x.Put(&record{Path{"f00001-c0de", fmt.Sprint("t", i)}, i})
	}
	return x.Commit()
}

// BenchmarkTree looks up and changes one of 100,000 records.
func BenchmarkTree(b *testing.B) {
	tree := hundredThousand(b)
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if tree.Get(Path{"f00001-c0de", "t50000"}) == nil {
				b.Fatal("it is not there")
			}
		}
	})
	b.Run("change 100", func(b *testing.B) {
		b.ReportAllocs()
		records := make([]record, 100)
		for i := range records {
			records[i].path = Path{"f00001-c0de", fmt.Sprint("t", i*997)}
		}
		for b.Loop() {
			x := tree.Txn()
			for i := range records {
				x.Put(&records[i])
			}
			x.Commit()
		}
	})
}
