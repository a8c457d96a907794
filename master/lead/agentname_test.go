package lead_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestClonedHosts: of two agents of one name the first one stays, with its tasks,
// as long as it is connected; then the other takes its place. One whose first
// answer was lost is not another.
func TestClonedHosts(t *testing.T) {
	l := newScene(t)
	self := func(id offers.AgentID, started int64) *wire.RegisterAgent {
		return &wire.RegisterAgent{Agent: offers.Agent{ID: id, Name: "twin", Host: "h", Started: time.Unix(started, 0)}}
	}
	come := func(m *wire.RegisterAgent) *host {
		h := &host{listener: &listener{TB: t}, l: l}
		h.Agent = lead.NewAgent(h.listener)
		h.say(m)
		return h
	}
	registered := func(h *host) offers.AgentID {
		t.Helper()
		all := heard[*wire.AgentRegistered](h.listener)
		if len(all) != 1 {
			t.Fatalf("it was registered %d times", len(all))
		}
		return all[0].AgentID
	}
	first := come(self("", 1))
	id := registered(first)

	second := come(self("", 2))
	errs := heard[*wire.ErrorMessage](second.listener)
	if len(errs) != 1 || errs[0].Code != offers.Forbidden || !strings.Contains(errs[0].Message, "the name twin is taken by the agent "+string(id)+" on h") {
		t.Fatalf("the second one hears %+v", errs)
	}
	if a := l.state.AgentNamed("twin"); a.ID != id || a.State != offers.AgentActive {
		t.Errorf("the first one is %s, %s", a.ID, a.State)
	}

	again := come(self("", 1))
	if got := registered(again); got == id {
		t.Error("who does not know its id has it again")
	}
	again.leave()
	if got := registered(come(self("", 2))); got == id {
		t.Errorf("the one that comes after it is %s too", got)
	}
}
