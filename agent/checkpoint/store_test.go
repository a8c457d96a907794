package checkpoint_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)

// example returns a task that uses every field.
func example(n int) tasks.Known {
	code := 3
	return tasks.Known{
		Launch: tasks.Launch{
			Accepted: now.Add(time.Duration(n)),
			LaunchTask: wire.LaunchTask{
				Framework: "f1", User: "nobody", Policy: offers.Spread,
				Task: offers.Task{ID: offers.TaskID(fmt.Sprintf("t%03d", n)), Command: &offers.Command{Argv: []string{"true"}, Env: map[string]string{"A": "b"}}, KillGrace: offers.Duration(time.Second)},
				Holding: offers.Holding{
					Amounts: offers.Amounts{1500, 1 << 30}, Ports: offers.MakePorts(offers.PortRange{First: 31000, Last: 31001}),
					Devices: map[string][]offers.Grant{"gpu": {{ID: "gpu-0", Index: 0, Memory: 5, Share: 500}}},
				},
			},
		},
		Progress: tasks.Progress{
			State: offers.Failed, Process: &record.Identity{PID: 12, Start: 34, Boot: "b"}, Started: now, Serial: 2,
			Kill:    &tasks.KillOrder{Grace: time.Second, Reason: "why", Since: now},
			Reports: []tasks.Report{{ID: "x.2", State: offers.Failed, ExitCode: &code, Signal: "SIGKILL", Reason: "r", Message: "m", Time: now}},
		},
	}
}

func fill(t *testing.T, path string, n int) []tasks.Known {
	t.Helper()
	s, c, err := checkpoint.Open(path, now)
	if err != nil || c.Damage != nil {
		t.Fatal(err, c.Damage)
	}
	change := checkpoint.Change{Meta: &tasks.Meta{Agent: "a1", Term: 7}, Progress: map[offers.TaskRef]tasks.Progress{}}
	var known []tasks.Known
	for i := range n {
		k := example(i)
		known = append(known, k)
		change.Launched = append(change.Launched, k.Launch)
		change.Progress[k.Launch.Ref()] = k.Progress
	}
	if err := s.Commit(change); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return known
}

func TestWhatIsWrittenComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint.db")
	known := fill(t, path, 20)
	for range 2 { // the second time from the file that the first one made anew
		s, c, err := checkpoint.Open(path, now)
		if err != nil || c.Damage != nil || len(c.Known) != 20 || c.Meta != (tasks.Meta{Agent: "a1", Term: 7}) {
			t.Fatalf("%v %+v", err, c)
		}
		for _, k := range c.Known {
			var n int
			if _, err := fmt.Sscanf(string(k.Launch.Task.ID), "t%03d", &n); err != nil || !reflect.DeepEqual(k, known[n]) {
				t.Fatalf("task %d came back as %+v", n, k)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := checkpoint.Open(path, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(checkpoint.Change{Removed: []offers.TaskRef{known[3].Launch.Ref()}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, c, err := checkpoint.Open(path, now); err != nil || len(c.Known) != 19 || c.Damage != nil {
		t.Fatal(err, len(c.Known), c.Damage)
	}
}

// TestDamage damages files in every way that disks do. Whatever comes back is
// what was written, the rest is lost or (with the file) gone, damage that
// loses anything is told, and the next start is clean.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	clean := filepath.Join(dir, "clean.db")
	known := map[offers.TaskRef]tasks.Known{}
	for _, k := range fill(t, clean, 20) {
		known[k.Launch.Ref()] = k
	}
	data, err := os.ReadFile(clean)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 150 {
		bad := append([]byte(nil), data...)
		how := "flip"
		switch n % 3 {
		case 0:
			bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
		case 1:
			how = "cut"
			bad = bad[:random.IntN(len(bad))]
		default:
			how = "zero"
			at := random.IntN(len(bad)/4096) * 4096
			clear(bad[at : at+4096])
		}
		path := filepath.Join(dir, fmt.Sprintf("bad-%d.db", n))
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s, c, err := checkpoint.Open(path, now)
		if err != nil {
			t.Fatalf("%s %d: %v", how, n, err)
		}
		for _, k := range c.Known {
			if !reflect.DeepEqual(k, known[k.Launch.Ref()]) {
				t.Fatalf("%s %d: wrong data came back: %+v", how, n, k)
			}
		}
		if c.Damage == nil && (len(c.Known) != len(known) || c.Meta.Agent != "a1") {
			t.Fatalf("%s %d: %d of %d tasks came back and nothing was said", how, n, len(c.Known), len(known))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, after, err := checkpoint.Open(path, now)
		if err != nil || after.Damage != nil || len(after.Known) != len(c.Known) {
			t.Fatalf("%s %d: the second start: %v %v", how, n, err, after.Damage)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
