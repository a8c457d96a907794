package match

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestShapes: demands have one shape where any agent suits them equally, in
// whatever order their classes are gone through, and else each its own.
func TestShapes(t *testing.T) {
	count := 3
	with := func(change func(*offers.Demand)) offers.Demand {
		d := offers.Demand{ID: "d", Count: &count}
		d.Resources.Amounts[offers.CPUs] = 1000
		change(&d)
		return d
	}
	asks := func(names ...string) func(*offers.Demand) {
		return func(d *offers.Demand) {
			d.Resources.Devices = map[string]offers.DeviceAsk{}
			for i, name := range names {
				d.Resources.Devices[name] = offers.DeviceAsk{Count: 1 + i, Memory: 5}
			}
		}
	}
	constraint, err := offers.ParseConstraint("rack == a")
	if err != nil {
		t.Fatal(err)
	}
	all := []offers.Demand{
		with(func(*offers.Demand) {}),
		with(func(d *offers.Demand) { d.Count = nil }),
		with(func(d *offers.Demand) { d.Resources.Amounts[offers.Disk] = 1000 }),
		with(func(d *offers.Demand) { d.Resources.AnyPorts = 1 }),
		with(func(d *offers.Demand) { d.Resources.Ports = offers.MakePorts(offers.PortRange{First: 1, Last: 1}) }),
		with(func(d *offers.Demand) { d.Resources.Ports = offers.MakePorts(offers.PortRange{First: 1, Last: 2}) }),
		with(asks("gpu")), with(asks("npu")), with(asks("gpu", "npu")), with(asks("npu", "gpu")), with(asks("g", "p", "u")),
		with(func(d *offers.Demand) { d.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1}} }),
		with(func(d *offers.Demand) { d.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Share: 5}} }),
		with(func(d *offers.Demand) { d.Constraints = []offers.Constraint{constraint} }),
		with(func(d *offers.Demand) { d.Constraints = []offers.Constraint{constraint, constraint} }),
	}
	for i := range all {
		for range 20 {
			for j := range all {
				if got := string(appendShape(nil, &all[i])) == string(appendShape(nil, &all[j])); got != (i == j) {
					t.Fatalf("demands %d and %d have one shape: %v", i, j, got)
				}
			}
		}
	}
	other := all[0]
	other.ID, other.Price, other.Count = "e", 7, new(int)
	if string(appendShape(nil, &other)) != string(appendShape(nil, &all[0])) {
		t.Error("what no agent minds makes another shape")
	}
}
