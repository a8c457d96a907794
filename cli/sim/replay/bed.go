package replay

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// bed is an allocator that asks the matcher of a master. The nodes are its
// agents, and every role of the workload is a framework that has a demand for
// each task that waits. Which of its waiting tasks of one shape takes an offer
// is the framework's decision: the one of the highest priority, and then the
// eldest.
type bed struct {
	*match.Matcher
	demands []offers.Demand // by task, without an id
	jobs    []Job
	nodes   map[offers.AgentID]int
	shape   []int              // by task; tasks of one shape take each other's offers
	waiting map[queueKey][]int // jobs, who is next at the front
	refs    map[int]offers.TaskRef
}

type queueKey struct {
	role  offers.Role
	shape int
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
func newBed(config match.Config, w *Workload, order *Order) *bed {
	config.OfferTimeout = time.Hour
	b := &bed{
		Matcher: match.New(config, state.New(), 1), jobs: order.Jobs, nodes: map[offers.AgentID]int{}, shape: shapes(w.Tasks),
		waiting: map[queueKey][]int{}, refs: map[int]offers.TaskRef{},
	}
	for _, role := range rolesOf(order.Jobs) {
		b.FrameworkKnown(&state.Framework{ID: framework(role), Role: role})
		b.FrameworkOnline(framework(role), true)
	}
	for r, node := range byRank(order.Rank) {
		id, n := offers.AgentID(fmt.Sprintf("n%06d", r)), &w.Nodes[node]
		b.AgentChanged(&state.Agent{State: offers.AgentActive, Agent: offers.Agent{
			ID: id, Name: n.Name, Attributes: map[string]string{"model": n.Model}, Total: n.inventory(),
		}})
		b.AgentOnline(id, true)
		b.nodes[id] = node
	}
	b.demands = make([]offers.Demand, len(w.Tasks))
	for i := range w.Tasks {
		b.demands[i] = w.Tasks[i].demand()
	}
	return b
}

// framework returns the id of a role's framework.
func framework(role offers.Role) offers.FrameworkID { return offers.FrameworkID("f-" + string(role)) }

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
	d := offers.Demand{Count: &one}
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

// ask states a demand for a job.
func (b *bed) ask(job int) {
	j := &b.jobs[job]
	key := b.queue(job)
	b.waiting[key] = enqueue(b.waiting[key], b.jobs, job)
	d := b.demands[j.Task]
	d.ID = demandID(job)
	b.Demand(framework(j.role()), d)
}

// drop withdraws it.
func (b *bed) drop(job int) {
	none, key := 0, b.queue(job)
	b.waiting[key] = slices.DeleteFunc(b.waiting[key], func(j int) bool { return j == job })
	b.Demand(framework(b.jobs[job].role()), offers.Demand{ID: demandID(job), Count: &none})
}

// end gives the room of a job back.
func (b *bed) end(job int) {
	b.Ended(b.refs[job])
	delete(b.refs, job)
}

// serve accepts all offers that can be made.
func (b *bed) serve(at time.Duration) []started {
	now := begin.Add(at)
	var out []started
	for {
		r := b.Ready(now)
		for _, o := range r.Offers {
			out = append(out, b.accept(o, now))
		}
		if !r.More {
			return out
		}
	}
}

// accept launches the job whose turn it is on an offer.
func (b *bed) accept(o *offers.Offer, now time.Time) started {
	asked, err := strconv.Atoi(string(o.Demand))
	if err != nil {
		panic("replay: an offer for no job: " + err.Error())
	}
	key := b.queue(asked)
	job := b.waiting[key][0]
	b.waiting[key] = b.waiting[key][1:]
	launch := match.Draft{Task: offers.Task{ID: offers.TaskID(strconv.Itoa(job)), Resources: b.demands[b.jobs[job].Task].Resources}}
	a := b.Accept(o.Framework, []offers.OfferID{o.ID}, []match.Draft{launch}, 0, unused, now)
	if len(a.Launches) != 1 {
		panic(fmt.Sprintf("replay: an offer made for a task does not take it: %+v %+v", a.Errors, a.Updates))
	}
	l := &a.Launches[0]
	b.refs[job] = l.Task.Ref()
	s := started{job, spot{node: b.nodes[l.Task.Agent]}}
	for _, g := range l.Task.Holding.Devices.Of(class) {
		s.spot.devices = append(s.spot.devices, g.Index)
	}
	return s
}

func (b *bed) queue(job int) queueKey {
	j := &b.jobs[job]
	return queueKey{j.role(), b.shape[j.Task]}
}

func demandID(job int) offers.DemandID { return offers.DemandID(strconv.Itoa(job)) }

func unused(offers.TaskID) bool { return false }
