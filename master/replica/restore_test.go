package replica

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func saved(t testing.TB, s *state.State) *state.State {
	t.Helper()
	var out bytes.Buffer
	if _, err := s.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	back, err := state.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// same waits until every master holds the very same state as the first.
func same(t testing.TB, rs ...*Replica) {
	t.Helper()
	dump := func(r *Replica) string {
		var out bytes.Buffer
		if _, err := r.State().WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, r := range rs[1:] {
		eventually(t, r.self.Name+" holds what "+rs[0].self.Name+" holds", func() bool { return dump(r) == dump(rs[0]) })
	}
}

func TestRestoreReachesAllMasters(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	apply(t, leader, setRole("kept", 2))
	snapshot := saved(t, leader.State())
	apply(t, leader, setRole("late", 3), state.Command{RegisterFramework: &state.RegisterFramework{Name: "f", Role: "late", Time: time.Now()}})

	other := without(rs, leader)[0]
	if err := other.Restore(other.Term(), snapshot); !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		t.Errorf("a follower restores: %v", err)
	}
	term := leader.Term()
	if err := leader.Restore(term-1, snapshot); !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		t.Errorf("a leader of the past restores: %v", err)
	}
	if err := leader.Restore(term, snapshot); err != nil {
		t.Fatal(err)
	}
	same(t, append([]*Replica{leader}, without(rs, leader)...)...)
	weigh(t, "kept", 2, rs...)
	if _, late := leader.State().Role("late"); late || leader.Term() <= term {
		t.Errorf("role late %v, term %d after %d", late, leader.Term(), term)
	}
	if _, err := leader.Apply(term, []state.Command{setRole("old", 1)}).Wait(); !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		t.Errorf("what was based on the state before: %v", err)
	}
	results, err := leader.Apply(leader.Term(), []state.Command{{RegisterFramework: &state.RegisterFramework{Name: "g", Role: "r", Time: time.Now()}}}).Wait()
	if err != nil || !strings.HasPrefix(string(results[0].Value.(*state.Framework).ID), "f00002-") {
		t.Errorf("the next framework: %v, %v", results, err)
	}

	// One that was away, one that restarts from its log, one that is new.
	crash(other)
	back := start(t, other.config)
	c := config(t, "m4")
	c.BootstrapExpect, c.Join = 0, []string{leader.self.Raft}
	same(t, leader, back, start(t, c))
}

// A new cluster takes the place of one that is lost, its id and all.
func TestRestoreOnAFreshCluster(t *testing.T) {
	lost := start(t, config(t, "m1"))
	<-lost.LeadershipChanges()
	apply(t, lost, setRole("kept", 2))
	snapshot := saved(t, lost.State())
	crash(lost)
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	if err := leader.Restore(leader.Term(), snapshot); err != nil {
		t.Fatal(err)
	}
	weigh(t, "kept", 2, rs...)
	if got := leader.State().ClusterID(); got != snapshot.ClusterID() || leader.Term() <= lost.State().Terms()+100 {
		t.Errorf("cluster %s, want %s; term %d", got, snapshot.ClusterID(), leader.Term())
	}
	crash(leader)
	next := leaderOf(t, without(rs, leader)...)
	if next.Term() <= leader.State().Terms() {
		t.Errorf("term %d of the next leader", next.Term())
	}
	apply(t, next, setRole("later", 2))
}

func TestRestoreThatIsTooLargeIsRefused(t *testing.T) {
	w := &limited{&bytes.Buffer{}, 3}
	if _, err := w.Write([]byte("abc")); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("d")); !errors.Is(err, &offers.Error{Code: offers.TooLarge}) {
		t.Error(err)
	}
}
