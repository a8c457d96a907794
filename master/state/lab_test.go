package state

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

const cluster = "c0de5eed-0000"

var start = time.Date(2030, 1, 2, 3, 4, 5, 678_900_001, time.UTC)

// lab applies commands one by one and checks every invariant after each.
type lab struct {
	testing.TB
	s   *State
	now time.Time
}

func newLab(t testing.TB) *lab {
	l := &lab{TB: t, s: New(), now: start}
	l.do(Command{Init: &Init{cluster}})
	return l
}

func (l *lab) try(c Command) Result {
	l.Helper()
	l.now = l.now.Add(time.Second)
	before, sum := l.s, snapshot(l, l.s)
	next, results := before.Apply([]Command{c})
	if err := next.check(); err != nil {
		l.Fatalf("after %+v: %v", c, err)
	}
	if !bytes.Equal(sum, snapshot(l, before)) {
		l.Fatalf("%+v changed the state it was applied to", c)
	}
	l.s = next
	return results[0]
}

func (l *lab) do(c Command) Result {
	l.Helper()
	r := l.try(c)
	if r.Err != nil {
		l.Fatalf("%+v: %v", c, r.Err)
	}
	return r
}

// refused applies a command that must fail with that code and change nothing
// but the count of commands.
func (l *lab) refused(code offers.Code, c Command) {
	l.Helper()
	before := *l.s
	r := l.try(c)
	if r.Err == nil || !errors.Is(r.Err, &offers.Error{Code: code}) {
		l.Fatalf("%+v: got %v, want %s", c, r.Err, code)
	}
	before.counters.Applied++
	if !bytes.Equal(snapshot(l, &before), snapshot(l, l.s)) {
		l.Fatalf("%+v failed and changed the state", c)
	}
}

func (l *lab) agent(name string) *Agent {
	l.Helper()
	return l.do(Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: name, Host: "h"}, Time: l.now}}).Value.(*Agent)
}

func (l *lab) move(id offers.AgentID, to offers.AgentState) Result {
	l.Helper()
	return l.do(Command{SetAgentState: &SetAgentState{ID: id, State: to, Time: l.now}})
}

func (l *lab) framework(name string) offers.FrameworkID {
	l.Helper()
	return l.do(Command{RegisterFramework: &RegisterFramework{Name: name, Role: "eng", Time: l.now}}).Value.(*Framework).ID
}

func launch(f offers.FrameworkID, id offers.TaskID, a offers.AgentID) Command {
	return Command{Launch: &Launch{TaskRecord{Framework: f, Agent: a, Spec: offers.Task{ID: id}, Created: start}}}
}

func end(f offers.FrameworkID, id offers.TaskID, state offers.State) Command {
	return Command{EndTask: &EndTask{Ref: ref(f, id), Status: offers.Status{State: state, UpdateID: "u1", Time: start}}}
}

func acknowledge(f offers.FrameworkID, id offers.TaskID) Command {
	return Command{Acknowledge: &Acknowledge{Ref: ref(f, id)}}
}

func ref(f offers.FrameworkID, id offers.TaskID) offers.TaskRef {
	return offers.TaskRef{Framework: f, Task: id}
}

func names(tasks func(func(*Task) bool)) (out []string) {
	for t := range tasks {
		out = append(out, t.Ref().String())
	}
	return out
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func equalList[T comparable](t testing.TB, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func snapshot(t testing.TB, s *State) []byte {
	t.Helper()
	var buf bytes.Buffer
	n, err := s.WriteTo(&buf)
	if err != nil || n != int64(buf.Len()) {
		t.Fatalf("snapshot: %d of %d bytes, %v", n, buf.Len(), err)
	}
	return buf.Bytes()
}
