package tasks

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// DeviceName names one device of the agent.
type DeviceName struct{ Class, ID string }

// overPatience is how long a task may go on using more of a device than it was
// given, once it was warned.
const overPatience = 10 * time.Second

// Measured takes how much memory the tasks use of devices now; what is not
// named is not used. A task that uses more of a device than it was given is
// warned, and ended if it still does when its time is over.
func (m *Machine) Measured(used map[offers.TaskRef]map[DeviceName]int64, now time.Time) {
	for _, ref := range slices.SortedFunc(maps.Keys(m.tasks), compareRefs) {
		t := m.tasks[ref]
		why := t.overuse(used[ref])
		switch {
		case t.State != offers.Running || t.leaving():
		case why == "":
			t.over = time.Time{}
		case t.over.IsZero():
			t.over = now
			m.condition(t, Report{State: offers.Running, Reason: offers.ReasonDeviceMemory, Message: fmt.Sprintf("%s; it is ended if it still does in %s", why, overPatience), Time: now}, now)
		case !now.Before(t.over.Add(overPatience)):
			m.doom(t, Doom{Reason: offers.ReasonDeviceMemory, Message: why}, now)
		}
	}
}

// overuse says of which device a task uses more than it was given, or "".
func (t *task) overuse(used map[DeviceName]int64) string {
	for _, name := range slices.SortedFunc(maps.Keys(used), compareNames) {
		var given int64
		for _, g := range t.Holding.Devices.Of(name.Class) {
			if g.ID == name.ID {
				given += g.Memory
			}
		}
		if used[name] > given {
			return fmt.Sprintf("it uses %d bytes of %s %s and was given %d", used[name], name.Class, name.ID, given)
		}
	}
	return ""
}
