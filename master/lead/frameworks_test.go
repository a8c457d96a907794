package lead_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func (l *scene) removed(a *author) bool { return l.state.Framework(a.id).Removed }

// A framework that returns before its deadline loses nothing, and the deadline
// is over.
func TestFrameworkThatReturnsLosesNothing(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	a.leave()
	l.wait(9 * time.Second)
	back := l.author(a.id)
	if back.id != a.id {
		t.Fatalf("it comes back as %s", back.id)
	}
	heard[wire.Message](h.listener)
	l.now = l.now.Add(time.Minute) // long past the deadline
	l.At(l.now)
	l.Tick()
	if steps := l.propose(); len(steps) > 0 {
		t.Errorf("its old deadline still makes the leader propose %+v", steps)
	}
	l.wait(time.Hour)
	h.nothing("nothing is to be killed")
	if l.removed(a) || l.state.Task(a.ref("t1")).Kill != nil {
		t.Error("a framework that came back in time was removed")
	}
	l.succeed() // the next leader has no old deadline of it either
	l.commit()
	l.wait(time.Second)
	l.author(a.id)
	l.wait(time.Hour)
	if l.removed(a) {
		t.Error("the next leader removes it")
	}
}

// One that stays away is removed at its deadline: its tasks are killed, their
// ends acknowledged, its id is refused.
func TestFrameworkThatStaysAwayIsRemoved(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1", "t2")
	h.report(a.ref("t2"), offers.Failed, "u2")
	a.leave()
	heard[wire.Message](h.listener)
	l.wait(9 * time.Second)
	h.nothing("the deadline has not come")
	l.wait(time.Second)
	if got := only[*wire.KillTask](h.listener); got.Task != "t1" || got.Reason != offers.ReasonFrameworkGone {
		t.Errorf("killed is %+v", got)
	}
	if !l.removed(a) || !l.state.Task(a.ref("t2")).Acknowledged {
		t.Error("it is not removed, or its ends wait for nobody")
	}
	h.report(a.ref("t1"), offers.Killed, "u1")
	if got := h.released(); len(got) != 1 || got[0] != "u1" {
		t.Errorf("the agent is released from %v", got)
	}
	again := l.connect()
	again.say(&wire.Register{Framework: wire.FrameworkInfo{ID: a.id, Name: "f"}})
	if got := only[*wire.ErrorMessage](again.listener).Code; got != offers.FrameworkRemoved {
		t.Errorf("its id gets %s", got)
	}
	l.succeed()
	again = l.connect()
	again.say(&wire.Register{Framework: wire.FrameworkInfo{ID: a.id, Name: "f"}})
	if got := only[*wire.ErrorMessage](again.listener).Code; got != offers.FrameworkRemoved {
		t.Errorf("its id gets %s from the next leader", got)
	}
}

// The deadline is a point in time that every leader keeps: no change of
// leader extends it.
func TestDeadlineOutlivesLeaders(t *testing.T) {
	l := newScene(t)
	l.host("a1", "")
	a := l.author("")
	a.leave()
	for range 3 {
		l.wait(3 * time.Second)
		l.succeed()
		l.commit()
	}
	if l.removed(a) {
		t.Fatal("it is removed after 9 s of 10")
	}
	l.wait(time.Second)
	if !l.removed(a) {
		t.Error("it is not removed when its 10 s are over, after three changes of leader")
	}
}

// One that was connected when its leader died has its whole time, and no more.
func TestConnectedFrameworkHasItsTimeAfterALeadersDeath(t *testing.T) {
	l := newScene(t)
	a := l.author("")
	l.wait(time.Hour)
	l.succeed()
	l.commit()
	l.wait(9 * time.Second)
	if l.removed(a) {
		t.Fatal("it is removed after 9 s of 10")
	}
	l.wait(time.Second)
	if !l.removed(a) {
		t.Error("it is never removed")
	}
}

// A second instance fences the first, which is told why, and whose end harms
// nobody.
func TestSecondInstanceFencesTheFirst(t *testing.T) {
	l := newScene(t)
	h, first := l.host("a1", ""), l.author("")
	first.launch("t1")
	o := first.wish()
	second := l.author(first.id)
	if got := only[*wire.ErrorMessage](first.listener).Code; got != offers.FailedOver || first.ended == "" {
		t.Errorf("the first instance gets %s and ends with %q", got, first.ended)
	}
	heard[wire.Message](h.listener)
	first.say(&wire.Kill{TaskID: "t1"})
	first.say(acceptance(o, "t2"))
	h.nothing("a fenced instance speaks")
	first.leave()
	heard[wire.Message](second.listener)
	h.report(second.ref("t1"), offers.Running, "u1")
	second.update(offers.Running, "u1")
	l.wait(time.Hour)
	if l.removed(second) {
		t.Error("the end of the first instance has removed the second")
	}
}

// The room of a framework whose connection ended is offered to others at once,
// and its wishes are nobody's any more: an instance that registers without its
// id leaves no ghost that hoards.
func TestGhostsHoardNothing(t *testing.T) {
	l := newScene(t)
	h, ghost := l.host("a1", ""), l.author("")
	o := ghost.wish()
	ghost.leave()
	other := l.author("")
	if free := l.free(h.self.ID); free != 4000 {
		t.Errorf("%d of 4000 are free with nobody there to accept", free)
	}
	other.say(acceptance(o, "t1"))
	heard[wire.Message](other.listener)
	if l.state.Task(other.ref("t1")) != nil {
		t.Error("an offer of a framework that left was accepted by another")
	}
	if v := l.Observe().Match.Frameworks[ghost.id]; v.Demands != 0 {
		t.Errorf("%d demands of a framework that left stand", v.Demands)
	}
	l.wait(10 * time.Second)
	if !l.removed(ghost) {
		t.Error("the ghost stays")
	}
}

// The same for one that is torn down with offers in its hand.
func TestTeardownGivesOffersBack(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.wish()
	a.say(&wire.Teardown{})
	if got := only[*wire.ErrorMessage](a.listener).Code; got != offers.FrameworkRemoved || a.ended == "" {
		t.Errorf("it gets %s and ends with %q", got, a.ended)
	}
	if free := l.free(h.self.ID); free != 4000 {
		t.Errorf("%d of 4000 are free", free)
	}
}

// A connection that ended while its registration was on the way to a majority
// is not served; the framework has its time to come back.
func TestConnectionThatEndsWhileItRegisters(t *testing.T) {
	l := newScene(t)
	a := l.author("")
	late, patience := l.connect(), offers.Duration(10*time.Second)
	late.hand(&wire.Register{Framework: wire.FrameworkInfo{ID: a.id, Name: "f", FailoverTimeout: &patience}})
	steps := l.propose()
	a.leave()
	late.leave()
	l.agree(steps)
	l.commit()
	if l.Observe().Connected[a.id] {
		t.Error("a connection that has ended is served")
	}
	l.wait(11 * time.Second)
	if !l.removed(a) {
		t.Error("nobody is there, and it is never removed")
	}
}

// A kill of what has ended is answered by that end, once nobody delivers it any
// more: an instance of the framework that does not know would wait for it.
func TestKillOfWhatHasEnded(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	h.report(a.ref("t1"), offers.Finished, "u1")
	a.update(offers.Finished, "u1")
	a.say(&wire.Kill{TaskID: "t1"})
	a.nothing("its end is on its way")
	a.acknowledge("t1", "u1")
	a.say(&wire.Kill{TaskID: "t1"})
	a.update(offers.Finished, "")
}

// What a framework says of itself goes along with each of its tasks, or onto
// pages: it is short and printable, or refused with the field's name.
func TestFrameworkNamesAreShort(t *testing.T) {
	for _, c := range []struct{ name, user, refused string }{
		{"f", "", ""}, {"f", "root", ""}, {"f", strings.Repeat("u", 256), ""},
		{"", "", "framework.name"}, {"f\x00", "", "framework.name"}, {strings.Repeat("f", 257), "", "framework.name"},
		{"f", "root\n", "framework.user"}, {"f", " ", "framework.user"}, {"f", strings.Repeat("u", 257), "framework.user"},
	} {
		a := newScene(t).connect()
		a.say(&wire.Register{Framework: wire.FrameworkInfo{Name: c.name, User: c.user}})
		if c.refused == "" {
			only[*wire.Registered](a.listener)
		} else if e := only[*wire.ErrorMessage](a.listener); e.Code != offers.BadMessage || !strings.HasPrefix(e.Message, c.refused) {
			t.Errorf("name %.20q, user %.20q: %+v", c.name, c.user, e)
		}
	}
}
