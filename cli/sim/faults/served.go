package faults

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// served is one connection at a master.
type served struct {
	m         *master
	run       int
	end       *end
	framework *lead.Framework // one of the two
	agent     *lead.Agent
	id        offers.FrameworkID // of the framework, once registered
	agentID   offers.AgentID     // or of the agent
	books     *books             // of the leadership that registered it
	heard     time.Time
	mail      courier                            // updates that its framework has not acknowledged
	answers   map[offers.TaskID]bool             // to the reconcile that is handled
	told      map[offers.TaskRef]offers.LaunchID // whose ends an answer told
	awaiting  bool                               // a register is not answered
	draining  bool                               // it is, and what was held is about to follow
	held      [][]byte                           // what came since then
	over      bool
}

var _ lead.Peer = (*served)(nil)

// serve begins to serve the master's end of a connection.
func (m *master) serve(e *end, framework bool) {
	m.look()
	s := &served{m: m, run: m.run, end: e, heard: m.clock, told: map[offers.TaskRef]offers.LaunchID{}}
	m.served = append(m.served, s)
	if framework {
		m.taken++
		s.framework = lead.NewFramework(s, m.taken, s.settled)
		s.beat()
	} else {
		s.agent = lead.NewAgent(s)
	}
	e.receive, e.ended = s.receive, func(string) { s.finished() }
}

// Send implements [lead.Peer].
func (s *served) Send(msg wire.Message, request string) {
	if s.run != s.m.run || s.m.stumble(0.0002) {
		return
	}
	s.m.w.judge.sent(s, msg)
	frame, err := wire.Encode(msg, request)
	if err != nil {
		s.m.w.broken("%s sends what can't be encoded: %v", s.m.name, err)
		return
	}
	s.end.send(frame, fateOf(msg))
}

func fateOf(msg wire.Message) fate {
	switch m := msg.(type) {
	case *wire.Launch, *wire.KillTask, *wire.Statuses:
		return doubled
	case *wire.Update:
		if m.Status.UpdateID != "" {
			return lost
		}
	case *wire.Acknowledge, *wire.AcknowledgeStatus:
		return lost
	}
	return certain
}

// End implements [lead.Peer].
func (s *served) End(reason string) {
	if s.end.open {
		s.end.close(reason)
		s.m.after(s.m.w.between(0, 5*time.Millisecond), s.finished)
	}
}

func (s *served) beat() {
	s.m.after(lead.FrameworkHeartbeat, func() {
		if s.end.open {
			s.end.send(heartbeat, certain)
			s.beat()
		}
	})
}

// heartbeat is what both sides send most of, so nobody decodes it.
var heartbeat = func() []byte {
	frame, err := wire.Encode(&wire.Heartbeat{}, "")
	if err != nil {
		panic(err)
	}
	return frame
}()

// finished tells the core that the connection is over.
func (s *served) finished() {
	if s.over {
		return
	}
	s.over = true
	s.m.served = slices.DeleteFunc(s.m.served, func(o *served) bool { return o == s })
	if s.m.core == nil {
		return
	}
	if s.id != "" && s.books == s.m.books && s.m.w.raft.leader == s.m && s.m.w.raft.term == s.m.term {
		s.m.w.judge.away[s.id] = s.m.w.now
	}
	s.m.at()
	s.m.books.ended(s)
	if s.framework != nil {
		s.m.core.FrameworkEnded(s.framework)
	} else {
		s.m.core.AgentEnded(s.agent, s.heard)
	}
	s.m.turn()
}

// settled lets go on what was held back until the register was answered.
func (s *served) settled() {
	if !s.awaiting || s.draining {
		return
	}
	s.draining = true
	s.m.after(0, func() {
		s.awaiting, s.draining = false, false
		held := s.held
		s.held = nil
		for _, frame := range held {
			s.receive(frame) // holds the rest back where one of them registers
		}
	})
}

func (s *served) receive(frame []byte) {
	s.m.look()
	s.heard = s.m.clock
	if s.awaiting {
		s.held = append(s.held, frame)
		return
	}
	if bytes.Equal(frame, heartbeat) {
		return
	}
	vocabulary := wire.FromAgent
	if s.framework != nil {
		vocabulary = wire.FromFramework
	}
	msg, env, err := wire.Decode(vocabulary, frame)
	if err != nil {
		var bad *offers.Error
		if errors.As(err, &bad) {
			s.Send(&wire.ErrorMessage{Code: bad.Code, Message: bad.Message}, env.RequestID)
		}
		return
	}
	if lead.ReadsState(msg) && (s.m.w.raft.term != s.m.term || s.m.w.raft.leader != s.m || !s.m.w.raft.leads()) {
		s.Send(&wire.ErrorMessage{Code: offers.NotLeader, Message: "this master can't tell whether it leads"}, env.RequestID)
		return
	}
	if s.m.core == nil {
		s.End("this master leads no more")
		return
	}
	s.m.at()
	if s.framework != nil {
		_, s.awaiting = msg.(*wire.Register)
		s.m.books.asked(s, msg)
		s.m.core.Handle(s.framework, s.framework.Prepare(msg, env.RequestID))
		s.answers = nil
	} else {
		s.m.core.HandleAgent(s.agent, msg, env.RequestID)
	}
	s.m.turn()
}
