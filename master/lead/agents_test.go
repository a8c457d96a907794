package lead_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// agentIs does as an operator orders.
func (l *scene) agentIs(h *host, s offers.AgentState) {
	l.At(l.now)
	l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: h.self.ID, State: s, Time: l.now}}, nil)
	l.commit()
}

func (l *scene) wantState(id offers.AgentID, want offers.AgentState) {
	l.Helper()
	if got := l.state.Agent(id).State; got != want {
		l.Fatalf("agent %s is %s, want %s", id, got, want)
	}
}

// An agent whose silence lasts as long as the agent timeout is unreachable,
// its tasks with it, and both come back when it does.
func TestSilentAgentIsUnreachableUntilItReturns(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1", "t2")
	h.report(a.ref("t1"), offers.Running, "u1")
	a.acknowledge("t1", "u1")
	heard[wire.Message](a.listener)
	last := l.now
	l.now = l.now.Add(20 * time.Second) // until the broken connection shows
	l.At(l.now)
	l.AgentEnded(h.Agent, last)
	l.wait(39 * time.Second)
	l.wantState(h.self.ID, offers.AgentActive)
	a.nothing("the timeout has not passed")
	l.wait(time.Second)
	l.wantState(h.self.ID, offers.AgentUnreachable)
	updates := heard[*wire.Update](a.listener)
	if len(updates) != 2 {
		t.Fatalf("%d updates, want one for each task", len(updates))
	}
	for _, u := range updates {
		if u.Status.State != offers.Unreachable || u.Status.Reason != offers.ReasonAgentAway || u.Status.UpdateID == "" {
			t.Errorf("told %+v", u.Status)
		}
		a.acknowledge(u.Status.Task, u.Status.UpdateID)
	}
	l.wait(time.Minute)
	a.nothing("all is acknowledged")

	h.back(listed(a.ref("t1"), offers.Running), listed(a.ref("t2"), offers.Running))
	l.wantState(h.self.ID, offers.AgentActive)
	updates = heard[*wire.Update](a.listener)
	if len(updates) != 2 || updates[0].Status.State != offers.Running || updates[1].Status.State != offers.Running || updates[0].Status.UpdateID == "" {
		t.Fatalf("told %+v on its return, want running for both", updates)
	}
	l.wait(10 * time.Minute)
	l.wantState(h.self.ID, offers.AgentActive)
}

// A fault of the network that takes all agents away does not empty the
// cluster: three at once, one each 10 s from then on, eldest silence first.
func TestAgentsAreGivenUpSlowly(t *testing.T) {
	l := newScene(t)
	var hosts []*host
	for n := range 6 {
		hosts = append(hosts, l.host(fmt.Sprint("a", n), ""))
	}
	for n := range hosts {
		hosts[len(hosts)-1-n].leave() // the last one first
		l.wait(10 * time.Millisecond)
	}
	away := func() (n int) {
		for i := range hosts {
			if l.state.Agent(hosts[len(hosts)-1-i].self.ID).State == offers.AgentUnreachable {
				if n != i {
					t.Fatalf("agent %d is given up before one that was silent for longer", len(hosts)-1-i)
				}
				n++
			}
		}
		return n
	}
	l.wait(59 * time.Second)
	for _, want := range []struct {
		after time.Duration
		n     int
	}{{0, 0}, {time.Second, 3}, {9 * time.Second, 3}, {time.Second, 4}, {9 * time.Second, 4}, {time.Second, 5}, {10 * time.Second, 6}} {
		l.wait(want.after)
		if got := away(); got != want.n {
			t.Fatalf("%s after the fault %d agents are given up, want %d", l.now.Format("04:05"), got, want.n)
		}
	}
}

// A new leader waits as long for every agent that the one before had.
func TestNextLeaderMissesAgentsThatStayAway(t *testing.T) {
	l := newScene(t)
	h, there := l.host("a1", ""), l.host("a2", "")
	l.wait(time.Hour)
	l.succeed()
	there.back()
	l.wait(59 * time.Second)
	l.wantState(h.self.ID, offers.AgentActive)
	l.wait(time.Second)
	l.wantState(h.self.ID, offers.AgentUnreachable)
	l.wantState(there.self.ID, offers.AgentActive)
}

// What an agent has not delivered when it gets out of sight its master delivers.
func TestUnreachableAgentsEndsAreDelivered(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	a.leave()
	h.report(a.ref("t1"), offers.Failed, "u1")
	l.succeed()
	back := l.author(a.id)
	heard[wire.Message](back.listener)
	l.wait(time.Minute)
	l.wantState(h.self.ID, offers.AgentUnreachable)
	back.update(offers.Failed, "u1")
	back.acknowledge("t1", "u1")
	if !l.state.Task(a.ref("t1")).Acknowledged {
		t.Error("the end is not acknowledged")
	}
}

// The loss of an agent is committed, and told until it is acknowledged, over
// a change of leader too. Its id is refused from then on.
func TestLossOfAnAgentIsDelivered(t *testing.T) {
	for name, lose := range map[string]func(*scene, *host){
		"removed":      func(l *scene, h *host) { l.agentIs(h, offers.AgentGone) },
		"a new folder": func(l *scene, h *host) { l.host(h.self.Name, "") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newScene(t)
			h, a := l.host("a1", ""), l.author("")
			a.launch("t1")
			lose(l, h)
			l.wantState(h.self.ID, offers.AgentGone)
			for _, v := range l.Observe().Match.Agents {
				if v.ID == h.self.ID {
					t.Error("the agent's room is counted on")
				}
			}
			if got := only[*wire.ErrorMessage](h.listener).Code; got != offers.UnknownAgent {
				t.Errorf("the agent gets %s", got)
			}
			first := a.update(offers.Gone, "any")
			if first.Reason != offers.ReasonAgentLost || first.UpdateID == "" {
				t.Errorf("told %+v", first)
			}
			heard[wire.Message](a.listener)
			l.wait(time.Second)
			a.update(offers.Gone, first.UpdateID)
			l.succeed()
			a = l.author(a.id)
			a.update(offers.Gone, first.UpdateID)
			a.acknowledge("t1", first.UpdateID)
			l.wait(2 * time.Minute)
			a.nothing("all is acknowledged")
			if h.ended == "" {
				t.Error("the agent keeps its connection")
			}
			again := h.back()
			if got := only[*wire.ErrorMessage](again.listener).Code; got != offers.UnknownAgent {
				t.Errorf("when it comes back it gets %s", got)
			}
		})
	}
}

// One agent has one connection. What the one before says or becomes of it
// does not count any more.
func TestNewConnectionOfAnAgentTakesOver(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	again := h.back(listed(a.ref("t1"), offers.Running))
	if h.ended == "" {
		t.Error("the first connection stays")
	}
	heard[wire.Message](a.listener)
	h.report(a.ref("t1"), offers.Failed, "u1")
	a.nothing("an old connection speaks")
	h.leave()
	l.wait(10 * time.Minute)
	l.wantState(h.self.ID, offers.AgentActive)
	heard[wire.Message](again.listener)
	a.say(&wire.Kill{TaskID: "t1"})
	only[*wire.KillTask](again.listener)
}

// An agent learns which of its tasks the masters do not know, or know to be
// over and done with.
func TestAgentLearnsWhatToForget(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("lives", "ended", "over")
	h.report(a.ref("ended"), offers.Failed, "u1")
	h.report(a.ref("over"), offers.Failed, "u2")
	a.acknowledge("over", "u2")
	l.succeed()
	h = h.back(listed(a.ref("lives"), offers.Running), listed(a.ref("ended"), offers.Failed), listed(a.ref("over"), offers.Failed), listed(a.ref("stray"), offers.Running))
	if got := only[*wire.AgentRegistered](h.listener).Forget; len(got) != 2 || got[0] != a.ref("over") || got[1] != a.ref("stray") {
		t.Errorf("to be forgotten are %v", got)
	}
}

// An agent that is away is offered to nobody, nor one that comes back smaller
// for more than it has.
func TestWhatIsAwayIsNotOffered(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	o := a.wish()
	h.leave()
	if got := only[*wire.Rescind](a.listener).OfferIDs; len(got) != 1 || got[0] != o.ID {
		t.Errorf("rescinded are %v", got)
	}
	a.say(acceptance(o, "t1"))
	heard[wire.Message](a.listener)
	if l.state.Task(a.ref("t1")) != nil {
		t.Error("a rescinded offer launches a task")
	}
	h.self.Total.Amounts[offers.CPUs] = 500
	again := &host{listener: &listener{TB: t}, l: l, self: h.self}
	again.Agent = lead.NewAgent(again.listener)
	again.say(&wire.RegisterAgent{Agent: again.self})
	if got := heard[*wire.OffersMessage](a.listener); len(got) > 0 {
		t.Errorf("offered %+v of an agent of half a cpu", got[0].Offers)
	}
	if free := l.free(h.self.ID); free != 500 {
		t.Errorf("%d are free of 500", free)
	}
}

// An agent that is drained gets no more tasks, and those that it has are told
// to end; once they have it is drained, over a change of leader too.
func TestDrain(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	o := a.wish()
	heard[wire.Message](h.listener)
	l.agentIs(h, offers.AgentDraining)
	if got := only[*wire.KillTask](h.listener); got.Task != "t1" || got.Reason != "drain" {
		t.Errorf("killed is %+v", got)
	}
	told := a.got
	if got := heard[*wire.OffersMessage](a.listener); len(got) > 0 {
		t.Errorf("an agent that is drained is offered: %+v", got[0].Offers)
	}
	a.got = told
	if got := only[*wire.Rescind](a.listener).OfferIDs; len(got) != 1 || got[0] != o.ID {
		t.Errorf("taken back are %v", got)
	}
	a.say(acceptance(o, "t2"))
	if l.state.Task(a.ref("t2")) != nil {
		t.Error("an agent that is drained gets a task")
	}
	l.wait(time.Minute)
	l.wantState(h.self.ID, offers.AgentDraining)
	l.succeed()
	h = h.back(listed(a.ref("t1"), offers.Running))
	only[*wire.KillTask](h.listener)
	h.report(a.ref("t1"), offers.Killed, "u1")
	l.wait(time.Second)
	l.wantState(h.self.ID, offers.AgentDrained)
}

// A leader may end between a drain and its orders to the tasks, and an agent
// may be away when it is told to drain: its tasks are told all the same, later.
func TestDrainEndsWhatItFinds(t *testing.T) {
	drain := func(l *scene, h *host) []lead.Step {
		l.At(l.now)
		l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: h.self.ID, State: offers.AgentDraining, Time: l.now}}, nil)
		return l.propose()
	}
	for name, story := range map[string]func(*scene, *host){
		"the leader ends": func(l *scene, h *host) {
			l.agree(drain(l, h))
			l.succeed()
		},
		"the agent is away": func(l *scene, h *host) {
			l.agentIs(h, offers.AgentUnreachable)
			l.agree(drain(l, h))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newScene(t)
			h, a := l.host("a1", ""), l.author("")
			a.launch("t1")
			story(l, h)
			h = h.back(listed(a.ref("t1"), offers.Running))
			heard[wire.Message](h.listener)
			l.wait(time.Second)
			if got := only[*wire.KillTask](h.listener); got.Task != "t1" || got.Reason != "drain" {
				t.Errorf("killed is %+v", got)
			}
			h.report(a.ref("t1"), offers.Killed, "u1")
			l.wait(time.Second)
			l.wantState(h.self.ID, offers.AgentDrained)
		})
	}
}

// An agent whose connection ended while it registered is away, not there.
func TestAgentThatLeavesWhileItRegisters(t *testing.T) {
	l := newScene(t)
	h := l.host("a1", "")
	h.leave()
	late := &host{listener: &listener{TB: t}, l: l, self: h.self}
	late.Agent = lead.NewAgent(late.listener)
	late.hand(&wire.RegisterAgent{Agent: late.self})
	steps := l.propose()
	late.leave()
	l.agree(steps)
	l.commit()
	if l.Observe().AgentOnline[h.self.ID] {
		t.Error("an agent that is away is served")
	}
	l.wait(time.Minute)
	l.wantState(h.self.ID, offers.AgentUnreachable)
}

// TestAgentThatCantBeIsTold: what is wrong with a registration, and the next one on
// the connection counts.
func TestAgentThatCantBeIsTold(t *testing.T) {
	l := newScene(t)
	h := l.host("no\nname", "")
	if m := heard[*wire.ErrorMessage](h.listener); len(m) != 1 || m[0].Code != offers.BadMessage {
		t.Errorf("a name of two lines is answered with %v", m)
	}
	h.self.Name = "a1"
	h.say(&wire.RegisterAgent{Agent: h.self})
	only[*wire.AgentRegistered](h.listener)
}

// TestWhatAnAgentListsIsNotKept: with a million tasks it takes hundreds of
// megabytes, and is of no use once the registration is answered.
func TestWhatAnAgentListsIsNotKept(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	h.report(a.ref("t1"), offers.Running, "u1")
	h.leave()
	healthy := new(bool)
	kept := weak.Make(healthy)
	task := listed(a.ref("t1"), offers.Running)
	task.Healthy = healthy
	h = h.back(task)
	task.Healthy = nil
	runtime.GC()
	if kept.Value() != nil {
		t.Error("what it listed is still in memory")
	}
	h.say(&wire.RegisterAgent{Agent: h.self})
	if m := heard[*wire.ErrorMessage](h.listener); len(m) != 1 || m[0].Code != offers.BadMessage {
		t.Errorf("registering twice on one connection is answered with %v", m)
	}
	runtime.KeepAlive(l)
}

// TestMissingAreThoseOfTheLeaderBefore that have not come since and can be reached:
// neither who has been here and left, nor who was given up.
func TestMissingAreThoseOfTheLeaderBefore(t *testing.T) {
	l := newScene(t)
	come := func(self offers.Agent) *host {
		h := &host{listener: &listener{TB: t}, l: l, self: self}
		h.Agent = lead.NewAgent(h.listener)
		h.say(&wire.RegisterAgent{Agent: self})
		h.self.ID = only[*wire.AgentRegistered](h.listener).AgentID
		return h
	}
	var hosts []*host
	for n, address := range []string{"127.0.0.1:9003", "127.0.0.1:9001", "", "127.0.0.1:9002"} {
		hosts = append(hosts, come(offers.Agent{
			Name: fmt.Sprint("h", n), Host: "h", Address: address, Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 4000}},
		}))
	}
	missing := func() (out []string) {
		for _, a := range l.Missing() {
			out = append(out, a.Name)
		}
		return out
	}
	if got := missing(); got != nil {
		t.Errorf("under their first leader %q are missing", got)
	}
	l.succeed()
	if got, want := missing(), []string{"h0", "h1", "h3"}; !slices.Equal(got, want) {
		t.Errorf("a new leader misses %q; want %q", got, want)
	}
	back := come(hosts[1].self)
	l.wait(time.Second)
	back.leave()
	if got, want := missing(), []string{"h0", "h3"}; !slices.Equal(got, want) {
		t.Errorf("after one came and left %q are missing; want %q", got, want)
	}
	l.wait(2 * time.Minute)
	if got := missing(); got != nil {
		t.Errorf("%q were given up, and are missing", got)
	}
}
