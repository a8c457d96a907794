package lead_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// peer keeps what it is told.
type peer struct {
	got   []wire.Message
	ended string
}

func (p *peer) Send(m wire.Message, _ string) { p.got = append(p.got, m) }
func (p *peer) End(reason string)             { p.ended = reason }

// last returns the last message of a type.
func last[M wire.Message](t *testing.T, p *peer) M {
	t.Helper()
	for _, m := range slices.Backward(p.got) {
		if m, ok := m.(M); ok {
			return m
		}
	}
	t.Fatalf("none among %v", p.got)
	panic("unreachable")
}

// leader is a core with the state it commits to.
type leader struct {
	*lead.Core
	state *state.State
	now   time.Time
	term  uint64
}

func newLeader() *leader {
	s, _ := state.New().Apply([]state.Command{{Init: &state.Init{ClusterID: "c0de"}}})
	l := &leader{state: s, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	l.succeed()
	return l
}

// succeed makes another core lead, with nothing but the state.
func (l *leader) succeed() {
	l.term++
	l.Core = lead.New(lead.Config{
		Master: wire.MasterInfo{Term: l.term}, Match: match.Config{OfferTimeout: time.Minute},
		AgentTimeout: time.Minute, RemovalEvery: time.Second, RemovalBurst: 1,
	}, l.state, l.now)
}

// commit finishes turns until nothing is left to be made durable.
func (l *leader) commit() {
	for {
		steps := l.Finish().Steps
		if len(steps) == 0 {
			return
		}
		commands := make([]state.Command, len(steps))
		for i := range steps {
			commands[i] = steps[i].Command
		}
		var results []state.Result
		l.state, results = l.state.Apply(commands)
		l.Committed(steps, results, l.state)
	}
}

var demand = []json.RawMessage{[]byte(`{"id":"d","resources":{"cpus":1}}`)}

// settle brings in a framework that demands and an agent that has room.
func (l *leader) settle() (f *lead.Framework, fp *peer, a *lead.Agent, ap *peer) {
	fp, ap = &peer{}, &peer{}
	f, a = lead.NewFramework(fp, 0, func() {}), lead.NewAgent(ap)
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{Name: "f"}}, ""))
	total := offers.Inventory{Amounts: offers.Amounts{3000}}
	l.HandleAgent(a, &wire.RegisterAgent{Agent: offers.Agent{Name: "a", Total: total}}, "")
	l.commit()
	l.Handle(f, f.Prepare(&wire.DemandMessage{Demands: demand}, ""))
	l.commit()
	return f, fp, a, ap
}

// accept launches t1 in the last offer; nothing of it is committed.
func (l *leader) accept(t *testing.T, f *lead.Framework, fp *peer) {
	t.Helper()
	o := last[*wire.OffersMessage](t, fp).Offers
	task := []json.RawMessage{[]byte(`{"id":"t1","resources":{"cpus":1},"command":{"argv":["work"]}}`)}
	l.Handle(f, f.Prepare(&wire.Accept{OfferIDs: []offers.OfferID{o[0].ID}, Tasks: task}, ""))
}

// TestTaskLaunchedAgainIsNotTakenForItsPast reuses the id of a task that has
// ended: while the new launch is on its way to a majority, reconcile and kill
// are about the new task.
func TestTaskLaunchedAgainIsNotTakenForItsPast(t *testing.T) {
	l := newLeader()
	f, fp, a, ap := l.settle()
	l.accept(t, f, fp)
	l.commit()
	launched := last[*wire.Launch](t, ap).Tasks[0]
	l.HandleAgent(a, &wire.Statuses{Statuses: []wire.TaskStatus{{Framework: launched.Framework,
		Status: offers.Status{Task: "t1", State: offers.Failed, UpdateID: "u1"}}}}, "")
	l.commit()
	l.Handle(f, f.Prepare(&wire.Acknowledge{TaskID: "t1", UpdateID: "u1"}, ""))
	l.commit()

	l.accept(t, f, fp)
	l.Handle(f, f.Prepare(&wire.Reconcile{TaskIDs: []offers.TaskID{"t1"}}, ""))
	if got := last[*wire.Update](t, fp).Status.State; got != offers.Staging {
		t.Errorf("reconcile of the new task says %s, which its past was", got)
	}
	l.Handle(f, f.Prepare(&wire.Kill{TaskID: "t1"}, ""))
	l.commit()
	if last[*wire.KillTask](t, ap).Task != "t1" {
		t.Error("the kill of the new task is lost")
	}
}

// TestCloseEndsWhoIsNotRegisteredYet drops a leader whose last entry was never
// committed: a framework that waits for it must not wait for ever.
func TestCloseEndsWhoIsNotRegisteredYet(t *testing.T) {
	l, p, settled := newLeader(), &peer{}, 0
	f := lead.NewFramework(p, 0, func() { settled++ })
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{Name: "f"}}, ""))
	l.Finish()
	l.Close("over")
	if p.ended != "over" || settled != 1 {
		t.Errorf("ended %q, settled %d times", p.ended, settled)
	}
}

// TestOnlyACommitRefusesAnID asks a leader that may be of the past for an id
// that it does not know: without a majority it must not say so, since that
// ends the framework for good.
func TestOnlyACommitRefusesAnID(t *testing.T) {
	l, p := newLeader(), &peer{}
	f := lead.NewFramework(p, 0, func() {})
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{ID: "f00001-c0de", Name: "f"}}, ""))
	if len(p.got) != 0 {
		t.Fatalf("said %v before a commit", p.got[0])
	}
	l.commit()
	if got := last[*wire.ErrorMessage](t, p).Code; got != offers.UnknownFramework {
		t.Errorf("after the commit it says %s", got)
	}
}

// TestAgentOnAnOlderCheckpoint: a task that such an agent does not list may
// have run, so it ends and is not launched again; one that it lists goes on.
func TestAgentOnAnOlderCheckpoint(t *testing.T) {
	for _, c := range []struct {
		what                string
		have                string
		doubt, lists, older bool
		ends                bool
	}{
		{"the latest", "k2", false, false, false, false},
		{"a copy", "k1", false, false, true, true},
		{"a copy that knows the task", "k1", false, true, true, false},
		{"a doubt", "k2", true, false, false, true},
	} {
		l := newLeader()
		f, fp, _, ap := l.settle()
		id := last[*wire.AgentRegistered](t, ap).AgentID
		total := offers.Inventory{Amounts: offers.Amounts{1000}}
		before := lead.NewAgent(ap)
		l.HandleAgent(before, &wire.RegisterAgent{Agent: offers.Agent{ID: id, Name: "a", Total: total}, Have: "k1", Next: "k2"}, "")
		l.commit()
		l.accept(t, f, fp)
		l.commit()
		l.AgentEnded(before, l.now)
		launched := last[*wire.Launch](t, ap).Tasks[0]
		again := &peer{}
		m := &wire.RegisterAgent{Agent: offers.Agent{ID: id, Name: "a", Total: total, Started: l.now}, Have: c.have, Next: "k3", Doubt: c.doubt}
		if c.lists {
			m.Tasks = []wire.AgentTask{{TaskRef: offers.TaskRef{Framework: launched.Framework, Task: "t1"}, State: offers.Running}}
		}
		fp.got = nil
		l.HandleAgent(lead.NewAgent(again), m, "")
		l.commit()
		if r := last[*wire.AgentRegistered](t, again); r.Older != c.older {
			t.Errorf("%s: the agent hears %+v", c.what, r)
		}
		var ended *wire.Update
		for _, m := range fp.got {
			if u, ok := m.(*wire.Update); ok {
				ended = u
			}
		}
		if c.ends != (ended != nil) || c.ends && (ended.Status.State != offers.Gone || ended.Status.Reason != offers.ReasonAgentRestarted) {
			t.Errorf("%s: the framework hears %+v", c.what, ended)
		}
		launches := 0
		for _, m := range again.got {
			if _, ok := m.(*wire.Launch); ok {
				launches++
			}
		}
		if want := map[bool]int{true: 0, false: 1}[c.ends || c.lists]; launches != want {
			t.Errorf("%s: launched %d times", c.what, launches)
		}
	}
}

// TestOtherEnd: an agent that came back on an older copy tells another end of a
// task than the one that is durable. It forgets the task then, so a leader that
// did not see the first end delivers it.
func TestOtherEnd(t *testing.T) {
	l := newLeader()
	f, fp, a, ap := l.settle()
	l.accept(t, f, fp)
	l.commit()
	launched := last[*wire.Launch](t, ap).Tasks[0]
	end := func(a *lead.Agent, s offers.State, id offers.UpdateID) {
		l.HandleAgent(a, &wire.Statuses{Statuses: []wire.TaskStatus{{Framework: launched.Framework, Status: offers.Status{Task: "t1", State: s, UpdateID: id}}}}, "")
		l.commit()
	}
	end(a, offers.Finished, "u2")
	l.succeed()
	ap, fp = &peer{}, &peer{}
	a, f = lead.NewAgent(ap), lead.NewFramework(fp, 0, func() {})
	id := slices.Collect(l.state.Agents())[0].ID
	l.HandleAgent(a, &wire.RegisterAgent{Agent: offers.Agent{ID: id, Name: "a", Total: offers.Inventory{Amounts: offers.Amounts{1000}}, Started: l.now},
		Tasks: []wire.AgentTask{{TaskRef: offers.TaskRef{Framework: launched.Framework, Task: "t1"}, State: offers.Starting}}, Doubt: true}, "")
	l.Handle(f, f.Prepare(&wire.Register{Framework: wire.FrameworkInfo{ID: launched.Framework, Name: "f"}}, ""))
	l.commit()
	end(a, offers.Gone, "u3")
	if got := last[*wire.AcknowledgeStatus](t, ap).Acknowledged[0].UpdateID; got != "u3" {
		t.Errorf("the agent hears that %s is acknowledged", got)
	}
	if got := last[*wire.Update](t, fp).Status; got.State != offers.Finished || got.UpdateID != "u2" {
		t.Errorf("the framework hears %+v", got)
	}
}
