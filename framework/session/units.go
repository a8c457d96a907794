package session

import (
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Units returns how often unit fits into an offer, at most offers.MaxCount; a
// unit that names ports fits once, since each port is there once.
func Units(room wire.Offered, unit offers.Resources) int {
	units := int64(offers.MaxCount)
	for k, n := range unit.Amounts {
		if n > 0 {
			units = min(units, room.Amounts[k]/n)
		}
	}
	if len(unit.Ports) > 0 {
		if !unit.Ports.Within(room.Ports) {
			return 0
		}
		units = min(units, 1)
	}
	if n := unit.AnyPorts; n > 0 {
		units = min(units, int64(room.Ports.Count()/n))
	}
	for class, ask := range unit.Devices {
		units = min(units, deviceUnits(room.Devices[class], ask))
	}
	return int(units)
}

// deviceUnits counts slices greedily. A whole-agent offer shows what is free
// on each device and not what a device has in all, so a device counts as
// whole there when the offer names it; the master judges.
func deviceUnits(d wire.OfferedDevices, ask offers.DeviceAsk) int64 {
	count := int64(max(ask.Count, 1))
	if len(d.IDs) == 0 { // a counted offer shows what was asked
		switch {
		case ask.Whole():
			return int64(d.Count) / count
		case d.Count < ask.Count || d.Memory < ask.Memory:
			return 0
		}
		return int64(max(d.Units, 1))
	}
	if ask.Memory == 0 {
		return int64(len(d.IDs)) / count
	}
	// u units need, on some devices, at most u slices each and count*u in all.
	fits := func(u int64) bool {
		var sum int64
		for _, free := range d.Free {
			sum += min(u, free/ask.Memory)
		}
		return sum >= u*count
	}
	units := int64(0)
	for step := int64(1 << 20); step > 0; step /= 2 {
		if fits(units + step) {
			units += step
		}
	}
	return units
}
