package agent

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/agent/mps"
	"github.com/ringmaster-project/ringmaster/offers"
)

// firstDevices is how long an agent waits for its sources of devices before it
// goes on without those that have said nothing yet.
const firstDevices = 15 * time.Second

// gpuClass is the class of NVIDIA's devices.
const gpuClass = "gpu"

// source is one program that finds devices, owned by the loop (before it runs,
// by Open).
type source struct {
	discovery.Source
	answered bool           // it has said something, or failed
	failing  string         // what is wrong with it now
	origins  map[int]origin // of the processes in its last report
}

// discover starts the sources and waits a moment for the first word of each.
func (a *Agent) discover() {
	paths := a.config.DevicePlugins
	if helper := a.helper(); helper != "" {
		a.hidesGPUs = true
		// Through memory that tasks with an IPC namespace of their own don't have.
		a.shares = mps.Available() && (a.config.Isolation == nil || *a.config.Isolation&isolation.IPC == 0)
		paths = append([]string{helper}, paths...)
	}
	for _, path := range paths {
		a.sources = append(a.sources, &source{Source: discovery.Source{Path: path}})
	}
	for i, s := range a.sources {
		a.work.Go(func() {
			s.Run(a.life, func(r discovery.Report, err error) {
				from := origins(r)
				a.post(func() { a.found(i, r, from, err) })
			})
		})
	}
	patience := time.After(firstDevices)
	for slices.ContainsFunc(a.sources, func(s *source) bool { return !s.answered }) {
		select {
		case do := <-a.inbox:
			do()
		case <-patience:
			a.log.Warn("not all sources of devices have answered; what they find later counts from then on")
			return
		}
	}
}

// helper returns the program that asks NVIDIA's driver, "" where it has nothing
// to ask, or nothing that is to be offered.
func (a *Agent) helper() string {
	if a.config.NVIDIA != "" || a.declared.Names(gpuClass) || !discovery.HasNVIDIA() {
		return a.config.NVIDIA
	}
	path, err := discovery.Helper(filepath.Join(a.config.DataDir, "bin"))
	if err != nil {
		a.log.Warn("this host's GPUs are not offered", "error", err)
	}
	return path
}

// found takes what a source says, in the loop. What is wrong with it is logged
// when it begins and when it ends; until then its last good report stands.
// from tells where the processes come from that use devices.
func (a *Agent) found(i int, r discovery.Report, from map[int]origin, err error) {
	s := a.sources[i]
	s.answered = true
	if err != nil {
		if s.failing != err.Error() {
			a.log.Warn("a source of devices fails; what it found before stands", "program", s.Path, "error", err)
		}
		s.failing = err.Error()
		return
	}
	if s.failing != "" {
		a.log.Info("a source of devices is well again", "program", s.Path)
		s.failing = ""
	}
	r.Devices = slices.DeleteFunc(r.Devices, func(f discovery.Found) bool { return a.declared.Names(f.Class) })
	for n := range r.Devices {
		a.driverTier(&r.Devices[n])
	}
	changed := a.census.Take(i, r)
	if a.machine == nil {
		return
	}
	if changed {
		a.resize()
	}
	a.takeHealth(time.Now())
	s.origins = from
	a.measure()
}

// takeHealth goes on with how well the devices are now. A reason that becomes
// another one is not logged: a plugin may say how hot its devices are.
func (a *Agent) takeHealth(now time.Time) {
	was, unwell := a.unwell, a.census.Unwell()
	a.unwell = unwell
	for _, c := range a.census.Classes() {
		for _, d := range c.Devices {
			switch why := unwell[c.Name][d.ID]; {
			case (why == "") == (was[c.Name][d.ID] == ""):
			case why != "":
				a.log.Warn("a device is unwell and is not offered", "class", c.Name, "id", d.ID, "why", why)
			default:
				a.log.Info("a device is well again", "class", c.Name, "id", d.ID)
			}
		}
	}
	a.machine.Unwell(unwell, now)
}

// resize goes on with other devices: the masters learn of them by a new
// registration.
func (a *Agent) resize() {
	total := a.declared.WithFound(a.self.Total, a.census.Classes())
	if err := total.Validate(); err != nil {
		a.log.Error("what was found can't be offered", "error", err)
		return
	}
	a.mu.Lock()
	a.self.Total = total
	a.mu.Unlock()
	a.self.Attributes = a.allAttributes()
	a.machine.Resize(total, time.Now())
	a.log.Info("the devices of this host have changed")
	a.introduceAgain("its devices have changed")
}

// introduceAgain lets the masters learn by a new registration what has changed
// about the agent.
func (a *Agent) introduceAgain(why string) {
	if a.session != nil {
		a.session.link.End(why) // the connector notices, closes it and goes on
	}
}

// allAttributes returns what constraints see: what the agent says stands above
// what its sources of devices found.
func (a *Agent) allAttributes() map[string]string {
	out := a.census.Attributes()
	maps.Copy(out, a.own)
	return out
}

// total returns what the agent offers in all. It may be asked apart from the
// loop.
func (a *Agent) total() offers.Inventory {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.self.Total
}

// device returns a device that a task was given, as it was found.
func (a *Agent) device(class string, g offers.Grant) (none offers.Device) {
	for _, d := range a.total().Class(class) {
		if d.ID == g.ID {
			return d
		}
	}
	return none
}
