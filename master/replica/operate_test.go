package replica

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/state"
)

// load writes role after role through whoever leads, until it is stopped.
type load struct {
	testing.TB
	mu      sync.Mutex
	masters []*Replica
	acked   []string // roles that a majority has
	more    chan struct{}
	end     context.CancelFunc
	done    sync.WaitGroup
}

func newLoad(t testing.TB, rs ...*Replica) *load {
	ctx, end := context.WithCancel(context.Background())
	l := &load{TB: t, masters: rs, end: end, more: make(chan struct{}, 1)}
	l.done.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			l.write(fmt.Sprintf("r%d", i))
		}
	})
	t.Cleanup(l.stop)
	return l
}

func (l *load) write(role string) {
	l.mu.Lock()
	masters := slices.Clone(l.masters)
	l.mu.Unlock()
	for _, r := range masters {
		if !r.IsLeader() {
			continue
		}
		if results, err := r.Apply(0, []state.Command{setRole(role, 2)}).Wait(); err == nil && results[0].Err == nil {
			l.mu.Lock()
			l.acked = append(l.acked, role)
			l.mu.Unlock()
			select {
			case l.more <- struct{}{}:
			default:
			}
		}
	}
}

// goesOn waits for writes that began after the call.
func (l *load) goesOn() {
	l.Helper()
	for range 3 { // the first may be an old one
		<-l.more
	}
}

func (l *load) on(rs ...*Replica) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.masters = rs
}

func (l *load) stop() {
	l.end()
	l.done.Wait()
}

func TestMastersComeAndGoUnderLoad(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	l := newLoad(t, rs...)
	l.goesOn()

	// Leadership goes where it is told, and then where Raft likes.
	to := without(rs, leader)[0]
	if err := leader.TransferLeadershipTo(t.Context(), to.self.Name); err != nil {
		t.Fatal(err)
	}
	if leader = leaderOf(t, rs...); leader != to {
		t.Fatalf("%s leads, not %s", leader.self.Name, to.self.Name)
	}
	l.goesOn()
	if err := leader.TransferLeadership(); err != nil {
		t.Fatal(err)
	}
	leader = leaderOf(t, rs...)
	l.goesOn()

	// A fourth joins, a follower leaves.
	c := config(t, "m4")
	c.BootstrapExpect, c.Join = 0, []string{leader.self.Raft}
	fourth := start(t, c)
	eventually(t, "the fourth is in", func() bool { return leader.idAt(fourth.self.Raft) == fourth.self.ID })
	gone := without(rs, leader)[0]
	if err := leader.Remove(t.Context(), gone.self.Name); err != nil {
		t.Fatal(err)
	}
	crash(gone)
	rs = append(without(rs, gone), fourth)
	l.on(rs...)
	l.goesOn()

	// A follower dies, is removed, and another takes its place.
	dead := without(rs, leader)[0]
	crash(dead)
	l.goesOn()
	if err := leader.Remove(t.Context(), dead.self.Name); err != nil {
		t.Fatal(err)
	}
	c = config(t, "m5")
	c.BootstrapExpect, c.Join = 0, []string{leader.self.Raft}
	fifth := start(t, c)
	eventually(t, "the fifth is in", func() bool { return leader.idAt(fifth.self.Raft) == fifth.self.ID })
	rs = append(without(rs, dead), fifth)
	l.on(rs...)
	l.goesOn()
	l.stop()

	if n := len(leader.Members()); n != 3 {
		t.Errorf("%d masters at the end: %v", n, leader.Members())
	}
	for _, r := range rs {
		for _, role := range l.acked {
			weigh(t, role, 2, r)
		}
	}
}

func TestMastersAreNotMovedIntoALoss(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	dead, alive := without(rs, leader)[0], without(rs, leader)[1]
	crash(dead)
	for what, err := range map[string]error{
		"which is no majority":     leader.Remove(t.Context(), alive.self.Name),
		"leads: transfer":          leader.Remove(t.Context(), leader.self.Name),
		"no master is called":      leader.Remove(t.Context(), "m9"),
		"can't be reached at":      leader.TransferLeadershipTo(t.Context(), dead.self.Name),
		"leads already":            leader.TransferLeadershipTo(t.Context(), leader.self.Name),
		`no master is called "m8"`: leader.TransferLeadershipTo(t.Context(), "m8"),
		"this master does not":     alive.Remove(t.Context(), dead.self.Name),
		"does not lead":            alive.TransferLeadership(),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v; want %q", err, what)
		}
	}
	if got := leader.Answering(t.Context()); len(got) != 2 || !got[alive.self.ID] || !got[leader.self.ID] {
		t.Errorf("%v answer", got)
	}
	apply(t, leader, setRole("eng", 2))
	if err := leader.Remove(t.Context(), dead.self.Name); err != nil {
		t.Fatal(err)
	}
	apply(t, leader, setRole("eng", 3))
	weigh(t, "eng", 3, alive)

	alone := start(t, config(t, "m1"))
	<-alone.LeadershipChanges()
	if err := alone.TransferLeadership(); err == nil || !strings.Contains(err.Error(), "no other master") {
		t.Errorf("a single master transfers: %v", err)
	}
}
