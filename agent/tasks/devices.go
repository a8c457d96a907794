package tasks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// used notes that a holding was taken or given back.
func (m *Machine) used(h offers.Holding) {
	if len(h.Devices) > 0 {
		m.sequence++
		m.ready.Usage = true
	}
}

// Usage returns the use of every device class in packed form, with its number,
// which grows with every change. The error names a class that can't be packed and is left out.
func (m *Machine) Usage() (*wire.Usage, error) {
	classes := m.room.Classes()
	usage := &wire.Usage{Sequence: m.sequence, Handled: m.handled, Classes: make(map[string]wire.PackedClass, len(classes)), Closed: m.closed}
	var bad []error
	for i := range classes {
		c := &classes[i]
		packed, err := wire.Pack(c)
		if err != nil {
			bad = append(bad, fmt.Errorf("the use of the device class %s can't be packed: %w", c.Name, err))
			continue
		}
		for at, d := range c.Devices {
			if why, unwell := m.unwell[c.Name][d.ID]; unwell {
				if packed.Unwell == nil {
					packed.Unwell = map[int]string{}
				}
				packed.Unwell[at] = why
			}
		}
		usage.Classes[c.Name] = packed
	}
	return usage, errors.Join(bad...)
}

// Withdraw has the masters offer nothing more of the agent for the reason why, or
// with "" offer it again. What runs goes on, and a launch that is on its way is
// tried.
func (m *Machine) Withdraw(why string) {
	if m.closed == why {
		return
	}
	m.closed = why
	m.sequence++
	m.ready.Usage = true
}

// DeviceUse is how one device is.
type DeviceUse struct {
	DeviceName
	Capacity, Used int64 // bytes
	Well           bool
}

// Devices returns how every device is, in the order of classes and indexes.
func (m *Machine) Devices() []DeviceUse {
	var out []DeviceUse
	for _, c := range m.room.Classes() {
		for i, d := range c.Devices {
			_, unwell := m.unwell[c.Name][d.ID]
			out = append(out, DeviceUse{DeviceName{c.Name, d.ID}, d.Capacity, c.Used[i], !unwell})
		}
	}
	return out
}

// Unwell takes which devices can't be used for now and why, by class and id;
// all others are well. What is free of them is given to nobody, and the running
// tasks that hold them are told, also when they are well again.
func (m *Machine) Unwell(unwell map[string]map[string]string, now time.Time) {
	if maps.EqualFunc(m.unwell, unwell, maps.Equal) {
		return
	}
	m.unwell = unwell
	m.withhold()
	m.sequence++
	m.ready.Usage = true
	m.tellAll(now)
}

func (m *Machine) tellAll(now time.Time) {
	for _, ref := range slices.SortedFunc(maps.Keys(m.tasks), compareRefs) {
		m.tellDevices(m.tasks[ref], now)
	}
}

// withhold keeps what is free of unwell devices out of the room.
func (m *Machine) withhold() {
	for _, c := range m.room.Classes() {
		away := make([]int64, len(c.Devices))
		for i, d := range c.Devices {
			if _, unwell := m.unwell[c.Name][d.ID]; unwell {
				away[i] = d.Capacity
			}
		}
		m.room.Withhold(c.Name, away)
	}
}

// Resize takes another inventory: devices that have appeared, or others in
// their place. What runs is counted as it was, whether or not it fits.
func (m *Machine) Resize(total offers.Inventory, now time.Time) {
	m.config.Total, m.room = total, offers.NewRoom(total)
	for _, t := range m.tasks {
		if t.held {
			m.room.Claim(t.Holding)
			t.claimed = true
		}
	}
	m.withhold()
	m.sequence++
	m.tellAll(now)
}

// tellDevices reports how the devices of a running task are, when that has
// changed.
func (m *Machine) tellDevices(t *task, now time.Time) {
	if t.State != offers.Running || len(t.Holding.Devices) == 0 {
		return
	}
	why := m.ailing(t)
	if why == t.Ailing {
		return
	}
	t.Ailing = why
	r := Report{State: offers.Running, Reason: offers.ReasonDeviceUnwell, Message: why, Time: now}
	if why == "" {
		r.Reason, r.Message = offers.ReasonDeviceWell, "its devices are well again"
	}
	m.condition(t, r, now)
}

// ailing says which of a task's devices are unwell or not there, and why.
func (m *Machine) ailing(t *task) string {
	var all []string
	for _, held := range t.Holding.Devices {
		class, devices := held.Class, m.config.Total.Class(held.Class)
		for _, g := range held.Grants {
			why, unwell := m.unwell[class][g.ID]
			if !unwell && !slices.ContainsFunc(devices, func(d offers.Device) bool { return d.ID == g.ID }) {
				why, unwell = "it is not there any more", true
			}
			if unwell {
				all = append(all, fmt.Sprintf("%s %s: %s", class, g.ID, why))
			}
		}
	}
	return strings.Join(all, "; ")
}

// condition reports the present condition of a running task. An older report
// of the same condition that still waits gives way.
func (m *Machine) condition(t *task, r Report, now time.Time) {
	kind := offers.Passing(r.State, r.Reason, r.Healthy)
	for at := len(t.Reports) - 1; at >= 0; at-- {
		older := t.Reports[at]
		if passing := offers.Passing(older.State, older.Reason, older.Healthy); passing == "" {
			break
		} else if passing == kind {
			t.Reports = slices.Delete(slices.Clone(t.Reports), at, at+1)
			break
		}
	}
	m.report(t, r, now)
}
