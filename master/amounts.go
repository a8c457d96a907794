package master

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// shown is an amount of resources as answers give it: every scalar kind, also
// when there is none of it, cpus in cores, all else as integers.
type shown struct {
	CPUs      json.Number           `json:"cpus"`
	Mem       int64                 `json:"mem"`
	Disk      int64                 `json:"disk"`
	Bandwidth int64                 `json:"bandwidth"`
	Ports     offers.Ports          `json:"ports,omitempty"`
	Devices   map[string]shownClass `json:"devices,omitempty"`
}

// shownClass is a device class added up.
type shownClass struct {
	Count  int   `json:"count"`  // devices
	Memory int64 `json:"memory"` // bytes
}

func show(a offers.Amounts) shown {
	return shown{CPUs: cores(a[offers.CPUs]), Mem: a[offers.Mem], Disk: a[offers.Disk], Bandwidth: a[offers.Bandwidth]}
}

func cores(thousandths int64) json.Number { return json.Number(offers.FormatCPUs(thousandths)) }

func showTotal(v offers.Inventory) shown {
	out := show(v.Amounts)
	out.Ports = v.Ports
	for _, c := range v.Classes {
		out.add(c.Name, len(c.Devices), c.Bytes())
	}
	return out
}

// showHolding gives devices as the number that something is held of.
func showHolding(h offers.Holding) shown {
	out := show(h.Amounts)
	out.Ports = h.Ports
	for class, grants := range h.Devices {
		devices := map[int]bool{}
		for _, g := range grants {
			devices[g.Index] = true
		}
		out.add(class, len(devices), h.DeviceBytes(class))
	}
	return out
}

func (s *shown) add(class string, count int, memory int64) {
	if s.Devices == nil {
		s.Devices = map[string]shownClass{}
	}
	c := s.Devices[class]
	s.Devices[class] = shownClass{c.Count + count, c.Memory + memory}
}

// showKind is an amount of one fair-share or ring kind.
func showKind(kind string, n int64) json.Number {
	if kind == offers.CPUs.String() {
		return cores(n)
	}
	return json.Number(strconv.FormatInt(n, 10))
}

// shownAgentClass is a device class on one agent, packed as INTERFACE has it.
type shownAgentClass struct {
	IDs        []string            `json:"ids"`
	Capacity   []int64             `json:"capacity"`
	Used       []int64             `json:"used"`
	Shares     []json.Number       `json:"shares"`
	Attributes []map[string]string `json:"attributes,omitempty"`

	Enforcement []string `json:"enforcement"` // what holds tasks to their parts: hardware, driver, watch or none
	Health      []string `json:"health"`      // ok, or why it can't be used

	Bits   int      `json:"bits"`
	Unit   int64    `json:"unit"`
	Packed []string `json:"packed"`
}

func showClass(c offers.ClassRoom, unwell map[int]string) shownAgentClass {
	out := shownAgentClass{
		IDs: []string{}, Capacity: []int64{}, Used: slices.Clone(c.Used), Shares: []json.Number{}, Packed: []string{},
		Enforcement: []string{}, Health: []string{},
	}
	for i, d := range c.Devices {
		out.IDs = append(out.IDs, d.ID)
		out.Capacity = append(out.Capacity, d.Capacity)
		out.Shares = append(out.Shares, cores(c.Shares[i]))
		out.Enforcement = append(out.Enforcement, d.Enforcement.String())
		out.Health = append(out.Health, cmp.Or(unwell[i], "ok"))
		if len(d.Attributes) > 0 && out.Attributes == nil {
			out.Attributes = make([]map[string]string, len(c.Devices))
		}
		if out.Attributes != nil {
			out.Attributes[i] = d.Attributes
		}
	}
	packed, unit, err := c.Packed()
	if err != nil {
		return out // more is used than there is, while an agent shrinks: the plain numbers tell it
	}
	out.Bits, out.Unit = packed.Bits, unit
	for _, word := range packed.Words {
		out.Packed = append(out.Packed, fmt.Sprintf("0x%x", word))
	}
	return out
}

// sum adds up what agents have, use and are offered.
type sum struct {
	amounts offers.Amounts
	devices map[string]shownClass
}

func (s *sum) add(v shown, a offers.Amounts) {
	s.amounts = s.amounts.Plus(a)
	for class, c := range v.Devices {
		if s.devices == nil {
			s.devices = map[string]shownClass{}
		}
		s.devices[class] = shownClass{s.devices[class].Count + c.Count, s.devices[class].Memory + c.Memory}
	}
}

func (s *sum) show() shown {
	out := show(s.amounts)
	out.Devices = s.devices
	return out
}

// each calls f with every kind and its amount, cpus in cores.
func (s *sum) each(f func(kind string, n float64)) {
	for k, n := range s.amounts {
		if offers.Scalar(k) == offers.CPUs {
			f(offers.CPUs.String(), float64(n)/1000)
		} else {
			f(offers.Scalar(k).String(), float64(n))
		}
	}
	for _, class := range slices.Sorted(maps.Keys(s.devices)) {
		f(class, float64(s.devices[class].Memory))
	}
}

// moment is t for an answer: nil when it never was.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
