package lead_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// again begins anew in the same term, as a leader does that can't tell what became of
// an entry and leads all the same.
func (l *leader) again() {
	l.Close("the masters did not agree")
	l.Core = lead.New(lead.Config{
		Master: wire.MasterInfo{Term: 1}, Again: 1, Match: match.Config{OfferTimeout: time.Minute},
		AgentTimeout: time.Minute, RemovalEvery: time.Second, RemovalBurst: 1,
	}, l.state, l.now)
}

// lose makes the agent of the only task unreachable and returns what its
// framework hears of that.
func (l *leader) lose(t *testing.T, fp *peer) offers.UpdateID {
	t.Helper()
	for a := range l.state.Agents() {
		l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: a.ID, State: offers.AgentUnreachable}}, nil)
	}
	l.commit()
	return last[*wire.Update](t, fp).Status.UpdateID
}

// TestIDsOfATermAreGivenOnce begins twice in one term. Neither an offer nor an
// update may have the id of another one: the first would be consumed for the
// second, or taken for known.
func TestIDsOfATermAreGivenOnce(t *testing.T) {
	l := newLeader()
	f, fp, _, _ := l.settle()
	offer := last[*wire.OffersMessage](t, fp).Offers[0].ID
	l.accept(t, f, fp)
	l.commit()
	update := l.lose(t, fp)

	l.again()
	id := last[*wire.Registered](t, fp).FrameworkID
	fp = &peer{}
	f = lead.NewFramework(fp, 0, func() {})
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f"}}, ""))
	a := lead.NewAgent(&peer{})
	var known offers.Agent
	for one := range l.state.Agents() {
		known = one.Agent
	}
	l.HandleAgent(a, &wire.RegisterAgent{Agent: known}, "")
	l.commit()
	l.Handle(f, f.Prepare(&wire.DemandMessage{Demands: demand}, ""))
	l.commit()
	if got := last[*wire.OffersMessage](t, fp).Offers[0].ID; got == offer {
		t.Errorf("the offer %s is made twice", got)
	}
	if got := l.lose(t, fp); got == update {
		t.Errorf("the update id %s is given twice", got)
	}
}

// TestConnectionsEndWithTheirLeadership sends what was read before the end of
// a leadership to the next one of the same master.
func TestConnectionsEndWithTheirLeadership(t *testing.T) {
	l := newLeader()
	f, fp, a, ap := l.settle()
	l.again()
	fp.got, ap.got = nil, nil
	l.Handle(f, f.Prepare(&wire.DemandMessage{Demands: demand}, ""))
	l.HandleAgent(a, &wire.Statuses{Statuses: []wire.TaskStatus{{Framework: "x"}}}, "")
	l.commit()
	if len(fp.got)+len(ap.got) != 0 {
		t.Errorf("connections of the leadership before are answered %v and %v", fp.got, ap.got)
	}
}

// TestWhoReturnsInTimeIsNotRemoved brings a framework back just before its
// deadline. Its registration is on the way to a majority when the deadline
// passes.
func TestWhoReturnsInTimeIsNotRemoved(t *testing.T) {
	l, fp := newLeader(), &peer{}
	f := lead.NewFramework(fp, 0, func() {})
	timeout := offers.Duration(time.Minute)
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{Name: "f", FailoverTimeout: &timeout}}, ""))
	l.commit()
	id := last[*wire.Registered](t, fp).FrameworkID
	l.FrameworkEnded(f)
	l.commit()

	fp = &peer{}
	f = lead.NewFramework(fp, 0, func() {})
	l.At(l.now.Add(time.Minute - time.Millisecond))
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f"}}, ""))
	l.At(l.now.Add(time.Minute))
	l.Tick()
	l.commit()
	if got := l.state.Framework(id); got.Removed || fp.ended != "" {
		t.Errorf("it is removed: %v, its connection ended: %q", got.Removed, fp.ended)
	}

	l.FrameworkEnded(f)
	l.commit()
	l.At(l.now.Add(time.Hour))
	l.Tick()
	l.commit()
	if !l.state.Framework(id).Removed {
		t.Error("it is not removed once it is really late")
	}
}

// TestAgentThatLeavesBeforeItIsAdmitted registers an agent whose connection
// ends before its registration is durable: it counts as silent from then on.
func TestAgentThatLeavesBeforeItIsAdmitted(t *testing.T) {
	l := newLeader()
	a := lead.NewAgent(&peer{})
	l.HandleAgent(a, &wire.RegisterAgent{Agent: offers.Agent{Name: "a", Total: offers.Inventory{Amounts: offers.Amounts{1000}}}}, "")
	steps := l.Finish().Steps
	l.AgentEnded(a, l.now)
	var results []state.Result
	l.state, results = l.state.Apply([]state.Command{steps[0].Command})
	l.Committed(steps, results, l.state)
	l.At(l.now.Add(time.Minute))
	l.Tick()
	l.commit()
	for a := range l.state.Agents() {
		if a.State != offers.AgentUnreachable {
			t.Errorf("after a minute of silence it is %s", a.State)
		}
	}
}

// TestTheNextLeaderTellsOfLostAgents: an agent is unreachable when the leader
// changes. The next one tells it, since nobody knows whether the last one did,
// and it tells when the agent is back.
func TestTheNextLeaderTellsOfLostAgents(t *testing.T) {
	l := newLeader()
	f, fp, _, _ := l.settle()
	l.accept(t, f, fp)
	l.commit()
	id := last[*wire.Registered](t, fp).FrameworkID
	l.lose(t, fp)

	l.again()
	fp = &peer{}
	f = lead.NewFramework(fp, 0, func() {})
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f"}}, ""))
	l.commit()
	told := last[*wire.Update](t, fp).Status
	if told.State != offers.Unreachable {
		t.Fatalf("it tells %s", told.State)
	}
	l.Handle(f, f.Prepare(&wire.Acknowledge{TaskID: told.Task, UpdateID: told.UpdateID}, ""))
	var known offers.Agent
	for one := range l.state.Agents() {
		known = one.Agent
	}
	ref := offers.TaskRef{Framework: id, Task: told.Task}
	l.HandleAgent(lead.NewAgent(&peer{}), &wire.RegisterAgent{Agent: known, Tasks: []wire.AgentTask{{TaskRef: ref, State: offers.Running}}}, "")
	l.commit()
	if back := last[*wire.Update](t, fp).Status.State; back != offers.Running {
		t.Errorf("when the agent is back it tells %s", back)
	}
}

// TestTheNextLeaderTellsOfAgentsThatAreBack: an agent came back under a leader
// that died before anybody heard of it.
func TestTheNextLeaderTellsOfAgentsThatAreBack(t *testing.T) {
	l := newLeader()
	f, fp, _, _ := l.settle()
	l.accept(t, f, fp)
	l.commit()
	id := last[*wire.Registered](t, fp).FrameworkID
	l.lose(t, fp)
	var known offers.Agent
	for one := range l.state.Agents() {
		known = one.Agent
	}
	ref := offers.TaskRef{Framework: id, Task: "t1"}
	back := func() {
		l.HandleAgent(lead.NewAgent(&peer{}), &wire.RegisterAgent{Agent: known, Tasks: []wire.AgentTask{{TaskRef: ref, State: offers.Running}}}, "")
		l.commit()
	}
	l.now = l.now.Add(time.Minute)
	l.At(l.now)
	back() // its framework has not acknowledged the loss, so this waits behind it

	l.again()
	fp = &peer{}
	f = lead.NewFramework(fp, 0, func() {})
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f"}}, ""))
	back()
	if state := last[*wire.Update](t, fp).Status.State; state != offers.Running {
		t.Errorf("it tells %s", state)
	}
}

// TestNoRunningAfterKilling: an agent that was away is back on an older copy of
// its checkpoint, which does not know of the kill that its framework has seen.
func TestNoRunningAfterKilling(t *testing.T) {
	l := newLeader()
	f, fp, _, _ := l.settle()
	l.accept(t, f, fp)
	l.commit()
	id := last[*wire.Registered](t, fp).FrameworkID
	l.Handle(f, f.Prepare(&wire.Kill{TaskID: "t1"}, ""))
	l.commit()
	l.lose(t, fp)
	var known offers.Agent
	for one := range l.state.Agents() {
		known = one.Agent
	}
	l.now = l.now.Add(time.Minute)
	l.At(l.now)
	fp.got = nil
	l.HandleAgent(lead.NewAgent(&peer{}), &wire.RegisterAgent{Agent: known, Tasks: []wire.AgentTask{{TaskRef: offers.TaskRef{Framework: id, Task: "t1"}, State: offers.Running}}}, "")
	l.commit()
	l.again()
	fp = &peer{}
	f = lead.NewFramework(fp, 0, func() {})
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f"}}, ""))
	l.HandleAgent(lead.NewAgent(&peer{}), &wire.RegisterAgent{Agent: known, Tasks: []wire.AgentTask{{TaskRef: offers.TaskRef{Framework: id, Task: "t1"}, State: offers.Running}}}, "")
	l.commit()
	for _, m := range fp.got {
		if u, ok := m.(*wire.Update); ok && u.Status.State == offers.Running {
			t.Errorf("it tells %+v", u.Status)
		}
	}
}

// TestNothingOldAfterANewLeader: a framework has seen a task killing, or its end, under
// the leader before. What its agent has still to tell of the time before that is not
// told, be it on a copy that does not know either: to its framework the task would live
// again.
func TestNothingOldAfterANewLeader(t *testing.T) {
	for _, c := range []struct{ seen, listed offers.State }{
		{offers.Killing, offers.Killing}, {offers.Killing, offers.Running}, {offers.Killing, offers.Killed},
		{offers.Finished, offers.Finished}, {offers.Finished, offers.Running},
	} {
		l := newScene(t)
		a, h := l.author(""), l.host("a", "")
		a.launch("t1")
		h.report(a.ref("t1"), c.seen, "u.2")
		a.update(c.seen, "u.2")
		l.succeed()
		a = l.author(a.id)
		h = h.back(listed(a.ref("t1"), c.listed))
		h.released()
		heard[*wire.Update](a.listener)
		for _, s := range []offers.State{offers.Starting, offers.Running} {
			h.report(a.ref("t1"), s, offers.UpdateID("u."+s))
			if told := heard[*wire.Update](a.listener); len(told) > 0 {
				t.Errorf("%+v: it tells %+v", c, told[0].Status)
			}
			if got := h.released(); len(got) != 1 || got[0] != offers.UpdateID("u."+s) {
				t.Errorf("%+v: the agent is to send %v no more, want u.%s", c, got, s)
			}
		}
		h.report(a.ref("t1"), c.seen, "u.2")
		a.update(c.seen, "u.2")
	}
}

// TestAbsencesAreCounted: the launch came from a leader whose clock was behind.
// Its agent has always been there, so the next leader has no return to tell.
func TestAbsencesAreCounted(t *testing.T) {
	l := newScene(t)
	a, h := l.author(""), l.host("a", "")
	l.now = l.now.Add(-time.Hour)
	a.launch("t1")
	l.now = l.now.Add(2 * time.Hour)
	back := func() []*wire.Update {
		l.succeed()
		a = l.author(a.id)
		h = h.back(listed(a.ref("t1"), offers.Running))
		return heard[*wire.Update](a.listener)
	}
	if told := back(); len(told) != 0 {
		t.Errorf("it tells %+v", told[0].Status)
	}
	h.leave()
	l.now = l.now.Add(-90 * time.Minute) // a leader whose clock is behind gives the agent up
	l.succeed()
	a = l.author(a.id)
	l.wait(2 * time.Minute)
	h = h.back(listed(a.ref("t1"), offers.Running))
	if told := back(); len(told) != 1 || told[0].Status.State != offers.Running {
		t.Errorf("after an absence it tells %v", told)
	}
}

// TestNoStartingAfterRunning: an agent that was away is back on an older copy of
// its checkpoint, in which a task that ran has not started.
func TestNoStartingAfterRunning(t *testing.T) {
	for _, state := range []offers.State{offers.Starting, offers.Staging} {
		for _, older := range []bool{true, false} {
			l := newScene(t)
			a, h := l.author(""), l.host("a", "")
			a.launch("t1")
			h.report(a.ref("t1"), offers.Running, "u.1")
			a.acknowledge("t1", "u.1")
			h.leave()
			l.wait(2 * time.Minute)
			a = l.author(a.id)
			a.acknowledge("t1", a.update(offers.Unreachable, "any").UpdateID)
			again := &host{listener: &listener{TB: t}, l: l, self: h.self}
			again.Agent = lead.NewAgent(again.listener)
			again.self.Started = l.now
			again.say(&wire.RegisterAgent{Agent: again.self, Doubt: older, Tasks: []wire.AgentTask{listed(a.ref("t1"), state)}})
			if told := heard[*wire.Update](a.listener); older != (len(told) == 0) {
				t.Errorf("%s, older %v: it tells %v", state, older, told)
			}
		}
	}
}

// TestKillingIsDurable: an agent ends a task by itself. No leader may take the
// older copy of a checkpoint, in which the task runs, for news.
func TestKillingIsDurable(t *testing.T) {
	l := newScene(t)
	a, h := l.author(""), l.host("a", "")
	a.launch("t1")
	heard[wire.Message](a.listener)
	h.hand(status(a.ref("t1"), offers.Killing, "u.2"))
	steps := l.propose()
	a.nothing("nothing is committed")
	l.agree(steps)
	a.update(offers.Killing, "u.2")
	a.acknowledge("t1", "u.2")
	h.leave()
	l.wait(2 * time.Minute)
	l.succeed()
	a = l.author(a.id)
	if told := heard[*wire.Update](a.listener); len(told) != 1 || told[0].Status.State != offers.Unreachable {
		t.Fatalf("it tells %v", told)
	} else {
		a.acknowledge("t1", told[0].Status.UpdateID)
	}
	again := h.back(listed(a.ref("t1"), offers.Running))
	a.nothing("it was killing")
	if order := only[*wire.KillTask](again.listener); order.Task != "t1" {
		t.Errorf("the agent is told %+v", order)
	}
}

// TestErrorOfAnAcceptComesLast: who has the error has seen what became of the
// tasks, and who lost it with the connection asks.
func TestErrorOfAnAcceptComesLast(t *testing.T) {
	l := newScene(t)
	a, h := l.author(""), l.host("a", "")
	order := func() (kinds string) {
		for _, m := range a.got {
			kinds += m.Type() + " "
		}
		a.got = nil
		return kinds
	}
	offer := a.wish()
	a.say(&wire.Decline{OfferIDs: []offers.OfferID{offer.ID}})
	order()
	a.say(acceptance(offer, "t1", "t2"))
	if got := order(); got != "update update error " {
		t.Errorf("of an offer that is gone it tells %s", got)
	}
	l.wait(time.Minute)
	a.hand(acceptance(a.wish(), "t1"))
	l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: h.self.ID, State: offers.AgentGone}}, nil)
	steps := l.propose()
	slices.Reverse(steps) // the agent goes just before
	l.agree(steps)
	if got := order(); !strings.Contains(got, "update error ") {
		t.Errorf("of a launch that is refused it tells %s", got)
	}
}

// TestDroppedIsToldOnTheNextConnection: a framework has asked over its next
// connection, and heard that the launch is on its way, before it is refused.
func TestDroppedIsToldOnTheNextConnection(t *testing.T) {
	l := newScene(t)
	a, h := l.author(""), l.host("a", "")
	a.hand(acceptance(a.wish(), "t1"))
	launch := l.propose()
	next := l.connect()
	next.hand(&wire.Register{Framework: wire.FrameworkInfo{ID: a.id, Name: "f"}})
	l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: h.self.ID, State: offers.AgentDraining}}, nil)
	l.agree(l.propose())
	next.hand(&wire.Reconcile{TaskIDs: []offers.TaskID{"t1"}})
	next.update(offers.Staging, "")
	l.agree(launch)
	next.update(offers.Dropped, "")
}

// TestLateDisconnectEndsItsOwn: a connection ends while the next register is on
// its way to a majority. No deadline may be left on the framework that is there.
func TestLateDisconnectEndsItsOwn(t *testing.T) {
	l := newScene(t)
	a := l.author("")
	next := l.connect()
	patience := offers.Duration(10 * time.Second)
	next.hand(&wire.Register{Framework: wire.FrameworkInfo{ID: a.id, Name: "f", FailoverTimeout: &patience}})
	l.FrameworkEnded(a.Framework)
	l.commit()
	if f := l.state.Framework(a.id); !f.Deadline.IsZero() || only[*wire.Registered](next.listener).FrameworkID != a.id {
		t.Errorf("a deadline is set on a framework that is there: %s", f.Deadline)
	}
	l.wait(8 * time.Second)
	next.leave()
	l.wait(8 * time.Second)
	if l.state.Framework(a.id).Removed {
		t.Error("it is removed before its time")
	}
	l.wait(3 * time.Second)
	if !l.state.Framework(a.id).Removed {
		t.Error("it is never removed")
	}
}

// TestReturningAgentIsNotGivenUp: the time of an agent is up while its register
// is on its way to a majority. It is there from then on, and nothing would bring
// it back out of sight.
func TestReturningAgentIsNotGivenUp(t *testing.T) {
	l := newScene(t)
	h := l.host("a", "")
	h.leave()
	l.now = l.now.Add(2 * time.Minute)
	back := &host{listener: &listener{TB: t}, l: l, self: h.self}
	back.Agent = lead.NewAgent(back.listener)
	back.hand(&wire.RegisterAgent{Agent: back.self})
	l.Tick()
	l.commit()
	if only[*wire.AgentRegistered](back.listener); l.state.Agent(h.self.ID).State != offers.AgentActive {
		t.Errorf("it is there and %s", l.state.Agent(h.self.ID).State)
	}
	back.leave()
	l.wait(2 * time.Minute)
	if l.state.Agent(h.self.ID).State != offers.AgentUnreachable {
		t.Error("it is never given up")
	}
}

// TestNewerConnectionIsServed: the register of a process that is no more is
// read when the next one has registered already.
func TestNewerConnectionIsServed(t *testing.T) {
	l := newScene(t)
	id := l.author("").id
	enter := func(number uint64) *author {
		a := &author{listener: &listener{TB: t}, l: l}
		a.Framework = lead.NewFramework(a.listener, number, func() {})
		a.say(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f"}})
		return a
	}
	live := enter(8)
	only[*wire.Registered](live.listener)
	late := enter(7)
	if e := only[*wire.ErrorMessage](late.listener); e.Code != offers.FailedOver || late.ended == "" {
		t.Errorf("the older connection is told %s and ended %q", e.Code, late.ended)
	}
	live.nothing("an older connection came late")
	late.leave()
	if f := l.state.Framework(id); !f.Deadline.IsZero() {
		t.Error("a deadline runs for a framework that is connected")
	}
	only[*wire.Registered](enter(9).listener)
	if e := only[*wire.ErrorMessage](live.listener); e.Code != offers.FailedOver {
		t.Errorf("the connection before is told %s", e.Code)
	}
}

// TestNothingFollowsAnAcknowledgedEnd: an agent that has not heard of any
// acknowledgement sends all that it has reported of a task, while the
// acknowledgement of the end is on its way to a majority, as after it was stopped
// for a while. The framework is told nothing of it.
func TestNothingFollowsAnAcknowledgedEnd(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	h.report(a.ref("t1"), offers.Running, "u1")
	a.acknowledge("t1", "u1")
	heard[wire.Message](a.listener)
	h.report(a.ref("t1"), offers.Finished, "u2")
	a.update(offers.Finished, "u2")
	heard[wire.Message](h.listener)
	a.hand(&wire.Acknowledge{TaskID: "t1", UpdateID: "u2"})
	steps := l.propose()
	h.hand(status(a.ref("t1"), offers.Running, "u1"))
	h.hand(status(a.ref("t1"), offers.Finished, "u2"))
	l.agree(steps)
	l.wait(time.Minute)
	a.nothing("it has acknowledged the end")
	if got := h.released(); !slices.Equal(got, []offers.UpdateID{"u2", "u1"}) {
		t.Errorf("the agent need not resend %v", got)
	}
	h.say(&wire.Statuses{Statuses: []wire.TaskStatus{status(a.ref("t1"), offers.Running, "u1").Statuses[0], status(a.ref("t1"), offers.Finished, "u2").Statuses[0]}})
	if got := h.released(); !slices.Equal(got, []offers.UpdateID{"u1", "u2"}) {
		t.Errorf("resending it need not resend %v", got)
	}
	a.launch("t1")
	h.report(a.ref("t1"), offers.Running, "u3")
	a.update(offers.Running, "u3")
}

// TestNoResendOfWhatIsAcknowledged: a status comes once more while the
// acknowledgement of it is on its way to a majority. What is durable then is not
// sent again: the framework may have launched the next task under that id.
func TestNoResendOfWhatIsAcknowledged(t *testing.T) {
	l := newLeader()
	f, fp, a, _ := l.settle()
	l.accept(t, f, fp)
	l.commit()
	report := func() {
		l.HandleAgent(a, &wire.Statuses{Statuses: []wire.TaskStatus{{Framework: last[*wire.Registered](t, fp).FrameworkID,
			Status: offers.Status{Task: "t1", State: offers.Failed, UpdateID: "u.1"}}}}, "")
	}
	report()
	l.commit()
	l.Handle(f, f.Prepare(&wire.Acknowledge{TaskID: "t1", UpdateID: "u.1"}, ""))
	report()
	l.commit()
	fp.got = nil
	l.At(l.now.Add(time.Second))
	l.commit()
	for _, m := range fp.got {
		if u, again := m.(*wire.Update); again {
			t.Errorf("it is told %+v", u.Status)
		}
	}
}

// TestRefusedRegistrationLeavesNoGhost: a register was committed and not
// admitted, since its connection ended or is the older one. The framework's time
// runs all the same once the connection that is served has ended.
func TestRefusedRegistrationLeavesNoGhost(t *testing.T) {
	for _, gone := range []bool{false, true} {
		l := newScene(t)
		id, patience := l.author("").id, offers.Duration(10*time.Second)
		enter := func(number uint64) *author {
			a := &author{listener: &listener{TB: t}, l: l}
			a.Framework = lead.NewFramework(a.listener, number, func() {})
			a.hand(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f", FailoverTimeout: &patience}})
			return a
		}
		live := enter(8)
		l.commit()
		late := enter(7)
		if gone {
			l.FrameworkEnded(late.Framework)
		}
		l.commit()
		if f := l.state.Framework(id); !f.Deadline.IsZero() || live.ended != "" {
			t.Fatalf("gone %v: the one that is there has a deadline %v, or is ended: %q", gone, f.Deadline, live.ended)
		}
		live.leave()
		l.wait(11 * time.Second)
		if !l.state.Framework(id).Removed {
			t.Errorf("gone %v: nobody is left of it, and it is there for ever", gone)
		}
	}
}
