package checkpoint_test

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestMisplacedRecords damages checkpoints so that every page of the file is
// good and every value was written at some time: only what belongs together
// shows that something is wrong. What is hit is lost and said to be, the rest
// comes back, the file is set aside.
func TestMisplacedRecords(t *testing.T) {
	first, second := []byte("f1\x00t000"), []byte("f1\x00t001")
	for what, damage := range map[string]func(launches, progress *bbolt.Bucket) error{
		"progress of another task":    func(_, p *bbolt.Bucket) error { return p.Put(first, bytes.Clone(p.Get(second))) },
		"launch of another task":      func(l, _ *bbolt.Bucket) error { return l.Put(first, bytes.Clone(l.Get(second))) },
		"a launch among the progress": func(l, p *bbolt.Bucket) error { return p.Put(first, bytes.Clone(l.Get(first))) },
		"progress among the launches": func(l, p *bbolt.Bucket) error { return l.Put(first, bytes.Clone(p.Get(first))) },
		"no progress":                 func(_, p *bbolt.Bucket) error { return p.Delete(first) },
		"no launch":                   func(l, _ *bbolt.Bucket) error { return l.Delete(first) },
		"an empty value":              func(l, _ *bbolt.Bucket) error { return l.Put(first, nil) },
		"a flipped bit": func(l, _ *bbolt.Bucket) error {
			value := bytes.Clone(l.Get(first))
			value[len(value)/2] ^= 4
			return l.Put(first, value)
		},
	} {
		t.Run(what, func(t *testing.T) {
			p := place(t.TempDir())
			fill(t, p, 3)
			db, err := bbolt.Open(p.Path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(func(tx *bbolt.Tx) error {
				return damage(tx.Bucket([]byte("launches")), tx.Bucket([]byte("progress")))
			}); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			c := look(t, p)
			if want := []offers.TaskRef{{Framework: "f1", Task: "t000"}}; !reflect.DeepEqual(c.Lost, want) || c.Damage == nil {
				t.Errorf("lost are %v, want %v; said is %v", c.Lost, want, c.Damage)
			}
			if len(c.Known) != 2 {
				t.Errorf("%d tasks come back, want 2", len(c.Known))
			}
			if _, err := os.Stat(c.Aside); err != nil || c.Aside == p.Path {
				t.Errorf("set aside as %q: %v", c.Aside, err)
			}
		})
	}
}

// TestBrokenPages damages the file below its records: where it begins, and
// where it ends. That is said, the file set aside, and the agent starts.
func TestBrokenPages(t *testing.T) {
	page := os.Getpagesize()
	for what, damage := range map[string]func(data []byte) []byte{
		"the first meta page":       func(data []byte) []byte { data[16+30] ^= 1; return data },
		"the second meta page":      func(data []byte) []byte { data[page+16+30] ^= 1; return data },
		"cut after the meta pages":  func(data []byte) []byte { return data[:2*page] },
		"cut in the second of them": func(data []byte) []byte { return data[:page+page/2] },
		"cut among the records":     func(data []byte) []byte { return data[:3*page] },
		"empty":                     func([]byte) []byte { return nil },
		"zeroed":                    func(data []byte) []byte { clear(data); return data },
	} {
		t.Run(what, func(t *testing.T) {
			p := place(t.TempDir())
			fill(t, p, 30)
			data, err := os.ReadFile(p.Path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p.Path, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			c := look(t, p)
			if c.Damage == nil || c.Meta.Doubt == "" {
				t.Errorf("said is %v, the doubt %q", c.Damage, c.Meta.Doubt)
			}
			if _, err := os.Stat(c.Aside); err != nil || c.Aside == p.Path {
				t.Errorf("set aside as %q: %v", c.Aside, err)
			}
			if again := look(t, p); again.Damage != nil {
				t.Errorf("the next start finds %v", again.Damage)
			}
		})
	}
}

// TestMissingTaskIsNoticed takes both records of a task out of a checkpoint:
// what is left is good, and fewer than it says.
func TestMissingTaskIsNoticed(t *testing.T) {
	p := place(t.TempDir())
	fill(t, p, 3)
	db, err := bbolt.Open(p.Path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		key := []byte("f1\x00t000")
		return errors.Join(tx.Bucket([]byte("launches")).Delete(key), tx.Bucket([]byte("progress")).Delete(key))
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if c := look(t, p); c.Damage == nil || c.Meta.Doubt == "" || len(c.Known) != 2 {
		t.Errorf("said is %v, the doubt %q, with %d tasks", c.Damage, c.Meta.Doubt, len(c.Known))
	}
}

// A commit that did not reach the disk is no commit.
func TestFailedCommitIsSaid(t *testing.T) {
	s, _ := open(t, place(t.TempDir()))
	shut(t, s)
	one := example(1)
	if err := s.Commit(checkpoint.Change{Launched: []*tasks.Launch{&one.Launch}}); err == nil {
		t.Error("a store that is closed has committed")
	}
}
