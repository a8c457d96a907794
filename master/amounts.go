package master

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

func show(a offers.Amounts) shown.Amounts {
	return shown.Amounts{CPUs: cores(a[offers.CPUs]), Mem: a[offers.Mem], Disk: a[offers.Disk], Bandwidth: a[offers.Bandwidth]}
}

func cores(thousandths int64) json.Number { return json.Number(offers.FormatCPUs(thousandths)) }

func showTotal(v offers.Inventory) shown.Amounts {
	out := show(v.Amounts)
	out.Ports = v.Ports
	for _, c := range v.Classes {
		addClass(&out, c.Name, len(c.Devices), c.Bytes())
	}
	return out
}

// showHolding gives devices as the number that something is held of.
func showHolding(h offers.Holding) shown.Amounts {
	out := show(h.Amounts)
	out.Ports = h.Ports
	for _, held := range h.Devices {
		devices := map[int]bool{}
		for _, g := range held.Grants {
			devices[g.Index] = true
		}
		addClass(&out, held.Class, len(devices), h.DeviceBytes(held.Class))
	}
	return out
}

func addClass(to *shown.Amounts, class string, count int, memory int64) {
	if to.Devices == nil {
		to.Devices = map[string]shown.ClassSum{}
	}
	c := to.Devices[class]
	to.Devices[class] = shown.ClassSum{Count: c.Count + count, Memory: c.Memory + memory}
}

// showKind is an amount of one fair-share or ring kind.
func showKind(kind string, n int64) json.Number { return json.Number(offers.FormatKind(kind, n)) }

func showClass(c offers.ClassRoom, unwell map[int]string) shown.Class {
	out := shown.Class{
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
	devices map[string]shown.ClassSum
}

func (s *sum) add(v shown.Amounts, a offers.Amounts) {
	s.amounts = s.amounts.Plus(a)
	for class, c := range v.Devices {
		if s.devices == nil {
			s.devices = map[string]shown.ClassSum{}
		}
		memory := offers.Amounts{s.devices[class].Memory}.Plus(offers.Amounts{c.Memory})[0] // which stops where it does not fit
		s.devices[class] = shown.ClassSum{Count: s.devices[class].Count + c.Count, Memory: memory}
	}
}

func (s *sum) show() shown.Amounts {
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
