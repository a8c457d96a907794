package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// work makes the tasks and reads what they left. Every task writes "start" and
// its pid into a file of its own as the first thing, and "end" as the last.
type work struct {
	folder string // of those files; also marks the tasks among the host's processes
}

// marker and weight are in the environment of every task.
const (
	marker    = "CHAOS_FOLDER"
	weight    = "CHAOS_CPUS" // thousandths of a core that it was given
	failsWith = 3            // exit code of the tasks that fail on purpose
	script    = `echo "start $$" >>"$CHAOS_FOLDER/$RINGMASTER_TASK_ID"; sleep %.3f; echo "end $$" >>"$CHAOS_FOLDER/$RINGMASTER_TASK_ID"; exit %d`
)

// unit is what each task of an author takes.
func unit(gpu bool) offers.Resources {
	u := offers.Resources{Amounts: offers.Amounts{offers.CPUs: 500, offers.Mem: 64 << 20, offers.Disk: 1 << 20}}
	if gpu {
		u.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: 2 << 30}}
	}
	return u
}

// task returns one task and after how long its author kills it, 0 for never.
func (w *work) task(id offers.TaskID, each offers.Resources, r *rand.Rand) (offers.Task, time.Duration) {
	span, code, killed := time.Duration(200+r.IntN(1800))*time.Millisecond, 0, time.Duration(0)
	switch n := r.IntN(100); {
	case n < 10:
		code = failsWith
	case n < 45:
		span = time.Duration(3+r.IntN(8)) * time.Second
	case n < 60:
		span, killed = time.Hour, time.Duration(1+r.IntN(30))*time.Second
	case n < 62:
		each.Amounts[offers.CPUs] = 1 << 30 // more than any offer has
	}
	return offers.Task{
		ID: id, Resources: each, KillGrace: offers.Duration(time.Second),
		Command: &offers.Command{
			Shell: fmt.Sprintf(script, span.Seconds(), code),
			Env:   map[string]string{marker: w.folder, weight: strconv.FormatInt(each.Amounts[offers.CPUs], 10)},
		},
	}, killed
}

// trace is what a task left in its file.
type trace struct {
	Starts, Ends []string // pids
}

// traces reads every task's file.
func (w *work) traces() (map[offers.TaskID]trace, error) {
	files, err := os.ReadDir(w.folder)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	out := map[offers.TaskID]trace{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(w.folder, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("traces: %w", err)
		}
		var t trace
		for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
			what, pid, _ := strings.Cut(line, " ")
			switch what {
			case "start":
				t.Starts = append(t.Starts, pid)
			case "end":
				t.Ends = append(t.Ends, pid)
			default:
				return nil, fmt.Errorf("traces: %s holds %q", f.Name(), line)
			}
		}
		out[offers.TaskID(f.Name())] = t
	}
	return out, nil
}

// process is a task as the host sees it.
type process struct {
	Framework offers.FrameworkID
	Task      offers.TaskID
	Agent     offers.AgentID
	CPUs      int64 // thousandths
}

// processes returns the processes of this run's tasks by pid.
func (w *work) processes() map[int]process {
	out := map[int]process{}
	pids, err := os.ReadDir("/proc")
	if err != nil {
		return out
	}
	for _, p := range pids {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", p.Name(), "environ"))
		if err != nil || !strings.Contains(string(raw), marker+"="+w.folder+"\x00") {
			continue
		}
		found := process{}
		for pair := range strings.SplitSeq(string(raw), "\x00") {
			name, value, _ := strings.Cut(pair, "=")
			switch name {
			case "RINGMASTER_FRAMEWORK_ID":
				found.Framework = offers.FrameworkID(value)
			case "RINGMASTER_TASK_ID":
				found.Task = offers.TaskID(value)
			case "RINGMASTER_AGENT_ID":
				found.Agent = offers.AgentID(value)
			case weight:
				found.CPUs, _ = strconv.ParseInt(value, 10, 64) // ours, so it is a number
			}
		}
		out[pid] = found
	}
	return out
}
