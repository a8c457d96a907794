package replica

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func TestReplacedMasterJoinsUnderItsOldName(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	lost := without(rs, leader)[0]
	crash(lost)
	c := lost.config
	c.DataDir = t.TempDir() // its disk is gone
	c.Join = []string{leader.self.Raft}
	again := start(t, c)
	eventually(t, "the new master is in", func() bool { return leader.idAt(again.self.Raft) == again.self.ID })
	if n := len(leader.Members()); n != 3 { // the old one went before
		t.Errorf("%d members", n)
	}
	apply(t, leader, setRole("eng", 7))
	weigh(t, "eng", 7, again)
}

func TestNameOfALivingMasterIsRefused(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	c := config(t, leader.self.Name)
	c.BootstrapExpect, c.Join = 0, []string{leader.self.Raft}
	twin := start(t, c)
	err := without(rs, leader)[0].Join(context.Background(), twin.Self(), 0)
	if !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		t.Errorf("a follower adds a voter: %v", err)
	}
	for _, other := range without(rs, leader) {
		c := config(t, other.self.Name)
		c.BootstrapExpect, c.Join = 0, []string{nobody}
		err := leader.Join(context.Background(), start(t, c).Self(), 0)
		if !errors.Is(err, &offers.Error{Code: offers.Forbidden}) || !strings.Contains(err.Error(), "is taken by the master at") {
			t.Errorf("a second %s: %v", other.self.Name, err)
		}
	}
	if got := twin.joinThrough(twin.survey()); !strings.Contains(got, "is taken by the master at") {
		t.Errorf("the twin is told %q", got)
	}
	if n := len(leader.Members()); n != 3 {
		t.Errorf("%d members", n)
	}
}

func TestFourthMasterJoinsAndLeaves(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	apply(t, leader, setRole("eng", 2))
	c := config(t, "m4")
	c.BootstrapExpect, c.Join = 3, []string{without(rs, leader)[0].self.Raft}
	fourth := start(t, c)
	weigh(t, "eng", 2, fourth)
	eventually(t, "the follower redirects to the leader's HTTP address", func() bool {
		l, ok := fourth.Leader()
		return ok && l == leader.Self()
	})
	if err := leader.Remove(t.Context(), "m4"); err != nil {
		t.Fatal(err)
	}
	if n := len(leader.Members()); n != 3 {
		t.Errorf("%d members after one left", n)
	}
	if err := leader.Remove(t.Context(), "m9"); err == nil {
		t.Error("removed a master that is not there")
	}
}

func TestUnreachableMasterIsNotAdded(t *testing.T) {
	r := start(t, config(t, "m1"))
	<-r.LeadershipChanges()
	for what, m := range map[string]Member{
		"nobody there": {ID: "m2@1", Name: "m2", Raft: nobody},
		"another":      {ID: "m2@1", Name: "m2", Raft: r.self.Raft},
		"bad id":       {ID: "m2", Name: "m2", Raft: nobody},
		"bad address":  {ID: "m2@1", Name: "m2", Raft: "m2"},
	} {
		if err := r.Join(context.Background(), m, 0); err == nil {
			t.Errorf("%s: added", what)
		}
	}
}

// A step is judged by what it says, without any other master running.
func TestSeekerSaysWhatItWaitsFor(t *testing.T) {
	c := config(t, "m1")
	c.BootstrapExpect, c.Join = 3, []string{nobody}
	r := start(t, c)
	m := func(name string) info {
		return info{Member: Member{ID: name + "@1", Name: name, Raft: "10.0.0.1:1"}}
	}
	for _, tc := range []struct {
		found []info
		says  string
	}{
		{nil, "waiting for more masters: 1 of 3 are here (m1)"},
		{[]info{m("m2")}, "waiting for more masters: 2 of 3 are here (m1, m2)"},
		{[]info{m("m1")}, "two masters are called m1"},
		{[]info{m("m2"), m("m3"), m("m4")}, "4 new masters are here (m1, m2, m3, m4), but bootstrap_expect is 3"},
		{[]info{m("m2"), m("m3")}, ""}, // they don't see the same yet
		{[]info{m("m2"), {Member: m("m3").Member, HasState: true}}, "waiting for the other masters to elect a leader"},
	} {
		if got := r.step(tc.found); !strings.HasPrefix(got, tc.says) || (tc.says == "" && got != "") {
			t.Errorf("found %d: %q; want %q", len(tc.found), got, tc.says)
		}
		if r.belongs() {
			t.Fatal("founded a cluster")
		}
	}
}

func TestSeekerBootstrapsOnAgreement(t *testing.T) {
	c := config(t, "m1")
	c.BootstrapExpect, c.Join = 3, []string{nobody}
	r := start(t, c)
	all := []Member{r.self, {ID: "m2@1", Name: "m2", Raft: "127.0.0.1:2"}, {ID: "m3@1", Name: "m3", Raft: "127.0.0.1:3"}}
	found := []info{{Member: all[1], Sees: all}, {Member: all[2], Sees: all[:2]}}
	if r.step(found); r.belongs() {
		t.Fatal("founded while one master saw less")
	}
	found[1].Sees = all
	if said := r.step(found); said != "" || !r.belongs() || len(r.Members()) != 3 {
		t.Errorf("said %q, members %v", said, r.Members())
	}
}

// A master that joins has no vote before it has what the others agreed on: it
// takes part in no majority that it could hold up.
func TestJoiningMasterListensFirst(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	for leader.raft.AppliedIndex() < 2*nearly {
		if _, err := leader.Apply(0, []state.Command{setRole("eng", 2)}).Wait(); err != nil {
			leader = leaderOf(t, rs...) // on a machine that is busy another may be elected
		}
	}
	c := config(t, "m4")
	c.BootstrapExpect, c.Join = 0, []string{nobody} // it asks by hand
	fourth := start(t, c)
	standing := func() raft.ServerSuffrage {
		if s := leader.server(fourth.self.ID); s != nil {
			return s.Suffrage
		}
		return -1
	}
	for _, applied := range []uint64{0, 0, 1, leader.raft.AppliedIndex() - nearly - 1} {
		if err := leader.Join(t.Context(), fourth.Self(), applied); err != nil {
			t.Fatal(err)
		}
		if standing() != raft.Nonvoter {
			t.Fatalf("it stands as %v when it has %d of %d entries", standing(), applied, leader.raft.AppliedIndex())
		}
	}
	if err := leader.TransferLeadershipTo(t.Context(), "m4"); err == nil || !strings.Contains(err.Error(), "has no vote") {
		t.Errorf("the leadership goes to a master without a vote: %v", err)
	}
	i := slices.IndexFunc(leader.Members(), func(m Member) bool { return m.Joining })
	if i < 0 || leader.Members()[i].ID != fourth.self.ID {
		t.Errorf("who is joining? %v", leader.Members())
	}
	weigh(t, "eng", 2, fourth)
	eventually(t, "it has everything", func() bool { return fourth.raft.AppliedIndex() >= leader.raft.AppliedIndex() })
	if err := leader.Join(t.Context(), fourth.Self(), fourth.raft.AppliedIndex()); err != nil || standing() != raft.Voter {
		t.Errorf("it has everything and stands as %v: %v", standing(), err)
	}
}

// A removed master that was not told joins again when it is started again.
func TestRemovedMasterJoinsAgainWhenStarted(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	away := without(rs, leader)[0]
	crash(away)
	if err := leader.Remove(t.Context(), away.self.Name); err != nil {
		t.Fatal(err)
	}
	if n := len(leader.Members()); n != 2 {
		t.Fatalf("%d members after one was removed", n)
	}
	c := away.config
	c.Listen = away.self.Raft
	again := start(t, c)
	eventually(t, "it votes again", func() bool {
		s := leader.server(again.self.ID)
		return s != nil && s.Suffrage == raft.Voter
	})
	apply(t, leader, setRole("eng", 5))
	weigh(t, "eng", 5, again)
}
