package state

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestReplacingKeepsApartWhatMustNotComeTwice(t *testing.T) {
	l := newLab(t)
	f, gone, a := l.framework("f"), l.framework("gone"), l.agent("a")
	soon := l.framework("soon")
	l.do(launch(f, "lives", a.ID))
	l.do(launch(f, "ended", a.ID))
	l.do(end(f, "ended", offers.Finished))
	l.do(Command{DisconnectFramework: &DisconnectFramework{ID: gone, Deadline: l.now.Add(time.Minute)}})
	l.do(Command{DisconnectFramework: &DisconnectFramework{ID: soon, Deadline: l.now.Add(24 * time.Hour)}})
	old := l.s
	l.framework("later")
	l.agent("b")
	now := l.now.Add(time.Hour)

	next := old.Replacing(l.s, 7, now)
	if err := next.check(); err != nil {
		t.Fatal(err)
	}
	clock := uint64(now.UnixMilli())
	if next.Terms()+7 != clock || next.Applied() != l.s.Applied() {
		t.Errorf("term %d, %d commands", next.Terms()+7, next.Applied())
	}
	if again := old.Replacing(next, 9, now); again.Terms()+9 != next.Terms()+9+1 {
		t.Errorf("term %d after %d in the same moment", again.Terms()+9, next.Terms()+9)
	}
	if again := next.Replacing(New(), 2, start); again.Terms() <= next.Terms() {
		t.Error("a clock that is behind takes the terms back")
	}
	lives, ended := next.Task(offers.TaskRef{Framework: f, Task: "lives"}), next.Task(offers.TaskRef{Framework: f, Task: "ended"})
	if !lives.Restored || ended.Restored || old.Task(lives.Ref()).Restored {
		t.Error("exactly the living tasks are marked, and only in the new state")
	}
	for on := range next.LiveTasksOn(a.ID) {
		if on != lives {
			t.Error("the agent's task is another record")
		}
	}
	if got, want := next.Framework(gone).Deadline, now.Add(next.Framework(gone).FailoverTimeout); !got.Equal(want) {
		t.Errorf("the deadline that passed is %s, want %s", got, want)
	}
	if got := next.Framework(soon).Deadline; !got.Equal(old.Framework(soon).Deadline) || !next.Framework(f).Deadline.IsZero() {
		t.Errorf("a deadline that has not passed moved to %s", got)
	}
	// Ids that were given since are not given again.
	next, results := next.Apply([]Command{{RegisterFramework: &RegisterFramework{Name: "new", Role: "r", Time: now}}})
	if got := results[0].Value.(*Framework).ID; got != "f00005-c0de" || !next.Forgotten("f00004-c0de") {
		t.Errorf("the next framework is %s", got)
	}
	other, _ := New().Apply([]Command{{Init: &Init{"beef5eed-0000"}}})
	foreign := old.Replacing(other, 2, now)
	foreign, results = foreign.Apply([]Command{{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "new"}, Time: now}}})
	if got := results[0].Value.(*Agent).ID; string(got) != fmt.Sprintf("ax%020d-c0de", clock+1) || foreign.ClusterID() != cluster || !foreign.ForgottenAgent("a00007-c0de") {
		t.Errorf("the next agent of the new masters is %s", got)
	}
	// The marks survive a snapshot; a new launch of the id has none.
	back, err := Read(bytes.NewReader(snapshot(t, next)))
	if err != nil || back.Terms() != next.Terms() || !back.Task(lives.Ref()).Restored {
		t.Errorf("read back: %v", err)
	}
	for _, c := range []Command{end(f, "lives", offers.Gone), acknowledge(f, "lives"), launch(f, "lives", a.ID)} {
		if next, results = next.Apply([]Command{c}); results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
	}
	if next.Task(lives.Ref()).Restored {
		t.Error("a task launched after the restore is marked")
	}
}

// TestReplacingRaisesVersions: a version that was given after the snapshot was
// saved is not given again.
func TestReplacingRaisesVersions(t *testing.T) {
	l := newLab(t)
	f, silent, back := l.framework("f"), l.framework("silent"), l.framework("back")
	put := func(id offers.FrameworkID, key string) Command {
		return Command{Put: &Put{Framework: id, Key: key, Value: []byte("v")}}
	}
	l.do(put(f, "k"))
	l.do(put(back, "k"))
	old := l.s
	for range 4 {
		l.do(put(f, "k"))
	}
	l.do(put(f, "new"))
	l.do(Command{RemoveFramework: &RemoveFramework{ID: back}})
	now := l.now.Add(time.Hour)
	clock := uint64(now.UnixMilli())

	write := func(s *State, c Command) uint64 {
		t.Helper()
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		_, results := s.Apply([]Command{c})
		return results[0].Value.(uint64)
	}
	same := old.Replacing(l.s, 7, now)
	equal(t, "read", same.Entry(f, "k").Version, 1)
	equal(t, "the same cluster", write(same, put(f, "k")), 6)
	equal(t, "a key that the snapshot does not have", write(same, put(f, "new")), 6)
	equal(t, "a framework that never wrote", write(same, put(silent, "k")), 1)
	equal(t, "a framework that was removed since", write(same, put(back, "k")), clock+1)
	for _, id := range []offers.FrameworkID{f, silent, back} {
		equal(t, "another cluster", write(old.Replacing(New(), 7, now), put(id, "k")), clock+1)
	}
}
