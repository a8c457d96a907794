package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// watch looks at the cluster again and again while it is being broken.
type watch struct {
	operator *operator
	work     *work

	mu       sync.Mutex
	samples  int // of the leader's books
	scans    int // of the host's processes
	total    map[offers.AgentID]int64
	findings []finding
}

func newWatch(o *operator, w *work) *watch {
	return &watch{operator: o, work: w, total: map[offers.AgentID]int64{}}
}

// run samples until ctx ends.
func (w *watch) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.books(ctx)
			w.host()
		case <-ctx.Done():
			return
		}
	}
}

// books looks whether the leader has given away more than there is. Without a
// leader there is nothing to see.
func (w *watch) books(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	agents, err := w.operator.agents(ctx)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples++
	for _, a := range agents {
		w.total[a.ID] = amount(a.Total["cpus"], 1000)
		for _, over := range overcommitted(a) {
			w.findings = append(w.findings, finding{"over-commit", fmt.Sprintf("%s: agent %s (%s, %s): %s", time.Now().UTC().Format(clock), a.ID, a.Name, a.State, over), ""})
		}
	}
}

// overcommitted says where more is used and offered than there is.
func overcommitted(a seenAgent) []string {
	var out []string
	for _, kind := range []string{"cpus", "mem", "disk", "bandwidth"} {
		total, used, offered := amount(a.Total[kind], 1000), amount(a.Used[kind], 1000), amount(a.Offered[kind], 1000)
		if used+offered > total {
			out = append(out, fmt.Sprintf("%s: %d used and %d offered of %d thousandths", kind, used, offered, total))
		}
	}
	for class, d := range a.Devices {
		for i := range d.Capacity {
			if i < len(d.Used) && d.Used[i] > d.Capacity[i] {
				out = append(out, fmt.Sprintf("%s %d: %d used of %d", class, i, d.Used[i], d.Capacity[i]))
			}
		}
	}
	return out
}

// amount returns a number times scale, 0 for none.
func amount(raw json.RawMessage, scale float64) int64 {
	var f float64
	if json.Unmarshal(raw, &f) != nil {
		return 0
	}
	return int64(f*scale + 0.5)
}

// host adds up what really runs. Two scans in a row make it sure: what is in
// both ran at the moment between them.
func (w *watch) host() {
	before, after := w.work.processes(), w.work.processes()
	type key struct {
		agent offers.AgentID
		task  offers.TaskID
	}
	seen, sum := map[key]bool{}, map[offers.AgentID]int64{}
	for pid, p := range before {
		k := key{p.Agent, p.Task}
		if after[pid] != p || seen[k] {
			continue
		}
		seen[k] = true
		sum[p.Agent] += p.CPUs
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scans++
	for agent, cpus := range sum {
		if total, known := w.total[agent]; known && cpus > total {
			w.findings = append(w.findings, finding{"over-commit", fmt.Sprintf("%s: tasks of %d thousandths of a core run on agent %s, which has %d", time.Now().UTC().Format(clock), cpus, agent, total), ""})
		}
	}
}

func (w *watch) found() (samples, scans int, findings []finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.samples, w.scans, w.findings
}
