package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const (
	firstWait        = 100 * time.Millisecond
	lastWait         = 5 * time.Second
	electionWait     = 500 * time.Millisecond // the longest while masters elect
	answerTimeout    = 10 * time.Second
	defaultHeartbeat = 15 * time.Second
	maxRedirects     = 4
	dialPatience     = 3 * time.Second // for one address: a master that is stopped says nothing
	// masterSilence is after how long without a sign of life the leader is
	// left, for one that was stopped or cut off; pings go every 5 s.
	masterSilence = 15 * time.Second
)

// session is the connection to the master that listens, owned by the loop.
type session struct {
	link       wire.Link
	registered bool
	interval   time.Duration
	next       time.Time // of the next heartbeat, or until when the answer may take
}

// longer returns the wait after one of that length and a try that ended with
// err. Masters that answer without leading, or send the agent to a leader that
// is dead, are about to elect, which takes little: the wait stays short. It
// grows while nobody answers.
func longer(wait time.Duration, err error) time.Duration {
	var redirect *wire.RedirectError
	var status *wire.StatusError
	if errors.As(err, &redirect) || errors.As(err, &status) && status.Status == http.StatusServiceUnavailable {
		return min(2*wait, electionWait)
	}
	return min(2*wait, lastWait)
}

// connect keeps a connection to the leader, as long as ctx lasts. It goes on
// to the next master after every failure and every end.
func (a *Agent) connect(ctx context.Context) {
	wait, trouble := firstWait, make([]string, len(a.config.Masters)) // of each master, so that it is told once
	for at := 0; ctx.Err() == nil; at++ {
		which := at % len(a.config.Masters)
		link, err := a.reach(ctx, a.config.Masters[which])
		if err == nil {
			clear(trouble)
			if a.converse(ctx, link) {
				wait = firstWait
			}
		} else if ctx.Err() == nil && err.Error() != trouble[which] {
			trouble[which] = err.Error()
			a.log.Warn("no master", "error", err)
		}
		// Half of the wait is left to chance, so that agents which lost the
		// same master don't come back all at once.
		select {
		case <-time.After(wait/2 + rand.N(wait/2)):
			wait = longer(wait, err)
		case <-ctx.Done():
		}
		a.awaitLeave()
	}
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

// reach dials a master, and the leader where that master points to it.
func (a *Agent) reach(ctx context.Context, master string) (*wire.Conn, error) {
	scheme := "ws://"
	if a.config.Door.Secure() || a.config.Door.ClientTLS() != nil {
		scheme = "wss://"
	}
	url := scheme + master + wire.AgentPath
	var elsewhere *wire.RedirectError
	for range maxRedirects {
		link, err := a.dial(ctx, url)
		switch {
		case err == nil:
			return link, nil
		case errors.As(err, &elsewhere):
			url = elsewhere.Location
		case elsewhere != nil:
			return nil, fmt.Errorf("%w (%s %w)", err, master, elsewhere)
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("dial %s: the masters send the agent from one to the other: %w", master, elsewhere)
}

func (a *Agent) dial(ctx context.Context, url string) (*wire.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	return wire.Dial(ctx, url, wire.AgentProtocol, a.config.Door.Header(), a.config.Door.ClientTLS(), wire.Options{Silence: masterSilence})
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
		m, env, err := wire.Decode(wire.ToAgent, frame)
		if errors.Is(err, &offers.Error{Code: offers.UnknownType}) {
			continue
		}
		if err != nil {
			a.log.Warn("a message of the master can't be read and is ignored", "type", env.Type, "error", err)
			continue
		}
		if !a.post(func() { a.receive(link, m) }) {
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

// connected introduces the agent to a master.
func (a *Agent) connected(link wire.Link) {
	a.session = &session{link: link, next: time.Now().Add(answerTimeout)}
	self := a.self
	self.ID = a.machine.Meta().Agent
	sequence, list := a.machine.Register()
	a.attempt.Number++
	attempt := a.attempt
	a.send(&wire.RegisterAgent{
		Agent: self, Sequence: sequence, Tasks: list, Attempt: &attempt,
		Epoch: a.store.Epoch(), From: a.from, Doubt: a.machine.Meta().Doubt != "",
	})
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
		if m.Older {
			a.store.Pass(m.Epoch)
		}
		if a.machine.Doubt() != doubt {
			a.log.Error("the checkpoint is an older copy; what it knows of and may have run already is not started", "agent_id", m.AgentID, "why", a.machine.Doubt())
		}
		s.registered, s.interval = true, m.Heartbeat.Std()
		if s.interval <= 0 {
			s.interval = defaultHeartbeat
		}
		s.next = now.Add(s.interval)
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

// tickSession sends the heartbeat, or gives up on a master that does not
// answer.
func (a *Agent) tickSession(now time.Time) {
	s := a.session
	if s == nil || s.next.After(now) {
		return
	}
	if !s.registered {
		s.next = now.Add(answerTimeout)
		s.link.End("no answer to the registration") // the connector notices, closes it and goes on
		return
	}
	s.next = now.Add(s.interval)
	sequence, _ := a.machine.Usage()
	a.send(&wire.Heartbeat{Sequence: sequence})
}
