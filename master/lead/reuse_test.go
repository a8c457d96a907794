package lead_test

import (
	"encoding/json"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// A launch that comes to nothing, because its agent was removed ahead of it, takes
// no room from another launch of the same id that was accepted meanwhile.
func TestFailedLaunchLeavesTheNextOfItsID(t *testing.T) {
	l := newScene(t)
	lost, a := l.host("a1", ""), l.author("")
	first := a.wish()
	l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: lost.self.ID, State: offers.AgentGone, Time: l.now}}, nil)
	gone := l.propose()
	a.hand(acceptance(first, "t1"))
	failing := l.propose()
	l.agree(gone)
	h := l.host("a2", "")
	a.hand(acceptance(a.wish(), "t1"))
	next := l.propose()
	l.agree(failing)
	l.agree(next)
	l.commit()
	if got := only[*wire.Launch](h.listener); len(got.Tasks) != 1 {
		t.Errorf("launched are %+v", got)
	}
	if free := l.free(h.self.ID); free != 3000 {
		t.Errorf("%d are counted free where a task of 1000 of 4000 runs", free)
	}
}

// The end of a task that comes twice, the second time after the framework knew of
// it and gave its id to another, is none of that one.
func TestSecondEndLeavesTheNextOfItsID(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t0", "t1")
	h.hand(status(a.ref("t1"), offers.Finished, "u1"))
	first := l.propose()
	h.hand(status(a.ref("t0"), offers.Finished, "u0"))
	h.hand(status(a.ref("t1"), offers.Finished, "u1"))
	second := l.propose()
	l.agree(first)
	a.update(offers.Finished, "u1")
	a.hand(&wire.Acknowledge{TaskID: "t1", UpdateID: "u1"})
	third := l.propose()
	apply := func(steps []lead.Step) (results []state.Result) {
		commands := make([]state.Command, len(steps))
		for i := range steps {
			commands[i] = steps[i].Command
		}
		l.state, results = l.state.Apply(commands)
		return results
	}
	of2, of3 := apply(second), apply(third)
	n := l.CommittedUntil(second, of2, l.state, func() bool { return true })
	offer := func() wire.Offer {
		a.got = nil
		a.hand(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","count":1,"resources":{"cpus":1}}`)}})
		if steps := l.propose(); len(steps) > 0 {
			t.Fatalf("%d steps come of a demand", len(steps))
		}
		return only[*wire.OffersMessage](a.listener).Offers[0]
	}()
	a.hand(acceptance(offer, "t1"))
	next := l.propose()
	l.Committed(second[n:], of2[n:], l.state)
	l.Committed(third, of3, l.state)
	l.agree(next)
	l.commit()
	if free := l.free(h.self.ID); free != 3000 {
		t.Errorf("%d are counted free where a task of 1000 of 4000 runs", free)
	}
}
