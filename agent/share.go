package agent

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/agent/mps"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// openSharing finds the service through which tasks share GPUs, and its daemons
// of the last run: they serve the tasks that live.
func (a *Agent) openSharing(known []tasks.Known) {
	if !a.shares {
		return
	}
	var uses []mps.Use
	for _, k := range known {
		if u, shares := a.usesPart(k.Launch); shares && !k.Progress.State.Terminal() {
			uses = append(uses, u)
		}
	}
	// Not in the data folder: a daemon's sockets need a short path, and what
	// runs ends with the host's run.
	dir := filepath.Join(a.config.RuntimeDir, "ringmaster-mps-"+groupName(a.config.DataDir))
	var err error
	if a.sharing, err = mps.Open(dir, uses); err != nil {
		a.log.Warn("something of the sharing of GPUs is left", "error", err)
	}
}

// driverTier raises the tier of the GPUs that tasks share through the driver.
// The memory of processes must be seen as well, see package mps.
func (a *Agent) driverTier(f *discovery.Found) {
	if a.shares && f.Class == gpuClass && f.Device.Enforcement == offers.TierWatch {
		f.Device.Enforcement = offers.TierDriver
	}
}

// usesPart returns the part of the one GPU that a task shares. What runs in a
// container does not reach the service.
func (a *Agent) usesPart(l tasks.Launch) (mps.Use, bool) {
	grants := l.Holding.Devices.Of(gpuClass)
	if len(grants) != 1 || l.Task.Container != nil || l.Task.Resources.Devices[gpuClass].Whole() || !strings.HasPrefix(grants[0].ID, "GPU-") {
		return mps.Use{}, false
	}
	u := mps.Use{Task: l.Ref().String(), User: uint(os.Getuid()), GPU: grants[0].ID, Memory: grants[0].Memory, Share: grants[0].Share}
	if who, err := accountOf(l); err != nil {
		return mps.Use{}, false // it does not start
	} else if who.user != nil {
		u.User = uint(who.user.UID)
	}
	return u, true
}

// share lets a task that is about to start share its GPU. One that can't is
// watched all the same.
func (a *Agent) share(ctx context.Context, l tasks.Launch) {
	u, shares := a.usesPart(l)
	if !shares || a.sharing == nil {
		return
	}
	if err := a.sharing.Hold(ctx, u); err != nil {
		a.log.Warn("a task is watched alone, without limits of the driver", "task", u.Task, "error", err)
	}
}

// unshare takes back what an ended task had of the service, before the loop
// hears of the end and may start it again.
func (a *Agent) unshare(ref offers.TaskRef) {
	if a.sharing == nil {
		return
	}
	if err := a.sharing.Release(ref.String()); err != nil {
		a.log.Warn("something of the sharing of a GPU is left", "task", ref.String(), "error", err)
	}
}

// visible completes a task's variables by what it is to see of GPUs: nothing
// where it holds none, since programs take all that they see, and the service
// where it shares one.
func (a *Agent) visible(env []string, l tasks.Launch) []string {
	vars := map[string]string{}
	if a.hidesGPUs && len(l.Holding.Devices.Of(gpuClass)) == 0 {
		vars["CUDA_VISIBLE_DEVICES"], vars["NVIDIA_VISIBLE_DEVICES"] = "", "void"
	}
	if u, shares := a.usesPart(l); shares && a.sharing != nil {
		maps.Copy(vars, a.sharing.Variables(u))
	}
	env = slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, set := vars[name]
		return set
	})
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
