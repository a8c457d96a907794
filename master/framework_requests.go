package master

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// prepare does in the session's own goroutine what needs no loop (decoding,
// validating, waiting for a majority) and returns what the loop is to do.
func (s *frameworkSession) prepare(msg wire.Message, request string) func(*leadership) {
	switch m := msg.(type) {
	case *wire.Register:
		return s.prepareRegister(m, request)
	case *wire.DemandMessage:
		return s.registered(request, s.prepareDemands(m, request))
	case *wire.Accept:
		return s.registered(request, s.prepareAccept(m, request))
	case *wire.Decline:
		refuse := wire.DefaultRefuse
		if m.Refuse != nil {
			refuse = *m.Refuse
		}
		return s.registered(request, func(lead *leadership) {
			lead.match.Decline(s.id, m.OfferIDs, refuse.Std(), time.Now())
		})
	case *wire.Suppress:
		return s.registered(request, func(lead *leadership) { lead.match.Suppress(s.id) })
	case *wire.Revive:
		return s.registered(request, func(lead *leadership) { lead.match.Revive(s.id) })
	case *wire.Kill:
		return s.registered(request, func(lead *leadership) { s.kill(lead, m, request) })
	case *wire.Acknowledge:
		return s.registered(request, func(lead *leadership) {
			lead.acknowledge(offers.TaskRef{Framework: s.id, Task: m.TaskID}, m.UpdateID)
		})
	case *wire.Reconcile:
		return s.registered(request, func(lead *leadership) { s.reconcile(lead, m, request) })
	case *wire.StateRequest:
		return s.registered(request, s.prepareStore(m, request))
	case *wire.TaskMessage:
		return s.registered(request, func(lead *leadership) { s.message(lead, m, request) })
	case *wire.Teardown:
		return s.registered(request, func(lead *leadership) {
			lead.commit(state.Command{RemoveFramework: &state.RemoveFramework{ID: s.id, Time: time.Now().UTC()}}, nil)
		})
	default:
		return func(*leadership) {}
	}
}

func (s *frameworkSession) prepareRegister(m *wire.Register, request string) func(*leadership) {
	in := m.Framework
	err := printableName("framework.name", in.Name)
	if in.Role == "" {
		in.Role = DefaultRole
	}
	if rerr := in.Role.Validate(); err == nil && rerr != nil {
		err = offers.Errorf(offers.BadMessage, "framework.role: %s", rerr)
	}
	if err == nil && len(in.Labels)+len(in.Capabilities) > 256 {
		err = offers.Errorf(offers.BadMessage, "framework: more than 256 labels and capabilities")
	}
	return func(lead *leadership) {
		if err != nil {
			s.refuse(err, request)
			s.settle()
			return
		}
		s.register(lead, in, request)
	}
}

// DefaultRole is the role of frameworks that name none.
const DefaultRole offers.Role = "default"

// prepareDemands reads each demand on its own: a bad one is refused alone.
func (s *frameworkSession) prepareDemands(m *wire.DemandMessage, request string) func(*leadership) {
	var good []offers.Demand
	var bad []error
	for _, raw := range m.Demands {
		var d offers.Demand
		if err := json.Unmarshal(raw, &d); err != nil {
			bad = append(bad, offers.Errorf(offers.BadDemand, "%s", err))
			continue
		}
		good = append(good, d)
	}
	if len(m.Demands) == 0 {
		bad = append(bad, offers.Errorf(offers.BadDemand, "demands is empty or missing"))
	}
	return func(lead *leadership) {
		for _, err := range bad {
			s.refuse(err, request)
		}
		for _, d := range good {
			if lead.match.Demands(s.id) >= wire.MaxDemands && !lead.match.HasDemand(s.id, d.ID) {
				s.refuse(offers.Errorf(offers.TooLarge, "demand %s: a framework has at most %d demands", d.ID, wire.MaxDemands), request)
				continue
			}
			lead.match.Demand(s.id, d)
		}
	}
}

// prepareAccept reads each task on its own: a bad one is rejected alone.
func (s *frameworkSession) prepareAccept(m *wire.Accept, request string) func(*leadership) {
	drafts := make([]match.Draft, len(m.Tasks))
	for i, raw := range m.Tasks {
		drafts[i] = readTask(raw)
	}
	var refuse time.Duration
	if m.Refuse != nil {
		refuse = m.Refuse.Std()
	}
	return func(lead *leadership) {
		inUse := func(id offers.TaskID) bool {
			ref := offers.TaskRef{Framework: s.id, Task: id}
			t := lead.state().Task(ref)
			return lead.match.Holds(ref) || t != nil && !(t.End != nil && t.Acknowledged)
		}
		acc := lead.match.Accept(s.id, m.OfferIDs, drafts, refuse, inUse, time.Now().UTC())
		for _, err := range acc.Errors {
			s.refuse(err, request)
		}
		for _, u := range acc.Updates {
			s.send(&wire.Update{Status: u}, request)
		}
		s.launch(lead, acc, request)
	}
}

// readTask decodes and validates one task, keeping its id where it has one.
func readTask(raw json.RawMessage) match.Draft {
	var t offers.Task
	err := json.Unmarshal(raw, &t)
	if err == nil {
		err = t.Validate()
	}
	if err == nil {
		return match.Draft{Task: t}
	}
	var named struct {
		ID offers.TaskID `json:"id"`
	}
	if json.Unmarshal(raw, &named) != nil || named.ID.Validate() != nil {
		return match.Draft{Err: fmt.Errorf("a task could not be read: %w", err)}
	}
	return match.Draft{Task: offers.Task{ID: named.ID}, Err: err}
}

// launch makes the launches of an accept durable, then tells the framework
// and the agent.
func (s *frameworkSession) launch(lead *leadership, acc match.Acceptance, request string) {
	if len(acc.Launches) == 0 {
		if len(acc.Errors)+len(acc.Updates) == 0 {
			s.send(&wire.Accepted{OfferIDs: acc.Offers, TaskIDs: []offers.TaskID{}}, request)
		}
		return
	}
	var durable []offers.TaskID
	waiting := len(acc.Launches)
	for _, t := range acc.Launches {
		t.User = s.user
		lead.commit(state.Command{Launch: &state.Launch{Task: t}}, func(r state.Result) {
			waiting--
			if r.Err != nil {
				s.refuse(r.Err, request)
				if r.Err.Code != offers.TaskIDInUse {
					s.send(&wire.Update{Status: offers.Status{Task: t.Spec.ID, State: offers.Dropped, Reason: offers.ReasonAgentLost, Message: r.Err.Message, Time: time.Now().UTC()}}, request)
				}
			} else {
				durable = append(durable, t.Spec.ID)
				lead.sendLaunch(&t)
			}
			if waiting == 0 && len(durable) > 0 {
				s.send(&wire.Accepted{OfferIDs: acc.Offers, TaskIDs: durable}, request)
			}
		})
	}
}

// kill makes the wish durable; applied then passes it to the agent.
func (s *frameworkSession) kill(lead *leadership, m *wire.Kill, request string) {
	ref := offers.TaskRef{Framework: s.id, Task: m.TaskID}
	switch t := lead.state().Task(ref); {
	case t != nil && t.End == nil:
		lead.commit(state.Command{KillTask: &state.KillTask{Ref: ref, Order: state.KillOrder{Grace: m.Grace, Time: time.Now().UTC()}}}, nil)
	case t != nil:
	case lead.match.Holds(ref): // its launch is on the way to a majority, ahead of this
		lead.commit(state.Command{KillTask: &state.KillTask{Ref: ref, Order: state.KillOrder{Grace: m.Grace, Time: time.Now().UTC()}}}, nil)
	default:
		s.refuse(offers.Errorf(offers.UnknownTask, "task %.128s is not known", m.TaskID), request)
	}
}

// reconcile answers with one update per task; none of them wants an
// acknowledgement.
func (s *frameworkSession) reconcile(lead *leadership, m *wire.Reconcile, request string) {
	ids := m.TaskIDs
	if len(ids) == 0 {
		for t := range lead.state().TasksOf(s.id) {
			if !t.Acknowledged {
				ids = append(ids, t.Spec.ID)
			}
		}
	}
	for _, id := range ids {
		status := lead.currentStatus(offers.TaskRef{Framework: s.id, Task: id})
		status.UpdateID = ""
		s.send(&wire.Update{Status: status}, request)
	}
	s.send(&wire.Reconciled{}, request)
}

// message passes data to the task's executor; command tasks have none that
// listens, so it is dropped there.
func (s *frameworkSession) message(lead *leadership, m *wire.TaskMessage, request string) {
	if lead.state().Task(offers.TaskRef{Framework: s.id, Task: m.TaskID}) == nil {
		s.refuse(offers.Errorf(offers.UnknownTask, "task %.128s is not known", m.TaskID), request)
	}
}
