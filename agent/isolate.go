package agent

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// isolate makes the executor of processes with what isolates them. Every part is tried;
// what does not work is said once, and refused where it was asked for.
func (a *Agent) isolate(dir string) error {
	want, asked := isolation.Default, a.config.Isolation != nil
	if asked {
		want = *a.config.Isolation
	}
	if err := isolation.CheckRlimits(a.config.Rlimits); err != nil {
		return err
	}
	if a.config.Capabilities != 0 && want&isolation.Privileges == 0 {
		return errors.New("capabilities: they are kept by tasks that are isolated by privileges")
	}
	if real, err := filepath.EvalSymlinks(dir); want&isolation.IPC != 0 && (err != nil || strings.HasPrefix(real, "/dev/shm/")) {
		return errors.Join(err, errors.New("isolation: with ipc tasks have a /dev/shm of their own, so data_dir can't lie in the host's"))
	}
	a.limits = limits.None()
	if want&isolation.Cgroups != 0 && a.config.CgroupRoot != noCgroups {
		a.limits = limits.Open(filepath.Join(a.config.CgroupRoot, groupName(dir)), a.log)
	}
	if a.limits.Active() {
		a.isolated = isolation.Cgroups
	}
	rlimits := isolation.WithDefaults(a.config.Rlimits)
	for _, part := range want.Single() {
		if part == isolation.Cgroups {
			continue
		}
		if err := process.Try(a.config.Shim, (a.isolated|part).Record(a.config.Capabilities, rlimits)); err != nil {
			if asked || part == isolation.Privileges && a.config.Capabilities != 0 {
				return fmt.Errorf("isolation: this host does not do %s: %w", part, err)
			}
			a.log.Warn("tasks run without a part of the default isolation", "part", part.String(), "error", err)
			continue
		}
		a.isolated |= part
	}
	if missing := want &^ a.isolated; asked && missing != 0 {
		return fmt.Errorf("isolation: this host does not do %s: the agent may make no cgroups", missing)
	}
	x, err := process.New(a.config.Shim, filepath.Join(dir, "run"), a.limits, a.isolated.Record(a.config.Capabilities, rlimits))
	if err != nil {
		return err
	}
	a.processes = &processes{Executor: x, agent: a, turns: make(chan struct{}, 4*runtime.GOMAXPROCS(0))}
	return nil
}

// isolationAttribute is where frameworks find what isolates the tasks of an
// agent, such as "cgroups,privileges,mount".
const isolationAttribute = "isolation"

// attributes are those that were given, and what the agent says of itself.
func (a *Agent) attributes() map[string]string {
	out := map[string]string{isolationAttribute: a.isolated.String()}
	maps.Copy(out, a.config.Attributes)
	return out
}

// needOf says what bounds a task.
func (a *Agent) needOf(l tasks.Launch) limits.Need {
	asked := l.Task.Resources.Amounts
	return limits.Need{
		CPUs: asked[offers.CPUs], Quota: a.config.CPUQuota, Mem: asked[offers.Mem], Processes: maxProcesses,
		Nodes: nodesOf(a.total(), l.Holding, accelerators("/dev")),
	}
}
