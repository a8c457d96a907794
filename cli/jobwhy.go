package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// whyJobWaits says, dimension by dimension, why no agent has room for an
// instance at the moment.
func (cl *client) whyJobWaits(ctx context.Context, d *jobDetail) string {
	return cl.shortageOf(ctx, d.Job.Part(d.Step))
}

// shortageOf says why no agent has room for one more instance.
func (cl *client) shortageOf(ctx context.Context, w *spec.Work) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	other := openClient(slices.Clone(cl.masters), cl.door)
	raw, err := other.list(ctx, "/v1/agents", "agents", url.Values{})
	if err != nil {
		return "the agents can't be asked: " + err.Error()
	}
	var answer struct{ Agents []agentView }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "the agents can't be asked: " + err.Error()
	}
	return shortage(answer.Agents, w.Asks(), w.Constraints)
}

// shortage counts the agents by what each lacks first: the constraints, the
// kinds it would never have enough of, those it has not enough of now.
func shortage(agents []agentView, wish offers.Resources, conditions []offers.Constraint) string {
	var order []string
	lacking := map[string]int{}
	note := func(why string) {
		if lacking[why]++; lacking[why] == 1 {
			order = append(order, why)
		}
	}
	active, fits := 0, 0
	for i := range agents {
		a := &agents[i]
		if a.State != string(offers.AgentActive) {
			continue
		}
		active++
		if why := a.lacks(wish, conditions); why != "" {
			note(why)
		} else {
			fits++
		}
	}
	if active == 0 {
		return "no agent is active; see ringmaster agents"
	}
	if fits > 0 {
		return fmt.Sprintf("%d of %s could take one: it is the others' turn, or a quota stands against it; see ringmaster roles", fits, plural(active, "agent"))
	}
	var parts []string
	for _, why := range order {
		parts = append(parts, fmt.Sprintf("%d of %s: %s", lacking[why], plural(active, "agent"), why))
	}
	return strings.Join(parts, "; ")
}

// lacks says why the agent has no room for a wish, "" where it has.
func (a *agentView) lacks(wish offers.Resources, conditions []offers.Constraint) string {
	who := offers.Agent{ID: offers.AgentID(a.ID), Name: a.Name, Host: a.Host, Attributes: a.Attributes}
	for _, c := range conditions {
		if !c.Met(&who) {
			return "not " + c.String()
		}
	}
	total, free := a.Total.amounts(), a.Free.amounts()
	for _, have := range []struct {
		amounts offers.Amounts
		text    string
	}{{total, "has %s %s in all, %s are asked"}, {free, "has %s %s free, %s are asked"}} {
		for k, n := range wish.Amounts {
			if kind := offers.Scalar(k); n > have.amounts[k] {
				return fmt.Sprintf(have.text, amountText(kind, have.amounts[k]), kind, amountText(kind, n))
			}
		}
	}
	for class, ask := range wish.Devices {
		if why := a.Devices[class].lacks(class, ask); why != "" {
			return why
		}
	}
	if len(wish.Ports) > 0 && !wish.Ports.Within(a.Free.ports()) {
		return "has not all the ports free"
	}
	return ""
}

func (d deviceClass) lacks(class string, ask offers.DeviceAsk) string {
	most, fit := int64(0), 0
	for i, capacity := range d.Capacity {
		free := capacity
		if i < len(d.Used) {
			free -= d.Used[i]
		}
		most = max(most, free)
		if ask.Whole() && free == capacity || !ask.Whole() && free >= ask.Memory && free > 0 {
			fit++
		}
	}
	switch {
	case ask.Count > len(d.Capacity):
		return fmt.Sprintf("has %d %s in all, %d are asked", len(d.Capacity), class, ask.Count)
	case fit >= ask.Count:
		return ""
	case ask.Whole():
		return fmt.Sprintf("has %d whole %s free, %d are asked", fit, class, ask.Count)
	}
	return fmt.Sprintf("has at most %s free on one %s, %s are asked", size(most), class, size(ask.Memory))
}

// ports are those of the room; what can't be read is none.
func (r room) ports() (p offers.Ports) {
	text, err := json.Marshal(r.Ports)
	if err != nil || p.UnmarshalJSON(text) != nil {
		return nil
	}
	return p
}
