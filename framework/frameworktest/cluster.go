package frameworktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Cluster plays masters and agents for one framework: each demand is offered
// at once, each accepted task runs and ends as Run says. What a real cluster
// makes durable outlives its connections here. It is safe for concurrent use.
type Cluster struct {
	// Run returns how a task ends: a terminal state with exit code and so on,
	// or Running for one that runs until it is killed. nil: all finish.
	Run func(offers.Task) offers.Status
	// Units bounds the units of one offer; 0 means 4.
	Units int
	// Break is asked before each message of the framework is dealt with and
	// before it is answered; true breaks the connection there. nil: never.
	Break func(m wire.Message, answered bool) bool

	mu     sync.Mutex
	term   uint64
	offers int
	open   map[offers.OfferID]*offered
	wants  map[offers.DemandID]*want
	tasks  map[offers.TaskID]*launched
	store  map[string]wire.StateAnswer // by key
	writes uint64                      // of the store, ever: the last version
	gone   bool
}

type offered struct {
	demand offers.DemandID
	units  int
}

type want struct {
	demand offers.Demand
	left   int // not offered or accepted
}

type launched struct {
	task    offers.Task
	runs    int
	queue   []offers.Status // not yet acknowledged, the first is on its way
	last    offers.Status
	updates int
}

// Runs returns how often each task was launched.
func (c *Cluster) Runs() map[offers.TaskID]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[offers.TaskID]int{}
	for id, t := range c.tasks {
		out[id] = t.runs
	}
	return out
}

// Unacknowledged returns how many tasks have updates that wait.
func (c *Cluster) Unacknowledged() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, t := range c.tasks {
		if len(t.queue) > 0 {
			n++
		}
	}
	return n
}

// Serve speaks with a framework as the leader of a new term, until the link
// breaks. Demands and offers begin anew; tasks are remembered.
func (c *Cluster) Serve(link wire.Link) {
	c.mu.Lock()
	c.term++
	c.open, c.wants = map[offers.OfferID]*offered{}, map[offers.DemandID]*want{}
	if c.tasks == nil {
		c.tasks, c.store = map[offers.TaskID]*launched{}, map[string]wire.StateAnswer{}
	}
	c.mu.Unlock()
	for {
		frame, err := link.Receive()
		if err != nil {
			return
		}
		m, env, err := wire.Decode(wire.FromFramework, frame)
		if err != nil {
			continue
		}
		if c.Break != nil && c.Break(m, false) {
			return
		}
		c.mu.Lock()
		answers := c.deal(m)
		c.mu.Unlock()
		if c.Break != nil && c.Break(m, true) {
			return
		}
		for _, a := range answers {
			out, err := wire.Encode(a, env.RequestID)
			if err != nil || link.Send(out) != nil {
				return
			}
		}
	}
}

func (c *Cluster) deal(m wire.Message) []wire.Message {
	switch m := m.(type) {
	case *wire.Register:
		return c.register()
	case *wire.DemandMessage:
		return c.demand(m)
	case *wire.Accept:
		return c.accept(m)
	case *wire.Decline:
		var out []wire.Message // offered again at once: refusals are not kept here
		for _, id := range m.OfferIDs {
			out = append(out, c.end(id, 0)...)
		}
		return out
	case *wire.Kill:
		return c.kill(m.TaskID)
	case *wire.Acknowledge:
		return c.acknowledge(m)
	case *wire.Reconcile:
		return c.reconcile(m.TaskIDs)
	case *wire.StateRequest:
		return []wire.Message{c.state(m)}
	case *wire.Teardown:
		c.gone = true
		return []wire.Message{&wire.ErrorMessage{Code: offers.FrameworkRemoved, Message: "torn down"}}
	}
	return nil
}

func (c *Cluster) register() []wire.Message {
	if c.gone {
		return []wire.Message{&wire.ErrorMessage{Code: offers.FrameworkRemoved, Message: "torn down"}}
	}
	out := []wire.Message{&wire.Registered{FrameworkID: "f1", Master: wire.MasterInfo{Name: "fake", Term: c.term}}}
	for _, id := range slices.Sorted(maps.Keys(c.tasks)) {
		out = append(out, c.tasks[id].resend()...)
	}
	return out
}

func (t *launched) resend() []wire.Message {
	if len(t.queue) == 0 {
		return nil
	}
	return []wire.Message{&wire.Update{Status: t.queue[0]}}
}

// report queues a status; it is sent when those before are acknowledged.
func (t *launched) report(s offers.Status) []wire.Message {
	t.updates++
	s.Task, s.Agent, s.Time = t.task.ID, "a1", time.Unix(int64(t.updates), 0).UTC()
	s.UpdateID = offers.UpdateID(fmt.Sprintf("%s-%d", t.task.ID, t.updates))
	t.last = s
	if t.queue = append(t.queue, s); len(t.queue) == 1 {
		return t.resend()
	}
	return nil
}

func (c *Cluster) demand(m *wire.DemandMessage) []wire.Message {
	var out []wire.Message
	for _, raw := range m.Demands {
		var d offers.Demand
		if err := json.Unmarshal(raw, &d); err != nil {
			out = append(out, &wire.ErrorMessage{Code: offers.BadDemand, Message: err.Error(), DemandID: d.ID})
			continue
		}
		for id, o := range c.open {
			if o.demand == d.ID {
				delete(c.open, id)
				out = append(out, &wire.Rescind{OfferIDs: []offers.OfferID{id}, Reason: "replaced"})
			}
		}
		delete(c.wants, d.ID)
		if d.Count == nil || *d.Count > 0 {
			w := &want{demand: d, left: 1}
			if d.Count != nil {
				w.left = *d.Count
			}
			c.wants[d.ID] = w
			out = append(out, c.offer(w)...)
		}
	}
	return out
}

func (c *Cluster) offer(w *want) []wire.Message {
	var m wire.OffersMessage
	for w.left > 0 {
		units := min(w.left, max(c.Units, 1))
		if c.Units == 0 {
			units = min(w.left, 4)
		}
		w.left -= units
		c.offers++
		o := offers.Offer{ID: offers.OfferID(fmt.Sprintf("o%d-%d", c.offers, c.term)), Unit: w.demand.Resources, Units: units}
		o.Held.Amounts = w.demand.Resources.Amounts.Times(int64(units))
		o.Held.Ports = w.demand.Resources.Ports
		c.open[o.ID] = &offered{demand: w.demand.ID, units: units}
		m.Offers = append(m.Offers, wire.Offer{
			ID: o.ID, DemandID: w.demand.ID, Resources: wire.MakeOffered(&o),
			Agent: wire.OfferAgent{ID: "a1", Name: "fake", Host: "localhost", Address: "127.0.0.1:1"},
		})
	}
	if len(m.Offers) == 0 {
		return nil
	}
	return []wire.Message{&m}
}

// end consumes an offer, of which used units are met, and offers the rest anew.
func (c *Cluster) end(id offers.OfferID, used int) []wire.Message {
	o := c.open[id]
	if o == nil {
		return nil
	}
	delete(c.open, id)
	w := c.wants[o.demand]
	if w == nil {
		return nil
	}
	w.left += o.units - used
	return c.offer(w)
}

func (c *Cluster) accept(m *wire.Accept) []wire.Message {
	var tasks []offers.Task
	for _, raw := range m.Tasks {
		var t offers.Task
		if json.Unmarshal(raw, &t) == nil {
			tasks = append(tasks, t)
		}
	}
	for _, id := range m.OfferIDs {
		if c.open[id] == nil {
			return dropAll(id, tasks)
		}
	}
	var out, updates []wire.Message
	answer := &wire.Accepted{OfferIDs: m.OfferIDs}
	for _, t := range tasks {
		if c.tasks[t.ID] != nil {
			out = append(out, &wire.ErrorMessage{Code: offers.TaskIDInUse, Message: "task id " + string(t.ID) + " is in use"})
			continue
		}
		updates = append(updates, c.launch(t)...)
		answer.TaskIDs = append(answer.TaskIDs, t.ID)
	}
	out = append(out, answer)
	out = append(out, updates...)
	for i, id := range m.OfferIDs {
		used := 0
		if i == 0 {
			used = len(answer.TaskIDs)
		}
		out = append(out, c.end(id, used)...)
	}
	return out
}

func dropAll(id offers.OfferID, tasks []offers.Task) []wire.Message {
	out := []wire.Message{&wire.ErrorMessage{Code: offers.OfferGone, Message: "offer " + string(id) + " is gone"}}
	for _, t := range tasks {
		out = append(out, &wire.Update{Status: offers.Status{Task: t.ID, State: offers.Dropped, Reason: offers.ReasonOfferGone}})
	}
	return out
}

func (c *Cluster) launch(t offers.Task) []wire.Message {
	l := &launched{task: t, runs: 1}
	c.tasks[t.ID] = l
	end := offers.Status{State: offers.Finished, ExitCode: new(int)}
	if c.Run != nil {
		end = c.Run(t)
	}
	if end.State == offers.Dropped || end.State == offers.Rejected {
		l.runs = 0
		return l.report(end)
	}
	out := l.report(offers.Status{State: offers.Running})
	if end.State.Terminal() {
		out = append(out, l.report(end)...)
	}
	return out
}

func (c *Cluster) kill(id offers.TaskID) []wire.Message {
	t := c.tasks[id]
	if t == nil {
		return []wire.Message{&wire.ErrorMessage{Code: offers.UnknownTask, Message: "task " + string(id) + " is unknown"}}
	}
	if t.last.State.Terminal() {
		return nil
	}
	return t.report(offers.Status{State: offers.Killed, Signal: "SIGTERM"})
}

func (c *Cluster) acknowledge(m *wire.Acknowledge) []wire.Message {
	t := c.tasks[m.TaskID]
	if t == nil || len(t.queue) == 0 || t.queue[0].UpdateID != m.UpdateID {
		return nil
	}
	t.queue = t.queue[1:]
	return t.resend()
}

func (c *Cluster) reconcile(ids []offers.TaskID) []wire.Message {
	if len(ids) == 0 {
		ids = slices.Sorted(maps.Keys(c.tasks))
	}
	var out []wire.Message
	for _, id := range ids {
		s := offers.Status{Task: id, State: offers.Dropped, Reason: offers.ReasonUnknownTask}
		if t := c.tasks[id]; t != nil {
			s = t.last
			s.UpdateID, s.Reason = "", offers.ReasonReconciliation
		}
		out = append(out, &wire.Update{Status: s})
	}
	return append(out, &wire.Reconciled{})
}
