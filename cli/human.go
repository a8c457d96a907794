package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
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

// room is resources as an answer shows them, read leniently: a client may be
// older than its master.
type room struct {
	CPUs      json.Number            `json:"cpus"`
	Mem       int64                  `json:"mem"`
	Disk      int64                  `json:"disk"`
	Bandwidth int64                  `json:"bandwidth"`
	Ports     any                    `json:"ports"` // a list of them, or how many of a demand
	Devices   map[string]deviceClass `json:"devices"`
}

// deviceClass is a class of an agent's total, or what somebody asked of it.
type deviceClass struct {
	IDs      []string    `json:"ids"`
	Capacity []int64     `json:"capacity"`
	Used     []int64     `json:"used"`
	Free     []int64     `json:"free"`
	Count    int         `json:"count"`
	Memory   int64       `json:"memory"`
	Share    json.Number `json:"share"`

	Attributes  []map[string]string `json:"attributes"`
	Enforcement []string            `json:"enforcement"`
	Health      []string            `json:"health"`
}

// cpus returns the number of cores as text.
func (r room) cpus() string {
	if r.CPUs == "" {
		return "0"
	}
	return string(r.CPUs)
}

// String writes the kinds that are asked for: "2 cpus, 1GiB mem, 2 x 10GiB gpu".
func (r room) String() string { return r.write(deviceClass.text) }

// sum writes the kinds that are there, or used, in all: "2 gpu (64GiB)".
func (r room) sum() string { return r.write(deviceClass.sum) }

func (r room) write(devices func(d deviceClass, class string) string) string {
	var parts []string
	if c := r.cpus(); c != "0" {
		parts = append(parts, c+" cpus")
	}
	if r.Mem > 0 {
		parts = append(parts, size(r.Mem)+" mem")
	}
	if r.Disk > 0 {
		parts = append(parts, size(r.Disk)+" disk")
	}
	if r.Bandwidth > 0 {
		parts = append(parts, bits(r.Bandwidth))
	}
	switch ports := r.Ports.(type) {
	case float64:
		parts = append(parts, plural(int(ports), "port"))
	case []any:
		if len(ports) > 0 {
			parts = append(parts, "ports "+strings.Trim(fmt.Sprint(ports), "[]"))
		}
	}
	for _, class := range slices.Sorted(maps.Keys(r.Devices)) {
		parts = append(parts, devices(r.Devices[class], class))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func (d deviceClass) text(class string) string {
	n := max(d.Count, len(d.IDs))
	memory := d.Memory
	switch {
	case len(d.Free) > 0:
		memory = slices.Max(d.Free)
	case len(d.Capacity) > 0:
		memory = slices.Max(d.Capacity)
	}
	switch {
	case memory > 0 && n > 1:
		return fmt.Sprintf("%d x %s %s", n, size(memory), class)
	case memory > 0:
		return size(memory) + " " + class
	case d.Share != "":
		return fmt.Sprintf("%s of a %s", d.Share, class)
	default:
		return fmt.Sprintf("%d %s", n, class)
	}
}

func (d deviceClass) sum(class string) string {
	switch {
	case d.Count > 0 && d.Memory > 0:
		return fmt.Sprintf("%d %s (%s)", d.Count, class, size(d.Memory))
	case d.Memory > 0:
		return size(d.Memory) + " " + class
	}
	return fmt.Sprintf("%d %s", d.Count, class)
}

// usage writes what is used of a total: "2/8".
func usage(used, total string) string {
	if total == "0" || total == "0B" {
		return "-"
	}
	return used + "/" + total
}

// counts writes {"running": 3, "failed": 1} in a fixed order.
func counts(m map[string]int, order ...string) string {
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

func without(m map[string]int, key string) map[string]int {
	m = maps.Clone(m)
	delete(m, key)
	return m
}
