package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func TestThreeMastersSurviveTheLossOfTheirLeader(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	apply(t, leader, setRole("eng", 2), setRole("ops", 3))
	weigh(t, "ops", 3, rs...)
	for _, r := range rs {
		if r.State().ClusterID() != leader.State().ClusterID() {
			t.Errorf("%s is in the cluster %q", r.self.Name, r.State().ClusterID())
		}
	}
	if _, err := without(rs, leader)[0].Apply(0, []state.Command{setRole("x", 1)}).Wait(); !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		t.Errorf("a follower's apply: %v", err)
	}

	crash(leader)
	rest := without(rs, leader)
	next := leaderOf(t, rest...)
	eventually(t, "the others miss it", func() bool { return rest[0].Silent(leader.self.ID) && rest[1].Silent(leader.self.ID) })
	if next.State().ClusterID() == "" {
		t.Fatal("the new leader lost the cluster's id")
	}
	weigh(t, "eng", 2, next)
	apply(t, next, setRole("eng", 4))
	weigh(t, "eng", 4, rest...)

	// Back on another port: the others learn it.
	c := leader.config
	back := start(t, c)
	weigh(t, "eng", 4, back)
	eventually(t, "the new address is agreed on", func() bool { return next.idAt(back.self.Raft) == back.self.ID })
	eventually(t, "it is heard again", func() bool { return !next.Silent(back.self.ID) })
}

func TestClosingLeaderHandsOver(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	term := leader.Term()
	if err := leader.Close(); err != nil {
		t.Fatal(err)
	}
	next := leaderOf(t, without(rs, leader)...)
	if next.Term() != term+1 {
		t.Errorf("term %d after %d: that was an election, not a hand-over", next.Term(), term)
	}
}

func TestLeadershipIsAnnouncedWhenItIsOfUse(t *testing.T) {
	r := start(t, config(t, "m1"))
	if !<-r.LeadershipChanges() {
		t.Fatal("the first news is no leadership")
	}
	if r.State().ClusterID() == "" || r.Term() == 0 {
		t.Errorf("announced with cluster %q, term %d", r.State().ClusterID(), r.Term())
	}
	if l, ok := r.Leader(); !ok || l != r.Self() {
		t.Errorf("leader %+v, %v; want %+v", l, ok, r.Self())
	}
}

func TestBatchOfAnOlderTermChangesNothing(t *testing.T) {
	r := start(t, config(t, "m1"))
	<-r.LeadershipChanges()
	_, err := r.Apply(r.Term()+1, []state.Command{setRole("eng", 2)}).Wait()
	if !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		t.Errorf("fenced apply: %v", err)
	}
	if _, ok := r.State().Role("eng"); ok {
		t.Error("the fenced batch changed the state")
	}
	f := r.Apply(r.Term(), []state.Command{setRole("eng", 2)})
	if _, err := f.Wait(); err != nil || f.Index() == 0 {
		t.Errorf("apply in this term: %v at %d", err, f.Index())
	}
}

func TestApplyIsBounded(t *testing.T) {
	r := start(t, config(t, "m1"))
	<-r.LeadershipChanges()
	var waiting []*Future
	for range maxInFlight {
		waiting = append(waiting, r.Apply(0, []state.Command{setRole("eng", 2)}))
	}
	if _, err := r.Apply(0, []state.Command{setRole("eng", 3)}).Wait(); !errors.Is(err, &offers.Error{Code: offers.Unavailable}) {
		t.Errorf("the batch over the bound: %v", err)
	}
	for _, f := range waiting {
		if _, err := f.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, r, setRole("eng", 4))
}

func TestSingleMasterRestartsOnAnotherPort(t *testing.T) {
	c := config(t, "m1")
	r := start(t, c)
	<-r.LeadershipChanges()
	apply(t, r, setRole("eng", 2))
	cluster := r.State().ClusterID()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, c)
	<-again.LeadershipChanges()
	weigh(t, "eng", 2, again)
	if again.State().ClusterID() != cluster {
		t.Errorf("cluster %s became %s", cluster, again.State().ClusterID())
	}
	if m := again.Members(); len(m) != 1 || m[0] != again.Self() {
		t.Errorf("members %+v", m)
	}
	if again.idAt(again.self.Raft) == "" {
		t.Error("the configuration keeps the old address")
	}
}

func TestLaggingFollowerCatchesUpFromASnapshot(t *testing.T) {
	rs := three(t, nil)
	lagging := without(rs, leaderOf(t, rs...))[0]
	crash(lagging)
	rest := without(rs, lagging)
	for _, r := range rest {
		r.store.keeps.entries = 1
	}
	for i := range 50 {
		agree(t, rest, setRole(fmt.Sprintf("role%02d", i), float64(i+1)))
	}
	weigh(t, "role49", 50, rest...)
	for _, r := range rest { // each, for any of them may lead when the third is back
		if err := r.Snapshot(); err != nil {
			t.Fatal(err)
		}
		if first, err := r.store.FirstIndex(); err != nil || first < 40 {
			t.Fatalf("the log still begins at %d (%v): the snapshot would not be needed", first, err)
		}
	}
	back := start(t, lagging.config)
	weigh(t, "role00", 1, back)
	weigh(t, "role49", 50, back)
}

func TestRestartFromSnapshotAndLog(t *testing.T) {
	c := config(t, "m1")
	r := start(t, c)
	<-r.LeadershipChanges()
	apply(t, r, setRole("old", 2))
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	many := make([]state.Command, 1000) // so that it takes a moment to have it all again
	for i := range many {
		many[i] = setRole(fmt.Sprintf("role%03d", i), 2)
	}
	for range 40 {
		apply(t, r, many...)
	}
	apply(t, r, setRole("new", 3))
	crash(r)
	c.Listen = r.self.Raft // with another address it would first have that agreed on
	again := start(t, c)
	<-again.LeadershipChanges()
	for role, weight := range map[offers.Role]float64{"old": 2, "new": 3} { // all of it is there from the first moment
		if s, ok := again.State().Role(role); !ok || s.Weight != weight {
			t.Errorf("begins to lead with the role %s as %+v", role, s)
		}
	}
}

// Whether a master leads is for a majority to say, not for itself.
func TestLeadershipIsConfirmedByTheMajority(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	others := without(rs, leader)
	if err := others[0].VerifyLeader(); !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		t.Errorf("a follower leads: %v", err)
	}
	crash(others[0])
	if err := leader.VerifyLeader(); err != nil {
		t.Errorf("with one of two followers: %v", err)
	}
	old := make(chan struct{})
	go func() { // answers come that were under way for long
		for {
			select {
			case old <- struct{}{}:
				return
			default:
				leader.transport.late.Add(1)
			}
		}
	}()
	eventually(t, "old answers don't confirm it", func() bool {
		return errors.Is(leader.VerifyLeader(), &offers.Error{Code: offers.Unavailable})
	})
	<-old
	if err := leader.VerifyLeader(); err != nil {
		t.Errorf("after them: %v", err)
	}
	crash(others[1])
	// Raft counts an answer that was under way to what it asked before.
	eventually(t, "it knows that it has no majority", func() bool { return leader.VerifyLeader() != nil })
}

// The lock is the folder's own: whoever comes second is told at once, however
// far the first has come.
func TestDataFolderIsLocked(t *testing.T) {
	dir := t.TempDir()
	first, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := lockFolder(dir); err == nil || !strings.Contains(err.Error(), "another master or agent uses") {
		t.Errorf("a second master on the folder: %v", err)
		_ = second.Close()
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockFolder(dir)
	if err != nil {
		t.Fatalf("after the first has gone: %v", err)
	}
	_ = again.Close()
}

// What stands above the folder is for others, too: an agent's folder beside it
// has sandboxes that tasks of other users have to get to.
func TestOnlyTheDataFolderIsClosed(t *testing.T) {
	above := filepath.Join(t.TempDir(), "rm")
	lock, err := lockFolder(filepath.Join(above, "m1"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for path, want := range map[string]os.FileMode{above: 0o711, filepath.Join(above, "m1"): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm() & 0o711; got != want {
			t.Errorf("%s is %o, want %o", path, got, want)
		}
	}
}

func TestDataFolderIsGuarded(t *testing.T) {
	c := config(t, "m1")
	r := start(t, c)
	if _, err := Open(c); err == nil || !strings.Contains(err.Error(), "another master or agent uses") {
		t.Errorf("a second master on the folder: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c.Name = "m2"
	if _, err := Open(c); err == nil || !strings.Contains(err.Error(), "belongs to the master m1") {
		t.Errorf("another name: %v", err)
	}
	c.Name = "m1"
	if err := writeDurably(filepath.Join(c.DataDir, "identity.json"), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(c); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("a damaged identity: %v", err)
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	for what, tc := range map[string]struct {
		change func(*Config)
		says   string
	}{
		"name":         {func(c *Config) { c.Name = "a b" }, "name"},
		"folder":       {func(c *Config) { c.DataDir = "" }, "data_dir"},
		"even":         {func(c *Config) { c.BootstrapExpect = 2 }, "bootstrap_expect is 2"},
		"alone":        {func(c *Config) { c.BootstrapExpect = 3 }, "join is missing"},
		"join":         {func(c *Config) { c.Join = []string{"host"} }, "join"},
		"open to all":  {func(c *Config) { c.Listen = "0.0.0.0:0" }, "--insecure"},
		"unreachable":  {func(c *Config) { c.Advertise = "0.0.0.0:7" }, "advertise"},
		"not a listen": {func(c *Config) { c.Listen = "127.0.0.1:99999" }, "raft"},
	} {
		c := config(t, "m1")
		tc.change(&c)
		if r, err := Open(c); err == nil {
			_ = r.Close()
			t.Errorf("%s: opened", what)
		} else if !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v; want %q in it", what, err, tc.says)
		}
	}
}

// Raft itself would leave what is queued when it stops without an answer.
func TestCloseAnswersEverybody(t *testing.T) {
	for range 10 {
		r := start(t, config(t, "m1"))
		<-r.LeadershipChanges()
		var asking sync.WaitGroup
		for range maxInFlight - 1 { // one more, below, is taken too
			asking.Go(func() {
				for r.VerifyLeader() == nil && r.Barrier() == nil {
				}
			})
			asking.Go(func() {
				for {
					if _, err := r.Apply(0, []state.Command{setRole("eng", 2)}).Wait(); err != nil {
						return
					}
				}
			})
		}
		unasked := r.Apply(0, []state.Command{setRole("ops", 2)})
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		asking.Wait()
		if _, err := unasked.Wait(); err != nil {
			t.Errorf("a batch from before the end: %v", err)
		}
		if err := r.VerifyLeader(); !errors.Is(err, &offers.Error{Code: offers.Unavailable}) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestLongLogIsShortened: what a restart would have to read again is bounded by
// commands, however few entries they came in.
func TestLongLogIsShortened(t *testing.T) {
	c := config(t, "m1")
	r := start(t, c)
	<-r.LeadershipChanges()
	batch := make([]state.Command, 8192)
	for i := range batch {
		batch[i] = setRole("eng", float64(1+i))
	}
	for range leastReplay/len(batch) + 1 {
		apply(t, r, batch...)
	}
	eventually(t, "there is a snapshot", func() bool {
		kept, err := filepath.Glob(filepath.Join(c.DataDir, "snapshots", "*", "state.bin"))
		return err == nil && len(kept) > 0
	})
	eventually(t, "the count begins anew", func() bool { return r.fsm.since.Load() == 0 })
}

// TestLargeLogIsShortened: what the log takes on the disk, and of the memory where
// the file is mapped, is bounded by bytes too, however few the commands are.
func TestLargeLogIsShortened(t *testing.T) {
	c := config(t, "m1")
	r := start(t, c)
	<-r.LeadershipChanges()
	r.store.keeps.bytes = 8 << 20
	put := state.Command{Put: &state.Put{Framework: "nobody", Key: "k", Value: make([]byte, 4<<20)}} // refused, and logged all the same
	for range leastLog / len(put.Put.Value) {
		if _, err := r.Apply(0, []state.Command{put}).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the count begins anew", func() bool { return r.fsm.bytes.Load() == 0 })
	eventually(t, "no more of the log stays than may", func() bool {
		n, err := r.store.newest(trail{entries: trailingLogs, bytes: leastLog})
		return err == nil && n <= 2
	})
	if n := r.fsm.saved.Load(); n <= 0 || n > 1<<20 {
		t.Errorf("the snapshot has %d bytes", n)
	}
}

// TestLargeStatesAreSavedLessOften: reading a log that is half as long as the state
// is no longer what a restart takes most of its time for.
func TestLargeStatesAreSavedLessOften(t *testing.T) {
	f := newFSM(nil, nil)
	f.saved.Store(4 * leastLog)
	f.bytes.Store(2*leastLog - 1)
	if f.isLong(state.New()) {
		t.Error("a snapshot is due though the last one was four times as large as the log")
	}
	f.bytes.Store(2 * leastLog)
	if !f.isLong(state.New()) {
		t.Error("no snapshot is due though the log is half as large as the last one")
	}
}

// TestLogIsShortenedOnce: what is said again until a snapshot has begun asks for
// no second one, which would take as long and save nothing.
func TestLogIsShortenedOnce(t *testing.T) {
	c := config(t, "m1")
	r := start(t, c)
	<-r.LeadershipChanges()
	apply(t, r, setRole("eng", 2))
	for range 3 { // the third is taken once the first was dealt with
		r.fsm.long <- struct{}{}
	}
	if kept, err := filepath.Glob(filepath.Join(c.DataDir, "snapshots", "*")); err != nil || len(kept) > 0 {
		t.Errorf("%v, and there are snapshots of a short log: %v", err, kept)
	}
}
