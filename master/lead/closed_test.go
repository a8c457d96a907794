package lead_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestClosedAgent: an agent says that it can take no more, and later that it can;
// those who listen to events hear of both once, and it need not say it again after
// it was away.
func TestClosedAgent(t *testing.T) {
	l := newScene(t)
	h, f := l.host("a", ""), l.author("")
	id := h.self.ID
	f.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","count":1,"resources":{"cpus":1}}`)}})
	heard[wire.Message](f.listener)
	l.heardOf()
	for range 2 {
		h.say(&wire.Usage{Sequence: 2, Closed: "its disk is full"})
	}
	l.wantTold("it is full", fmt.Sprint("agent_closed ", id))
	if r := only[*wire.Rescind](f.listener); r.Reason != "agent_closed" {
		t.Errorf("rescinded for %s", r.Reason)
	}
	h.say(&wire.Usage{Sequence: 3, Closed: "hot\nand tired"})
	if got := l.Observe().Match.Agents[0].Closed; got != "its agent does not say why" {
		t.Errorf("shown as %q", got)
	}
	l.heardOf()
	h.leave()
	h.back()
	l.wantTold("it is back, and well", fmt.Sprint("agent_disconnected ", id), fmt.Sprint("agent_opened ", id))
	if n := len(l.Observe().Match.Offers); n != 1 {
		t.Errorf("%d offers, want one", n)
	}
}

// TestUsageBeforeTheRegistrationIsDurable: it is newer than what came with the
// registration, and is not said again.
func TestUsageBeforeTheRegistrationIsDurable(t *testing.T) {
	l := newScene(t)
	h := &host{listener: &listener{TB: t}, l: l}
	h.Agent = lead.NewAgent(h.listener)
	h.self = offers.Agent{Name: "a", Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 1000}}}
	l.HandleAgent(h.Agent, &wire.RegisterAgent{Agent: h.self, Usage: &wire.Usage{Sequence: 1, Closed: "its disk is full"}}, "")
	steps := l.propose()
	l.HandleAgent(h.Agent, &wire.Usage{Sequence: 2}, "")
	l.agree(steps)
	l.commit()
	if a := l.Observe().Match.Agents[0]; a.Closed != "" || !a.Online {
		t.Errorf("seen as %+v", a)
	}
}
