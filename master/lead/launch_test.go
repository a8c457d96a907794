package lead_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Nothing is said and nobody acts before the launch is durable; then all hear.
func TestLaunchIsDurableBeforeAnyoneHears(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	o := a.wish()
	heard[wire.Message](h.listener)
	a.hand(acceptance(o, "t1"))
	steps := l.propose()
	a.nothing("the launch is not committed")
	h.nothing("the launch is not committed")
	l.agree(steps)
	if got := only[*wire.Accepted](a.listener); !slices.Equal(got.TaskIDs, []offers.TaskID{"t1"}) || !slices.Equal(got.OfferIDs, []offers.OfferID{o.ID}) {
		t.Errorf("accepted are %+v", got)
	}
	if got := only[*wire.Launch](h.listener); got.Tasks[0].Task.ID != "t1" || got.Term != 1 || got.Tasks[0].User != "somebody" {
		t.Errorf("launched is %+v", got)
	}
}

// The same for a kill, and the kill of a task on its way to a majority.
func TestKillIsDurableBeforeTheAgentHears(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	heard[wire.Message](h.listener)
	a.hand(&wire.Kill{TaskID: "t1"})
	steps := l.propose()
	h.nothing("the kill is not committed")
	l.agree(steps)
	if got := only[*wire.KillTask](h.listener); got.Task != "t1" || got.Term != 1 {
		t.Errorf("killed is %+v", got)
	}
	if free := l.free(h.self.ID); free != 3000 {
		t.Errorf("%d are free while the task ends, want 3000", free)
	}
}

// An end is durable before its framework hears of it.
func TestEndIsDurableBeforeTheFrameworkHears(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	h.hand(status(a.ref("t1"), offers.Finished, "u1"))
	steps := l.propose()
	a.nothing("the end is not committed")
	l.agree(steps)
	a.update(offers.Finished, "u1")
	if free := l.free(h.self.ID); free != 4000 {
		t.Errorf("%d are free after the end, want 4000", free)
	}
}

// A launch that is refused when it commits, here for an agent that was drained
// in the turn before, did not happen: dropped is said and the room comes back.
func TestRefusedLaunchIsDropped(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	o := a.wish()
	heard[wire.Message](h.listener)
	l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: h.self.ID, State: offers.AgentDraining}}, nil)
	drain := l.propose()
	a.hand(acceptance(o, "t1"))
	launch := l.propose()
	l.agree(drain)
	l.agree(launch)
	for _, m := range a.got {
		if _, ok := m.(*wire.Accepted); ok {
			t.Error("accepted is said of a launch that was refused")
		}
	}
	if s := a.update(offers.Dropped, ""); s.Task != "t1" {
		t.Errorf("dropped is %s", s.Task)
	}
	h.nothing("the launch was refused")
	if free := l.free(h.self.ID); free != 4000 {
		t.Errorf("%d are free, want 4000", free)
	}
}

// A launch that came to nothing uses nothing of its demand, which stands as it did
// unless its framework has said otherwise meanwhile.
func TestRefusedLaunchUsesNothingOfItsDemand(t *testing.T) {
	const wish, others = `{"id":"d","count":%d,"resources":{"cpus":1}}`, `{"id":"e","count":0,"resources":{"cpus":1}}`
	for _, c := range []struct {
		name      string
		count     int
		tasks     []offers.TaskID
		meanwhile string
		want      int // units offered in the end
	}{
		{"all of it", 1, []offers.TaskID{"t1"}, others, 1},
		{"all of several", 2, []offers.TaskID{"t1", "t2"}, others, 2},
		{"a part", 3, []offers.TaskID{"t1"}, others, 3},
		{"of one that was withdrawn", 1, []offers.TaskID{"t1"}, fmt.Sprintf(wish, 0), 0},
		{"of one that was replaced", 1, []offers.TaskID{"t1"}, fmt.Sprintf(wish, 3), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newScene(t)
			h, a := l.host("a1", ""), l.author("")
			say := func(demand string) {
				a.hand(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(demand)}})
				if steps := l.propose(); len(steps) > 0 {
					t.Fatalf("%d steps come of a demand", len(steps))
				}
			}
			say(fmt.Sprintf(wish, c.count))
			o := only[*wire.OffersMessage](a.listener).Offers[0]
			l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: h.self.ID, State: offers.AgentDraining}}, nil)
			drain := l.propose()
			a.hand(acceptance(o, c.tasks...))
			launch := l.propose()
			say(c.meanwhile)
			l.agree(drain)
			l.agree(launch)
			a.got = nil
			l.host("a2", "")
			units := 0
			for _, m := range heard[*wire.OffersMessage](a.listener) {
				for _, o := range m.Offers {
					units += int(o.Resources.Amounts[offers.CPUs] / 1000)
				}
			}
			if units != c.want {
				t.Errorf("%d units are offered, want %d", units, c.want)
			}
		})
	}
}

// An offer is good for one accept, in the term that made it.
func TestOfferIsGoodOnceInItsTerm(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	o := a.wish()
	dropped := func(why string) {
		t.Helper()
		a.say(acceptance(o, "t2"))
		refusals, updates := 0, 0
		for _, m := range a.got {
			switch m := m.(type) {
			case *wire.ErrorMessage:
				if refusals++; m.Code != offers.OfferGone {
					t.Errorf("an offer %s gets %s", why, m.Code)
				}
			case *wire.Update:
				if updates++; m.Status.State != offers.Dropped || m.Status.Task != "t2" {
					t.Errorf("an offer %s gets %+v", why, m.Status)
				}
			case *wire.Accepted:
				t.Errorf("an offer %s is accepted", why)
			}
		}
		if refusals != 1 || updates != 1 || l.state.Task(a.ref("t2")) != nil {
			t.Errorf("an offer %s gets %s", why, written(a.got))
		}
		heard[wire.Message](a.listener)
	}
	a.say(acceptance(o, "t1"))
	heard[wire.Message](a.listener)
	dropped("that was accepted")

	o = a.wish()
	l.succeed()
	h.back()
	a = l.author(a.id)
	fresh := a.wish()
	dropped("of the term before")
	a.say(acceptance(fresh, "t3"))
	only[*wire.Accepted](a.listener)
}

// No two terms make offers of the same name, nor updates.
func TestTermsShareNoNames(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	first := a.wish() // the first of its term
	a.say(acceptance(first, "t1"))
	told := map[offers.UpdateID]bool{}
	tell := func(state offers.State) {
		t.Helper()
		id := a.update(state, "any").UpdateID
		if told[id] {
			t.Errorf("%s is told twice as %s", state, id)
		}
		told[id] = true
		a.acknowledge("t1", id)
	}
	away := func() {
		heard[wire.Message](a.listener)
		h.leave()
		l.wait(time.Minute)
		tell(offers.Unreachable)
		h = h.back(listed(a.ref("t1"), offers.Running))
		tell(offers.Running)
	}
	away()
	l.succeed()
	h = h.back(listed(a.ref("t1"), offers.Running))
	a = l.author(a.id)
	tell(offers.Running) // nobody knows whether the last leader told
	if o := a.wish(); o.ID == first.ID {
		t.Errorf("two terms offer %s", o.ID)
	}
	away()
}

// An end that comes in the turn of a kill, before or after it, wins: its agent
// is not told to kill what it may have forgotten.
func TestKillOfWhatHasEndedIsNotSent(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1", "t2")
	heard[wire.Message](h.listener)
	h.hand(status(a.ref("t1"), offers.Finished, "u1"))
	a.hand(&wire.Kill{TaskID: "t1"})
	a.hand(&wire.Kill{TaskID: "t2"})
	h.hand(status(a.ref("t2"), offers.Finished, "u2"))
	l.commit()
	h.nothing("the tasks have ended")
	a.acknowledge("t1", "u1")
	a.acknowledge("t1", "u1") // twice does no harm
}

// The core asks to be woken when an offer expires, and takes it back then.
func TestOfferExpiresOnTime(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	o := a.wish()
	if got := l.next.Sub(l.now); got != time.Hour {
		t.Fatalf("it wants to be woken in %s, want 1h", got)
	}
	a.say(&wire.Suppress{}) // so that the room is not offered anew
	l.now = l.next
	l.commit()
	if got := only[*wire.Rescind](a.listener).OfferIDs; len(got) != 1 || got[0] != o.ID {
		t.Errorf("taken back are %v", got)
	}
	a.say(acceptance(o, "t1"))
	if l.state.Task(a.ref("t1")) != nil || l.free(h.self.ID) != 4000 {
		t.Errorf("an expired offer launches a task; %d are free", l.free(h.self.ID))
	}
}

// A task id is in use from the accept on, also while the launch is on its way.
func TestTaskIDOnItsWayIsInUse(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	first := a.wish()
	a.hand(acceptance(first, "t1"))
	steps := l.propose()
	second := a.wish()
	a.hand(acceptance(second, "t1"))
	if got := only[*wire.ErrorMessage](a.listener).Code; got != offers.TaskIDInUse {
		t.Errorf("the same id again gets %s", got)
	}
	heard[wire.Message](h.listener)
	l.agree(steps)
	l.commit()
	if got := only[*wire.Launch](h.listener); len(got.Tasks) != 1 {
		t.Errorf("launched are %+v", got)
	}
}

// What runs is counted by the next leader before it offers anything.
func TestNextLeaderCountsWhatRuns(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1", "t2", "t3")
	l.succeed()
	h.back(listed(a.ref("t1"), offers.Running), listed(a.ref("t2"), offers.Running), listed(a.ref("t3"), offers.Running))
	if free := l.free(h.self.ID); free != 1000 {
		t.Errorf("the next leader counts %d free, want 1000", free)
	}
}

// An agent that missed a launch or a kill, because its leader died just after
// the commit, gets it from the next one, once.
func TestAgentGetsWhatItMissed(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("seen", "killed")
	a.say(&wire.Kill{TaskID: "killed"})
	a.launch("missed")
	l.succeed()
	h = h.back(listed(a.ref("seen"), offers.Running), listed(a.ref("killed"), offers.Running))
	got := h.got
	if m := only[*wire.Launch](h.listener); len(m.Tasks) != 1 || m.Tasks[0].Task.ID != "missed" || m.Term != 2 {
		t.Errorf("launched is %+v", m)
	}
	h.got = got
	if m := only[*wire.KillTask](h.listener); m.Task != "killed" || m.Term != 2 {
		t.Errorf("killed is %+v", m)
	}
}

// After a restore only the agent knows what became of a task. One that it does
// not know is gone, and is not launched again.
func TestRestoredTaskIsNotLaunchedAgain(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	l.state = l.state.Replacing(l.state, 1, l.now)
	l.succeed()
	a = l.author(a.id)
	heard[wire.Message](a.listener)
	h = h.back()
	if launches := heard[*wire.Launch](h.listener); len(launches) > 0 {
		t.Fatalf("launched again are %+v", launches[0].Tasks)
	}
	if s := a.update(offers.Gone, "any"); s.Reason != offers.ReasonRestored || s.UpdateID == "" {
		t.Errorf("told is %+v", s)
	}
	if end := l.state.Task(a.ref("t1")).End; end == nil || end.State != offers.Gone {
		t.Errorf("the end is %+v", end)
	}
}

// A leader of the past tells everybody to look for the next one.
func TestCloseEndsEveryConnection(t *testing.T) {
	l := newScene(t)
	h, a, entering, settled := l.host("a1", ""), l.author(""), &listener{TB: t}, 0
	// Of this one nothing is committed: it must not wait for ever.
	f := lead.NewFramework(entering, 0, func() { settled++ })
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{Name: "f"}}, ""))
	l.Finish()
	l.Close("over")
	if h.ended != "over" || a.ended != "over" || entering.ended != "over" || settled != 1 {
		t.Errorf("ended %q, %q and %q, settled %d times", h.ended, a.ended, entering.ended, settled)
	}
}

// An offer is its framework's, to accept and to decline; two tasks of one
// accept have two ids.
func TestOfferIsItsFrameworksAlone(t *testing.T) {
	l := newScene(t)
	h, a, other := l.host("a1", ""), l.author(""), l.author("")
	o := a.wish()
	other.say(&wire.Decline{OfferIDs: []offers.OfferID{o.ID}})
	if free := l.free(h.self.ID); free != 3000 {
		t.Errorf("%d are free after another framework has declined the offer, want 3000", free)
	}
	a.say(acceptance(o, "t1", "t1"))
	var launched, inUse int
	for _, m := range a.got {
		switch m := m.(type) {
		case *wire.Accepted:
			launched += len(m.TaskIDs)
		case *wire.ErrorMessage:
			if m.Code == offers.TaskIDInUse {
				inUse++
			}
		}
	}
	if launched != 1 || inUse != 1 {
		t.Errorf("%d launched, %d ids in use; want 1 and 1: %s", launched, inUse, written(a.got))
	}
}

// TestRefusedAcceptGivesBack what it names and is its framework's: at once, not when
// the offers expire. One of which nothing is looked at leaves all as it was.
func TestRefusedAcceptGivesBack(t *testing.T) {
	for name, c := range map[string]struct {
		code   offers.Code
		refuse func(one, two, elsewhere wire.Offer) *wire.Accept
		free   int64 // on the agent of the first two, of 4000
		left   []int // of the three offers
	}{
		"one is gone": {offers.OfferGone, func(one, two, _ wire.Offer) *wire.Accept {
			return &wire.Accept{OfferIDs: []offers.OfferID{one.ID, "gone", two.ID}}
		}, 4000, []int{2}},
		"one is elsewhere": {offers.MixedAgents, func(one, _, elsewhere wire.Offer) *wire.Accept {
			return &wire.Accept{OfferIDs: []offers.OfferID{one.ID, elsewhere.ID}}
		}, 3000, []int{1}},
		"too many tasks": {offers.TooLarge, func(one, two, _ wire.Offer) *wire.Accept {
			return &wire.Accept{OfferIDs: []offers.OfferID{one.ID, two.ID}, Tasks: make([]json.RawMessage, wire.MaxTasks+1)}
		}, 2000, []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newScene(t)
			h, far, a := l.host("a1", ""), l.host("a2", ""), l.author("")
			wish := func(demand, agent string) wire.Offer {
				t.Helper()
				heard[wire.Message](a.listener)
				a.say(&wire.DemandMessage{Demands: []json.RawMessage{fmt.Appendf(nil, `{"id":%q,"count":1,"resources":{"cpus":1},"constraints":["name==%s"]}`, demand, agent)}})
				return only[*wire.OffersMessage](a.listener).Offers[0]
			}
			three := []wire.Offer{wish("d", "a1"), wish("e", "a1"), wish("f", "a2")}
			a.say(&wire.Suppress{}) // what comes back is not offered again
			heard[wire.Message](a.listener)
			m := c.refuse(three[0], three[1], three[2])
			a.say(m)
			if e := only[*wire.ErrorMessage](a.listener); e.Code != c.code {
				t.Errorf("it is refused as %s", e.Code)
			}
			if free := l.free(h.self.ID); free != c.free {
				t.Errorf("%d are free on the agent, want %d", free, c.free)
			}
			if free := l.free(far.self.ID); free == 3000 != slices.Contains(c.left, 2) {
				t.Errorf("%d are free on the other agent", free)
			}
			for i, o := range three {
				a.say(acceptance(o, offers.TaskID(fmt.Sprint("t", i))))
				if good := len(heard[*wire.Accepted](a.listener)) == 1; good != slices.Contains(c.left, i) {
					t.Errorf("offer %d can be accepted: %v", i, good)
				}
			}
		})
	}
}

// TestTooManyTasksAreRefusedTogether: each would be answered, in one turn.
func TestTooManyTasksAreRefusedTogether(t *testing.T) {
	l := newScene(t)
	l.host("a1", "")
	a := l.author("")
	o := a.wish()
	m := acceptance(o)
	for n := range wire.MaxTasks + 1 {
		m.Tasks = append(m.Tasks, json.RawMessage(fmt.Sprintf(`{"id":"t%d"}`, n)))
	}
	a.say(m)
	if n, e := len(a.got), heard[*wire.ErrorMessage](a.listener); n != 1 || len(e) != 1 || e[0].Code != offers.TooLarge {
		t.Errorf("told %d messages, of them the errors %v", n, e)
	}
	a.say(acceptance(o, "t1"))
	if m := only[*wire.Accepted](a.listener); len(m.TaskIDs) != 1 {
		t.Errorf("the offer is worth %v after that", m)
	}
}

// An accept that comes twice launches its tasks once, and does not say that they
// were dropped: they are there, on their way, running or ended.
func TestAcceptTwice(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	accept := acceptance(a.wish(), "t1")
	again := func(when string) {
		t.Helper()
		heard[wire.Message](a.listener)
		a.hand(acceptance(wire.Offer{ID: accept.OfferIDs[0]}, "t1", "t2"))
		var codes []offers.Code
		for _, m := range a.got {
			switch m := m.(type) {
			case *wire.ErrorMessage:
				codes = append(codes, m.Code)
			case *wire.Update:
				if m.Status.Task == "t1" {
					t.Errorf("%s it is told %s %s", when, m.Status.State, m.Status.Reason)
				}
			}
		}
		if !slices.Equal(codes, []offers.Code{offers.TaskIDInUse, offers.OfferGone}) {
			t.Errorf("%s it is told %v", when, codes)
		}
		if s := heard[*wire.Update](a.listener); len(s) != 1 || s[0].Status.Task != "t2" || s[0].Status.State != offers.Dropped {
			t.Errorf("%s it is told %+v of a task that is new", when, s)
		}
	}
	a.hand(accept)
	again("at once")
	a.l.commit()
	again("once it is durable")
	h.report(a.ref("t1"), offers.Running, "u1")
	again("while it runs")
	a.acknowledge("t1", "u1")
	h.report(a.ref("t1"), offers.Finished, "u2")
	again("once it has ended")
}
