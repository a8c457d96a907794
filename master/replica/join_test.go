package replica

import (
	"context"
	"errors"
	"strings"
	"testing"

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
	eventually(t, "the new master is in, the old one out", func() bool {
		return leader.idAt(again.self.Raft) == again.self.ID && len(leader.Members()) == 3
	})
	apply(t, leader, setRole("eng", 7))
	weigh(t, "eng", 7, again)
}

func TestNameOfALivingMasterIsRefused(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	c := config(t, leader.self.Name)
	c.BootstrapExpect, c.Join = 0, []string{leader.self.Raft}
	twin := start(t, c)
	err := without(rs, leader)[0].AddVoter(context.Background(), twin.Self())
	if !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		t.Errorf("a follower adds a voter: %v", err)
	}
	for _, other := range without(rs, leader) {
		c := config(t, other.self.Name)
		c.BootstrapExpect, c.Join = 0, []string{nobody}
		err := leader.AddVoter(context.Background(), start(t, c).Self())
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
		if err := r.AddVoter(context.Background(), m); err == nil {
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
		{nil, "waiting for 2 more masters: 1 of 3 are here (m1)"},
		{[]info{m("m2")}, "waiting for 1 more masters: 2 of 3 are here (m1, m2)"},
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
