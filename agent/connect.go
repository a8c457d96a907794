package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/seek"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// session is the connection to the master that listens, owned by the loop.
type session struct {
	link       wire.Link
	registered bool
	until      time.Time // the answer may take
}

// connect keeps a connection to the leader, as long as ctx lasts.
func (a *Agent) connect(ctx context.Context) {
	a.masters.Run(ctx, func(link wire.Link) bool {
		registered := a.converse(ctx, link)
		a.awaitLeave()
		return registered
	})
}

// called hears of a master that it leads. A leader of a term that the agent knows, or
// that is over, is no news.
func (a *Agent) called(m wire.MasterInfo) {
	if m.Term <= a.machine.Meta().Term {
		return
	}
	a.log.Info("a master says that it leads", "master", m.Name, "term", m.Term)
	a.masters.Call(m.Address)
}

// awaitLeave waits while a refused agent ends its tasks.
func (a *Agent) awaitLeave() {
	answer := make(chan chan struct{}, 1)
	if a.post(func() { answer <- a.held }) {
		select {
		case held := <-answer:
			if held != nil {
				<-held
			}
		case <-a.stopped:
		}
	}
}

// converse hands what a master says to the loop until the connection ends. It
// reports whether the agent was registered.
func (a *Agent) converse(ctx context.Context, link wire.Link) bool {
	unlink := context.AfterFunc(ctx, func() { link.Close("the agent ends") })
	if !a.post(func() { a.connected(link) }) {
		unlink()
		link.Close("the agent ends")
		return false
	}
	for {
		frame, err := link.Receive()
		if err != nil {
			break
		}
		if !a.heard(link, frame) {
			break
		}
	}
	if unlink() {
		link.Close("the connection ended")
	}
	registered := make(chan bool, 1)
	if !a.post(func() { registered <- a.disconnected(link) }) {
		return false
	}
	select {
	case ok := <-registered:
		return ok
	case <-a.stopped:
		return false
	}
}

// heard hands the messages of a frame to the loop. It reports false when that
// has ended.
func (a *Agent) heard(link wire.Link, frame []byte) bool {
	for more := true; more; more = len(frame) > 0 {
		var one []byte
		one, frame = link.Form().Cut(frame)
		m, env, err := link.Form().Decode(wire.ToAgent, one)
		if errors.Is(err, &offers.Error{Code: offers.UnknownType}) {
			continue
		}
		if err != nil {
			a.log.Warn("a message of the master can't be read and is ignored", "type", env.Type, "error", err)
			continue
		}
		if !a.post(func() { a.receive(link, m) }) {
			return false
		}
	}
	return true
}

// connected begins with a master.
func (a *Agent) connected(link wire.Link) {
	a.session = &session{link: link, until: time.Now().Add(seek.AnswerTimeout)}
	a.machine.Connected(rand.Text())
}

// register introduces the agent to a master.
func (a *Agent) register() {
	if a.session == nil {
		return
	}
	meta := a.machine.Meta()
	self := a.self
	self.ID = meta.Agent
	sequence, list := a.machine.Register()
	a.attempt.Number++
	attempt := a.attempt
	frames, err := wire.Registration(a.session.link.Form(), &wire.RegisterAgent{
		Agent: self, Sequence: sequence, Usage: a.usage(), Tasks: list, Attempt: &attempt,
		Have: meta.Have, Next: meta.Next, Doubt: meta.Doubt != "",
	})
	if err != nil {
		a.log.Error("the registration can't be written", "error", err)
		return
	}
	for _, frame := range frames {
		a.sendFrame("register", frame)
	}
}

// disconnected reports whether the session that has ended was registered.
func (a *Agent) disconnected(link wire.Link) bool {
	s := a.session
	if s == nil || s.link != link {
		return false
	}
	a.session = nil
	a.machine.Disconnected()
	if s.registered {
		a.log.Warn("the connection to the master has ended")
	}
	return s.registered
}

// receive takes one message in the loop. What an older session said late is
// not heard.
func (a *Agent) receive(link wire.Link, m wire.Message) {
	s := a.session
	if s == nil || s.link != link {
		return
	}
	now := time.Now()
	if !s.registered {
		a.answered(s, m, now)
		return
	}
	var err error
	switch m := m.(type) {
	case *wire.Launch:
		err = a.machine.Launch(m, now)
	case *wire.KillTask:
		err = a.machine.Kill(m, now)
	case *wire.AcknowledgeStatus:
		a.machine.Acknowledge(m.Acknowledged, now)
	case *wire.AgentRegistered:
		err = a.machine.Registered(m, now)
	case *wire.ErrorMessage:
		a.log.Warn("the master reports an error", "code", m.Code, "message", m.Message)
	}
	if err != nil {
		a.log.Warn("an order of the master is ignored", "error", err)
	}
}

// answered takes the answer to the registration.
func (a *Agent) answered(s *session, m wire.Message, now time.Time) {
	switch m := m.(type) {
	case *wire.AgentRegistered:
		doubt := a.machine.Doubt()
		if err := a.machine.Registered(m, now); err != nil {
			a.log.Warn("an answer of the master is not believed", "error", err)
			s.link.End("the term is over") // the connector notices, closes it and goes on
			return
		}
		if m.More {
			return
		}
		if a.machine.Doubt() != doubt {
			a.log.Error("the checkpoint is an older copy; what it knows of and may have run already is not started", "agent_id", m.AgentID, "why", a.machine.Doubt())
		}
		a.meters.registrations.Inc()
		s.registered = true
		a.log.Info("registered", "agent_id", m.AgentID, "master", m.Master.Name, "term", m.Master.Term)
	case *wire.ErrorMessage:
		if m.Code == offers.UnknownAgent && a.machine.Meta().Agent != "" {
			a.log.Warn("the masters have given this agent up; it ends its tasks and comes back as a new one",
				"agent_id", a.machine.Meta().Agent, "message", m.Message)
			a.machine.Refused(now)
			a.held = make(chan struct{})
		} else {
			a.log.Warn("the registration is refused", "code", m.Code, "message", m.Message)
		}
		s.link.End("the registration was refused") // the connector notices, closes it and goes on
	}
}

// tickSession gives up on a master that does not answer.
func (a *Agent) tickSession(now time.Time) {
	s := a.session
	if s == nil || s.registered || s.until.After(now) {
		return
	}
	s.until = now.Add(seek.AnswerTimeout)
	s.link.End("no answer to the registration") // the connector notices, closes it and goes on
}
