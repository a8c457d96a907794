package lead_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestWindowOfABatchEndsATurn: the core says when the window of what `match`
// gathers is over, and offers what was gathered in the turn of that time, not
// before and not later.
func TestWindowOfABatchEndsATurn(t *testing.T) {
	l := newScene(t)
	l.host("a1", "")
	f := l.author("")
	f.got = nil
	f.say(&wire.DemandMessage{Demands: []json.RawMessage{
		json.RawMessage(`{"id":"soon","count":1,"placement":"match","deadline":60,"runtime":1,"resources":{"cpus":1}}`),
		json.RawMessage(`{"id":"now","count":1,"placement":"rings","resources":{"cpus":1}}`),
	}})
	if got := only[*wire.OffersMessage](f.listener).Offers; len(got) != 1 || got[0].DemandID != "now" {
		t.Fatalf("offered are %s while the window is open", written(f.got))
	}
	if !l.next.Equal(l.now.Add(window)) {
		t.Fatalf("the next turn is at %v, want the end of the window at %v", l.next, l.now.Add(window))
	}
	l.now = l.now.Add(window - time.Nanosecond)
	l.commit()
	f.nothing("the window is open")
	l.now = l.next
	l.commit()
	if got := only[*wire.OffersMessage](f.listener).Offers; len(got) != 1 || got[0].DemandID != "soon" {
		t.Fatalf("offered are %v at the end of the window", got)
	}
}
