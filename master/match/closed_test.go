package match

import (
	"fmt"
	"testing"
)

// TestClosedAgentIsNotOffered: what is offered of it is taken back, an explanation
// says why it is passed over, and it is offered again as soon as it can be. What it
// has counts in fair shares all the while.
func TestClosedAgentIsNotOffered(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4,"mem":40}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":4}}`)
	b.launch(b.offered()[0], map[string]string{"t": `{"cpus":1}`})
	b.demand(f, `{"id":"e","count":1,"resources":{"cpus":1}}`)
	if list := b.offered(); len(list) != 1 {
		t.Fatalf("offered %+v", list)
	}
	share := b.View().Frameworks[f].Share
	if !b.AgentClosed(b.ids["a1"], "its disk is full") {
		t.Error("that it is closed is no news")
	}
	r := b.Ready(b.now)
	if len(r.Rescinds) != 1 || r.Rescinds[0].Reason != "agent_closed" || len(r.Offers) != 0 {
		t.Fatalf("rescinded %+v, offered %+v", r.Rescinds, r.Offers)
	}
	if b.AgentClosed(b.ids["a1"], "its disk is full") || b.AgentClosed("unknown", "") {
		t.Error("news of what was known, or of nobody")
	}
	v := b.View()
	if a := v.Agents[0]; a.Closed != "its disk is full" || !a.Online || v.Frameworks[f].Share != share/2 {
		t.Errorf("seen as %+v, share %v; it was %v with the offer", a, v.Frameworks[f].Share, share)
	}
	e := b.explained(`{"id":"x","count":1,"resources":{"cpus":1}}`)
	if got := said(e.Missed); got != "[1 closed its disk is full]" {
		t.Errorf("reasons %s", got)
	}
	b.AgentOnline(b.ids["a1"], false)
	b.AgentOnline(b.ids["a1"], true)
	if list := b.offered(); len(list) != 0 {
		t.Errorf("offered %+v after it was away", list)
	}
	b.AgentClosed(b.ids["a1"], "")
	if list := b.offered(); len(list) != 1 || fmt.Sprint(list[0].Demand) != "e" {
		t.Errorf("offered %+v, want what waits", list)
	}
}
