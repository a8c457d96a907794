package master

import (
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// frameworkSession is one connection of one framework.
type frameworkSession struct {
	session

	// Owned by the loop.
	id    offers.FrameworkID // once registered
	user  string
	ended bool

	settled chan struct{} // told once for each register that it was answered
}

// heartbeatEvery is how often frameworks hear from the master; a websocket
// ping goes out as often.
const heartbeatEvery = 5 * time.Second

// serveFramework serves one framework's connection until it ends.
func (l *loop) serveFramework(link wire.Link, p door.Principal) {
	s := &frameworkSession{session: session{loop: l, link: link, principal: p, door: l.config.door, prefix: door.Framework},
		settled: make(chan struct{}, 1)}
	done := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() { s.beat(done) })
	s.read(wire.FromFramework, func(msg wire.Message, request string) bool {
		work := s.prepare(msg, request)
		if !l.enter(func(lead *leadership) { s.handle(lead, work) }) {
			return false
		}
		if _, registers := msg.(*wire.Register); registers {
			s.awaitRegistration()
		}
		return true
	})
	l.enter(func(lead *leadership) { s.end(lead) })
	link.Close("the connection ended")
	close(done)
	beats.Wait()
}

// beat sends heartbeats until done is closed.
func (s *frameworkSession) beat(done <-chan struct{}) {
	t := time.NewTicker(heartbeatEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.send(&wire.Heartbeat{}, "")
		case <-done:
			return
		}
	}
}

// awaitRegistration holds what follows a register back until that is durable,
// so that a framework need not wait for the answer before it goes on.
func (s *frameworkSession) awaitRegistration() {
	select {
	case <-s.settled:
	case <-s.loop.stopped:
	}
}

// settle lets the messages behind a register through.
func (s *frameworkSession) settle() { s.settled <- struct{}{} }

// handle runs one prepared message in the loop.
func (s *frameworkSession) handle(lead *leadership, work func(*leadership)) {
	switch {
	case s.ended || lead == nil:
		s.cut("this master leads no more")
		select {
		case s.settled <- struct{}{}:
		default:
		}
	default:
		lead.dirty = true
		work(lead)
	}
}

// registered wraps work that needs a registered framework.
func (s *frameworkSession) registered(request string, work func(*leadership)) func(*leadership) {
	return func(lead *leadership) {
		if s.id == "" {
			s.refuse(offers.Errorf(offers.NotRegistered, "the first message of a connection is register"), request)
			return
		}
		work(lead)
	}
}

// register enters the framework. One that comes back with its id takes over
// from its older connection.
func (s *frameworkSession) register(lead *leadership, in wire.FrameworkInfo, request string) {
	if err := s.mayRegister(lead, in.ID); err != nil {
		s.refuse(err, request)
		s.settle()
		return
	}
	timeout := wire.DefaultFailoverTimeout
	if in.FailoverTimeout != nil {
		timeout = *in.FailoverTimeout
	}
	lead.commit(state.Command{RegisterFramework: &state.RegisterFramework{
		ID: in.ID, Name: in.Name, Role: in.Role, User: in.User, Capabilities: in.Capabilities, Labels: in.Labels,
		FailoverTimeout: timeout.Std(), Time: time.Now().UTC(),
	}}, func(r state.Result) {
		defer s.settle()
		if r.Err != nil {
			s.refuse(r.Err, request)
			return
		}
		s.admitted(lead, r.Value.(*state.Framework), request)
	})
}

// mayRegister refuses a second register of a connection, and ids that are
// unknown or whose framework has ended.
func (s *frameworkSession) mayRegister(lead *leadership, id offers.FrameworkID) error {
	if s.id != "" {
		return offers.Errorf(offers.BadMessage, "this connection is registered already")
	}
	if id == "" {
		return nil
	}
	f := lead.state().Framework(id)
	switch {
	case f == nil && !lead.state().Forgotten(id):
		return offers.Errorf(offers.UnknownFramework, "framework %.100q is not known here", id)
	case f == nil || f.Removed:
		return offers.Errorf(offers.FrameworkRemoved, "framework %s has ended; register without an id", id)
	}
	return nil
}

// admitted begins the service once the registration is durable.
func (s *frameworkSession) admitted(lead *leadership, f *state.Framework, request string) {
	if s.ended { // it went away meanwhile
		lead.disconnected(f)
		return
	}
	if old := lead.frameworks[f.ID]; old != nil {
		old.ended = true
		old.refuse(offers.Errorf(offers.FailedOver, "another connection registered as framework %s", f.ID), "")
		old.cut("failed over")
	}
	s.id, s.user = f.ID, f.User
	lead.frameworks[f.ID] = s
	lead.match.FrameworkOnline(f.ID, true)
	s.send(&wire.Registered{FrameworkID: f.ID, Master: lead.master, Heartbeat: offers.Duration(heartbeatEvery)}, request)
	lead.loop.logger.Info("framework registered", "framework", f.ID, "name", f.Name, "role", string(f.Role))
	lead.sendWaiting(f.ID)
}

// end runs in the loop after the connection has ended.
func (s *frameworkSession) end(lead *leadership) {
	if s.ended {
		return
	}
	s.ended = true
	if lead == nil || s.id == "" || lead.frameworks[s.id] != s {
		return
	}
	delete(lead.frameworks, s.id)
	lead.match.FrameworkOnline(s.id, false)
	lead.delivery.pauseAll(s.id)
	lead.dirty = true
	if f := lead.state().Framework(s.id); f != nil {
		lead.disconnected(f)
	}
}

// disconnected starts the time in which a framework may come back.
func (lead *leadership) disconnected(f *state.Framework) {
	if f.Removed {
		return
	}
	lead.loop.logger.Info("framework disconnected", "framework", f.ID, "failover_timeout", f.FailoverTimeout)
	lead.commit(state.Command{DisconnectFramework: &state.DisconnectFramework{
		ID: f.ID, Deadline: time.Now().UTC().Add(f.FailoverTimeout),
	}}, nil)
}

// frameworkRemoved ends everything of a framework that is no more.
func (lead *leadership) frameworkRemoved(id offers.FrameworkID) {
	delete(lead.deadlines, id)
	lead.loop.logger.Info("framework removed", "framework", id)
	for t := range lead.state().TasksOf(id) {
		if t.End == nil {
			lead.orderKill(t.Ref())
		}
	}
	lead.match.FrameworkRemoved(id)
	lead.delivery.forgetFramework(id)
	if s := lead.frameworks[id]; s != nil {
		delete(lead.frameworks, id)
		s.ended = true
		s.refuse(offers.Errorf(offers.FrameworkRemoved, "framework %s has ended", id), "")
		s.cut("the framework has ended")
	}
}
