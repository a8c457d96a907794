package checkpoint_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// each is how many damaged files of each kind are tried; make damage asks for
// more than a test run has time for.
func each(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("RINGMASTER_TEST_DAMAGE"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 50
}

const pageSize = 4096

// kinds of damage; others are whole files of another time or another task.
func kinds(others [][]byte) map[string]func(r *rand.Rand, raw []byte) []byte {
	return map[string]func(r *rand.Rand, raw []byte) []byte{
		"a flipped bit": func(r *rand.Rand, raw []byte) []byte {
			raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
			return raw
		},
		"flipped bits": func(r *rand.Rand, raw []byte) []byte {
			for range 2 + r.IntN(40) {
				raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
			}
			return raw
		},
		"cut": func(r *rand.Rand, raw []byte) []byte { return raw[:r.IntN(len(raw))] },
		"a zero page": func(r *rand.Rand, raw []byte) []byte {
			at := r.IntN(len(raw)/pageSize+1) * pageSize
			clear(raw[min(at, len(raw)):min(at+pageSize, len(raw))])
			return raw
		},
		"a page of another time": func(r *rand.Rand, raw []byte) []byte {
			at, other := r.IntN(len(raw)/pageSize+1)*pageSize, others[r.IntN(len(others))]
			copy(raw[min(at, len(raw)):], other[min(at, len(other)):min(at+pageSize, len(other))])
			return raw
		},
		"noise": func(r *rand.Rand, raw []byte) []byte {
			for at, n := r.IntN(len(raw)), r.IntN(300); n > 0 && at < len(raw); at, n = at+1, n-1 {
				raw[at] = byte(r.IntN(256))
			}
			return raw
		},
		"another file": func(r *rand.Rand, _ []byte) []byte { return bytes.Clone(others[r.IntN(len(others))]) },
	}
}

// TestDamagedCheckpoints damages a checkpoint in every way that disks and
// people do. Either all that was written comes back, or the file is set aside
// with a reason, what comes back of it is as it was written, and nothing is
// started because of it. The next start is clean.
func TestDamagedCheckpoints(t *testing.T) {
	master := place(t.TempDir())
	known := fill(t, master, 30)
	older := launches(t, master, 12)
	for i := range 12 {
		k := example(100 + i)
		known[k.Launch.Ref()] = k
	}
	whole := older[11]
	line, epoch, _ := witness.Read(master.Witness, filepath.Dir(master.Path))
	stranger := place(t.TempDir())
	stranger.Agent = "b"
	fill(t, stranger, 30)
	others := append(older[:11:11], launches(t, stranger, 3)...)
	for name, do := range kinds(others) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(len(name)), 2))
			dir, harmless := t.TempDir(), 0
			for n := range each(t) {
				p := place(filepath.Join(dir, strconv.Itoa(n)))
				if err := os.Mkdir(filepath.Dir(p.Path), 0o700); err != nil {
					t.Fatal(err)
				}
				put(t, p.Path, do(r, bytes.Clone(whole)))
				speak(t, p, line, epoch)
				c := look(t, p)
				same(t, name, c, known)
				switch {
				case c.Aside == "":
					if harmless++; c.Damage != nil || c.Meta != (tasks.Meta{Agent: "a1", Term: 7}) || len(c.Known) != len(known) {
						t.Fatalf("%d: %d of %d tasks came back as %+v, and nothing was said", n, len(c.Known), len(known), c.Meta)
					}
				case c.Damage == nil && !c.Older:
					t.Fatalf("%d: it is set aside without a reason", n)
				case c.Meta.Agent != "" && (c.Meta.Agent != "a1" || c.Meta.Doubt == ""):
					t.Fatalf("%d: it comes back as %+v", n, c.Meta)
				}
				again := look(t, p)
				if again.Damage != nil || again.Aside != "" || len(again.Known) != len(c.Known) || again.Meta.Doubt != c.Meta.Doubt {
					t.Fatalf("%d: the second start: %+v", n, again)
				}
				if err := os.RemoveAll(filepath.Dir(p.Path)); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d files, %d of them harmless", each(t), harmless)
		})
	}
}

// speak gives a checkpoint the witness of another one.
func speak(t *testing.T, p checkpoint.Place, line witness.Line, epoch uint64) {
	t.Helper()
	w, err := witness.Open(p.Witness, filepath.Dir(p.Path), line, epoch)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestDamagedRecords does the same to what shims write: the record comes back
// as it was written, or not at all.
func TestDamagedRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "f1:t1")
	other := filepath.Join(t.TempDir(), "f1:t2")
	exit := record.Exit{Shim: record.Identity{PID: 7, Start: 8, Boot: "b"}, Code: 3, Time: now}
	write := func(dir, name string, v any) []byte {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o700), record.Write(dir, name, v, false)); err != nil {
			t.Fatal(err)
		}
		return read(t, filepath.Join(dir, name))
	}
	started := write(dir, record.StartedFile, record.Started{Shim: exit.Shim})
	foreign := write(other, record.ExitFile, record.Exit{Shim: exit.Shim, Code: 4})
	whole := write(dir, record.ExitFile, exit)
	for name, do := range kinds([][]byte{started, foreign}) {
		r := rand.New(rand.NewPCG(uint64(len(name)), 2))
		for n := range max(1000, each(t)) {
			bad := do(r, bytes.Clone(whole))
			put(t, filepath.Join(dir, record.ExitFile), bad)
			var got record.Exit
			err := record.Read(dir, record.ExitFile, &got)
			if (err == nil) != bytes.Equal(bad, whole) || err != nil && !errors.Is(err, record.ErrDamaged) {
				t.Fatalf("%s %d: %q was read as %+v: %v", name, n, bad, got, err)
			}
		}
	}
}
