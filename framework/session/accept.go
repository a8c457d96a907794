package session

import (
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// accept is one that this connection has not answered yet.
type accept struct {
	request string
	offers  []offers.OfferID
	tasks   []offers.TaskID
	state   map[offers.TaskID]*task
	asked   bool // an id was in use: what the masters know under it is asked for
}

// lose marks the tasks that nobody has answered for, to be reconciled, over
// every connection until there is an answer. What was heard of the others says
// whether they have used a unit of their demands.
func (s *Session) lose(a *accept) {
	for _, id := range a.tasks {
		t := a.state[id]
		if t.sent != a {
			continue
		}
		t.sent, t.lost = nil, t.state == "" || t.undecided()
		switch {
		case t.lost && t.from != nil:
			t.from.doubtful++
		case t.state != offers.Dropped && t.state != offers.Rejected:
			s.met(t.from)
			t.from = nil
		}
	}
}

func (s *Session) offered(m *wire.OffersMessage) {
	for _, o := range m.Offers {
		s.outstanding[o.ID] = o
	}
	if len(m.Offers) > 0 {
		s.show(Offered{Offers: m.Offers})
	}
}

func (s *Session) rescinded(m *wire.Rescind) {
	var known []offers.OfferID
	for _, id := range m.OfferIDs {
		if _, ok := s.outstanding[id]; ok {
			delete(s.outstanding, id)
			known = append(known, id)
		}
	}
	if len(known) > 0 {
		s.show(Rescinded{Offers: known, Reason: m.Reason})
	}
}

// Accept launches tasks in offers of one agent. An error means that nothing
// was sent and the offers that are outstanding still are: an offer is gone
// (offer_gone), the offers are of several agents (mixed_agents), a task's id
// is bad or known (bad_task, task_id_in_use), it has too many tasks or the message
// would be too long (too_large). Everything else about a task is judged by the master.
func (s *Session) Accept(ids []offers.OfferID, tasks []offers.Task, refuse *offers.Duration) error {
	if err := s.mayAccept(ids, tasks); err != nil {
		return err
	}
	if len(tasks) > wire.MaxTasks {
		return offers.Errorf(offers.TooLarge, "%d tasks; an accept has at most %d", len(tasks), wire.MaxTasks)
	}
	m := wire.Accept{OfferIDs: ids, Refuse: refuse}
	for i := range tasks {
		raw, err := s.form.Item(&tasks[i])
		if err != nil {
			return offers.Errorf(offers.BadTask, "task %s: %s", tasks[i].ID, err)
		}
		m.Tasks = append(m.Tasks, raw)
	}
	request := numbered("accept", s.number())
	frame, err := s.form.Encode(&m, request)
	if err != nil {
		return offers.Errorf(offers.BadMessage, "%s", err)
	}
	if len(frame) > wire.MaxMessage {
		return offers.Errorf(offers.TooLarge, "an accept of %d tasks takes %d bytes; at most %d fit into a message", len(tasks), len(frame), wire.MaxMessage)
	}
	s.accepts[request] = s.enterAccept(request, ids, tasks)
	s.out.Frames = append(s.out.Frames, frame)
	return nil
}

func (s *Session) mayAccept(ids []offers.OfferID, tasks []offers.Task) error {
	if len(tasks) == 0 || len(ids) == 0 {
		return offers.Errorf(offers.BadMessage, "an accept needs offers and tasks; decline offers that no task wants")
	}
	for _, id := range ids {
		o, ok := s.outstanding[id]
		if !ok {
			return offers.Errorf(offers.OfferGone, "offer %s is not outstanding: it was used, rescinded, or lost with its connection", id)
		}
		if first := s.outstanding[ids[0]]; o.Agent.ID != first.Agent.ID {
			return offers.Errorf(offers.MixedAgents, "offers %s and %s are of different agents", ids[0], id)
		}
	}
	seen := map[offers.TaskID]bool{}
	for i := range tasks {
		id := tasks[i].ID
		if err := id.Validate(); err != nil {
			return offers.Errorf(offers.BadTask, "%s", err)
		}
		if seen[id] || s.tasks[id] != nil {
			return offers.Errorf(offers.TaskIDInUse, "task id %s is in use", id)
		}
		seen[id] = true
	}
	return nil
}

// enterAccept consumes the offers and deals their demands out to the tasks:
// each offer counts for as many tasks as it has units, in the order given.
func (s *Session) enterAccept(request string, ids []offers.OfferID, tasks []offers.Task) *accept {
	a := &accept{
		request: request,
		offers:  slices.Clone(ids),
		state:   map[offers.TaskID]*task{},
	}
	var from []*standing
	for _, id := range ids {
		o := s.outstanding[id]
		delete(s.outstanding, id)
		st := s.demands[o.DemandID]
		if st == nil {
			continue
		}
		for range max(1, Units(o.Resources, st.demand.Resources)) {
			if len(from) < len(tasks) {
				from = append(from, st)
			}
		}
	}
	for i := range tasks {
		id := tasks[i].ID
		a.tasks = append(a.tasks, id)
		past := s.ended.known[id]
		s.ended.forget(id)
		t := &task{sent: a, past: past}
		s.tasks[id], a.state[id] = t, t
		if len(from) > 0 {
			t.from = from[min(i, len(from)-1)]
		}
	}
	return a
}

// accepted finds the accept by its request or, from a master that does not
// echo it, by its first task.
func (s *Session) accepted(m *wire.Accepted, request string) {
	a := s.accepts[request]
	if a == nil && len(m.TaskIDs) > 0 {
		if t := s.tasks[m.TaskIDs[0]]; t != nil && t.sent != nil {
			a = t.sent
		}
	}
	if a == nil {
		return
	}
	for _, id := range m.TaskIDs {
		t := a.state[id]
		if t == nil {
			continue
		}
		s.met(t.from)
		t.from, t.durable = nil, true
		if t.state == "" {
			t.state = offers.Staging
		}
	}
	s.closeAccept(a)
	s.show(Accepted{Offers: m.OfferIDs, Tasks: m.TaskIDs})
}

// closeAccept ends the wait for an answer; kills that waited with it go out.
// What it says nothing of is being reconciled.
func (s *Session) closeAccept(a *accept) {
	delete(s.accepts, a.request)
	s.lose(a)
	for _, id := range a.tasks {
		t := a.state[id]
		if t.kill != nil && !t.lost && !t.state.Terminal() && s.tasks[id] == t {
			s.sendKill(id, t)
		}
	}
}

// refusedAccept settles what becomes of the tasks of a refused accept. After
// offer_gone and mixed_agents the master sends each task "dropped". An id in
// use leaves the other tasks alone, and what runs under it is asked for. An
// answer of a master that can't commit proves nothing: the next leader is
// asked. Whatever else was refused is asked for here, and its offers, which the
// master may have left as they were, are given back.
func (s *Session) refusedAccept(r *Refused, request string) {
	a := s.accepts[request]
	if a == nil {
		return
	}
	r.Tasks, r.Offers = a.tasks, a.offers
	switch r.Err.Code {
	case offers.Unavailable, offers.Internal:
		s.out.Hangup = "the master could not commit: " + r.Err.Message
	case offers.OfferGone, offers.MixedAgents:
		s.closeAccept(a)
	case offers.TaskIDInUse:
		a.asked = true
		s.sendReconcile("settle", open(a))
	default:
		s.closeAccept(a)
		s.sendLive(&wire.Decline{OfferIDs: a.offers}, "decline")
		s.sendReconcile("settle", open(a))
	}
}

func open(a *accept) []offers.TaskID {
	return slices.DeleteFunc(slices.Clone(a.tasks), func(id offers.TaskID) bool { return a.state[id].state.Terminal() })
}

// Decline gives offers back; refuse hides what they had for so long, nil
// means the default of 5 s. Offers that are gone are skipped.
func (s *Session) Decline(ids []offers.OfferID, refuse *offers.Duration) {
	var known []offers.OfferID
	for _, id := range ids {
		if _, ok := s.outstanding[id]; ok {
			delete(s.outstanding, id)
			known = append(known, id)
		}
	}
	if len(known) > 0 {
		s.sendLive(&wire.Decline{OfferIDs: known, Refuse: refuse}, "decline")
	}
}
