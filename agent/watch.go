package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/sandbox"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// A sandbox is looked at again after fifty times as long as the last look at it
// took, so that all looks together take a fiftieth of one core; but not more
// often than every second, and once a minute at least.
const (
	looksApart  = 50
	firstLook   = time.Second
	seldomLook  = time.Minute
	collectEach = time.Minute
)

// watcher looks at the sandboxes of living tasks: logs that have become too
// long lose their beginnings, and a task that takes more of the disk than it
// asked for is ended. Between two looks a task may pass its limits. It also
// looks whether the disk itself is full.
func (a *Agent) watcher() {
	tick := time.NewTicker(firstLook)
	defer tick.Stop()
	due := map[offers.TaskRef]time.Time{}
	full := false
	for {
		if now := a.sandboxes.Full(full); now != full {
			full = now
			a.post(func() { a.diskFull(now) })
		}
		select {
		case <-tick.C:
		case <-a.stopped:
			return
		}
		living := a.living()
		maps.DeleteFunc(due, func(ref offers.TaskRef, _ time.Time) bool { _, ok := living[ref]; return !ok })
		for ref, disk := range living {
			began := time.Now()
			if began.Before(due[ref]) {
				continue
			}
			a.look(ref, disk)
			now := time.Now()
			due[ref] = now.Add(min(max(looksApart*now.Sub(began), firstLook/2), seldomLook))
		}
	}
}

// diskFull has the masters offer the agent to nobody while its disk is full.
func (a *Agent) diskFull(full bool) {
	if !full {
		a.log.Info("there is room on the disk of data_dir again")
		a.machine.Withdraw("")
		return
	}
	a.log.Warn("the disk of data_dir is full; nothing more of this agent is offered until there is room")
	a.machine.Withdraw("its disk is full")
}

// living returns what the living tasks asked of the disk.
func (a *Agent) living() map[offers.TaskRef]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	living := make(map[offers.TaskRef]int64, len(a.ended))
	for ref := range a.ended {
		living[ref] = a.disks[ref]
	}
	return living
}

// look looks at one sandbox. What a task writes to its logs ends no task: they
// take half of its disk at most.
func (a *Agent) look(ref offers.TaskRef, disk int64) {
	keep := a.config.LogSize
	if disk > 0 && (keep == 0 || keep > disk/4) {
		keep = disk / 4
	}
	if keep > 0 {
		if _, err := a.sandboxes.TrimLogs(ref, keep); errors.Is(err, sandbox.ErrKept) {
			a.keptWhole.Do(func() { a.log.Warn("logs of tasks are not kept short", "error", err) })
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.log.Warn("the logs of a task can't be kept short", "task", ref.String(), "error", err)
		}
	}
	if disk == 0 {
		return
	}
	used, err := a.sandboxes.Used(ref)
	if err != nil || used <= disk {
		return // it is gone, or well
	}
	message := fmt.Sprintf("its sandbox takes %d bytes of the disk, and it asked for %d", used, disk)
	a.post(func() { a.machine.Doom(ref, tasks.Doom{Reason: offers.ReasonDiskLimit, Message: message}, time.Now()) })
}

// collector removes, since that may take long, what is kept of forgotten tasks,
// old sandboxes, and cached artifacts when the disk is nearly full.
func (a *Agent) collector() {
	tick := time.NewTicker(collectEach)
	defer tick.Stop()
	for {
		if err := a.processes.Clear(); err != nil {
			a.log.Warn("something of forgotten tasks is left", "error", err)
		}
		pressed := func() bool {
			if !a.sandboxes.Pressed() {
				return false
			}
			a.artifacts.Shrink()
			return a.sandboxes.Pressed()
		}
		if n, err := a.sandboxes.Collect(time.Now(), pressed); err != nil {
			a.log.Warn("an old sandbox is left", "error", err)
		} else if n > 0 {
			a.log.Debug("old sandboxes removed", "count", n)
		}
		select {
		case <-a.collect:
		case <-tick.C:
		case <-a.stopped:
			return
		}
	}
}
