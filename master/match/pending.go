package match

import (
	"maps"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// What else than a kind can keep a demand waiting.
const (
	stopQuota      = "quota"      // a limit, or what is held back for other roles
	stopConstraint = "constraint" // no agent with room meets its constraints
	stopLimit      = "limit"      // its limits leave no agent with room
	stopPorts      = "ports"      // no agent with room has all its ports free
	stopRefused    = "refused"    // its framework declined the room that there is
	stopSuppressed = "suppressed" // its framework wants no offers until it revives; only of what is listed
)

// stopped names what keeps d waiting after a search that found nobody, in the
// order of the kinds:
//
//   - every kind of which no agent alone has enough free, or else
//   - every kind but for which some agent has enough of all others, or else,
//     where agents have enough of each two but not of all,
//   - the kind that it was looked up in.
//
// Where some agent has enough of every kind it is what spoke against those
// agents.
func (m *Matcher) stopped(d *demand, f found) []string {
	if f.quota {
		return []string{stopQuota}
	}
	if unknown := m.unknownKinds(d); len(unknown) > 0 {
		return unknown
	}
	if m.somebodyHas(d.need) {
		return m.stoppedBy(d, f)
	}
	var out []string
	need := make([]int64, len(d.need))
	for c, n := range d.need {
		if n > 0 {
			clear(need)
			if need[c] = n; !m.somebodyHas(need) {
				out = append(out, m.kinds.columnName(c))
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	copy(need, d.need)
	for c, n := range d.need {
		if n > 0 {
			if need[c] = 0; m.somebodyHas(need) {
				out = append(out, m.kinds.columnName(c))
			}
			need[c] = n
		}
	}
	if len(out) == 0 {
		out = append(out, m.kinds.columnName(d.column))
	}
	return out
}

// somebodyHas reports whether an agent has enough of every column.
func (m *Matcher) somebodyHas(need []int64) bool {
	for c, n := range need {
		if n > 0 {
			_, ok := m.index.Closest(rings.Kind(c), need)
			return ok
		}
	}
	return m.index.Len() > 0
}

// stoppedBy names what spoke against the agents that have enough of every kind.
func (m *Matcher) stoppedBy(d *demand, f found) []string {
	var out []string
	if f.met&(1<<byDevices) != 0 {
		for _, class := range slices.Sorted(maps.Keys(d.spec.Resources.Devices)) {
			out = append(out, offers.KindOf(class, d.spec.Resources.Devices[class]))
		}
	}
	for _, by := range []struct {
		objection
		name string
	}{{byConstraint, stopConstraint}, {byLimit, stopLimit}, {byPorts, stopPorts}, {byRefusal, stopRefused}} {
		if f.met&(1<<by.objection) != 0 {
			out = append(out, by.name)
		}
	}
	if len(out) == 0 {
		out = append(out, m.kinds.columnName(d.column))
	}
	return out
}

// unknownKinds names what d asks for of classes that no agent has.
func (m *Matcher) unknownKinds(d *demand) []string {
	if d.column >= 0 {
		return nil
	}
	var out []string
	for _, class := range slices.Sorted(maps.Keys(d.spec.Resources.Devices)) {
		if m.kinds.class(class) < 0 {
			out = append(out, offers.KindOf(class, d.spec.Resources.Devices[class]))
		}
	}
	return out
}

// Waiting is a demand that nothing can be done for until something changes, be it
// its framework's mind.
type Waiting struct {
	Framework offers.FrameworkID
	Role      offers.Role
	Demand    offers.Demand // to be read only
	Left      int           // units that are neither launched nor offered; 0 of a whole-agent demand
	Stopped   []string      // what stops it, see [View].Pending; to be read only
}

// WaitingOf says which of the demands that wait; all of them where nothing is set.
type WaitingOf struct {
	Framework      offers.FrameworkID // alone
	Role           offers.Role        // alone, without those below it
	AfterFramework offers.FrameworkID // those that come after AfterDemand of this one
	AfterDemand    offers.DemandID
	Most           int // that are returned; 0: any number
}

// Waiting returns demands that wait, by framework and id. With very many of them it
// takes as long as it has to look for what is asked, and no longer.
func (m *Matcher) Waiting(of WaitingOf) (out []Waiting) {
	for _, id := range slices.Sorted(maps.Keys(m.frameworks)) {
		f := m.frameworks[id]
		if id < of.AfterFramework || of.Framework != "" && id != of.Framework || of.Role != "" && f.role != of.Role {
			continue
		}
		for _, demand := range slices.Sorted(maps.Keys(f.demands)) {
			if id == of.AfterFramework && demand <= of.AfterDemand {
				continue
			}
			if of.Most > 0 && len(out) == of.Most {
				return out
			}
			d := f.demands[demand]
			switch {
			case f.suppressed && d.wants():
				w := d.waits()
				w.Stopped = []string{stopSuppressed}
				out = append(out, w)
			case len(d.stopped) > 0:
				out = append(out, d.waits())
			}
		}
	}
	return out
}

func (d *demand) waits() Waiting {
	w := Waiting{Framework: d.owner.id, Role: d.owner.role, Demand: d.spec, Stopped: d.stopped}
	if d.counted() {
		w.Left = d.left - d.out
	}
	return w
}
