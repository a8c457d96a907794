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

// TestCopiedFolder: an agent on an older copy of the folder of one that is
// connected is refused, and no task ends. It is let in once the other is away; one
// that knows what that knew takes its place at once.
func TestCopiedFolder(t *testing.T) {
	l := newScene(t)
	a := l.author("")
	come := func(id offers.AgentID, started int64, have, next string) *host {
		h := &host{listener: &listener{TB: t}, l: l}
		h.Agent = lead.NewAgent(h.listener)
		self := offers.Agent{ID: id, Name: "a1", Host: "h", Started: time.Unix(started, 0), Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 4000}}}
		h.say(&wire.RegisterAgent{Agent: self, Have: have, Next: next})
		return h
	}
	id := only[*wire.AgentRegistered](come("", 1, "", "k1").listener).AgentID
	right := come(id, 2, "k1", "k2")
	a.launch("t1")
	heard[wire.Message](right.listener)
	for _, have := range []string{"", "k0", "k1"} {
		if e := only[*wire.ErrorMessage](come(id, 3, have, "k3").listener); e.Code != offers.Forbidden || !strings.Contains(e.Message, "older copy") {
			t.Errorf("one that knows %q hears %+v", have, e)
		}
	}
	right.nothing("its copies were refused")
	a.nothing("nothing becomes of its task")
	latest := come(id, 4, "k2", "k4")
	if m := heard[*wire.AgentRegistered](latest.listener); len(m) != 1 || m[0].Older || right.ended == "" {
		t.Errorf("one that knows all is answered %+v, the one before ended %q", m, right.ended)
	}
	latest.leave()
	if m := heard[*wire.AgentRegistered](come(id, 3, "k1", "k3").listener); len(m) != 1 || !m[0].Older {
		t.Errorf("once the other is away a copy is answered %+v", m)
	}
}
