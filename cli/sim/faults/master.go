package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
	"github.com/ringmaster-project/ringmaster/rings"
)

// master is the shell around the leader's core, as package master is.
type master struct {
	process
	core      *lead.Core // nil while it does not lead
	term      uint64     // of core
	finishing bool       // the end of the turn is planned
	dues      int        // marks the last planned due
	clock     time.Time  // the latest that core was told
}

func newMaster(w *world, n int) *master {
	m := &master{}
	m.process = process{w: w, name: fmt.Sprintf("master%d", n), skew: w.options.jump(w)}
	m.die = func() { m.core = nil }
	m.start = func() { m.finishing = false }
	return m
}

// layouts has few rings, since the judge looks at all of them after each turn.
var layouts = map[string]rings.Layout{
	"cpus": {Bounds: []int64{0, 1000, 2000}, Reach: 2},
	"mem":  {Bounds: []int64{0, 2 << 30}, Reach: 1},
}

// begin leads in a term, from what is replicated.
func (m *master) begin(term uint64) {
	c := m.w.raft
	if c.leader != m || c.term != term {
		return
	}
	if m.core != nil {
		m.stepDown("this master led before")
	}
	o := &m.w.options
	m.term, m.clock = term, m.time()
	m.core = lead.New(lead.Config{
		Master:       wire.MasterInfo{Name: m.name, Address: m.name, Term: term},
		Match:        match.Config{OfferTimeout: o.offerTimeout, Rings: layouts},
		AgentTimeout: o.agentTimeout, RemovalEvery: 2 * time.Second, RemovalBurst: 3,
	}, c.state, m.clock)
	m.tick(m.core)
	m.turn()
}

// at tells the core the time, which never goes back for it.
func (m *master) at() {
	if now := m.time(); now.After(m.clock) {
		m.clock = now
	}
	m.core.At(m.clock)
}

func (m *master) tick(core *lead.Core) {
	m.after(time.Second, func() {
		if m.core != core {
			return
		}
		m.at()
		core.Tick()
		m.turn()
		m.tick(core)
	})
}

// turn plans the end of the turn: what comes until then shares it.
func (m *master) turn() {
	if m.finishing || m.core == nil {
		return
	}
	m.finishing = true
	m.after(m.w.between(0, time.Millisecond), m.finish)
}

func (m *master) finish() {
	m.finishing = false
	if m.core == nil {
		return
	}
	m.at()
	t := m.core.Finish()
	m.w.judge.books(m)
	for _, n := range t.Notes {
		m.w.tell(m.name, "%s %v", n.Text, n.Args)
	}
	if m.stumble(0.0005) {
		return
	}
	if len(t.Steps) > 0 {
		m.w.raft.propose(m, t.Steps)
	}
	if t.More {
		m.turn()
	}
	m.dues++
	if due := m.dues; !t.Next.IsZero() {
		m.after(t.Next.Sub(m.clock), func() {
			if due == m.dues {
				m.turn()
			}
		})
	}
}

// conclude acts on what was decided.
func (m *master) conclude(p *proposal, results []state.Result, err error) {
	switch {
	case p.core != m.core || m.core == nil:
	case err != nil:
		m.stepDown("the masters did not agree")
		m.begin(p.term) // where it still leads
	default:
		m.at()
		m.core.Committed(p.steps, results, m.w.raft.state)
		m.turn()
	}
}

func (m *master) stepDown(reason string) {
	m.w.tell(m.name, "gives up term %d: %s", m.term, reason)
	m.core.Close(reason)
	m.core = nil
}

// operate runs what an operator asks for.
func (m *master) operate(c state.Command) {
	if m.core == nil {
		return
	}
	m.at()
	m.core.Commit(c, nil)
	m.turn()
}

// served is one connection at a master.
type served struct {
	m         *master
	run       int
	end       *end
	framework *lead.Framework // one of the two
	agent     *lead.Agent
	id        offers.FrameworkID // of the framework, once registered
	heard     time.Time
	awaiting  bool     // a register is not answered
	draining  bool     // it is, and what was held is about to follow
	held      [][]byte // what came since then
	over      bool
}

var _ lead.Peer = (*served)(nil)

// serve begins to serve the master's end of a connection.
func (m *master) serve(e *end, framework bool) {
	s := &served{m: m, run: m.run, end: e, heard: m.time()}
	if framework {
		s.framework = lead.NewFramework(s, s.settled)
		s.beat()
	} else {
		s.agent = lead.NewAgent(s)
	}
	e.receive, e.ended = s.receive, func(string) { s.finished() }
}

// Send implements [lead.Peer].
func (s *served) Send(msg wire.Message, request string) {
	s.m.w.judge.sent(s, msg)
	frame, err := wire.Encode(msg, request)
	if err != nil {
		s.m.w.broken("%s sends what can't be encoded: %v", s.m.name, err)
		return
	}
	s.end.send(frame)
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
			s.Send(&wire.Heartbeat{}, "")
			s.beat()
		}
	})
}

// finished tells the core that the connection is over.
func (s *served) finished() {
	if s.over {
		return
	}
	s.over = true
	if s.m.core == nil {
		return
	}
	s.m.at()
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
	s.heard = s.m.time()
	if s.awaiting {
		s.held = append(s.held, frame)
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
	if _, beat := msg.(*wire.Heartbeat); beat {
		return
	}
	if s.m.core == nil {
		s.End("this master leads no more")
		return
	}
	s.m.at()
	if s.framework != nil {
		_, s.awaiting = msg.(*wire.Register)
		s.m.core.Handle(s.framework, s.framework.Prepare(msg, env.RequestID))
	} else {
		s.m.core.HandleAgent(s.agent, msg, env.RequestID)
	}
	s.m.turn()
}

// dial connects a client to a master: to the leader as the masters know it,
// or to one of them that may believe to lead. It returns nil where nobody
// answers who leads.
func (w *world) dial(client *process) (*master, *end, *end) {
	m := pick(w, w.masters)
	if l := w.raft.leader; l != nil && w.chance(0.7) {
		m = l
	}
	if !m.up || m.paused || m.core == nil || !w.net.reaches(client.name, m.name) || !w.net.reaches(m.name, client.name) {
		return nil, nil, nil
	}
	c, s := w.net.connect(client, &m.process)
	return m, c, s
}
