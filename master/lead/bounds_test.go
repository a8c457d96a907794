package lead_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// refused returns what an author is refused with, and fails unless that is rate_limited.
func refused(t *testing.T, a *author, m wire.Message) string {
	t.Helper()
	heard[wire.Message](a.listener)
	a.say(m)
	list := heard[*wire.ErrorMessage](a.listener)
	if len(list) == 0 {
		return ""
	}
	if len(list) > 1 || list[0].Code != offers.RateLimited {
		t.Errorf("%s is answered with %d errors, the first %s", m.Type(), len(list), list[0].Code)
	}
	return list[0].Message
}

// TestFrameworksAreBoundedTogether, those that register at the same time, too; who is
// known comes back, and one that ends makes room.
func TestFrameworksAreBoundedTogether(t *testing.T) {
	l := newScene(t)
	l.config.Frameworks = 2
	l.succeed()
	register := &wire.Register{Framework: wire.FrameworkInfo{Name: "f"}}
	first, second, third := l.author(""), l.connect(), l.connect()
	second.hand(register)
	third.hand(register)
	l.commit()
	if got := heard[*wire.Registered](second.listener); len(got) != 1 {
		t.Error("the second is not let in")
	}
	if got := refused(t, third, register); !strings.Contains(got, "there are 2 frameworks") {
		t.Errorf("the third hears %q", got)
	}
	first.leave()
	first = l.author(first.id)
	first.say(&wire.Teardown{})
	if got := refused(t, third, register); got != "" {
		t.Errorf("when the first has ended it hears %q", got)
	}
}

// TestDemandsAreBoundedTogether: those that stand may be changed and withdrawn.
func TestDemandsAreBoundedTogether(t *testing.T) {
	l := newScene(t)
	l.config.Demands = 2
	l.succeed()
	first, second := l.author(""), l.author("")
	demand := func(text string) wire.Message { return &wire.DemandMessage{Demands: []json.RawMessage{[]byte(text)}} }
	for i, is := range []struct {
		who  *author
		says wire.Message
		room bool
	}{
		{first, demand(`{"id":"d","resources":{"cpus":1}}`), true},
		{second, demand(`{"id":"d","resources":{"cpus":1}}`), true},
		{second, demand(`{"id":"e","resources":{"cpus":1}}`), false},
		{second, demand(`{"id":"d","resources":{"cpus":2}}`), true},
		{second, demand(`{"id":"e","count":0,"resources":{"cpus":2}}`), true},
		{second, demand(`{"id":"d","count":0,"resources":{"cpus":2}}`), true},
		{second, demand(`{"id":"e","resources":{"cpus":1}}`), true},
		{second, demand(`{"id":"d","resources":{"cpus":1}}`), false},
	} {
		if got := refused(t, is.who, is.says); (got == "") != is.room || got != "" && !strings.Contains(got, "all frameworks together have 2 demands") {
			t.Errorf("%d: it hears %q", i, got)
		}
	}
	first.leave()
	if got := refused(t, second, demand(`{"id":"d","resources":{"cpus":1}}`)); got != "" {
		t.Errorf("when the first has left it hears %q", got)
	}
}

// TestTasksAreBoundedTogether: where there is no room the offer stays.
func TestTasksAreBoundedTogether(t *testing.T) {
	l := newScene(t)
	l.config.Tasks = 2
	l.succeed()
	h, a := l.host("a1", ""), l.author("")
	a.say(acceptance(a.wish(), "t1"))
	o := a.wish()
	if got := refused(t, a, acceptance(o, "t2", "t3")); !strings.Contains(got, "1 tasks live and there can be 2") {
		t.Errorf("for two tasks more it hears %q", got)
	}
	if got := refused(t, a, acceptance(o, "t2")); got != "" || l.state.Counts().Live != 2 {
		t.Errorf("for one more it hears %q, and %d live", got, l.state.Counts().Live)
	}
	o = a.wish()
	if got := refused(t, a, acceptance(o, "t3")); got == "" {
		t.Error("there is room for one more")
	}
	h.report(a.ref("t1"), offers.Finished, "u1")
	if got := refused(t, a, acceptance(o, "t3")); got != "" || l.state.Counts().Live != 2 {
		t.Errorf("when one has ended it hears %q, and %d live", got, l.state.Counts().Live)
	}
}
