package lead_test

import (
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func attempt(n uint64) *wire.Attempt { return &wire.Attempt{Client: "c", Number: n} }

// A leader that was paused finds what a client sent on the connection that it
// gave up beside that on the one it went on with, in any order.
func TestLateRegisterFencesNobody(t *testing.T) {
	l := newScene(t)
	id := l.author("").id
	register := func(n uint64) *author {
		a := l.connect()
		a.say(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f"}, Attempt: attempt(n)})
		return a
	}
	newer := register(2)
	only[*wire.Registered](newer.listener)
	older := register(1)
	if e := only[*wire.ErrorMessage](older.listener); e.Code != offers.FailedOver || older.ended == "" {
		t.Errorf("the older connection is told %+v and ended for %q", e, older.ended)
	}
	newer.nothing("it is the newer one")
	if newer.ended != "" {
		t.Errorf("the newer connection was ended: %s", newer.ended)
	}
	again := register(3)
	only[*wire.Registered](again.listener)
	if newer.ended == "" {
		t.Error("the next connection does not take over")
	}
}

func TestLateRegisterReplacesNoAgent(t *testing.T) {
	l := newScene(t)
	register := func(n uint64) *host {
		h := &host{listener: &listener{TB: t}, l: l}
		h.Agent = lead.NewAgent(h.listener)
		h.self = offers.Agent{Name: "a1", Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 4000}}}
		h.say(&wire.RegisterAgent{Agent: h.self, Attempt: attempt(n)})
		return h
	}
	newer := register(2)
	id := only[*wire.AgentRegistered](newer.listener).AgentID
	older := register(1)
	older.nothing("its newer connection is there")
	if older.ended == "" || newer.ended != "" || l.state.Agent(id).State != offers.AgentActive {
		t.Errorf("older ended for %q, newer for %q, the agent is %s", older.ended, newer.ended, l.state.Agent(id).State)
	}
}

// One that went away before its registration was durable takes no time from
// the connection that is there by then.
func TestGoneConnectionStartsNoDeadline(t *testing.T) {
	l := newScene(t)
	a := l.author("")
	gone := l.connect()
	gone.hand(&wire.Register{Framework: wire.FrameworkInfo{ID: a.id, Name: "f"}})
	steps := l.propose()
	l.FrameworkEnded(gone.Framework)
	l.agree(steps)
	l.commit()
	if d := l.state.Framework(a.id).Deadline; !d.IsZero() {
		t.Errorf("the framework is connected and has until %v to return", d)
	}
	l.succeed()
	l.commit()
	l.wait(time.Second)
	if l.removed(a) {
		t.Error("the next leader removes it at once")
	}
}
