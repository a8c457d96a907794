package checkpoint_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)

// example returns a task that uses every field.
func example(n int) tasks.Known {
	code := 3
	return tasks.Known{
		Launch: tasks.Launch{
			Accepted: now.Add(time.Duration(n)),
			LaunchTask: wire.LaunchTask{
				Framework: "f1", LaunchID: "7-1", User: "nobody", Policy: offers.Spread,
				Task: offers.Task{ID: offers.TaskID(fmt.Sprintf("t%03d", n)), Command: &offers.Command{Argv: []string{"true"}, Env: map[string]string{"A": "b"}}, KillGrace: offers.Duration(time.Second)},
				Holding: offers.Holding{
					Amounts: offers.Amounts{1500, 1 << 30}, Ports: offers.MakePorts(offers.PortRange{First: 31000, Last: 31001}),
					Devices: offers.OneDevice("gpu", offers.Grant{ID: "gpu-0", Index: 0, Memory: 5, Share: 500}),
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

// place is a checkpoint in dir, with its witness beside dir.
func place(dir string) checkpoint.Place {
	return checkpoint.Place{Path: filepath.Join(dir, "checkpoint.db"), Witness: filepath.Dir(dir), Agent: "a"}
}

// witnessOf returns where the witness of a checkpoint lies.
func witnessOf(p checkpoint.Place) string { return witness.Path(p.Witness, filepath.Dir(p.Path)) }

func open(t *testing.T, p checkpoint.Place) (*checkpoint.Store, checkpoint.Content) {
	t.Helper()
	s, c, err := checkpoint.Open(p, now)
	if err != nil {
		t.Fatal(err)
	}
	if c.Unwitnessed != nil {
		t.Fatal(c.Unwitnessed)
	}
	return s, c
}

func commit(t *testing.T, s *checkpoint.Store, c checkpoint.Change) {
	t.Helper()
	if err := s.Commit(c); err != nil {
		t.Fatal(err)
	}
}

func shut(t *testing.T, s *checkpoint.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// look opens a checkpoint and closes it again.
func look(t *testing.T, p checkpoint.Place) checkpoint.Content {
	t.Helper()
	s, c := open(t, p)
	shut(t, s)
	return c
}

func fill(t *testing.T, p checkpoint.Place, n int) map[offers.TaskRef]tasks.Known {
	t.Helper()
	s, c := open(t, p)
	if c.Damage != nil || c.Meta.Doubt != "" {
		t.Fatal(c.Damage, c.Meta.Doubt)
	}
	change := checkpoint.Change{Meta: &tasks.Meta{Agent: "a1", Term: 7}, Progress: map[offers.TaskRef]tasks.Progress{}}
	known := map[offers.TaskRef]tasks.Known{}
	for i := range n {
		k := example(i)
		known[k.Launch.Ref()] = k
		change.Launched = append(change.Launched, &k.Launch)
		change.Progress[k.Launch.Ref()] = k.Progress
	}
	commit(t, s, change)
	shut(t, s)
	return known
}

func same(t *testing.T, what string, c checkpoint.Content, known map[offers.TaskRef]tasks.Known) {
	t.Helper()
	for _, k := range c.Known {
		if !reflect.DeepEqual(k, known[k.Launch.Ref()]) {
			t.Fatalf("%s: %s came back as %+v", what, k.Launch.Ref(), k)
		}
	}
}

func TestWhatIsWrittenComesBack(t *testing.T) {
	p := place(t.TempDir())
	known := fill(t, p, 20)
	for range 2 { // the second time from the file that the first one made anew
		c := look(t, p)
		if c.Damage != nil || len(c.Known) != 20 || c.Meta != (tasks.Meta{Agent: "a1", Term: 7}) {
			t.Fatalf("%+v", c)
		}
		same(t, "it", c, known)
	}
	s, before := open(t, p)
	commit(t, s, checkpoint.Change{Removed: []offers.TaskRef{example(3).Launch.Ref(), {Framework: "f1", Task: "never-there"}}})
	shut(t, s)
	if c := look(t, p); len(c.Known) != 19 || c.Damage != nil || c.Meta.Doubt != "" || c.Epoch <= before.Epoch {
		t.Fatal(len(c.Known), c.Damage, c.Meta.Doubt, c.Epoch)
	}
}
