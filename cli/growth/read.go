package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// line is one series: what a task costs by one number, with the other fixed.
type line struct {
	of     string // "agents" or "tasks"
	points []point
}

// point is all that was measured at one size.
type point struct {
	agents, tasks int
	micros        []float64 // of the processor per task, ascending
	mebibytes     []float64 // of the heap in use, ascending
}

func (p point) at(of string) int {
	if of == "agents" {
		return p.agents
	}
	return p.tasks
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// read returns the series in what go test -bench printed; other lines are passed
// over.
func read(in io.Reader) ([]line, error) {
	found := map[string]map[int]*point{}
	scan := bufio.NewScanner(in)
	for scan.Scan() {
		fields := strings.Fields(scan.Text())
		if len(fields) < 2 || !strings.HasPrefix(fields[0], "BenchmarkGrowth/") {
			continue
		}
		of, p, err := parse(fields)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", scan.Text(), err)
		}
		if found[of] == nil {
			found[of] = map[int]*point{}
		}
		if known := found[of][p.at(of)]; known != nil {
			known.micros = append(known.micros, p.micros...)
			known.mebibytes = append(known.mebibytes, p.mebibytes...)
		} else {
			found[of][p.at(of)] = p
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("nothing of BenchmarkGrowth was read")
	}
	var lines []line
	for _, of := range slices.Sorted(maps.Keys(found)) {
		l := line{of: of}
		for _, p := range found[of] {
			slices.Sort(p.micros)
			slices.Sort(p.mebibytes)
			l.points = append(l.points, *p)
		}
		slices.SortFunc(l.points, func(a, b point) int { return cmp.Compare(a.at(of), b.at(of)) })
		lines = append(lines, l)
	}
	return lines, nil
}

// parse reads one line, as "BenchmarkGrowth/of=agents/agents=100/tasks=10000-2
// 20 164832204 ns/op 42.24 MiB 63.20 us/task".
func parse(fields []string) (of string, p *point, err error) {
	p = &point{}
	name, _, _ := strings.Cut(fields[0], "-")
	for _, part := range strings.Split(name, "/")[1:] {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "of":
			of = value
		case "agents":
			p.agents, err = strconv.Atoi(value)
		case "tasks":
			p.tasks, err = strconv.Atoi(value)
		}
		if err != nil {
			return "", nil, err
		}
	}
	for i := 2; i+1 < len(fields); i += 2 {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return "", nil, err
		}
		switch fields[i+1] {
		case "us/task":
			p.micros = append(p.micros, n)
		case "MiB":
			p.mebibytes = append(p.mebibytes, n)
		}
	}
	if of != "agents" && of != "tasks" || len(p.micros) == 0 || len(p.mebibytes) == 0 {
		return "", nil, errors.New("it has no us/task and MiB of agents or tasks")
	}
	return of, p, nil
}
