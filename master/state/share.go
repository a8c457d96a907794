package state

import (
	"maps"
	"reflect"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// NewTask returns the task of a record, which shares with like, that may be nil,
// what they have in common. Nothing but memory depends on it.
func NewTask(r *TaskRecord, like *Task) *Task {
	terms := r.terms()
	return newTask(r, &terms, like)
}

func newTask(r *TaskRecord, terms *Terms, like *Task) *Task {
	t := &Task{
		ID: r.Spec.ID, Agent: r.Agent, LaunchID: r.LaunchID, Demand: r.Demand, Command: r.Spec.Command,
		Created: r.Created, Absences: r.Absences, Rare: r.rare(),
	}
	if like != nil {
		t.adopt(like, terms, &r.Holding)
	}
	if t.Terms == nil {
		own := *terms // so that the others are not made to be dropped
		t.Terms = &own
	}
	if t.Holding == nil {
		own := r.Holding
		t.Holding = &own
	}
	return t
}

// adopt takes what l has of what t is to have.
func (t *Task) adopt(l *Task, terms *Terms, holding *offers.Holding) {
	if terms.same(l.Terms) {
		t.Terms = l.Terms
	}
	if sameHolding(holding, l.Holding) {
		t.Holding = l.Holding
	}
	if sameCommand(t.Command, l.Command) {
		t.Command = l.Command
	}
	if t.Demand == l.Demand {
		t.Demand = l.Demand // in one piece of memory
	}
}

// terms returns what a task may share.
func (r *TaskRecord) terms() Terms {
	out := Terms{Framework: r.Framework, Role: r.Role, User: r.User, Policy: r.Policy, Pattern: r.Spec}
	p := &out.Pattern
	p.ID, p.Command, p.Resources.Ports, p.Traceparent = "", nil, nil, ""
	return out
}

func (r *TaskRecord) rare() *Rare {
	s := &r.Spec
	if r.Kill == nil && r.End == nil && !r.Acknowledged && r.Ended == 0 && !r.Restored && !r.Doubtful && s.Resources.Ports == nil && s.Traceparent == "" {
		return ordinary
	}
	return &Rare{
		Kill: r.Kill, End: r.End, Acknowledged: r.Acknowledged, Ended: r.Ended, Restored: r.Restored, Doubtful: r.Doubtful,
		Ports: s.Resources.Ports, Traceparent: s.Traceparent,
	}
}

// same reports whether both are the same also as they are written, where nothing
// differs from an empty list or map.
func (a *Terms) same(b *Terms) bool {
	p, q := &a.Pattern, &b.Pattern
	return a == b || a.Framework == b.Framework && a.Role == b.Role && a.User == b.User && a.Policy == b.Policy &&
		p.Name == q.Name && p.KillGrace == q.KillGrace && p.MaxRuntime == q.MaxRuntime &&
		p.Resources.Amounts == q.Resources.Amounts && p.Resources.AnyPorts == q.Resources.AnyPorts &&
		sameMap(p.Resources.Devices, q.Resources.Devices) && sameMap(p.Labels, q.Labels) &&
		sameOf(p.Container, q.Container) && sameOf(p.Health, q.Health) &&
		(p.Artifacts == nil) == (q.Artifacts == nil) && slices.EqualFunc(p.Artifacts, q.Artifacts, func(a, b offers.Artifact) bool { return reflect.DeepEqual(a, b) })
}

func sameHolding(a, b *offers.Holding) bool {
	return a.Amounts == b.Amounts && sameList(a.Ports, b.Ports) && len(a.Devices)+len(b.Devices) == 0 && (a.Devices == nil) == (b.Devices == nil)
}

func sameCommand(a, b *offers.Command) bool {
	return a == b || a != nil && b != nil && a.Shell == b.Shell && a.User == b.User && a.Dir == b.Dir &&
		sameList(a.Argv, b.Argv) && sameMap(a.Env, b.Env)
}

func sameList[T comparable](a, b []T) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }

func sameMap[V comparable](a, b map[string]V) bool {
	return (a == nil) == (b == nil) && maps.Equal(a, b)
}

func sameOf[T any](a, b *T) bool { return a == b || a != nil && b != nil && reflect.DeepEqual(a, b) }
