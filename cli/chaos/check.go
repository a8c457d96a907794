package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// finding is one promise that was not kept.
type finding struct {
	check  string // which
	text   string
	author string // whose task's history tells it: FRAMEWORK:TASK, or ""
}

// checks are what is verified, and what each says.
var checks = []struct{ name, says string }{
	{"one end", "every accepted task has exactly one terminal state, delivered, and the same in GET /v1/tasks"},
	{"once", "no task started twice; finished means start and end; dropped and rejected mean never started"},
	{"order", "a task's updates come in order, and nothing after the end"},
	{"over-commit", "what is used and offered of an agent, and what really runs there, is never more than it has"},
	{"removed", "nothing of a removed framework or of an ended task still runs"},
	{"known", "what was accepted is never unknown later"},
	{"linear", "offers, registrations and stores behaved as if one master did one thing at a time"},
	{"comes back", "every daemon comes back after its fault, and none ends by itself"},
	{"quiet", "after the healing everything comes to rest"},
}

// evidence is all that is known when everything is quiet.
type evidence struct {
	entries  []entry
	traces   map[offers.TaskID]trace
	tasks    []seenTask
	complete bool // the masters have not forgotten any task by their bound
	runs     map[int]process
}

// story is one task as its author saw it.
type story struct {
	ref       offers.TaskRef
	submitted bool
	unsent    bool
	accepted  bool
	durable   bool // accepted, or reported by more than an immediate answer
	given     bool // its framework was given up: nobody listens
	updates   []entry
}

// givenUp returns the frameworks that nobody speaks for any more.
func givenUp(entries []entry) map[offers.FrameworkID]bool {
	out := map[offers.FrameworkID]bool{}
	for _, e := range entries {
		if e.Deed == abandoned && e.Framework != "" {
			out[e.Framework] = true
		}
	}
	return out
}

func stories(entries []entry) []*story {
	given := givenUp(entries)
	byRef := map[offers.TaskRef]*story{}
	var out []*story
	for _, e := range entries {
		if e.Task == "" {
			continue
		}
		ref := offers.TaskRef{Framework: e.Framework, Task: e.Task}
		s := byRef[ref]
		if s == nil {
			s = &story{ref: ref, given: given[e.Framework]}
			byRef[ref] = s
			out = append(out, s)
		}
		switch e.Deed {
		case submitted:
			s.submitted = true
		case unsent:
			s.unsent = true
		case accepted:
			s.accepted, s.durable = true, true
		case updated:
			s.updates = append(s.updates, e)
			s.durable = s.durable || e.Update != ""
		}
	}
	return out
}

// end returns the terminal states that were reported, each once.
func (s *story) ends() []offers.State {
	var out []offers.State
	for _, u := range s.updates {
		if u.State.Terminal() && !slices.Contains(out, u.State) {
			out = append(out, u.State)
		}
	}
	return out
}

// judge holds the evidence against the promises.
func judge(e evidence) []finding {
	j := &judgement{evidence: e, seen: map[offers.TaskRef]seenTask{}}
	for _, t := range e.tasks {
		j.seen[offers.TaskRef{Framework: t.Framework, Task: t.ID}] = t
	}
	told := stories(e.entries)
	for _, s := range told {
		j.oneEnd(s)
		j.once(s)
		j.order(s)
		j.known(s)
	}
	j.strangers(told)
	j.removed()
	j.surprises()
	return j.findings
}

type judgement struct {
	evidence
	seen     map[offers.TaskRef]seenTask
	findings []finding
}

func (j *judgement) find(check string, ref offers.TaskRef, format string, args ...any) {
	j.findings = append(j.findings, finding{check, ref.String() + ": " + fmt.Sprintf(format, args...), ref.String()})
}

func (j *judgement) oneEnd(s *story) {
	ends, t := s.ends(), j.seen[s.ref]
	switch {
	case len(ends) > 1:
		j.find("one end", s.ref, "it ended as %v", ends)
	case len(ends) == 0 && !s.given && !s.unsent:
		j.find("one end", s.ref, "no end was delivered; the masters say %q", t.State)
	case len(ends) == 1 && t.State != "" && t.State != ends[0] && s.durable:
		j.find("one end", s.ref, "it ended as %s, the masters say %s", ends[0], t.State)
	}
	if t.State != "" && !t.State.Terminal() {
		j.find("one end", s.ref, "it has not ended for the masters: %s", t.State)
	}
}

// once compares what the masters say with what the task wrote.
func (j *judgement) once(s *story) {
	tr, end := j.traces[s.ref.Task], j.endOf(s)
	if len(tr.Starts) > 1 {
		j.find("once", s.ref, "it started %d times, as pids %v", len(tr.Starts), tr.Starts)
	}
	switch {
	case end.State == offers.Finished && (len(tr.Starts) != 1 || !slices.Equal(tr.Starts, tr.Ends)):
		j.find("once", s.ref, "it finished, and wrote start %v and end %v", tr.Starts, tr.Ends)
	case end.State == offers.Failed && end.ExitCode != nil && *end.ExitCode == failsWith && (len(tr.Starts) != 1 || !slices.Equal(tr.Starts, tr.Ends)):
		j.find("once", s.ref, "it failed on purpose, and wrote start %v and end %v", tr.Starts, tr.Ends)
	case (end.State == offers.Dropped || end.State == offers.Rejected) && len(tr.Starts) > 0:
		j.find("once", s.ref, "it is %s, and started as pid %v", end.State, tr.Starts)
	case s.unsent && len(tr.Starts) > 0:
		j.find("once", s.ref, "it was never sent, and started as pid %v", tr.Starts)
	}
}

// endOf returns how a task ended: as its author was told, or as the masters say.
func (j *judgement) endOf(s *story) entry {
	for _, u := range s.updates {
		if u.State.Terminal() {
			return u
		}
	}
	return entry{State: j.seen[s.ref].State}
}

// order wants each update to be allowed after the one before. The last one may
// come again, to an instance that took over. An answer to reconcile has no
// update's id: it tells what the master knows, which after a failover is less,
// but it never takes an end back.
func (j *judgement) order(s *story) {
	var last entry
	for _, u := range s.updates {
		if u.Update == "" && !last.State.Terminal() && !u.State.Terminal() {
			continue
		}
		if u.State != last.State && !u.State.MayFollow(last.State) {
			j.find("order", s.ref, "%s came after %s", u.State, last.State)
		}
		last = u
	}
}

func (j *judgement) known(s *story) {
	if !s.durable {
		return
	}
	for _, u := range s.updates {
		if u.Reason == offers.ReasonUnknownTask {
			j.find("known", s.ref, "it was accepted, and is unknown: %s", u)
		}
	}
	if _, there := j.seen[s.ref]; s.accepted && !there && j.complete {
		j.find("known", s.ref, "it was accepted, and GET /v1/tasks has forgotten it")
	}
}

// strangers are tasks that ran or are known and that nobody asked for.
func (j *judgement) strangers(told []*story) {
	asked, ids := map[offers.TaskRef]bool{}, map[offers.TaskID]bool{}
	for _, s := range told {
		if s.submitted {
			asked[s.ref], ids[s.ref.Task] = true, true
		}
	}
	for ref := range j.seen {
		if !asked[ref] {
			j.find("one end", ref, "nobody submitted it")
		}
	}
	for id := range j.traces {
		if !ids[id] {
			j.find("once", offers.TaskRef{Task: id}, "it started, and nobody submitted it")
		}
	}
}

// removed wants that nothing runs: when everything is quiet, all has ended.
func (j *judgement) removed() {
	for pid, p := range j.runs {
		ref := offers.TaskRef{Framework: p.Framework, Task: p.Task}
		j.find("removed", ref, "pid %d of agent %s runs, and for the masters it is %q", pid, p.Agent, j.seen[ref].State)
	}
}

// surprises are clients that ended by themselves.
func (j *judgement) surprises() {
	for _, e := range j.entries {
		if e.Deed == ended {
			j.findings = append(j.findings, finding{"comes back", "a framework's client ended: " + e.String(), ""})
		}
	}
}

// historyOf returns the lines about one task.
func historyOf(entries []entry, ref string) []string {
	_, id, _ := strings.Cut(ref, ":")
	var out []string
	for _, e := range entries {
		if string(e.Task) == id && id != "" {
			out = append(out, e.String())
		}
	}
	return out
}
