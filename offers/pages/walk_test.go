package pages_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/ringmaster-project/ringmaster/offers/pages"
)

type record struct{ bucket, key, value string }

// build makes a file by random commits and returns what bbolt finds in it.
func build(t testing.TB, seed uint64, sync bool) (path string, want []record) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: !sync})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 3))
	for range 1 + r.IntN(12) {
		err := db.Update(func(tx *bbolt.Tx) error { return scribble(tx, r) })
		if err != nil {
			t.Fatal(err)
		}
	}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				want = append(want, record{string(name), string(k), string(v)})
				return nil
			})
		})
	})
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	return path, want
}

// scribble puts and deletes records: few, many, and some that fill pages.
func scribble(tx *bbolt.Tx, r *rand.Rand) error {
	for n := range 1 + r.IntN(4) {
		b, err := tx.CreateBucketIfNotExists(fmt.Appendf(nil, "bucket%d", n))
		if err != nil {
			return err
		}
		for range r.IntN(200) {
			key := fmt.Appendf(nil, "key%05d", r.IntN(1000))
			if r.IntN(4) == 0 {
				err = b.Delete(key)
			} else {
				size := r.IntN(40)
				if r.IntN(40) == 0 {
					size += 9000
				}
				err = b.Put(key, bytes.Repeat([]byte{byte(r.IntN(256))}, size))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func walk(raw []byte) (got []record, err error) {
	err = pages.Walk(bytes.NewReader(raw), int64(len(raw)), func(bucket string, key, value []byte) error {
		got = append(got, record{bucket, string(key), string(value)})
		return nil
	})
	return got, err
}

// TestWalkAgainstBolt: whatever bbolt wrote, Walk reads as bbolt does.
func TestWalkAgainstBolt(t *testing.T) {
	for seed := range uint64(30) {
		path, want := build(t, seed, seed%2 == 0)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := walk(raw)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %d records, want %d: %v", seed, len(got), len(want), err)
		}
	}
}

// TestWalkOverDamage: whatever was done to a file, reading it ends, and where
// whole pages were hit what is missing is told. What lies in a value, and a
// single bit in the count of a leaf, are for the owner to find.
func TestWalkOverDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for seed := range uint64(10) {
		path, want := build(t, seed, false)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			bad := bytes.Clone(raw)
			at, how := r.IntN(len(bad)), r.IntN(4)
			switch how {
			case 0:
				bad[at] ^= 1 << r.IntN(8)
			case 1:
				bad = bad[:at]
			case 2:
				clear(bad[at/4096*4096 : min(len(bad), (at/4096+1)*4096)])
			default: // a page lies where another belongs
				copy(bad[at/4096*4096:], raw[r.IntN(len(raw)/4096)*4096:][:4096])
			}
			if got, err := walk(bad); err == nil && how != 0 && !slices.EqualFunc(got, want, alike) {
				t.Fatalf("seed %d: %d records of %d, damage of kind %d at %d, and nothing was said", seed, len(got), len(want), how, at)
			}
		}
	}
}

func alike(a, b record) bool {
	return a.bucket == b.bucket && a.key == b.key && len(a.value) == len(b.value)
}

// FuzzWalk: reading any file ends without a panic.
func FuzzWalk(f *testing.F) {
	path, _ := build(f, 1, true)
	raw, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw[:min(len(raw), 1<<16)])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = walk(raw) // the error is not what this is about
	})
}
