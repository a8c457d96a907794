package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// size writes bytes with three digits at most: 512MiB, 1.5GiB.
func size(bytes int64) string {
	const step = 1024
	if bytes < step {
		return strconv.FormatInt(bytes, 10) + "B"
	}
	n, unit := float64(bytes), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if n /= step; n < 999.5 {
			break
		}
	}
	text := strconv.FormatFloat(n, 'f', 1, 64)
	if n >= 99.95 {
		text = strconv.FormatFloat(n, 'f', 0, 64)
	}
	return strings.TrimSuffix(text, ".0") + unit
}

// bits writes bits per second: 10Gbps.
func bits(n int64) string {
	for _, u := range []struct {
		factor int64
		unit   string
	}{{1e12, "Tbps"}, {1e9, "Gbps"}, {1e6, "Mbps"}, {1e3, "Kbps"}} {
		if n >= u.factor {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(u.factor), 'f', 1, 64), ".0") + u.unit
		}
	}
	return strconv.FormatInt(n, 10) + "bps"
}

// age writes how long ago t was, in its largest two units.
func age(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(now.Sub(t), 0)
	day := 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return pair(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return pair(d, time.Hour, "h", time.Minute, "m")
	default:
		return pair(d, day, "d", time.Hour, "h")
	}
}

func pair(d, large time.Duration, a string, small time.Duration, b string) string {
	n, m := d/large, d%large/small
	if m == 0 {
		return fmt.Sprintf("%d%s", n, a)
	}
	return fmt.Sprintf("%d%s%d%s", n, a, m, b)
}

// sum writes the kinds that are there, or used, in all: "2 cpus, 2 gpu (64GiB)".
func sum(a api.Amounts) string {
	var devices []string
	for _, class := range slices.Sorted(maps.Keys(a.Devices)) {
		d := a.Devices[class]
		switch {
		case d.Count > 0 && d.Memory > 0:
			devices = append(devices, fmt.Sprintf("%d %s (%s)", d.Count, class, size(d.Memory)))
		case d.Memory > 0:
			devices = append(devices, size(d.Memory)+" "+class)
		default:
			devices = append(devices, fmt.Sprintf("%d %s", d.Count, class))
		}
	}
	return kinds(a.CPUs.String(), a.Mem, a.Disk, a.Bandwidth, portList(a.Ports), devices)
}

// asked writes what somebody asks for: "2 cpus, 1GiB mem, 2 x 10GiB gpu".
func asked(r *offers.Resources) string {
	ports := portList(r.Ports)
	if r.AnyPorts > 0 {
		ports = plural(r.AnyPorts, "port")
	}
	a := r.Amounts
	return kinds(offers.FormatCPUs(a[offers.CPUs]), a[offers.Mem], a[offers.Disk], a[offers.Bandwidth], ports, asksText(r.Devices))
}

// askedBy writes the same of a task.
func askedBy(r *api.TaskResources) string {
	return kinds(r.CPUs.String(), r.Mem, r.Disk, r.Bandwidth, portList(r.Ports), asksText(r.Devices))
}

// offered writes the same of an offer.
func offered(o *wire.Offered) string {
	var devices []string
	for _, class := range slices.Sorted(maps.Keys(o.Devices)) {
		d := o.Devices[class]
		memory := d.Memory
		if len(d.Free) > 0 {
			memory = slices.Max(d.Free)
		}
		devices = append(devices, slicesText(class, max(d.Count, len(d.IDs)), memory, string(d.Share)))
	}
	a := o.Amounts
	return kinds(offers.FormatCPUs(a[offers.CPUs]), a[offers.Mem], a[offers.Disk], a[offers.Bandwidth], portList(o.Ports), devices)
}

func kinds(cpus string, mem, disk, bandwidth int64, ports string, devices []string) string {
	var parts []string
	if cpus != "" && cpus != "0" {
		parts = append(parts, cpus+" cpus")
	}
	if mem > 0 {
		parts = append(parts, size(mem)+" mem")
	}
	if disk > 0 {
		parts = append(parts, size(disk)+" disk")
	}
	if bandwidth > 0 {
		parts = append(parts, bits(bandwidth))
	}
	if ports != "" {
		parts = append(parts, ports)
	}
	if parts = append(parts, devices...); len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func portList(p offers.Ports) string {
	if len(p) == 0 {
		return ""
	}
	var parts []string
	for _, r := range p {
		text := fmt.Sprint(r.First)
		if r.Last > r.First {
			text += fmt.Sprint("-", r.Last)
		}
		parts = append(parts, text)
	}
	return "ports " + strings.Join(parts, " ")
}

func asksText(asks map[string]offers.DeviceAsk) (out []string) {
	for _, class := range slices.Sorted(maps.Keys(asks)) {
		ask, share := asks[class], ""
		if ask.Share > 0 {
			share = offers.FormatCPUs(ask.Share)
		}
		out = append(out, slicesText(class, ask.Count, ask.Memory, share))
	}
	return out
}

// slicesText writes devices of a class, whole ones or parts of their memory or
// compute.
func slicesText(class string, n int, memory int64, share string) string {
	switch {
	case memory > 0 && n > 1:
		return fmt.Sprintf("%d x %s %s", n, size(memory), class)
	case memory > 0:
		return size(memory) + " " + class
	case share != "":
		return fmt.Sprintf("%s of a %s", share, class)
	}
	return fmt.Sprintf("%d %s", n, class)
}

// when is a moment of an answer; zero where it never was.
func when(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// usage writes what is used of a total: "2/8".
func usage(used, total string) string {
	if total == "0" || total == "0B" {
		return "-"
	}
	return used + "/" + total
}

// counts writes {"running": 3, "failed": 1} in a fixed order.
func counts[K ~string](m map[K]int, order ...K) string {
	var parts []string
	for _, k := range append(order, slices.Sorted(maps.Keys(m))...) {
		if n, ok := m[k]; ok && n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
			m = without(m, k)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func without[K ~string](m map[K]int, key K) map[K]int {
	m = maps.Clone(m)
	delete(m, key)
	return m
}
