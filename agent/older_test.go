package agent_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// copyOf returns the checkpoint as it is between two writes.
func copyOf(t *testing.T, path string) []byte {
	t.Helper()
	for range 1000 {
		one, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if two, err := os.ReadFile(path); err == nil && bytes.Equal(one, two) {
			return one
		}
	}
	t.Fatal("the checkpoint never stands still")
	return nil
}

// TestCopiedFolder brings an agent back on a copy of its checkpoint from
// when all tasks were written down and few had started. However much of the
// folder is from then, and whatever has become of the witness: no task starts
// twice, and each has an end.
func TestCopiedFolder(t *testing.T) {
	const count = 40
	for what, c := range map[string]struct {
		back func(dir string) error // what else is older
		runs bool                   // the tasks are found and go on
	}{
		"the file":                         {func(string) error { return nil }, true},
		"the file, and no witness":         {removeWitness, true},
		"the folder":                       {removeRuns, false},
		"the folder, and no witness":       {func(dir string) error { return errors.Join(removeRuns(dir), removeWitness(dir)) }, false},
		"the file, after the tasks' ends":  {func(string) error { <-time.After(1500 * time.Millisecond); return nil }, true},
		"the folder, after the tasks' end": {func(dir string) error { <-time.After(1500 * time.Millisecond); return removeRuns(dir) }, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m, dir, logs := newMaster(t), t.TempDir(), t.TempDir()
			h := run(t, wide(config(t, dir, m)))
			l, _ := m.welcome("a1", 1)
			var list []offers.Task
			for n := range count {
				id := offers.TaskID(fmt.Sprintf("t%d", n))
				list = append(list, shell(id, fmt.Sprintf("echo started >> %s/%s; sleep 1; exit 3", logs, id)))
			}
			l.launch(1, list...)
			await(t, filepath.Join(logs, "t0"))
			path := filepath.Join(dir, "checkpoint.db")
			old := copyOf(t, path)
			l.status("t0") // acknowledged, so that the copy lacks something
			for n := range count {
				await(t, filepath.Join(logs, fmt.Sprintf("t%d", n)))
			}
			if err := h.stop(); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(path, old, 0o600), c.back(dir)); err != nil {
				t.Fatal(err)
			}
			again := run(t, wide(config(t, dir, m)))
			l, register := m.welcome("a1", 2)
			if !register.Doubt || len(register.Tasks) != count {
				t.Errorf("it registers with doubt %v and %d tasks", register.Doubt, len(register.Tasks))
			}
			lost := 0
			for _, task := range list {
				s := l.end(task.ID)
				switch {
				case s.State == offers.Gone && s.Reason == offers.ReasonAgentRestarted,
					s.State == offers.Failed && s.Reason == offers.ReasonShimLost && s.ExitCode == nil:
					lost++
				case s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 3:
					t.Errorf("%s ended %+v", task.ID, s)
				}
				if log := await(t, filepath.Join(logs, string(task.ID))); log != "started" {
					t.Errorf("%s: starts %q", task.ID, log)
				}
			}
			if c.runs != (lost == 0) {
				t.Errorf("nobody knows the ends of %d tasks", lost)
			}
			if err := again.stop(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestIntentOfAnOlderCopy: a copy that knows a launch and not its start, one
// change behind, starts nothing.
func TestIntentOfAnOlderCopy(t *testing.T) {
	m, dir, logs := newMaster(t), t.TempDir(), t.TempDir()
	c, path := config(t, dir, m), filepath.Join(dir, "checkpoint.db")
	place := writeIntent(t, c, "t", "echo started >> "+logs+"/t")
	old := copyOf(t, path)
	s, _, err := checkpoint.Open(place, time.Now())
	if err := errors.Join(err, s.Close(), os.WriteFile(path, old, 0o600)); err != nil {
		t.Fatal(err)
	}
	h := run(t, c)
	l, register := m.welcome("a1", 1)
	if s := l.end("t"); !register.Doubt || s.State != offers.Gone || s.Reason != offers.ReasonAgentRestarted {
		t.Errorf("doubt %v, it ended %+v", register.Doubt, s)
	}
	if _, err := os.Stat(filepath.Join(logs, "t")); err == nil {
		t.Error("it started")
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
}

// TestMastersKnowBetter: where nothing on the host shows that the checkpoint is
// a copy, the masters' word keeps what it brought along from starting.
func TestMastersKnowBetter(t *testing.T) {
	for _, older := range []bool{false, true} {
		m, dir, logs := newMaster(t), t.TempDir(), t.TempDir()
		c := config(t, dir, m)
		writeIntent(t, c, "t", "echo started >> "+logs+"/t")
		h := run(t, c)
		l, register := m.next()
		if register.Doubt || register.Have != "" || register.Next == "" || len(register.Tasks) != 1 {
			t.Errorf("it registers as %+v", register)
		}
		answer := &wire.AgentRegistered{AgentID: "a1", Older: older}
		answer.Master.Term = 1
		l.say(answer)
		if s := l.end("t"); (s.State == offers.Gone) != older {
			t.Errorf("older %v: it ended %+v", older, s)
		}
		if _, err := os.Stat(filepath.Join(logs, "t")); (err == nil) == older {
			t.Errorf("older %v: whether it started: %v", older, err)
		}
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		again := run(t, c)
		if _, then := m.next(); then.Have != register.Next && (older || then.Next != register.Next) {
			t.Errorf("older %v: the next run has %q and %q after %q", older, then.Have, then.Next, register.Next)
		}
		if err := again.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyThatRestarts: a copy shows itself to the masters however often its
// agent restarts before it reaches one, were its witness a copy too.
func TestCopyThatRestarts(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	c := config(t, dir, m)
	live := func() *wire.RegisterAgent {
		t.Helper()
		h := run(t, c)
		_, register := m.welcome("a1", 1)
		<-h.Registered()
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		return register
	}
	live()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "ringmaster-*"))
	copies := map[string][]byte{}
	for _, path := range append(files, filepath.Join(dir, "checkpoint.db")) {
		raw, e := os.ReadFile(path)
		copies[path], err = raw, errors.Join(err, e)
	}
	live()
	known := live().Next
	for path, raw := range copies {
		err = errors.Join(err, os.WriteFile(path, raw, 0o600))
	}
	if err != nil || len(files) != 1 {
		t.Fatal(err, files)
	}
	for range 4 {
		h := run(t, c)
		_, register := m.next()
		if register.Doubt || register.Have == known || register.Next == known {
			t.Fatalf("the masters know %q, and it registers as %+v", known, register)
		}
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewFolder: an agent whose data folder was emptied is a new agent, and what
// still runs of the old one ends.
func TestNewFolder(t *testing.T) {
	m, dir, logs := newMaster(t), t.TempDir(), t.TempDir()
	c := config(t, dir, m)
	c.CgroupRoot = "none" // it is the process that is found
	h := run(t, c)
	l, _ := m.welcome("a1", 1)
	l.launch(1, shell("old", "echo $$ > "+logs+"/pid; sleep 1000"))
	pid := await(t, filepath.Join(logs, "pid"))
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		err = errors.Join(err, os.RemoveAll(f))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !alive(t, pid) {
		t.Fatal("the task ended by itself")
	}
	again := run(t, c)
	if _, register := m.welcome("a2", 1); register.Agent.ID != "" {
		t.Errorf("it registers as %s", register.Agent.ID)
	}
	if alive(t, pid) {
		t.Error("a task of the old folder goes on")
	}
	if err := again.stop(); err != nil {
		t.Fatal(err)
	}
}

// writeIntent leaves a checkpoint with a task of which nothing has run.
func writeIntent(t *testing.T, c agent.Config, id offers.TaskID, script string) checkpoint.Place {
	t.Helper()
	place := checkpoint.Place{Path: filepath.Join(c.DataDir, "checkpoint.db"), Witness: c.RuntimeDir, Agent: c.Name}
	s, _, err := checkpoint.Open(place, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l := tasks.Launch{LaunchTask: wire.LaunchTask{Framework: "f1", Task: shell(id, script)}, Accepted: time.Now()}
	err = s.Commit(checkpoint.Change{
		Meta: &tasks.Meta{Agent: "a1", Term: 1}, Launched: []*tasks.Launch{&l},
		Progress: map[offers.TaskRef]tasks.Progress{l.Ref(): {State: offers.Starting}},
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return place
}

// wide gives the agent room for many tasks.
func wide(c agent.Config) agent.Config {
	c.Resources = "cpus=100,mem=100GiB,disk=10GiB"
	return c
}

// removeRuns takes the shims' records away at once, while shims write.
func removeRuns(dir string) error { return os.Rename(filepath.Join(dir, "run"), dir+"-run") }

func removeWitness(dir string) error {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "ringmaster-*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%d witnesses: %w", len(found), err)
	}
	return os.Remove(found[0])
}
