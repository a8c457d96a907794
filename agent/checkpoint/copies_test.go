package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// launches commits n more launches, one by one, and returns the file after each.
func launches(t *testing.T, p checkpoint.Place, n int) (copies [][]byte) {
	t.Helper()
	s, _ := open(t, p)
	for i := range n {
		k := example(100 + i)
		commit(t, s, checkpoint.Change{Launched: []*tasks.Launch{&k.Launch}, Progress: map[offers.TaskRef]tasks.Progress{k.Launch.Ref(): k.Progress}})
		raw, err := os.ReadFile(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, raw)
	}
	shut(t, s)
	return copies
}

func put(t *testing.T, path string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOlderCopies puts every copy back that there ever was, down to one that is
// a single change behind: each is found out, set aside, and leaves a doubt that
// stays until it is settled. The last state is no copy.
func TestOlderCopies(t *testing.T) {
	p := place(t.TempDir())
	known := fill(t, p, 5)
	const steps = 8
	copies := launches(t, p, steps)
	witness, err := os.ReadFile(witnessOf(p))
	if err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		k := example(100 + i)
		known[k.Launch.Ref()] = k
	}
	for i, raw := range copies {
		put(t, p.Path, raw)
		put(t, witnessOf(p), witness)
		c := look(t, p)
		same(t, "a copy", c, known)
		if last := i == steps-1; last != (c.Meta.Doubt == "") || last == c.Older || last != (c.Aside == "") || c.Damage != nil || len(c.Known) != 6+i {
			t.Fatalf("the copy after change %d of %d: %+v", i, steps, c)
		}
		if i == steps-1 {
			break
		}
		if kept, err := os.ReadFile(c.Aside); err != nil || string(kept) != string(raw) {
			t.Fatalf("the copy is not set aside whole: %v", err)
		}
		if err := os.Remove(c.Aside); err != nil {
			t.Fatal(err)
		}
		if again := look(t, p); again.Meta.Doubt == "" || again.Older || again.Aside != "" {
			t.Fatalf("the start after it: %+v", again)
		}
		s, _ := open(t, p)
		commit(t, s, checkpoint.Change{Meta: &tasks.Meta{Agent: "a1", Term: 7}})
		shut(t, s)
		if settled := look(t, p); settled.Meta.Doubt != "" {
			t.Fatalf("the doubt was settled: %+v", settled)
		}
	}
}

// TestWhatGivesDoubt opens checkpoints whose witness does not speak for them.
func TestWhatGivesDoubt(t *testing.T) {
	for _, c := range []struct {
		what   string
		do     func(p *checkpoint.Place)
		doubt  string
		aside  string
		nobody bool // nothing of it is taken
	}{
		{"the host has restarted", func(p *checkpoint.Place) { _ = os.Remove(witnessOf(*p)) }, "restarted", "", false},
		{"the witness is damaged", func(p *checkpoint.Place) {
			raw, _ := os.ReadFile(witnessOf(*p))
			raw[9] ^= 4
			put(t, witnessOf(*p), raw)
		}, "restarted", "", false},
		{"the witness is a link", func(p *checkpoint.Place) {
			_ = os.Rename(witnessOf(*p), witnessOf(*p)+"-real")
			_ = os.Symlink(witnessOf(*p)+"-real", witnessOf(*p))
		}, "restarted", "", false},
		{"another checkpoint of the agent", func(p *checkpoint.Place) {
			other := place(t.TempDir())
			fill(t, other, 2)
			raw, _ := os.ReadFile(other.Path)
			put(t, p.Path, raw)
		}, "not the one", "", false},
		{"another agent's checkpoint", func(p *checkpoint.Place) {
			other := place(t.TempDir())
			other.Agent = "b"
			fill(t, other, 2)
			raw, _ := os.ReadFile(other.Path)
			put(t, p.Path, raw)
		}, "", "foreign", true},
		{"another agent's folder, brought here", func(p *checkpoint.Place) {
			p.Agent, p.Witness = "b", t.TempDir()
		}, "", "foreign", true},
		{"a new name for the agent", func(p *checkpoint.Place) { p.Agent = "b" }, "", "", false},
		{"a new folder", func(p *checkpoint.Place) { _ = os.Remove(p.Path) }, "", "", true},
	} {
		p := place(t.TempDir())
		fill(t, p, 5)
		c.do(&p)
		got := look(t, p)
		if (c.doubt == "") != (got.Meta.Doubt == "") || !strings.Contains(got.Meta.Doubt, c.doubt) {
			t.Errorf("%s: the doubt is %q", c.what, got.Meta.Doubt)
		}
		if (c.aside == "") != (got.Aside == "") || !strings.Contains(filepath.Base(got.Aside), c.aside) || (c.aside == "foreign") != (got.Damage != nil) {
			t.Errorf("%s: set aside as %q: %v", c.what, got.Aside, got.Damage)
		}
		if c.nobody != (got.Meta.Agent == "") || c.nobody != (len(got.Known) == 0) {
			t.Errorf("%s: %q with %d tasks came back", c.what, got.Meta.Agent, len(got.Known))
		}
	}
}

// TestWithoutWitness: where none can be written the agent works, and is told.
func TestWithoutWitness(t *testing.T) {
	p := place(t.TempDir())
	p.Witness = filepath.Join(t.TempDir(), "not-there", "witness")
	for range 2 {
		s, c, err := checkpoint.Open(p, now)
		if err != nil || c.Unwitnessed == nil {
			t.Fatal(err, c.Unwitnessed)
		}
		commit(t, s, checkpoint.Change{Meta: &tasks.Meta{Agent: "a1"}})
		shut(t, s)
	}
}

// TestDismiss: an agent that ends its tasks leaves no witness.
func TestDismiss(t *testing.T) {
	p := place(t.TempDir())
	s, _ := open(t, p)
	if err := s.Dismiss(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(witnessOf(p)); !os.IsNotExist(err) {
		t.Errorf("the witness: %v", err)
	}
}
