package master

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// session is one websocket connection to a framework or an agent. Its reading
// goroutine decodes and judges every message at the door, and hands what is
// left to do to the loop; the core answers through Send.
type session struct {
	loop      *loop
	intake    *intake             // of the loop
	own       *semaphore.Weighted // its part of intake
	link      wire.Link
	principal door.Principal
	prefix    door.Action
	kind      string // in the metrics

	cut    atomic.Bool // the link takes nothing any more
	greets atomic.Bool // what it said first is on its way to the loop

	// Owned by the reading goroutine.
	gathered []func(*lead.Core) // of the frame that is read
	lists    bool               // the next frame goes on with what is said first
}

var _ lead.Peer = (*session)(nil)

// Send implements [lead.Peer]. A link that can't take the message is closed by
// itself, and its reader then ends the session.
func (s *session) Send(m wire.Message, requestID string) {
	if s.cut.Load() { // don't write out, in the loop, what nobody will read
		return
	}
	frame, err := s.link.Form().Encode(m, requestID)
	if err != nil {
		s.loop.logger.Error("a message could not be written", "type", m.Type(), "error", err)
		return
	}
	err = s.link.Send(frame)
	if err != nil {
		s.cut.Store(true)
	}
	if errors.Is(err, wire.ErrSlow) {
		s.loop.meters.slow.WithLabelValues(s.kind).Inc()
		s.loop.logger.Warn("a connection was closed because its reader is too slow")
	}
}

// counted counts the session among those that are here until the returned
// function is called.
func (s *session) counted() func() {
	here := s.loop.meters.sessions.WithLabelValues(s.kind)
	here.Inc()
	return here.Dec
}

// End implements [lead.Peer]: it does not wait, since the loop must not; the
// reader then does.
func (s *session) End(reason string) { s.link.End(reason) }

// refuse answers a message that the core never sees.
func (s *session) refuse(err error, requestID string) {
	var known *offers.Error
	if !errors.As(err, &known) {
		known = offers.Errorf(offers.Internal, "%s", err)
	}
	s.Send(&wire.ErrorMessage{Code: known.Code, Message: known.Message}, requestID)
}

// read reads messages until the link ends. handle is called for each one that
// could be read and may pass; it reports false to end the session.
func (s *session) read(vocabulary wire.Vocabulary, handle func(wire.Message, string) bool) {
	for greets := true; ; greets = s.lists {
		frame, err := s.link.Receive()
		if err != nil {
			return
		}
		s.greets.Store(greets)
		give, ok := s.intake.take(s.own, weightOf(s.link.Form(), frame))
		if !ok {
			return
		}
		if greets {
			ok = s.greet(frame, vocabulary, handle)
		} else {
			ok = s.hear(frame, vocabulary, false, handle)
		}
		if !ok || !s.enterGathered(give) {
			return
		}
		s.greets.Store(false)
	}
}

// greet is hear for the first frame, in a goroutine of its own: that takes a deep
// stack, which the session would keep, and very many have little to say later.
func (s *session) greet(frame []byte, vocabulary wire.Vocabulary, handle func(wire.Message, string) bool) (ok bool) {
	var done sync.WaitGroup
	done.Go(func() { ok = s.hear(frame, vocabulary, true, handle) })
	done.Wait()
	return ok
}

// hear has the messages of a frame handled.
func (s *session) hear(frame []byte, vocabulary wire.Vocabulary, greets bool, handle func(wire.Message, string) bool) bool {
	form := s.link.Form()
	for more := true; more; more = len(frame) > 0 {
		var one []byte
		one, frame = form.Cut(frame)
		if greets {
			s.loop.greeting.enter()
		}
		m, env, err := form.Decode(vocabulary, one)
		if greets {
			s.loop.greeting.leave()
		}
		if err == nil {
			err = s.loop.config.door.Admit(s.principal, s.prefix+door.Action(env.Type), "")
		}
		if err != nil {
			s.refuse(err, env.RequestID)
		} else if !handle(m, env.RequestID) {
			return false
		}
	}
	return true
}

// gatherings bounds what enters the core as one input. A frame of small messages
// holds about as many, which is all that a session says before it is the turn of
// the others where the inbox is full: with fewer the acknowledgements of a few
// frameworks would fall behind what many agents have to say.
const gatherings = 1024

// gather hands work to the core, at the latest with the end of the frame that
// is read: many messages of one frame are one input. It reports false when the
// loop has ended.
func (s *session) gather(work func(*lead.Core)) bool {
	if len(s.gathered) == gatherings && !s.enterGathered(func() {}) {
		return false
	}
	s.gathered = append(s.gathered, work)
	return true
}

// enterGathered hands over what was gathered, and calls after when that was
// handled.
func (s *session) enterGathered(after func()) bool {
	all := s.gathered
	s.gathered = nil
	if len(all) == 0 {
		after()
		return true
	}
	return s.enter(func(core *lead.Core) {
		for _, work := range all {
			work(core)
		}
		after()
	}, after)
}

// enter hands work to the core; where this master does not lead any more the
// connection ends instead. It reports false when the loop has ended.
func (s *session) enter(work func(*lead.Core), otherwise func()) bool {
	return s.intake.enter(func(core *lead.Core) {
		if core == nil {
			s.End("this master leads no more")
			otherwise()
			return
		}
		work(core)
	})
}

// serveFramework serves one framework's connection until it ends.
func (l *loop) serveFramework(link wire.Link, v visitor) {
	s := &session{loop: l, intake: l.asked, own: newOwn(), link: link, principal: v.principal, prefix: door.Framework, kind: frameworkSession}
	defer s.counted()()
	settled := make(chan struct{}, 1)
	settle := func() {
		select {
		case settled <- struct{}{}:
		default:
		}
	}
	f := lead.NewFramework(s, v.number, settle)
	done := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() { s.beat(done) })
	over := s.expect(f.Standing)
	s.read(wire.FromFramework, func(msg wire.Message, request string) bool {
		_, registers := msg.(*wire.Register)
		reads := lead.ReadsState(msg)
		if (registers || reads) && !s.enterGathered(func() {}) {
			return false
		}
		if reads {
			if err := l.replica.VerifyLeader(); err != nil {
				s.refuse(err, request)
				return true
			}
		}
		work := f.Prepare(msg, request)
		if !registers {
			return s.gather(func(core *lead.Core) { core.Handle(f, work) })
		}
		select { // what was left from a register that nobody waited for
		case <-settled:
		default:
		}
		return s.enter(func(core *lead.Core) { core.Handle(f, work) }, settle) && s.await(settled)
	})
	s.enter(func(core *lead.Core) { core.FrameworkEnded(f) }, func() {})
	link.Close("the connection ended")
	over()
	close(done)
	beats.Wait()
}

// await holds what follows a register back until that is durable, so that a
// framework need not wait for the answer before it goes on.
func (s *session) await(settled <-chan struct{}) bool {
	select {
	case <-settled:
		return true
	case <-s.loop.stopped:
		return false
	}
}

// beat sends heartbeats until done is closed.
func (s *session) beat(done <-chan struct{}) {
	t := time.NewTicker(lead.FrameworkHeartbeat)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.Send(&wire.Heartbeat{}, "")
		case <-done:
			return
		}
	}
}

// serveAgent serves one agent's connection until it ends.
func (l *loop) serveAgent(link wire.Link, v visitor) {
	s := &session{loop: l, intake: l.inbox, own: newOwn(), link: link, principal: v.principal, prefix: door.Agent, kind: agentSession}
	defer s.counted()()
	a := lead.NewAgent(s)
	over := s.expect(func(*lead.Core) lead.Standing { return a.Standing() })
	s.read(wire.FromAgent, func(msg wire.Message, request string) bool {
		if _, beat := msg.(*wire.Heartbeat); beat {
			return true
		}
		part, lists := msg.(*wire.AgentTasks)
		s.lists = lists && part.Register == nil
		return s.gather(func(core *lead.Core) { core.HandleAgent(a, msg, request) })
	})
	heard := link.Heard()
	s.enter(func(core *lead.Core) { core.AgentEnded(a, heard) }, func() {})
	link.Close("the connection ended")
	over()
}
