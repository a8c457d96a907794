package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Declared is what an operator said. The zero value says nothing.
type Declared struct {
	amounts [offers.Scalars]*int64
	ports   *offers.Ports
	classes map[string][]offers.Device // present with no devices: none of that class
}

// Parse reads items "name=amount" between commas: a scalar kind with its
// amount, ports with a port or a range (repeated for several), any other name
// as a device class of COUNTxSIZE devices. An amount of 0 means none. The
// error names the item.
func Parse(text string) (Declared, error) {
	d := Declared{classes: map[string][]offers.Device{}}
	if strings.TrimSpace(text) == "" {
		return d, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		name, amount, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok {
			return Declared{}, fmt.Errorf("resources: %.60q is not of the form name=amount, such as cpus=4 or gpu=2x24GiB", item)
		}
		if err := d.item(strings.TrimSpace(name), strings.TrimSpace(amount)); err != nil {
			return Declared{}, fmt.Errorf("resources: %.60s: %w", name, err)
		}
	}
	inventory := offers.Inventory{Classes: d.list()}
	if err := inventory.Validate(); err != nil {
		return Declared{}, fmt.Errorf("resources: %w", err)
	}
	return d, nil
}

func (d *Declared) item(name, amount string) error {
	if s, scalar := offers.ScalarNamed(name); scalar {
		if d.amounts[s] != nil {
			return fmt.Errorf("it is named twice")
		}
		n, err := offers.ParseScalar(s, amount)
		if err == nil && (s == offers.Mem || s == offers.Disk) {
			err = offers.WantUnit(amount, n)
		}
		d.amounts[s] = &n
		return err
	}
	if name == "ports" {
		return d.addPorts(amount)
	}
	if _, there := d.classes[name]; there {
		return fmt.Errorf("it is named twice")
	}
	devices, err := parseDevices(name, amount)
	if err != nil {
		return err
	}
	d.classes[name] = devices
	return nil
}

func (d *Declared) addPorts(amount string) error {
	if d.ports == nil {
		d.ports = new(offers.Ports)
	}
	if amount == "0" {
		return nil
	}
	r, err := offers.ParsePorts(amount)
	if err != nil {
		return err
	}
	*d.ports = d.ports.Plus(offers.Ports{r})
	return nil
}

// parseDevices reads "2x24GiB", or "0" for none.
func parseDevices(class, amount string) ([]offers.Device, error) {
	if amount == "0" {
		return nil, nil
	}
	count, size, ok := strings.Cut(amount, "x")
	n, err := strconv.Atoi(count)
	if !ok || err != nil {
		return nil, fmt.Errorf("%.60q is neither an amount of a known kind (cpus, mem, disk, bandwidth, ports) nor devices such as 2x24GiB", amount)
	}
	if n < 0 || n > offers.MaxDevices {
		return nil, fmt.Errorf("%d devices; 0 to %d are possible", n, offers.MaxDevices)
	}
	capacity, err := offers.ParseSize(size)
	if err != nil {
		return nil, err
	}
	if class == "gpu" { // others may be counted in what they like
		if err := offers.WantUnit(size, capacity); err != nil {
			return nil, err
		}
	}
	if n > 0 && capacity == 0 {
		return nil, fmt.Errorf("a device has at least one byte")
	}
	devices := make([]offers.Device, n)
	for i := range devices {
		devices[i] = offers.Device{ID: class + "-" + strconv.Itoa(i), Capacity: capacity}
	}
	return devices, nil
}

// Names reports whether the operator named the class, be it as none.
func (d Declared) Names(class string) bool {
	_, named := d.classes[class]
	return named
}

// WithFound returns v with the device classes that were found in place of those
// that had been found before.
func (d Declared) WithFound(v offers.Inventory, found []offers.DeviceClass) offers.Inventory {
	v.Classes = d.withFound(found)
	return v
}

// withFound returns the declared classes and, of those found, the ones that
// were not named.
func (d Declared) withFound(found []offers.DeviceClass) []offers.DeviceClass {
	list := d.list()
	for _, c := range found {
		if !d.Names(c.Name) && len(c.Devices) > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b offers.DeviceClass) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// list returns the declared classes in the order of inventories.
func (d *Declared) list() []offers.DeviceClass {
	var list []offers.DeviceClass
	for name, devices := range d.classes {
		if len(devices) > 0 {
			list = append(list, offers.DeviceClass{Name: name, Devices: devices})
		}
	}
	slices.SortFunc(list, func(a, b offers.DeviceClass) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
