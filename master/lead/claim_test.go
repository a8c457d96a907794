package lead_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// hoarding has a framework be offered all that there is and say nothing, and another
// want a cpu.
func hoarding(t *testing.T) (l *scene, hoarder, other *author) {
	l = newScene(t)
	l.host("a1", "")
	hoarder, other = l.author(""), l.author("")
	hoarder.got, other.got = nil, nil
	hoarder.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"all","count":1000000,"resources":{"cpus":1}}`)}})
	only[*wire.OffersMessage](hoarder.listener)
	other.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","count":1,"resources":{"cpus":1}}`)}})
	other.nothing("the other has all")
	return l, hoarder, other
}

// TestUnansweredOffersAreTakenBackForOthers: the core says when the grace is over, and
// in the turn of that time the one is told that its offer is gone, and the other has one.
func TestUnansweredOffersAreTakenBackForOthers(t *testing.T) {
	l, hoarder, other := hoarding(t)
	if !l.next.Equal(l.now.Add(grace)) {
		t.Fatalf("the next turn is at %v, want the end of the grace at %v", l.next, l.now.Add(grace))
	}
	l.now = l.now.Add(grace - time.Nanosecond)
	l.commit()
	other.nothing("the offer is left to the other")
	l.now = l.next
	l.commit()
	offer := only[*wire.OffersMessage](other.listener).Offers[0]
	if gone := heard[*wire.Rescind](hoarder.listener); len(gone) != 1 || gone[0].Reason != "fair_share" {
		t.Errorf("who had the offer is told %s", written(hoarder.got))
	}
	other.say(acceptance(offer, "t1"))
	if l.state.Task(offers.TaskRef{Framework: other.id, Task: "t1"}) == nil {
		t.Error("what was taken back for it can't be used")
	}
}

// TestOffersStayWhileInputsWait: an answer may be among what waits, unless that takes
// very long.
func TestOffersStayWhileInputsWait(t *testing.T) {
	l, _, other := hoarding(t)
	for behind := time.Duration(0); behind < 9*time.Second; behind += 100 * time.Millisecond {
		l.now = l.now.Add(100 * time.Millisecond)
		l.Behind()
		l.commit()
	}
	other.nothing("inputs wait")
	l.now = l.now.Add(2 * time.Second)
	l.Behind()
	l.commit()
	only[*wire.OffersMessage](other.listener)
}
