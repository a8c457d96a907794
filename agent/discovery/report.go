package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Report is all devices that a source sees at one moment.
type Report struct {
	Devices []Found
}

// Found is one device as it is found.
type Found struct {
	Class  string
	Device offers.Device
	Unwell string // why it can't be used; "": it is well
	// Processes are those that use the device's memory. Nil, and not empty,
	// where nobody looks.
	Processes []Process
}

// Process is the use that one process makes of a device.
type Process struct {
	PID    int   `json:"pid"`
	Memory int64 `json:"memory"` // bytes
}

// PIDs returns every process that uses a device's memory, each once.
func (r Report) PIDs() []int {
	var out []int
	for _, f := range r.Devices {
		for _, p := range f.Processes {
			out = append(out, p.PID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wireReport and wireDevice are a report as it is written, see the package.
type wireReport struct {
	Devices []wireDevice `json:"devices"`
}

type wireDevice struct {
	Class       string            `json:"class"`
	ID          string            `json:"id"`
	Capacity    size              `json:"capacity"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	NUMA        *int              `json:"numa,omitempty"`
	Links       map[string]int    `json:"links,omitempty"`
	Nodes       []string          `json:"nodes,omitempty"`
	CDI         string            `json:"cdi,omitempty"`
	Enforcement offers.Tier       `json:"enforcement,omitempty"`
	Health      string            `json:"health,omitempty"`
	Processes   []Process         `json:"processes,omitzero"`
}

// size is a number of bytes, written as such or with a unit.
type size int64

func (s *size) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	n, err := offers.ParseSize(text)
	if err != nil {
		return fmt.Errorf("capacity: %w", err)
	}
	*s = size(n)
	return nil
}

// maxProcesses bounds the processes that one device has.
const maxProcesses = 65536

// maxHealth bounds a sentence; what is longer is cut.
const maxHealth = 256

// Decode reads one report and judges it. The error says what is wrong with it.
func Decode(data []byte) (Report, error) {
	var in wireReport
	if err := json.Unmarshal(data, &in); err != nil {
		return Report{}, fmt.Errorf("it is no report: %w", explain(data, err))
	}
	if in.Devices == nil {
		return Report{}, errors.New("it is no report: there is no list of devices")
	}
	out := Report{Devices: make([]Found, 0, len(in.Devices))}
	byClass := map[string][]offers.Device{}
	for _, d := range in.Devices {
		found, err := d.found()
		if err != nil {
			return Report{}, err
		}
		out.Devices = append(out.Devices, found)
		byClass[d.Class] = append(byClass[d.Class], found.Device)
	}
	for name, devices := range byClass {
		inventory := offers.Inventory{Classes: []offers.DeviceClass{{Name: name, Devices: devices}}}
		if err := inventory.Validate(); err != nil {
			return Report{}, err
		}
	}
	return out, nil
}

// explain says which device and which field of it a report can't be read for.
func explain(data []byte, err error) error {
	var in struct {
		Devices []json.RawMessage `json:"devices"`
	}
	if json.Unmarshal(data, &in) != nil {
		return offers.Explain(data, func() any { return new(wireReport) }, err)
	}
	for i, d := range in.Devices {
		if err := json.Unmarshal(d, new(wireDevice)); err != nil {
			return fmt.Errorf("devices[%d]: %w", i, offers.Explain(d, func() any { return new(wireDevice) }, err))
		}
	}
	return err
}

func (d *wireDevice) found() (Found, error) {
	out := Found{Class: d.Class, Processes: d.Processes, Device: offers.Device{
		ID: d.ID, Capacity: int64(d.Capacity), Attributes: d.Attributes, Enforcement: d.Enforcement, Links: d.Links, Nodes: d.Nodes, CDI: d.CDI,
	}}
	if d.NUMA != nil && *d.NUMA >= 0 {
		if out.Device.Attributes == nil {
			out.Device.Attributes = map[string]string{}
		}
		out.Device.Attributes["numa"] = strconv.Itoa(*d.NUMA)
	}
	if d.Health != "ok" {
		out.Unwell = d.Health[:min(len(d.Health), maxHealth)]
		if !offers.Printable(out.Unwell) {
			out.Unwell = strconv.QuoteToASCII(out.Unwell)
		}
	}
	if len(d.Processes) > maxProcesses {
		return Found{}, fmt.Errorf("device %.60q has %d processes; at most %d", d.ID, len(d.Processes), maxProcesses)
	}
	if slices.ContainsFunc(d.Processes, func(p Process) bool { return p.PID <= 0 || p.Memory < 0 || p.Memory > offers.MaxAmount }) {
		return Found{}, fmt.Errorf("device %.60q: a process has no pid or an impossible memory", d.ID)
	}
	return out, nil
}

// Encode writes a report as Decode reads it.
func (r Report) Encode() ([]byte, error) {
	out := wireReport{Devices: make([]wireDevice, len(r.Devices))}
	for i, f := range r.Devices {
		d := f.Device
		out.Devices[i] = wireDevice{
			Class: f.Class, ID: d.ID, Capacity: size(d.Capacity), Attributes: d.Attributes, Enforcement: d.Enforcement, Links: d.Links, Nodes: d.Nodes, CDI: d.CDI,
			Health: f.Unwell, Processes: f.Processes,
		}
	}
	return json.Marshal(out)
}
