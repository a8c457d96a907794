package replica

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// folder is the files of a master, by their paths within its data folder.
type folder map[string][]byte

func filesOf(t *testing.T, dir string) folder {
	t.Helper()
	files := folder{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (f folder) save(t *testing.T, dir string) {
	t.Helper()
	for name, raw := range f {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, raw, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// life runs a master through entries, snapshots and more entries, and returns
// its folder at several times, the last of them the end, and its state then.
func life(t *testing.T, c Config) (times []folder, end *state.State) {
	t.Helper()
	r := start(t, c)
	leaderOf(t, r)
	for round := range 5 {
		for n := range 15 {
			apply(t, r, setRole(fmt.Sprintf("role%d", n), float64(1+round)))
		}
		times = append(times, filesOf(t, r.config.DataDir))
		if round == 1 || round == 3 {
			if err := r.raft.Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
			times = append(times, filesOf(t, r.config.DataDir))
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	end = r.State()
	return append(times, filesOf(t, r.config.DataDir)), end
}

// rebuild does with a folder what Open does until Raft takes over, and what
// Raft does then once its entries are committed.
func rebuild(dir, name, memory string) (*state.State, error) {
	id, was, err := openIdentity(dir, name, memory)
	if err != nil {
		return nil, err
	}
	s, err := openStore(filepath.Join(dir, "raft.db"), id.ID, was)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	kept, err := openSnapshots(dir, id.ID, was, hclog.NewNullLogger())
	if err != nil {
		return nil, err
	}
	list, err := kept.List()
	if err != nil {
		return nil, err
	}
	f, index := newFSM(nil, hclog.NewNullLogger()), uint64(0)
	if len(list) > 0 {
		_, in, err := kept.Open(list[0].ID)
		if err != nil {
			return nil, err
		}
		if err := f.Restore(in); err != nil {
			return nil, err
		}
		index = list[0].Index
	}
	for index++; index <= was.last; index++ {
		var l raft.Log
		if err := s.GetLog(index, &l); err != nil {
			return nil, err
		}
		if l.Type == raft.LogCommand {
			f.Apply(&l)
		}
	}
	return f.current.Load(), nil
}

func bytesOf(t *testing.T, s *state.State) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := s.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// harm does one kind of damage to a file; other is the same file of another
// time, or of another master.
func harm(r *rand.Rand, kind string, raw, other []byte) []byte {
	const page = 4096
	at := r.IntN(len(raw) + 1)
	switch kind {
	case "a flipped bit":
		raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
	case "flipped bits":
		for range 2 + r.IntN(40) {
			raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
		}
	case "cut":
		return raw[:at]
	case "a zero page":
		clear(raw[at/page*page : min(len(raw), (at/page+1)*page)])
	case "a page of another time":
		from := min(at/page*page, len(other))
		copy(raw[at/page*page:], other[from:min(from+page, len(other))])
	default:
		return bytes.Clone(other)
	}
	return raw
}

// TestDamagedFolders damages each file of a master in every way. It ends in the
// very state that the master had, or in one sentence.
func TestDamagedFolders(t *testing.T) {
	count := 200
	if text := os.Getenv("RINGMASTER_TEST_DAMAGE"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	c := config(t, "m1")
	times, end := life(t, c)
	stranger, _ := life(t, config(t, "m1"))
	whole, want := times[len(times)-1], bytesOf(t, end)
	others := append(times[:len(times)-1:len(times)-1], stranger...)
	line, writes, ok := witness.Read(c.RuntimeDir, c.DataDir)
	if !ok {
		t.Fatal("there is no witness")
	}
	names := slices.Sorted(maps.Keys(whole))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "lock" })
	for _, kind := range []string{"a flipped bit", "flipped bits", "cut", "a zero page", "a page of another time", "another file", "another folder"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(len(kind)), 9))
			base, harmless := t.TempDir(), 0
			for n := range count {
				bad := maps.Clone(whole)
				name, other := names[n%len(names)], others[r.IntN(len(others))]
				if kind == "another folder" {
					bad = other
				} else {
					bad[name] = harm(r, kind, bytes.Clone(whole[name]), pick(r, other, name))
				}
				dir := filepath.Join(base, strconv.Itoa(n))
				bad.save(t, dir)
				w, err := witness.Open(base, dir, line, writes)
				if err := errors.Join(err, w.Close()); err != nil {
					t.Fatal(err)
				}
				got, err := rebuild(dir, "m1", base)
				switch {
				case err != nil && strings.Contains(err.Error(), "\n"):
					t.Fatalf("%s: more than a sentence: %v", name, err)
				case err == nil && kind == "another folder" && !bytes.Equal(bad["identity.json"], whole["identity.json"]): // a whole master, only elsewhere
				case err == nil && !bytes.Equal(bytesOf(t, got), want):
					t.Fatalf("%s %d: another state, and nothing was said", name, n)
				case err == nil:
					harmless++
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d folders, %d of them harmless", count, harmless)
		})
	}
}

// pick returns a file of another folder: the one of that name, or one like it.
func pick(r *rand.Rand, other folder, name string) []byte {
	if raw, ok := other[name]; ok {
		return raw
	}
	for _, n := range slices.Sorted(maps.Keys(other)) {
		if filepath.Base(n) == filepath.Base(name) {
			return other[n]
		}
	}
	return nil
}

// TestMisplacedSnapshot: a snapshot that says another place in the log than it
// was taken at would skip entries or apply them twice. Raft does not notice.
func TestMisplacedSnapshot(t *testing.T) {
	c := config(t, "m1")
	times, end := life(t, c)
	whole, want := times[len(times)-1], bytesOf(t, end)
	index := regexp.MustCompile(`"Index":(\d+)`)
	for name, meta := range whole {
		if filepath.Base(name) != "meta.json" {
			continue
		}
		at, err := strconv.Atoi(string(index.FindSubmatch(meta)[1]))
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range []int{-3, -1, 1, 5} {
			bad, dir := maps.Clone(whole), filepath.Join(t.TempDir(), "m1")
			bad[name] = index.ReplaceAll(meta, fmt.Appendf(nil, `"Index":%d`, at+by))
			bad.save(t, dir)
			if got, err := rebuild(dir, "m1", filepath.Dir(dir)); err == nil && !bytes.Equal(bytesOf(t, got), want) {
				t.Errorf("%s, moved by %d: another state, and nothing was said", name, by)
			}
		}
	}
}

// TestRefusedFolders: what Open says, and that it holds nothing then.
func TestRefusedFolders(t *testing.T) {
	c := config(t, "m1")
	times, end := life(t, c)
	whole := times[len(times)-1]
	line, writes, _ := witness.Read(c.RuntimeDir, c.DataDir)
	for what, damage := range map[string]struct {
		do   func(f folder)
		says string
	}{
		"nothing":           {func(folder) {}, ""},
		"the log is empty":  {func(f folder) { f["raft.db"] = nil }, "damaged"},
		"the log is gone":   {func(f folder) { delete(f, "raft.db") }, "no such file"},
		"it is a copy":      {func(f folder) { clear(f); maps.Copy(f, times[2]) }, "older copy"},
		"the id is gone":    {func(f folder) { delete(f, "identity.json") }, "identity.json is missing"},
		"the id is damaged": {func(f folder) { f["identity.json"] = []byte("{") }, "identity.json is damaged"},
	} {
		files := maps.Clone(whole)
		damage.do(files)
		again := config(t, "m1")
		files.save(t, again.DataDir)
		w, err := witness.Open(again.RuntimeDir, again.DataDir, line, writes)
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		r, err := Open(again)
		if damage.says != "" {
			if err == nil || !strings.Contains(err.Error(), damage.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		leaderOf(t, r)
		apply(t, r, setRole("role0", 77))
		if n, before := r.State().Counts(), end.Counts(); n != before {
			t.Errorf("%s: %+v came back, %+v were there", what, n, before)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
