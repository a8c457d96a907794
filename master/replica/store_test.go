package replica

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"github.com/ringmaster-project/ringmaster/offers/pages"
)

// logged returns a disk whose log holds so many entries of a few tasks each.
func logged(t testing.TB, entries int) *disk {
	path := filepath.Join(t.TempDir(), "raft.db")
	s, err := openStore(path, "m1", about{})
	if err != nil {
		t.Fatal(err)
	}
	d := newDisk(s, path)
	t.Cleanup(func() { _ = d.Close() })
	list := make([]*raft.Log, entries)
	for i := range list {
		list[i] = &raft.Log{Index: uint64(i + 1), Term: 1, Data: make([]byte, 700)}
	}
	if err := d.StoreLogs(list); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCutLeavesRoom: the beginning of a log is cut off in slices, so that an
// entry need not wait for all of it. What is not a beginning goes at once, since
// a log with a gap, or without the entry after its snapshot, is of no use.
func TestCutLeavesRoom(t *testing.T) {
	for _, c := range []struct {
		what     string
		min, max uint64
		writes   uint64
		// what is left
		first, last uint64
	}{
		{"a beginning", 1, 2*slice + 1, 3, 2*slice + 2, 3 * slice},
		{"one slice", 1, slice, 1, slice + 1, 3 * slice},
		{"an end", slice, 3 * slice, 1, 1, slice - 1},
		{"all", 1, 3 * slice, 1, 0, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			d := logged(t, 3*slice)
			d.keeps = trail{}
			before := d.about.writes
			if err := d.DeleteRange(c.min, c.max); err != nil {
				t.Fatal(err)
			}
			if n := d.about.writes - before; n != c.writes {
				t.Errorf("it took %d writes and not %d", n, c.writes)
			}
			if d.about.first != c.first || d.about.last != c.last {
				t.Errorf("the log goes from %d to %d and not from %d to %d", d.about.first, d.about.last, c.first, c.last)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := examine(d.path, "m1", ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCutLeavesATrail: a follower that is a little behind needs no snapshot, and
// what is kept for it is bounded in number and in bytes.
func TestCutLeavesATrail(t *testing.T) {
	const all = 100
	entry := len(pages.Seal(logBucket, numbered(1), encodeLog(nil, &raft.Log{Data: make([]byte, 700)})))
	for _, c := range []struct {
		what  string
		keeps trail
		high  uint64
		first uint64 // that is left
	}{
		{"so many entries", trail{10, all * entry}, all - 1, all - 9},
		{"so many bytes", trail{all, 7*entry + 1}, all - 1, all - 6},
		{"the one that is asked for at least", trail{all, entry - 1}, all - 1, all},
		{"nothing goes", trail{all, all * entry}, all - 1, 1},
		{"the snapshot is older", trail{10, all * entry}, 20, 21},
	} {
		t.Run(c.what, func(t *testing.T) {
			d := logged(t, all)
			d.keeps = c.keeps
			if err := d.DeleteRange(1, c.high); err != nil {
				t.Fatal(err)
			}
			if d.about.first != c.first || d.about.last != all {
				t.Errorf("the log goes from %d to %d and not from %d to %d", d.about.first, d.about.last, c.first, all)
			}
		})
	}
}

// BenchmarkCut cuts 9,000 of 14,000 entries off, and tells what the one that
// waited longest waited for, of those that were written meanwhile.
func BenchmarkCut(b *testing.B) {
	var worst time.Duration
	for b.Loop() {
		b.StopTimer()
		d := logged(b, 14_000)
		d.keeps = trail{}
		b.StartTimer()
		done := make(chan error, 1)
		go func() { done <- d.DeleteRange(1, 9_000) }()
		for next, cut := uint64(14_001), false; !cut; next++ {
			at := time.Now()
			if err := d.StoreLog(&raft.Log{Index: next, Term: 1, Data: make([]byte, 700)}); err != nil {
				b.Fatal(err)
			}
			worst = max(worst, time.Since(at))
			select {
			case err := <-done:
				if cut = true; err != nil {
					b.Fatal(err)
				}
			default:
			}
		}
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "ms-longest-wait")
}

// TestLogFillsItsPages: a log grows at its end alone, so that no page keeps room
// for what might come between.
func TestLogFillsItsPages(t *testing.T) {
	d := logged(t, 1)
	for i := range 500 {
		if err := d.StoreLog(&raft.Log{Index: uint64(i + 2), Term: 1, Data: make([]byte, 300)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.view(logBucket, func(b *bbolt.Bucket) error {
		if s := b.Stats(); s.LeafInuse*10 < s.LeafAlloc*7 {
			t.Errorf("%d bytes of entries lie in %d", s.LeafInuse, s.LeafAlloc)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkAppend writes one entry of a few tasks after the other.
func BenchmarkAppend(b *testing.B) {
	d := logged(b, 1)
	b.ReportAllocs()
	for next := uint64(2); b.Loop(); next++ {
		if err := d.StoreLog(&raft.Log{Index: next, Term: 1, Data: make([]byte, 200+next*7919%1000)}); err != nil {
			b.Fatal(err)
		}
	}
}
