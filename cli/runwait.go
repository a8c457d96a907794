package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// whyWaiting says what a job waits for, as far as the agents' totals tell.
func (cl *client) whyWaiting(ctx context.Context, j *job) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	other := openClient(append([]string(nil), cl.masters...), cl.door)
	raw, err := other.list(ctx, "/v1/agents", "agents", url.Values{})
	if err != nil {
		return "waiting for room"
	}
	var answer struct{ Agents []agentView }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "waiting for room"
	}
	return "waiting for room: " + reason(answer.Agents, j.task.Resources, len(j.demand.Constraints) > 0)
}

// reason compares a wish with the totals of active agents.
func reason(agents []agentView, wish offers.Resources, constrained bool) string {
	var most offers.Amounts
	active, devices := 0, map[string]int{}
	for _, a := range agents {
		if a.State != string(offers.AgentActive) {
			continue
		}
		active++
		total := a.Total.amounts()
		for k := range most {
			most[k] = max(most[k], total[k])
		}
		for class, d := range a.Devices {
			devices[class] = max(devices[class], len(d.IDs))
		}
		for class, d := range a.Total.Devices {
			devices[class] = max(devices[class], len(d.IDs))
		}
	}
	if active == 0 {
		return "no agent is active; see ringmaster agents"
	}
	for k, n := range wish.Amounts {
		if n > most[k] {
			return fmt.Sprintf("no agent has %s %s; the largest has %s", amountText(offers.Scalar(k), n), offers.Scalar(k), amountText(offers.Scalar(k), most[k]))
		}
	}
	for class, ask := range wish.Devices {
		if ask.Count > devices[class] {
			return fmt.Sprintf("no agent has %d %s; the largest has %d", ask.Count, class, devices[class])
		}
	}
	if constrained {
		return "the agents that meet the constraints are full, or none does; see ringmaster agents"
	}
	return "the agents are full; see ringmaster status"
}

func amountText(kind offers.Scalar, n int64) string {
	switch kind {
	case offers.CPUs:
		return offers.FormatCPUs(n)
	case offers.Bandwidth:
		return bits(n)
	}
	return size(n)
}

// amounts are the scalar kinds; what can't be read is nothing.
func (r room) amounts() (a offers.Amounts) {
	if n, err := offers.ParseScalar(offers.CPUs, r.cpus()); err == nil {
		a[offers.CPUs] = n
	}
	a[offers.Mem], a[offers.Disk], a[offers.Bandwidth] = r.Mem, r.Disk, r.Bandwidth
	return a
}
