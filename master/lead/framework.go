package lead

import (
	"errors"
	"slices"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Framework is one connection of one framework.
type Framework struct {
	peer    Peer
	number  uint64 // of the connection, see NewFramework
	settled func() // called once for each register, when it was answered

	id    offers.FrameworkID // once registered
	entry uint64             // the last of its registrations that this one stands for
	user  string
	ended bool

	inquiries []*inquiry // that are not answered wholly, in order
	asks      int        // what they weigh
}

// NewFramework returns a connection that has not registered yet. The number
// grows with each connection that this master takes: of two of one framework
// the newer is served, however late the older one's register is read. settled
// is called in the core's turn each time a register was answered, so that the
// shell can hold back what follows one until then.
func NewFramework(peer Peer, number uint64, settled func()) *Framework {
	return &Framework{peer: peer, number: number, settled: settled}
}

// Work is a message that was read and judged, ready to be run in the core.
type Work func(*Core)

// Handle runs one message of a framework.
func (c *Core) Handle(s *Framework, work Work) {
	if s.ended {
		s.peer.End("another connection took over")
		s.settled()
		return
	}
	c.dirty = true
	work(c)
}

// refuse answers a request with an error.
func refuse(p Peer, err error, requestID string) {
	refuseDemand(p, "", err, requestID)
}

// refuseDemand says which of the demands of one message is refused.
func refuseDemand(p Peer, id offers.DemandID, err error, requestID string) {
	var known *offers.Error
	if !errors.As(err, &known) {
		known = offers.Errorf(offers.Internal, "%s", err)
	}
	p.Send(&wire.ErrorMessage{Code: known.Code, Message: known.Message, DemandID: id}, requestID)
}

// registered wraps work that needs a registered framework.
func (s *Framework) registered(request string, work Work) Work {
	return func(c *Core) {
		if s.id == "" {
			refuse(s.peer, offers.Errorf(offers.NotRegistered, "the first message of a connection is register"), request)
			return
		}
		work(c)
	}
}

// register enters the framework. One that comes back with its id takes over
// from its older connection. Whether an id is known or has ended is judged by
// the commit: a leader of the past, which would not know, can't refuse it.
func (s *Framework) register(c *Core, m *wire.Register, request string) {
	in := m.Framework
	if s.id != "" {
		refuse(s.peer, offers.Errorf(offers.BadMessage, "this connection is registered already"), request)
		s.settled()
		return
	}
	if c.superseded(m.Attempt) {
		s.ended = true
		refuse(s.peer, offers.Errorf(offers.FailedOver, "a newer connection of this client has registered"), request)
		s.peer.End("a newer connection registered")
		s.settled()
		return
	}
	if err := c.letsIn(in.ID); err != nil {
		refuse(s.peer, err, request)
		s.settled()
		return
	}
	timeout := wire.DefaultFailoverTimeout
	if in.FailoverTimeout != nil {
		timeout = *in.FailoverTimeout
	}
	c.entering = append(c.entering, s)
	c.Commit(state.Command{RegisterFramework: &state.RegisterFramework{
		ID: in.ID, Name: in.Name, Role: in.Role, User: in.User, Capabilities: in.Capabilities, Labels: in.Labels,
		FailoverTimeout: timeout.Std(), Time: c.wall(),
	}}, func(r state.Result) {
		defer s.settled()
		c.entering = slices.DeleteFunc(c.entering, func(o *Framework) bool { return o == s })
		if r.Err != nil {
			refuse(s.peer, r.Err, request)
			return
		}
		s.admitted(c, r.Value.(*state.Framework), request)
	})
}

// admitted begins the service once the registration is durable.
func (s *Framework) admitted(c *Core, f *state.Framework, request string) {
	old := c.frameworks[f.ID]
	if s.ended { // it went away meanwhile
		if old == nil {
			c.disconnected(f, f.Registrations)
		} else {
			old.entry = f.Registrations
		}
		return
	}
	if old != nil && old.number > s.number { // of a process that may be no more
		old.entry = f.Registrations
		s.ended = true
		refuse(s.peer, offers.Errorf(offers.FailedOver, "a newer connection is registered as framework %s", f.ID), request)
		s.peer.End("failed over")
		return
	}
	if old != nil {
		old.ended = true
		refuse(old.peer, offers.Errorf(offers.FailedOver, "another connection registered as framework %s", f.ID), "")
		old.peer.End("failed over")
		c.delivery.pauseAll(f.ID)
	}
	s.id, s.user, s.entry = f.ID, f.User, f.Registrations
	c.frameworks[f.ID] = s
	c.match.FrameworkOnline(f.ID, true)
	s.peer.Send(&wire.Registered{FrameworkID: f.ID, Master: c.config.Master, Heartbeat: offers.Duration(FrameworkHeartbeat)}, request)
	c.note("framework registered", "framework", f.ID, "name", f.Name, "role", string(f.Role))
	c.sendWaiting(f.ID)
}

// FrameworkEnded follows the end of a connection.
func (c *Core) FrameworkEnded(s *Framework) {
	if s.ended {
		return
	}
	s.ended = true
	if s.id == "" || c.frameworks[s.id] != s {
		return
	}
	delete(c.frameworks, s.id)
	c.match.FrameworkOnline(s.id, false)
	c.delivery.pauseAll(s.id)
	c.dirty = true
	if f := c.state().Framework(s.id); f != nil {
		c.disconnected(f, s.entry)
	}
}

// disconnected starts the time in which a framework may come back, unless a
// later registration than that entry is on its way already.
func (c *Core) disconnected(f *state.Framework, entry uint64) {
	if f.Removed {
		return
	}
	c.note("framework disconnected", "framework", f.ID, "failover_timeout", f.FailoverTimeout)
	c.Commit(state.Command{DisconnectFramework: &state.DisconnectFramework{
		ID: f.ID, Deadline: c.wall().Add(f.FailoverTimeout), Of: entry,
	}}, nil)
}

// frameworkRemoved ends everything of a framework that is no more.
func (c *Core) frameworkRemoved(id offers.FrameworkID) {
	delete(c.deadlines, id)
	c.note("framework removed", "framework", id)
	for t := range c.state().TasksOf(id) {
		if t.End == nil {
			c.orderKill(t.Ref())
		}
	}
	c.match.FrameworkRemoved(id)
	for _, b := range c.delivery.waiting(id) {
		for _, q := range b.queue {
			c.release(b.ref, q)
		}
	}
	c.delivery.forgetFramework(id)
	if s := c.frameworks[id]; s != nil {
		delete(c.frameworks, id)
		s.ended = true
		refuse(s.peer, offers.Errorf(offers.FrameworkRemoved, "framework %s has ended", id), "")
		s.peer.End("the framework has ended")
	}
}
