package lead_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// returning is an agent of a1's id that has not registered yet.
func returning(l *scene, h *host) *host {
	again := &host{listener: &listener{TB: l.TB}, l: l, self: h.self}
	again.Agent = lead.NewAgent(again.listener)
	return again
}

// TestTasksAreListedInSeveralMessages: until the last has come nothing is concluded of
// what was not listed, and then all of it counts.
func TestTasksAreListedInSeveralMessages(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1", "t2")
	l.succeed()
	h = returning(l, h)
	h.say(&wire.AgentTasks{Tasks: []wire.AgentTask{listed(a.ref("t1"), offers.Running)}})
	if h.Standing() != lead.Stranger {
		t.Errorf("while it lists the agent is %s", h.Standing())
	}
	h.nothing("its list is not whole")
	h.say(&wire.AgentTasks{Tasks: []wire.AgentTask{listed(a.ref("t2"), offers.Running)}, All: 2, Register: &wire.RegisterAgent{Agent: h.self}})
	if m := only[wire.Message](h.listener); m.Type() != "registered" || len(m.(*wire.AgentRegistered).Forget) > 0 {
		t.Errorf("it is answered with %+v", m)
	}
}

// TestWhatToForgetIsToldInSeveralMessages, each of which a link takes, to who listed it so.
func TestWhatToForgetIsToldInSeveralMessages(t *testing.T) {
	l := newScene(t)
	h := returning(l, l.host("a1", ""))
	const all, each = 25_000, 1000
	for first := 0; first < all; first += each {
		m := &wire.AgentTasks{}
		for i := range each {
			m.Tasks = append(m.Tasks, listed(offers.TaskRef{Framework: "f", Task: offers.TaskID(fmt.Sprintf("t%d", first+i))}, offers.Running))
		}
		if first+each == all {
			m.All, m.Register = all, &wire.RegisterAgent{Agent: h.self}
		}
		h.say(m)
	}
	answers, forgotten := heard[*wire.AgentRegistered](h.listener), map[offers.TaskRef]bool{}
	for i, m := range answers {
		if frame, err := wire.Encode(m, ""); err != nil || len(frame) > wire.MaxMessage || m.More != (i < len(answers)-1) {
			t.Errorf("answer %d of %d has %d bytes, and more follows: %v, %v", i+1, len(answers), len(frame), m.More, err)
		}
		for _, ref := range m.Forget {
			forgotten[ref] = true
		}
	}
	if len(answers) != 3 || len(forgotten) != all {
		t.Errorf("%d answers forget %d tasks, want %d", len(answers), len(forgotten), all)
	}
}

// TestBrokenListsAreRefused, and nothing more of that connection is believed.
func TestBrokenListsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		part *wire.AgentTasks
		code offers.Code
	}{
		"one of too few": {&wire.AgentTasks{All: 2}, offers.BadMessage},
		"one too large":  {&wire.AgentTasks{Tasks: []wire.AgentTask{{TaskRef: offers.TaskRef{Task: offers.TaskID(strings.Repeat("x", 129<<20))}}}}, offers.TooLarge},
	} {
		l := newScene(t)
		h := returning(l, l.host("a1", ""))
		c.part.Register = &wire.RegisterAgent{Agent: h.self}
		h.say(c.part)
		if m := only[*wire.ErrorMessage](h.listener); m.Code != c.code || h.ended == "" {
			t.Errorf("%s: it is answered %+v and ended for %q", name, m, h.ended)
		}
		h.say(&wire.AgentTasks{All: 0, Register: &wire.RegisterAgent{Agent: h.self}})
		h.nothing("its list was refused: " + name)
	}
}

// TestListsAreBoundedTogether, until one of them is whole or its connection ends.
func TestListsAreBoundedTogether(t *testing.T) {
	l := newScene(t)
	part := &wire.AgentTasks{Tasks: []wire.AgentTask{{TaskRef: offers.TaskRef{Task: offers.TaskID(strings.Repeat("x", 127<<20))}}}}
	starts := func(name string) *host {
		h := returning(l, l.host(name, ""))
		h.say(part)
		return h
	}
	var all []*host
	for n := range 4 {
		h := starts(fmt.Sprintf("a%d", n))
		h.nothing("its list is not whole")
		all = append(all, h)
	}
	for what, room := range map[string]func(){
		"a connection has ended": func() { all[0].leave() },
		"a list is whole":        func() { all[1].say(&wire.AgentTasks{All: 1, Register: &wire.RegisterAgent{Agent: all[1].self}}) },
		"a list is refused":      func() { all[2].say(&wire.AgentTasks{All: 7, Register: &wire.RegisterAgent{Agent: all[2].self}}) },
	} {
		h := starts("late")
		if m := only[*wire.ErrorMessage](h.listener); m.Code != offers.RateLimited || h.ended == "" {
			t.Errorf("before %s one more is answered %+v and ended for %q", what, m, h.ended)
		}
		h.leave()
		room()
		starts("next").nothing("there is room, since " + what)
	}
}
