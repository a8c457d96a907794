package state

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestRegisterFramework(t *testing.T) {
	l := newLab(t)
	f := l.framework("first")
	equal(t, "id", f, "f00001-c0de")
	deadline := l.now.Add(time.Hour)
	disconnect := func(at time.Time) *Framework {
		return l.do(Command{DisconnectFramework: &DisconnectFramework{ID: f, Deadline: at}}).Value.(*Framework)
	}
	equal(t, "deadline", disconnect(deadline).Deadline, deadline)
	equal(t, "later", disconnect(deadline.Add(1)).Deadline, deadline)
	equal(t, "earlier", disconnect(deadline.Add(-1)).Deadline, deadline.Add(-1))
	l.refused(offers.BadMessage, Command{DisconnectFramework: &DisconnectFramework{ID: f}})

	back := l.do(Command{RegisterFramework: &RegisterFramework{ID: f, Name: "renamed", Role: "other", Time: l.now}}).Value.(*Framework)
	equal(t, "deadline", back.Deadline, time.Time{})
	equal(t, "role stays", back.Role, "eng")
	equal(t, "name", back.Name, "renamed")
	l.refused(offers.UnknownFramework, Command{RegisterFramework: &RegisterFramework{ID: "f00002-c0de"}})
	l.refused(offers.UnknownFramework, Command{RegisterFramework: &RegisterFramework{ID: "f00001-beef"}})
}

func TestRemoveFramework(t *testing.T) {
	l := newLab(t)
	f, other, a := l.framework("f"), l.framework("g"), l.agent("a")
	five := offers.Duration(5e9)
	for _, id := range []offers.TaskID{"acked", "ended", "killed", "living"} {
		l.do(launch(f, id, a.ID))
	}
	l.do(launch(other, "living", a.ID))
	l.do(end(f, "acked", offers.Finished))
	l.do(acknowledge(f, "acked"))
	l.do(end(f, "ended", offers.Finished))
	l.do(Command{KillTask: &KillTask{ref(f, "killed"), KillOrder{Grace: &five, Reason: "asked"}}})
	l.do(Command{Put: &Put{Framework: f, Key: "k", Value: []byte("v")}})
	l.do(Command{DisconnectFramework: &DisconnectFramework{ID: f, Deadline: l.now}})

	at := l.now
	r := l.do(Command{RemoveFramework: &RemoveFramework{ID: f, Time: at}})
	equal(t, "removed", r.Value.(*Framework).Removed, true)
	equal(t, "order", *l.s.Task(ref(f, "living")).Kill, KillOrder{Reason: offers.ReasonFrameworkGone, Time: at})
	equal(t, "older order", l.s.Task(ref(f, "killed")).Kill.Reason, "asked")
	equal(t, "ended", l.s.Task(ref(f, "ended")).Acknowledged, true)
	equal(t, "entry", l.s.Entry(f, "k").Version, 0)
	equal(t, "other's order", l.s.Task(ref(other, "living")).Kill, nil)
	equal(t, "unacknowledged", l.s.Counts().Unacknowledged, 0)
	equal(t, "not in the history", l.s.Framework(f).Ended, 0)

	l.do(Command{RemoveFramework: &RemoveFramework{ID: f, Time: at}})
	l.refused(offers.FrameworkRemoved, Command{RegisterFramework: &RegisterFramework{ID: f}})
	l.refused(offers.FrameworkRemoved, Command{DisconnectFramework: &DisconnectFramework{ID: f, Deadline: at}})
	l.refused(offers.FrameworkRemoved, Command{Put: &Put{Framework: f, Key: "k"}})
	l.refused(offers.FrameworkRemoved, launch(f, "new", a.ID))
	l.refused(offers.UnknownFramework, Command{RemoveFramework: &RemoveFramework{ID: "f00099-c0de"}})

	l.do(end(f, "killed", offers.Killed))
	equal(t, "still one task", l.s.Framework(f).Ended, 0)
	l.do(end(f, "living", offers.Killed))
	equal(t, "counts as acknowledged", l.s.Task(ref(f, "living")).Acknowledged, true)
	equal(t, "in the history", l.s.Framework(f).Ended > 0, true)
}

func TestStore(t *testing.T) {
	l := newLab(t)
	f := l.framework("f")
	v := func(n uint64) *uint64 { return &n }
	put := func(key string, version *uint64) Command {
		return Command{Put: &Put{Framework: f, Key: key, Value: []byte(key), Version: version}}
	}
	remove := func(key string, version *uint64) Command {
		return Command{Delete: &Delete{Framework: f, Key: key, Version: version}}
	}
	equal(t, "first", l.do(put("a", v(0))).Value, any(uint64(1)))
	equal(t, "second", l.do(put("a", nil)).Value, any(uint64(2)))
	equal(t, "third", l.do(put("a", v(2))).Value, any(uint64(3)))
	l.refused(offers.VersionConflict, put("a", v(2)))
	l.refused(offers.VersionConflict, put("b", v(1)))
	l.refused(offers.VersionConflict, remove("a", v(1)))
	l.refused(offers.BadMessage, put("", nil))
	l.refused(offers.TooLarge, put(strings.Repeat("k", MaxKeyLength+1), nil))
	l.refused(offers.UnknownFramework, Command{Put: &Put{Framework: "nobody", Key: "a"}})
	l.do(put("ab", nil))
	l.do(put("b", nil))
	equalList(t, "keys", slices.Collect(l.s.Keys(f, "")), "a", "ab", "b")
	equalList(t, "below a", slices.Collect(l.s.Keys(f, "a")), "a", "ab")
	equalList(t, "below c", slices.Collect(l.s.Keys(f, "c")))
	equal(t, "value", string(l.s.Entry(f, "ab").Value), "ab")
	l.do(remove("a", v(3)))
	equal(t, "deleted", l.do(remove("a", nil)).Value, any(uint64(0)))
	equal(t, "missing", l.s.Entry(f, "a").Version, 0)
	l.do(remove("b", nil))
	l.do(remove("ab", nil))
	l.do(remove("never", v(0)))
	equal(t, "what is left", len(slices.Collect(l.s.Keys(f, ""))), 0)
}

// TestVersionsAreNotGivenTwice: who read a key before it was deleted and
// written again must not pass for one who read it after.
func TestVersionsAreNotGivenTwice(t *testing.T) {
	l := newLab(t)
	f, other := l.framework("f"), l.framework("other")
	put := func(f offers.FrameworkID, key string) uint64 {
		return l.do(Command{Put: &Put{Framework: f, Key: key, Value: []byte("v")}}).Value.(uint64)
	}
	put(f, "low")
	for range 3 {
		put(f, "k")
	}
	read := l.s.Entry(f, "k").Version
	l.do(Command{Delete: &Delete{Framework: f, Key: "k"}})
	l.do(Command{Delete: &Delete{Framework: f, Key: "low"}})
	equal(t, "missing", l.s.Entry(f, "k").Version, 0)
	for range 9 {
		if again := put(f, "k"); again <= read {
			t.Fatalf("version %d after %d", again, read)
		}
		l.refused(offers.VersionConflict, Command{Put: &Put{Framework: f, Key: "k", Version: &read}})
		var err error
		if l.s, err = Read(bytes.NewReader(snapshot(t, l.s))); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "of another framework", put(other, "k"), 1)
	l.do(Command{Delete: &Delete{Framework: f, Key: "k"}})
	var err error
	if l.s, err = Read(bytes.NewReader(snapshot(t, l.s))); err != nil {
		t.Fatal(err)
	}
	if again := put(f, "k"); again != 13 {
		t.Errorf("version %d after a snapshot of an emptied store, want 13", again)
	}
}

func TestStoreIsBounded(t *testing.T) {
	l := newLab(t)
	f := l.framework("f")
	var batch []Command
	for i := range MaxKeys {
		batch = append(batch, Command{Put: &Put{Framework: f, Key: "k" + time.Duration(i).String()}})
	}
	l.s, _ = l.s.Apply(batch)
	l.refused(offers.TooLarge, Command{Put: &Put{Framework: f, Key: "more"}})
	equal(t, "known key", l.do(batch[7]).Value, any(uint64(2)))
	l.do(Command{Delete: &Delete{Framework: f, Key: batch[7].Put.Key}})
	l.do(Command{Put: &Put{Framework: f, Key: "more"}})
}

func TestStoreIsBoundedInBytes(t *testing.T) {
	l := newLab(t)
	f := l.framework("f")
	put := func(key string, n int) Command {
		return Command{Put: &Put{Framework: f, Key: key, Value: make([]byte, n)}}
	}
	const big = 1 << 20
	var batch []Command
	for i := range MaxStoreBytes/big - 1 {
		batch = append(batch, put(fmt.Sprintf("%02d", i), big-2))
	}
	l.s, _ = l.s.Apply(batch)
	l.refused(offers.TooLarge, put("xy", big-1))
	l.do(put("xy", big-2))
	l.refused(offers.TooLarge, put("z", 0))
	l.refused(offers.TooLarge, put("xy", big-1))
	l.do(put("xy", big-3))
	l.do(put("z", 0))
	l.do(Command{Delete: &Delete{Framework: f, Key: "07"}})
	l.do(put("new", big-3))
	l.do(Command{Put: &Put{Framework: l.framework("other"), Key: "k", Value: make([]byte, big)}})
}

func TestRolesAndInit(t *testing.T) {
	l := newLab(t)
	equal(t, "the first wins", l.do(Command{Init: &Init{"dead-beef"}}).Value, any(cluster))
	two := offers.RoleSettings{Weight: 2}
	l.do(Command{SetRole: &SetRole{"eng/ml", &two}})
	l.do(Command{SetRole: &SetRole{"eng", &two}})
	got, ok := l.s.Role("eng/ml")
	equal(t, "weight", got.Weight, 2)
	equal(t, "known", ok, true)
	var roles []offers.Role
	for name := range l.s.Roles() {
		roles = append(roles, name)
	}
	equalList(t, "roles", roles, "eng", "eng/ml")
	l.do(Command{SetRole: &SetRole{"eng", nil}})
	_, ok = l.s.Role("eng")
	equal(t, "forgotten", ok, false)
	l.refused(offers.BadMessage, Command{SetRole: &SetRole{"a//b", &two}})
	l.refused(offers.BadResources, Command{SetRole: &SetRole{"eng", &offers.RoleSettings{}}})
	l.refused(offers.Internal, Command{})
	l.refused(offers.Internal, Command{Init: &Init{}, SetRole: &SetRole{"eng", nil}})

	fresh := &lab{TB: t, s: New()}
	fresh.refused(offers.BadMessage, Command{Init: &Init{"xyz1"}})
	fresh.refused(offers.Unavailable, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "a"}}})
	fresh.refused(offers.Unavailable, Command{RegisterFramework: &RegisterFramework{}})
}

func TestIdsOrderByAge(t *testing.T) {
	last := ""
	for _, n := range []uint64{1, 2, 10, 9_999, 99_999, 100_000, 100_001, 1_000_000, 1 << 40, 1<<64 - 1} {
		id := mint("f", n, cluster)
		if id <= last {
			t.Errorf("%s does not follow %s", id, last)
		}
		equal(t, "number of "+id, number("f", id, cluster), n)
		last = id
	}
	for _, id := range []string{"", "f", "f-", "f00001", "f00001-", "f00001-beef", "a00001-c0de", "f1-c0de", "fx00001-c0de", "f+0001-c0de", "f00000-c0de", "f00001-c0de-"} {
		equal(t, "number of "+id, number("f", id, cluster), 0)
	}
}
