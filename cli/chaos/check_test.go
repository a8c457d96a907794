package main

import (
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// good is a history in which every promise was kept: one task of each end.
func good() evidence {
	one, three := 0, failsWith
	e := evidence{complete: true, traces: map[offers.TaskID]trace{}, runs: map[int]process{}}
	add := func(id offers.TaskID, d deed, s offers.State, u offers.UpdateID) {
		e.entries = append(e.entries, entry{Author: "f", Framework: "F", Deed: d, Task: id, State: s, Update: u})
	}
	for id, end := range map[offers.TaskID]offers.State{"fine": offers.Finished, "bad": offers.Failed, "shot": offers.Killed, "lost": offers.Dropped} {
		add(id, submitted, "", "")
		add(id, accepted, "", "")
		if end != offers.Dropped {
			add(id, updated, offers.Running, "u1")
			add(id, updated, offers.Unreachable, "u2")
			add(id, updated, offers.Running, "u3")
			add(id, updated, offers.Staging, "") // reconciled by a new leader
			e.traces[id] = trace{Starts: []string{"7"}}
		}
		add(id, updated, end, "u4")
		add(id, updated, end, "u4") // again, to an instance that took over
		last := &e.entries[len(e.entries)-2]
		switch end {
		case offers.Finished:
			last.ExitCode, e.traces[id] = &one, trace{[]string{"7"}, []string{"7"}}
		case offers.Failed:
			last.ExitCode, e.traces[id] = &three, trace{[]string{"8"}, []string{"8"}}
		}
		e.tasks = append(e.tasks, seenTask{ID: id, Framework: "F", State: end})
	}
	return e
}

func TestJudgeKeepsQuiet(t *testing.T) {
	for _, f := range judge(good()) {
		t.Error(f)
	}
}

// TestJudgeFinds breaks one promise at a time.
func TestJudgeFinds(t *testing.T) {
	update := func(id offers.TaskID, s offers.State, u offers.UpdateID, reason string) entry {
		return entry{Framework: "F", Deed: updated, Task: id, State: s, Update: u, Reason: reason}
	}
	for name, c := range map[string]struct {
		check string
		plant func(*evidence)
	}{
		"two ends":         {"one end", func(e *evidence) { e.entries = append(e.entries, update("fine", offers.Gone, "u9", "")) }},
		"another end":      {"one end", func(e *evidence) { set(e, "fine", offers.Killed) }},
		"no end delivered": {"one end", func(e *evidence) { submit(e, "new"); set(e, "new", offers.Finished) }},
		"still lives":      {"one end", func(e *evidence) { set(e, "fine", offers.Running) }},
		"nobody's":         {"one end", func(e *evidence) { set(e, "stranger", offers.Finished) }},
		"twice":            {"once", func(e *evidence) { e.traces["shot"] = trace{Starts: []string{"7", "9"}} }},
		"finished unheard": {"once", func(e *evidence) { delete(e.traces, "fine") }},
		"finished early":   {"once", func(e *evidence) { e.traces["fine"] = trace{Starts: []string{"7"}} }},
		"failed unheard":   {"once", func(e *evidence) { delete(e.traces, "bad") }},
		"dropped and ran":  {"once", func(e *evidence) { e.traces["lost"] = trace{Starts: []string{"7"}} }},
		"ran unasked":      {"once", func(e *evidence) { e.traces["stranger"] = trace{Starts: []string{"7"}} }},
		"unsent and ran": {"once", func(e *evidence) {
			submit(e, "new")
			e.entries = append(e.entries, entry{Framework: "F", Deed: unsent, Task: "new"})
			e.traces["new"] = trace{Starts: []string{"7"}}
		}},
		"back to starting": {"order", func(e *evidence) {
			submit(e, "new")
			e.entries = append(e.entries, update("new", offers.Running, "1", ""), update("new", offers.Starting, "2", ""), update("new", offers.Finished, "3", ""))
		}},
		"after the end":    {"order", func(e *evidence) { e.entries = append(e.entries, update("fine", offers.Running, "u9", "")) }},
		"answer after end": {"order", func(e *evidence) { e.entries = append(e.entries, update("fine", offers.Staging, "", "")) }},
		"unknown": {"known", func(e *evidence) {
			submit(e, "new")
			e.entries = append(e.entries, entry{Framework: "F", Deed: accepted, Task: "new"}, update("new", offers.Dropped, "", offers.ReasonUnknownTask))
		}},
		"forgotten":    {"known", func(e *evidence) { e.tasks = e.tasks[1:] }},
		"runs on":      {"removed", func(e *evidence) { e.runs[42] = process{Framework: "F", Task: "fine"} }},
		"client ended": {"comes back", func(e *evidence) { e.entries = append(e.entries, entry{Deed: ended}) }},
	} {
		e := good()
		c.plant(&e)
		found := judge(e)
		ok := false
		for _, f := range found {
			ok = ok || f.check == c.check
		}
		if !ok {
			t.Errorf("%s: %v; want one of %q", name, found, c.check)
		}
	}
}

func submit(e *evidence, id offers.TaskID) {
	e.entries = append(e.entries, entry{Framework: "F", Deed: submitted, Task: id})
}

func set(e *evidence, id offers.TaskID, s offers.State) {
	for i := range e.tasks {
		if e.tasks[i].ID == id {
			e.tasks[i].State = s
			return
		}
	}
	e.tasks = append(e.tasks, seenTask{ID: id, Framework: "F", State: s})
}

func TestOvercommitted(t *testing.T) {
	var a seenAgent
	decode(t, `{"total": {"cpus": 3.2, "mem": 100}, "used": {"cpus": 3, "mem": 60}, "offered": {"cpus": 0.2, "mem": 40},
		"devices": {"gpu": {"capacity": [10, 10], "used": [10, 0]}}}`, &a)
	if got := overcommitted(a); len(got) > 0 {
		t.Errorf("a full agent: %v", got)
	}
	decode(t, `{"total": {"cpus": 3.2, "mem": 100}, "used": {"cpus": 3.001, "mem": 61}, "offered": {"cpus": 0.2, "mem": 40},
		"devices": {"gpu": {"capacity": [10, 10], "used": [10, 11]}}}`, &a)
	if got := overcommitted(a); len(got) != 3 || !strings.Contains(strings.Join(got, ""), "gpu 1") {
		t.Errorf("cpus, mem and a device are over: %v", got)
	}
}
