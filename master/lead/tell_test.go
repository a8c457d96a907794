package lead_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// heardOf returns what was told since the last time, as lines.
func (l *scene) heardOf() []string {
	var out []string
	for _, e := range l.told {
		line := fmt.Sprintf("%s %s %s", e.Type, e.Task, e.State)
		switch {
		case e.Offer != "":
			line = fmt.Sprintf("%s of %s for %s, %d, %s", e.Type, e.Framework, e.Demand, e.Resources[offers.CPUs], e.Reason)
		case e.Demand != "":
			line = fmt.Sprintf("%s of %s for %s, %d stopped by %s", e.Type, e.Framework, e.Demand, *e.Count, e.Stopped)
			for _, r := range e.Reasons {
				line += fmt.Sprintf(", %d %s %s", r.Agents, r.Code, r.What)
			}
		case e.Task == "":
			line = fmt.Sprintf("%s %s", e.Type, e.Agent)
		}
		if e.Healthy != nil {
			line += fmt.Sprint(" ", *e.Healthy)
		}
		out = append(out, line)
	}
	l.told = nil
	return out
}

func (l *scene) wantTold(why string, want ...string) {
	l.Helper()
	if got := l.heardOf(); !slices.Equal(got, want) {
		l.Errorf("%s: told is %q, want %q", why, got, want)
	}
}

// What is not replicated is told once, when it is news: not again when a
// report is sent again, and not the ends, which are told when they are durable.
func TestWhatOnlyTheLeaderSeesIsTold(t *testing.T) {
	l := newScene(t)
	h, f := l.host("a", ""), l.author("")
	f.launch("t")
	ref := f.ref("t")
	l.wantTold("a launch is durable")
	h.report(ref, offers.Starting, "1.1")
	h.report(ref, offers.Starting, "1.1")
	f.acknowledge("t", "1.1")
	l.wantTold("it starts", "task_updated t starting")
	h.report(ref, offers.Running, "1.2")
	f.acknowledge("t", "1.2")
	healthy := status(ref, offers.Running, "1.3")
	healthy.Statuses[0].Healthy = new(true)
	h.say(healthy)
	h.say(healthy)
	l.wantTold("it runs and is healthy", "task_updated t running", "task_updated t running true")

	id := h.self.ID
	h.leave()
	l.wantTold("its agent is away", fmt.Sprint("agent_disconnected ", id))
	l.wait(2 * time.Minute)
	l.wantTold("for long", "task_updated t unreachable")
	h = h.back(listed(ref, offers.Running))
	l.wantTold("and is back", "task_updated t running")
	h.report(ref, offers.Finished, "1.4")
	l.wantTold("an end is durable")
	h.report(ref, offers.Running, "1.2")
	l.wantTold("what nobody acknowledged before the end is sent again")

	f.launch("u")
	h.report(f.ref("u"), offers.Running, "2.1")
	l.heardOf()
	l.succeed()
	f = l.author(f.id)
	h.back(listed(f.ref("u"), offers.Running))
	l.wantTold("what another leader told already")
}

// What is told of a task names all that it can be filtered by.
func TestWhatIsToldNamesItsTask(t *testing.T) {
	l := newScene(t)
	h, f := l.host("a", ""), l.author("")
	f.launch("t")
	h.report(f.ref("t"), offers.Running, "1.1")
	if len(l.told) != 1 {
		t.Fatalf("told is %+v", l.told)
	}
	e := l.told[0]
	if role := l.state.Task(f.ref("t")).Role; e.Framework != f.id || e.Agent != h.self.ID || e.Role != role || e.ID != (events.ID{}) {
		t.Errorf("told is %+v, want the role %q", e, role)
	}
}

// What becomes of offers is told while somebody wants to know, each end once.
func TestOffersAreToldWhileFollowed(t *testing.T) {
	l := newScene(t)
	l.host("a", "")
	f := l.author("")
	offered := f.wish()
	l.heardOf()
	f.say(&wire.Decline{OfferIDs: []offers.OfferID{offered.ID}, Refuse: new(offers.Duration)})
	l.wantTold("nobody listens")
	l.Follow(true)
	of := fmt.Sprint(" of ", f.id, " for d, 1000, ")
	decline := func(o offers.OfferID) {
		f.say(&wire.Decline{OfferIDs: []offers.OfferID{o}, Refuse: new(offers.Duration)})
	}
	outstanding := func() offers.OfferID { return l.Observe().Match.Offers[0].ID }
	decline(outstanding())
	l.wantTold("it is declined and made anew", "offer_declined"+of, "offer_made"+of)
	f.say(acceptance(wire.Offer{ID: outstanding()}, "t"))
	l.wantTold("it is accepted", "offer_accepted"+of)
	f.wish()
	l.wantTold("there is another", "offer_made"+of)
	f.say(&wire.Accept{OfferIDs: []offers.OfferID{outstanding(), "nosuch"}})
	l.wantTold("a bad accept gives it back", "offer_declined"+of, "offer_made"+of)
	l.wait(time.Hour)
	l.wantTold("it expires", "offer_expired"+of, "offer_made"+of)
	f.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","count":0}`)}})
	l.wantTold("it is withdrawn", "offer_rescinded"+of+"demand_changed")
	f.wish()
	f.leave()
	l.wantTold("its framework leaves", "offer_made"+of, "offer_rescinded"+of+"framework_away")
	l.Follow(false)
	f = l.author(f.id)
	f.wish()
	l.Follow(true)
	l.commit()
	l.wantTold("nobody listened")
}

// What waits is told while somebody wants to know, when it begins to wait and when
// it waits for something else, with what is against the agents.
func TestWaitsAreToldWhileFollowed(t *testing.T) {
	l := newScene(t)
	l.host("a", "")
	f := l.author("")
	demand := func(id string, count int, need string) {
		f.say(&wire.DemandMessage{Demands: []json.RawMessage{fmt.Appendf(nil, `{"id":%q,"count":%d,"resources":{%s}}`, id, count, need)}})
	}
	demand("vast", 3, `"cpus":5`)
	l.wantTold("nobody listens")
	l.Follow(true)
	l.commit()
	vast := fmt.Sprintf("demand_waiting of %s for vast, 3 stopped by [cpus], 1 too_small cpus", f.id)
	l.wantTold("it waited already", vast)
	l.Follow(true)
	l.wait(time.Second)
	l.wantTold("it still does")
	demand("d", 5, `"cpus":1`)
	waits := fmt.Sprintf("demand_waiting of %s for d, 1 stopped by [cpus], 1 short cpus", f.id)
	l.wantTold("one unit of five finds no room", fmt.Sprintf("offer_made of %s for d, 4000, ", f.id), waits)
	l.host("b", "")
	l.wantTold("there is room", fmt.Sprintf("offer_made of %s for d, 1000, ", f.id))
	demand("vast", 3, `"mem":1099511627776`)
	l.wantTold("it waits for something else", fmt.Sprintf("demand_waiting of %s for vast, 3 stopped by [mem], 2 too_small mem", f.id))
	demand("vast", 0, `"mem":1099511627776`)
	l.Follow(false)
	l.Follow(true)
	l.commit()
	l.wantTold("nothing waits")
}
