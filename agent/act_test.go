package agent

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent/checkpoint"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestNothingIsDoneThatIsNotWrittenDown takes the disk away from an agent that
// was just told to launch a task: it ends, and has not touched the task.
func TestNothingIsDoneThatIsNotWrittenDown(t *testing.T) {
	store, _, err := checkpoint.Open(checkpoint.Place{Path: filepath.Join(t.TempDir(), "checkpoint.db")}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil { // every commit fails from now on
		t.Fatal(err)
	}
	a := &Agent{
		log: hclog.NewNullLogger(), store: store, machine: tasks.New(tasks.Config{}, tasks.Meta{}),
		inbox: make(chan func(), 8), stopped: make(chan struct{}),
		life: t.Context(), preparing: map[offers.TaskRef]context.CancelCauseFunc{},
	}
	a.processes = &processes{agent: a, turns: make(chan struct{}, 1)}
	// To prepare this task fails at its user, and the loop would be told.
	task := offers.Task{ID: "t", Command: &offers.Command{Shell: "true", User: "no-such-user"}}
	if err := a.machine.Launch(&wire.Launch{Term: 1, Tasks: []wire.LaunchTask{{Framework: "f", Task: task}}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	err = a.act()
	a.work.Wait()
	if err == nil {
		t.Error("an agent goes on that can't write")
	}
	if len(a.inbox) > 0 {
		t.Error("a task was prepared that is not written down")
	}
}
