package simulated

import (
	"context"
	"errors"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/seek"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// agent is one simulated agent, owned by its shard.
type agent struct {
	// static
	fleet *Fleet
	shard *shard
	self  offers.Agent // without its id

	machine *tasks.Machine
	session *session // nil while no master listens

	// What runs, and in the order of their starts, which is that of their
	// ends, when it ends; what ended before its time stays there until then.
	running map[offers.TaskRef]time.Time
	ends    []end

	next    time.Time // when it is to wake
	place   int       // in the shard's heap, -1 for none
	touched bool      // it is to act in this turn
}

type end struct {
	ref offers.TaskRef
	at  time.Time
}

// session is the connection to the master that listens.
type session struct {
	link       wire.Link
	registered bool
	until      time.Time // the answer may take
}

func newAgent(f *Fleet, s *shard, self offers.Agent) *agent {
	return &agent{
		fleet: f, shard: s, self: self, place: -1, running: map[offers.TaskRef]time.Time{},
		machine: tasks.New(tasks.Config{Total: self.Total, Host: self.Host}, tasks.Meta{}),
	}
}

// post gives the agent something to do.
func (a *agent) post(do func(now time.Time)) { a.shard.inbox <- input{a, do} }

// converse hands what a master says to the shard until the connection ends. It
// reports whether the agent was registered. The connector calls it.
func (a *agent) converse(ctx context.Context, link wire.Link) bool {
	defer context.AfterFunc(ctx, func() { link.End("the fleet ends") })()
	a.post(func(now time.Time) { a.connected(link, now) })
	for {
		frame, err := link.Receive()
		if err != nil {
			break
		}
		said := a.read(link.Form(), frame)
		a.post(func(now time.Time) {
			for _, m := range said {
				a.receive(link, m, now)
			}
		})
	}
	link.Close("the connection ended")
	registered := make(chan bool, 1)
	a.post(func(time.Time) { registered <- a.disconnected(link) })
	return <-registered
}

// read returns the messages of a frame that can be read.
func (a *agent) read(form wire.Form, frame []byte) (said []wire.Message) {
	for more := true; more; more = len(frame) > 0 {
		var one []byte
		one, frame = form.Cut(frame)
		m, _, err := form.Decode(wire.ToAgent, one)
		switch {
		case err == nil:
			said = append(said, m)
		case !errors.Is(err, &offers.Error{Code: offers.UnknownType}):
			a.fleet.config.Logger.Warn("a message of the master can't be read and is ignored", "agent", a.self.Name, "error", err)
		}
	}
	return said
}

func (a *agent) connected(link wire.Link, now time.Time) {
	a.session = &session{link: link, until: now.Add(seek.AnswerTimeout)}
	self := a.self
	self.ID = a.machine.Meta().Agent
	sequence, list := a.machine.Register()
	frames, err := wire.Registration(link.Form(), &wire.RegisterAgent{Agent: self, Sequence: sequence, Tasks: list})
	if err != nil {
		a.fleet.config.Logger.Error("a registration can't be written", "agent", a.self.Name, "error", err)
		return
	}
	for _, frame := range frames {
		_ = link.Send(frame) // as in send
	}
}

func (a *agent) disconnected(link wire.Link) bool {
	s := a.session
	if s == nil || s.link != link {
		return false
	}
	a.session = nil
	a.machine.Disconnected()
	if s.registered {
		a.fleet.left()
	}
	return s.registered
}

// receive takes one message of the master; what it may not believe or obey, it
// logs and ignores.
func (a *agent) receive(link wire.Link, m wire.Message, now time.Time) {
	s := a.session
	if s == nil || s.link != link {
		return
	}
	var err error
	switch m := m.(type) {
	case *wire.AgentRegistered:
		err = a.registered(s, m, now)
	case *wire.ErrorMessage:
		a.refused(s, m, now)
	case *wire.Launch:
		err = a.machine.Launch(m, now)
	case *wire.KillTask:
		err = a.machine.Kill(m, now)
	case *wire.AcknowledgeStatus:
		a.machine.Acknowledge(m.Acknowledged, now)
	}
	if err != nil {
		a.fleet.config.Logger.Warn("a message of the master is ignored", "agent", a.self.Name, "type", m.Type(), "error", err)
	}
}

func (a *agent) registered(s *session, m *wire.AgentRegistered, now time.Time) error {
	if err := a.machine.Registered(m, now); err != nil {
		s.link.End("the term is over") // the connector notices, closes it and goes on
		return err
	}
	if m.More {
		return nil
	}
	if !s.registered {
		a.fleet.arrived()
	}
	s.registered = true
	return nil
}

// refused takes an error. An agent that was given up ends its tasks, here at
// once, and comes back as a new one.
func (a *agent) refused(s *session, m *wire.ErrorMessage, now time.Time) {
	a.fleet.config.Logger.Warn("the master reports an error", "agent", a.self.Name, "code", m.Code, "message", m.Message)
	if s.registered {
		return
	}
	if m.Code == offers.UnknownAgent && a.machine.Meta().Agent != "" {
		a.machine.Refused(now)
	}
	s.link.End("the registration was refused") // as above
}

// act does what the machine wants, and what follows from it at once: a task is
// prepared and started in no time, and ends when it is asked to.
func (a *agent) act(now time.Time) {
	for {
		r := a.machine.Ready()
		if r.Empty() {
			return
		}
		for _, l := range r.Start {
			a.machine.Prepared(l.Ref(), record.Identity{}, now)
		}
		for _, ref := range r.Abandon {
			a.machine.Ended(ref, tasks.How{Exit: record.Exit{Never: true, Time: now.UTC()}}, now)
		}
		for _, ref := range r.Release {
			a.start(ref, now)
		}
		for _, s := range r.Signals {
			a.end(s.Ref, record.Exit{Signal: "SIGTERM"}, now)
		}
		if r.Usage {
			a.sendUsage()
		}
		for m := range wire.InMessages(r.Send) {
			a.send(m)
		}
	}
}

func (a *agent) start(ref offers.TaskRef, now time.Time) {
	a.fleet.counts.started.Add(1)
	at := now.Add(a.fleet.config.TaskTime)
	a.running[ref] = at
	a.ends = append(a.ends, end{ref, at})
	a.machine.Started(ref, now)
}

func (a *agent) end(ref offers.TaskRef, exit record.Exit, now time.Time) {
	if _, runs := a.running[ref]; !runs {
		return
	}
	delete(a.running, ref)
	a.fleet.counts.ended.Add(1)
	exit.Time = now.UTC()
	a.machine.Ended(ref, tasks.How{Exit: exit}, now)
}

// tick does what has become due.
func (a *agent) tick(now time.Time) {
	for len(a.ends) > 0 && !a.ends[0].at.After(now) {
		// A task of the same name may have begun after that one was killed.
		if e := a.ends[0]; a.running[e.ref].Equal(e.at) {
			a.end(e.ref, record.Exit{}, now)
		}
		a.ends = a.ends[1:]
	}
	a.machine.Tick(now)
	if s := a.session; s != nil && !s.registered && !s.until.After(now) {
		s.until = now.Add(seek.AnswerTimeout)
		s.link.End("no answer to the registration") // as above
	}
}

// wake returns when tick has something to do, zero for never.
func (a *agent) wake() time.Time {
	next := a.machine.Next()
	if s := a.session; s != nil && !s.registered && (next.IsZero() || s.until.Before(next)) {
		next = s.until
	}
	if len(a.ends) > 0 && (next.IsZero() || a.ends[0].at.Before(next)) {
		next = a.ends[0].at
	}
	return next
}

func (a *agent) sendUsage() {
	usage, err := a.machine.Usage()
	if err != nil {
		a.fleet.config.Logger.Error("not all of the use of devices is told", "agent", a.self.Name, "error", err)
	}
	a.send(usage)
}

// send sends a message to the master that listens, if one does. What it can't
// send is sent again after the next registration.
func (a *agent) send(m wire.Message) {
	if a.session == nil {
		return
	}
	frame, err := a.session.link.Form().Encode(m, "")
	if err != nil {
		a.fleet.config.Logger.Error("a message can't be written", "agent", a.self.Name, "error", err)
		return
	}
	_ = a.session.link.Send(frame) // a link that takes nothing more ends, and its reader sees it
}
