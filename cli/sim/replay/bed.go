package replay

import (
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// bed is a matcher with the nodes of a trace as agents and one framework that
// brings the tasks.
type bed struct {
	*match.Matcher
	framework offers.FrameworkID
	demands   []offers.Demand // by task
	now       time.Time
	launched  int
}

// deviceMilli is the memory of a thousandth of a device. A trace knows
// thousandths only; with these a device has 78 GiB, of today's size, and falls
// well into the default rings.
const deviceMilli = 80 << 20

// class is the device class of all traces.
const class = "gpu"

// begin is when all replays do.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newBed returns a bed under one strategy. Agents' ids are in the order of the
// ranks, so that the strategies' last tie-break is the protocol's.
func newBed(config match.Config, nodes []Node, rank []int, tasks []Task) *bed {
	config.OfferTimeout = time.Hour
	b := &bed{Matcher: match.New(config, state.New(), 1), framework: "f", now: begin}
	b.FrameworkKnown(&state.Framework{ID: b.framework, Role: "default"})
	b.FrameworkOnline(b.framework, true)
	byRank := make([]int, len(nodes))
	for node, r := range rank {
		byRank[r] = node
	}
	for r, node := range byRank {
		id := offers.AgentID(fmt.Sprintf("n%06d", r))
		b.AgentChanged(&state.Agent{State: offers.AgentActive, Agent: offers.Agent{
			ID: id, Name: nodes[node].Name, Attributes: map[string]string{"model": nodes[node].Model}, Total: nodes[node].inventory(),
		}})
		b.AgentOnline(id, true)
	}
	b.demands = make([]offers.Demand, len(tasks))
	for i := range tasks {
		b.demands[i] = tasks[i].demand()
	}
	return b
}

func (n *Node) inventory() offers.Inventory {
	v := offers.Inventory{Amounts: offers.Amounts{offers.CPUs: n.CPU, offers.Mem: n.Mem << 20}}
	if n.GPUs > 0 {
		c := offers.DeviceClass{Name: class}
		for i := range n.GPUs {
			c.Devices = append(c.Devices, offers.Device{ID: fmt.Sprint(i), Capacity: Whole * deviceMilli})
		}
		v.Classes = []offers.DeviceClass{c}
	}
	return v
}

func (t *Task) demand() offers.Demand {
	one := 1
	d := offers.Demand{ID: "d", Count: &one}
	d.Resources.Amounts = offers.Amounts{offers.CPUs: t.CPU, offers.Mem: t.Mem << 20}
	if t.GPUs > 0 {
		ask := offers.DeviceAsk{Count: t.GPUs}
		if t.Slice < Whole {
			ask.Memory = t.Slice * deviceMilli
		}
		d.Resources.Devices = map[string]offers.DeviceAsk{class: ask}
	}
	if len(t.Models) > 0 {
		d.Constraints = []offers.Constraint{offers.AnyOf("model", t.Models)}
	}
	return d
}

// place demands room for a task and launches it; false when there is none, and
// then nothing is demanded any more.
func (b *bed) place(task int) bool {
	d := b.demands[task]
	b.now = b.now.Add(time.Second)
	b.Demand(b.framework, d)
	r := b.Ready(b.now)
	if len(r.Offers) == 0 {
		none := 0
		b.Demand(b.framework, offers.Demand{ID: d.ID, Count: &none})
		return false
	}
	b.launched++
	launch := match.Draft{Task: offers.Task{ID: offers.TaskID(fmt.Sprint(b.launched)), Resources: d.Resources}}
	a := b.Accept(b.framework, []offers.OfferID{r.Offers[0].ID}, []match.Draft{launch}, 0, unused, b.now)
	if len(a.Launches) != 1 {
		panic(fmt.Sprintf("replay: an offer made for a task does not take it: %+v %+v", a.Errors, a.Updates))
	}
	return true
}

func unused(offers.TaskID) bool { return false }
