package lead

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Prepare decodes and validates a message and returns what is left to do in
// the core. It changes nothing, so it may run beside the core.
func (s *Framework) Prepare(msg wire.Message, request string) Work {
	switch m := msg.(type) {
	case *wire.Register:
		return s.prepareRegister(m, request)
	case *wire.DemandMessage:
		return s.registered(request, s.prepareDemands(m, request))
	case *wire.Accept:
		return s.registered(request, s.prepareAccept(m, request))
	case *wire.Decline:
		hide := wire.DefaultRefuse
		if m.Refuse != nil {
			hide = *m.Refuse
		}
		return s.registered(request, func(c *Core) {
			c.match.Decline(s.id, m.OfferIDs, hide.Std(), c.now)
		})
	case *wire.Suppress:
		return s.registered(request, func(c *Core) { c.match.Suppress(s.id) })
	case *wire.Revive:
		return s.registered(request, func(c *Core) { c.match.Revive(s.id) })
	case *wire.Kill:
		return s.registered(request, func(c *Core) { s.kill(c, m, request) })
	case *wire.Acknowledge:
		return s.registered(request, func(c *Core) {
			c.acknowledge(offers.TaskRef{Framework: s.id, Task: m.TaskID}, m.UpdateID)
		})
	case *wire.Reconcile:
		return s.registered(request, func(c *Core) { s.reconcile(c, m, request) })
	case *wire.StateRequest:
		return s.registered(request, s.prepareStore(m, request))
	case *wire.TaskMessage:
		return s.registered(request, func(c *Core) { s.message(c, m, request) })
	case *wire.Teardown:
		return s.registered(request, func(c *Core) {
			c.Commit(state.Command{RemoveFramework: &state.RemoveFramework{ID: s.id, Time: c.wall()}}, nil)
		})
	default:
		return func(*Core) {}
	}
}

func (s *Framework) prepareRegister(m *wire.Register, request string) Work {
	in := m.Framework
	if in.Role == "" {
		in.Role = DefaultRole
	}
	err := validFramework(&in)
	return func(c *Core) {
		if err != nil {
			refuse(s.peer, err, request)
			s.settled()
			return
		}
		named := *m
		named.Framework = in
		s.register(c, &named, request)
	}
}

// What a framework may say about itself, which is kept until long after its end.
const (
	maxLabels = 256  // labels and capabilities
	maxWord   = 256  // bytes of a capability, and the name of a label
	maxLabel  = 1024 // bytes of its value
)

func validFramework(in *wire.FrameworkInfo) error {
	if err := printableName("framework.name", in.Name); err != nil {
		return err
	}
	if err := in.Role.Validate(); err != nil {
		return offers.Errorf(offers.BadMessage, "framework.role: %s", err)
	}
	if in.User != "" { // which goes along with each of its tasks
		if err := printableName("framework.user", in.User); err != nil {
			return err
		}
	}
	if len(in.Labels)+len(in.Capabilities) > maxLabels {
		return offers.Errorf(offers.BadMessage, "framework: more than %d labels and capabilities", maxLabels)
	}
	for _, c := range in.Capabilities {
		if len(c) > maxWord {
			return offers.Errorf(offers.BadMessage, "framework.capabilities: %.40q... is longer than %d bytes", c, maxWord)
		}
	}
	for name, value := range in.Labels {
		if len(name) > maxWord || len(value) > maxLabel {
			return offers.Errorf(offers.BadMessage, "framework.labels: the name of %.40q is longer than %d bytes or its value than %d", name, maxWord, maxLabel)
		}
	}
	return nil
}

// DefaultRole is the role of frameworks that name none.
const DefaultRole offers.Role = "default"

// prepareDemands reads each demand on its own: a bad one is refused alone.
func (s *Framework) prepareDemands(m *wire.DemandMessage, request string) Work {
	if n := len(m.Demands); n > wire.MaxDemands { // each is answered if it is bad
		return func(*Core) {
			refuse(s.peer, offers.Errorf(offers.TooLarge, "%d demands; a framework has at most %d", n, wire.MaxDemands), request)
		}
	}
	type refusal struct {
		id  offers.DemandID // "" where it has none that could be told
		err error
	}
	var good []offers.Demand
	var bad []refusal
	for _, raw := range m.Demands {
		d, err := wire.ReadDemand(raw)
		if err != nil {
			if d.ID.Validate() != nil {
				d.ID = ""
			}
			bad = append(bad, refusal{d.ID, offers.Errorf(offers.BadDemand, "%s", err)})
			continue
		}
		good = append(good, d)
	}
	if len(m.Demands) == 0 {
		bad = append(bad, refusal{err: offers.Errorf(offers.BadDemand, "demands is empty or missing")})
	}
	return func(c *Core) {
		for _, r := range bad {
			refuseDemand(s.peer, r.id, r.err, request)
		}
		for _, d := range good {
			if c.match.Demands(s.id) >= wire.MaxDemands && !c.match.HasDemand(s.id, d.ID) {
				refuseDemand(s.peer, d.ID, offers.Errorf(offers.TooLarge, "demand %s: a framework has at most %d demands", d.ID, wire.MaxDemands), request)
				continue
			}
			if err := cmp.Or(c.demandable(s.id, &d), c.fitsDevice(d)); err != nil {
				refuseDemand(s.peer, d.ID, err, request)
				continue
			}
			c.match.Demand(s.id, d)
		}
	}
}

// prepareAccept reads each task on its own: a bad one is rejected alone.
func (s *Framework) prepareAccept(m *wire.Accept, request string) Work {
	if n := len(m.Tasks); n > wire.MaxTasks { // each is answered, in the turn that everybody waits for
		return func(*Core) {
			refuse(s.peer, offers.Errorf(offers.TooLarge, "%d tasks; an accept has at most %d", n, wire.MaxTasks), request)
		}
	}
	drafts := make([]match.Draft, len(m.Tasks))
	for i, raw := range m.Tasks {
		drafts[i] = readTask(raw)
	}
	var hide time.Duration
	if m.Refuse != nil {
		hide = m.Refuse.Std()
	}
	return func(c *Core) {
		inUse := func(id offers.TaskID) bool {
			ref := offers.TaskRef{Framework: s.id, Task: id}
			t := c.state().Task(ref)
			return c.match.Holds(ref) || t != nil && !(t.End != nil && t.Acknowledged)
		}
		if err := c.launchable(len(drafts)); err != nil {
			refuse(s.peer, err, request)
			return
		}
		acc := c.match.Accept(s.id, m.OfferIDs, drafts, hide, inUse, c.now)
		// The error comes last: whoever saw it has seen what became of the tasks,
		// and whoever lost it with the connection asks.
		for _, u := range acc.Updates {
			s.peer.Send(&wire.Update{Status: u}, request)
		}
		for _, err := range acc.Errors {
			refuse(s.peer, err, request)
		}
		s.launch(c, acc, request)
	}
}

// readTask decodes and validates one task, keeping its id where it has one.
func readTask(raw json.RawMessage) match.Draft {
	t, err := wire.ReadTask(raw)
	if err == nil {
		err = t.Validate()
	}
	if err == nil && len(raw) > wire.MaxTask {
		err = fmt.Errorf("task %s: it has %d bytes as it is written; at most %d, and artifacts bring what is larger", t.ID, len(raw), wire.MaxTask)
	}
	if err == nil {
		return match.Draft{Task: t}
	}
	if t.ID.Validate() != nil {
		return match.Draft{Err: fmt.Errorf("a task could not be read: %w", err)}
	}
	return match.Draft{Task: offers.Task{ID: t.ID}, Err: err}
}

// launch makes the launches of an accept durable, then tells the framework
// and the agent.
func (s *Framework) launch(c *Core, acc match.Acceptance, request string) {
	if len(acc.Launches) == 0 {
		if len(acc.Errors)+len(acc.Updates) == 0 {
			s.peer.Send(&wire.Accepted{OfferIDs: acc.Offers, TaskIDs: []offers.TaskID{}}, request)
		}
		return
	}
	var durable []offers.TaskID
	waiting := len(acc.Launches)
	for i := range acc.Launches {
		launch := &acc.Launches[i]
		t := &launch.Task
		t.User, t.LaunchID = s.user, c.nameLaunch()
		way := c.trace(t, acc.MadeFor(i))
		c.Commit(state.Command{Launch: launch}, func(r state.Result) {
			waiting--
			way.accepted(c, r.Err)
			c.match.Decided(&acc, i, r.Err == nil)
			if r.Err != nil {
				if r.Err.Code != offers.TaskIDInUse {
					s.dropped(c, t.Spec.ID, r.Err, request)
				}
				refuse(s.peer, r.Err, request)
			} else {
				durable = append(durable, t.Spec.ID)
				c.sendLaunch(r.Value.(*state.Task), waiting)
			}
			if waiting == 0 && len(durable) > 0 {
				s.peer.Send(&wire.Accepted{OfferIDs: acc.Offers, TaskIDs: durable}, request)
			}
		})
	}
}

// nameLaunch returns an id that no other launch has, of this or another
// leadership.
func (c *Core) nameLaunch() offers.LaunchID {
	c.launches++
	return offers.LaunchID(fmt.Sprintf("%s-%d", c.delivery.name, c.launches))
}

// dropped tells that a launch came to nothing, on a later connection too: there
// the framework may have asked, and heard that the launch is on its way.
func (s *Framework) dropped(c *Core, id offers.TaskID, why *offers.Error, request string) {
	told := &wire.Update{Status: offers.Status{Task: id, State: offers.Dropped, Reason: offers.ReasonAgentLost, Message: why.Message, Time: c.wall()}}
	s.peer.Send(told, request)
	if now := c.frameworks[s.id]; now != nil && now != s {
		now.peer.Send(told, "")
	}
}

// kill makes the wish durable; applied then passes it to the agent.
func (s *Framework) kill(c *Core, m *wire.Kill, request string) {
	ref := offers.TaskRef{Framework: s.id, Task: m.TaskID}
	switch t := c.state().Task(ref); {
	case t != nil && t.End == nil,
		c.match.Holds(ref): // its launch is on the way to a majority, ahead of this
		c.Commit(state.Command{KillTask: &state.KillTask{Ref: ref, Order: state.KillOrder{Grace: m.Grace, Time: c.wall()}}}, nil)
	case t != nil && t.Acknowledged: // by an earlier instance: this one would wait for the end
		ended := *t.End
		ended.UpdateID = ""
		s.peer.Send(&wire.Update{Status: ended}, request)
	case t != nil: // it has ended, which is on its way
	default:
		refuse(s.peer, offers.Errorf(offers.UnknownTask, "task %.128s is not known", m.TaskID), request)
	}
}

// message passes data to the task's executor; command tasks have none that
// listens, so it is dropped there.
func (s *Framework) message(c *Core, m *wire.TaskMessage, request string) {
	if c.state().Task(offers.TaskRef{Framework: s.id, Task: m.TaskID}) == nil {
		refuse(s.peer, offers.Errorf(offers.UnknownTask, "task %.128s is not known", m.TaskID), request)
	}
}

// printableName refuses names that are empty, too long or not printable.
func printableName(field, name string) error {
	if name == "" || len(name) > 256 || !offers.Printable(name) || strings.TrimSpace(name) == "" {
		return offers.Errorf(offers.BadMessage, "%s is empty, not printable or longer than 256 bytes", field)
	}
	return nil
}
