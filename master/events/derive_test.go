package events_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

var dawn = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// chronicle is a state with what was told of it.
type chronicle struct {
	state *state.State
	now   time.Time
	told  []events.Event
}

func newChronicle() *chronicle {
	c := &chronicle{state: state.New(), now: dawn}
	c.do(state.Command{Init: &state.Init{ClusterID: "c0de"}})
	return c
}

// do applies commands as one batch, after a second.
func (c *chronicle) do(batch ...state.Command) []state.Result {
	c.now = c.now.Add(time.Second)
	after, results := c.state.Apply(batch)
	c.told = append(c.told, events.Derive(c.state, after, batch, results)...)
	c.state = after
	return results
}

func (c *chronicle) agent(name string) state.Command {
	return state.Command{RegisterAgent: &state.RegisterAgent{Agent: offers.Agent{Name: name, Host: "h"}, Time: c.now}}
}

func (c *chronicle) again(id offers.AgentID, name string) state.Command {
	r := c.agent(name)
	r.RegisterAgent.Agent.ID = id
	return r
}

func (c *chronicle) move(id offers.AgentID, to offers.AgentState) state.Command {
	return state.Command{SetAgentState: &state.SetAgentState{ID: id, State: to, Time: c.now}}
}

func (c *chronicle) framework(id offers.FrameworkID) state.Command {
	return state.Command{RegisterFramework: &state.RegisterFramework{ID: id, Name: "f", Role: "eng", FailoverTimeout: time.Minute, Time: c.now}}
}

func (c *chronicle) away(id offers.FrameworkID) state.Command {
	return state.Command{DisconnectFramework: &state.DisconnectFramework{ID: id, Deadline: c.now.Add(time.Minute)}}
}

func (c *chronicle) remove(id offers.FrameworkID, overdue bool) state.Command {
	return state.Command{RemoveFramework: &state.RemoveFramework{ID: id, Time: c.now, Overdue: overdue}}
}

func (c *chronicle) launch(ref offers.TaskRef, on offers.AgentID) state.Command {
	return state.Command{Launch: &state.Launch{Task: state.TaskRecord{
		Framework: ref.Framework, Agent: on, Role: "eng", Created: c.now,
		Spec:    offers.Task{ID: ref.Task, Name: "work", Command: &offers.Command{Shell: "secret"}},
		Holding: offers.Holding{Amounts: offers.Amounts{1500, 1 << 30}},
	}}}
}

func (c *chronicle) end(ref offers.TaskRef, s offers.State) state.Command {
	code := 3
	return state.Command{EndTask: &state.EndTask{Ref: ref, Status: offers.Status{State: s, ExitCode: &code, Time: c.now}}}
}

func (c *chronicle) kill(ref offers.TaskRef, grace time.Duration) state.Command {
	g := offers.Duration(grace)
	return state.Command{KillTask: &state.KillTask{Ref: ref, Order: state.KillOrder{Grace: &g, Reason: "operator", Time: c.now}}}
}

// TestStoryIsTold compares what is told of a story with testdata/story.golden;
// UPDATE_GOLDEN=1 writes it anew.
func TestStoryIsTold(t *testing.T) {
	c := newChronicle()
	const a, f = "a00001-c0de", "f00001-c0de"
	t1, t2 := offers.TaskRef{Framework: f, Task: "t1"}, offers.TaskRef{Framework: f, Task: "t2"}
	var out bytes.Buffer
	tell := func(why string, batch ...state.Command) {
		c.told = nil
		c.do(batch...)
		fmt.Fprintf(&out, "# %s\n", why)
		for _, e := range c.told {
			out.Write(e.Frame())
		}
	}
	tell("an agent and a framework come", c.agent("one"), c.framework(""))
	tell("two tasks are launched at once, one of them in vain", c.launch(t1, a), c.launch(t2, a), c.launch(t2, a))
	tell("one is told to end, sooner, and not later", c.kill(t1, time.Minute), c.kill(t1, time.Second), c.kill(t1, time.Hour))
	tell("it ends, once", c.end(t1, offers.Killed), c.end(t1, offers.Failed))
	tell("an acknowledgement tells nobody anything", state.Command{Acknowledge: &state.Acknowledge{Ref: t1}})
	tell("the agent is to drain, goes, and comes back", c.move(a, offers.AgentUnreachable), c.move(a, offers.AgentDraining), c.move(a, offers.AgentDraining), c.again(a, "one"))
	tell("the framework is away, which does not last longer", c.away(f), c.away(f), c.remove(f, true))
	tell("it is removed, once, and the end of its last task follows", c.remove(f, false), c.remove(f, false), c.end(t2, offers.Killed), c.remove(f, false))
	role := func(weight float64) state.Command {
		return state.Command{SetRole: &state.SetRole{Role: "eng", Settings: &offers.RoleSettings{Weight: weight}}}
	}
	tell("a role, once in vain", role(-1), role(2))
	tell("another agent of that name", c.framework(""), c.agent("two"))
	tell("with a task", c.launch(offers.TaskRef{Framework: "f00002-c0de", Task: "t1"}, "a00002-c0de"))
	tell("and it is gone for a third", c.agent("two"))
	golden(t, "testdata/story.golden", out.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v; it differs from %s (UPDATE_GOLDEN=1 writes it anew):\n%s", err, path, got)
	}
}

// reader knows of the cluster what events told it.
type reader struct {
	agents     map[offers.AgentID]string
	frameworks map[offers.FrameworkID]string
	tasks      map[offers.TaskRef]string
}

func (r *reader) hear(e *events.Event) {
	switch e.Type {
	case events.AgentRegistered, events.AgentUpdated:
		r.agents[e.Agent] = e.State + " " + string(e.Resume)
	case events.FrameworkRegistered:
		r.frameworks[e.Framework] = "connected"
	case events.FrameworkDisconnected:
		r.frameworks[e.Framework] = "away until " + e.Deadline.String()
	case events.FrameworkRemoved:
		r.frameworks[e.Framework] = "removed"
	case events.TaskLaunched:
		r.tasks[e.Ref()] = "lives"
	case events.TaskKillOrdered:
		r.tasks[e.Ref()] = "to end, " + e.Reason
	case events.TaskEnded:
		r.tasks[e.Ref()] = e.State
	}
}

// look is what a reader would know who read the state instead.
func look(s *state.State) *reader {
	r := &reader{map[offers.AgentID]string{}, map[offers.FrameworkID]string{}, map[offers.TaskRef]string{}}
	for a := range s.Agents() {
		r.agents[a.ID] = string(a.State) + " " + string(a.Resume)
	}
	for f := range s.Frameworks() {
		switch {
		case f.Removed:
			r.frameworks[f.ID] = "removed"
		case f.Deadline.IsZero():
			r.frameworks[f.ID] = "connected"
		default:
			r.frameworks[f.ID] = "away until " + f.Deadline.String()
		}
	}
	for t := range s.Tasks() {
		switch {
		case t.End != nil:
			r.tasks[t.Ref()] = string(t.End.State)
		case t.Kill != nil:
			r.tasks[t.Ref()] = "to end, " + t.Kill.Reason
		default:
			r.tasks[t.Ref()] = "lives"
		}
	}
	return r
}

// Whoever reads the state at any time and then the events knows what whoever
// reads the state later does, also when the events come once more; and ids
// only grow, however the commands are cut into batches.
func TestEventsLeadFromStateToState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChronicle()
		var seen *reader
		var from int
		var last events.ID
		for range rapid.IntRange(1, 60).Draw(t, "batches") {
			if seen == nil && rapid.Bool().Draw(t, "begins to read") {
				seen, from = look(c.state), rapid.IntRange(0, len(c.told)).Draw(t, "from before")
			}
			var batch []state.Command
			for range rapid.IntRange(1, 5).Draw(t, "commands") {
				batch = append(batch, c.draw(t))
			}
			n := len(c.told)
			c.do(batch...)
			for _, e := range c.told[n:] {
				checkDescribed(t, &e)
				if e.ID.Epoch != events.EpochOf(c.state) || e.ID == last || last.Covers(e.ID) || e.ID.Command > c.state.Applied() {
					t.Fatalf("%s comes after %s, with %d commands applied", e.ID, last, c.state.Applied())
				}
				last = e.ID
			}
		}
		if seen == nil {
			return
		}
		for i := range c.told[from:] {
			seen.hear(&c.told[from+i])
		}
		want := look(c.state)
		if !maps.Equal(seen.agents, want.agents) || !maps.Equal(seen.frameworks, want.frameworks) || !maps.Equal(seen.tasks, want.tasks) {
			t.Fatalf("the reader knows\n%v\nand the state is\n%v", seen, want)
		}
	})
}

// checkDescribed wants every field of an event in the description of its type.
func checkDescribed(t *rapid.T, e *events.Event) {
	at := slices.IndexFunc(events.Described, func(d events.Description) bool { return d.Type == e.Type })
	if at < 0 {
		t.Fatalf("%s is not described", e.Type)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	d := events.Described[at]
	for f := range fields {
		if !slices.Contains([]string{"id", "type", "time"}, f) && !slices.Contains(d.Fields, f) {
			t.Fatalf("%s has a field %s that its description lacks: %s", e.Type, f, text)
		}
	}
	if !d.Durable {
		t.Fatalf("%s was derived and is described as not durable", e.Type)
	}
}

// TestTypesAreDescribed wants a description of every type, with fields that
// there are.
func TestTypesAreDescribed(t *testing.T) {
	all, err := json.Marshal(&events.Event{
		Framework: "f", Task: "t", Agent: "a", Offer: "o", Demand: "d", Role: "r", Name: "n", State: "s", Resume: "r", Reason: "r", Message: "m", ExitCode: new(int),
		Signal: "s", Healthy: new(bool), Resources: new(events.Room), Devices: map[string][]offers.Grant{"gpu": nil}, Deadline: dawn,
		Ring: new(offers.RingRef), Count: new(int), Stopped: []string{"cpus"}, Reasons: []events.Reason{{}},
		Address: "a", Term: 1, Lost: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(all, &fields); err != nil {
		t.Fatal(err)
	}
	for _, typ := range events.Types {
		if !slices.ContainsFunc(events.Described, func(d events.Description) bool { return d.Type == typ }) {
			t.Errorf("%s is not described", typ)
		}
	}
	for _, d := range events.Described {
		for _, f := range d.Fields {
			if _, ok := fields[f]; !ok {
				t.Errorf("%s is described with the field %s, which no event has", d.Type, f)
			}
		}
	}
}

// draw returns any command, about things that are there or not.
func (c *chronicle) draw(t *rapid.T) state.Command {
	agent := offers.AgentID(fmt.Sprintf("a%05d-c0de", rapid.IntRange(1, 4).Draw(t, "agent")))
	framework := offers.FrameworkID(fmt.Sprintf("f%05d-c0de", rapid.IntRange(1, 3).Draw(t, "framework")))
	ref := offers.TaskRef{Framework: framework, Task: offers.TaskID(fmt.Sprint("t", rapid.IntRange(1, 4).Draw(t, "task")))}
	name := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name")
	moves := []offers.AgentState{offers.AgentActive, offers.AgentDraining, offers.AgentDrained, offers.AgentUnreachable, offers.AgentGone}
	ends := []offers.State{offers.Finished, offers.Failed, offers.Killed, offers.Dropped}
	return rapid.SampledFrom([]func() state.Command{
		func() state.Command { return c.agent(name) },
		func() state.Command { return c.again(agent, name) },
		func() state.Command { return c.move(agent, rapid.SampledFrom(moves).Draw(t, "to")) },
		func() state.Command { return c.framework("") },
		func() state.Command { return c.framework(framework) },
		func() state.Command { return c.away(framework) },
		func() state.Command { return c.remove(framework, rapid.Bool().Draw(t, "overdue")) },
		func() state.Command { return c.launch(ref, agent) },
		func() state.Command { return c.launch(ref, agent) },
		func() state.Command { return c.end(ref, rapid.SampledFrom(ends).Draw(t, "end")) },
		func() state.Command { return c.kill(ref, time.Duration(rapid.IntRange(1, 3).Draw(t, "grace"))) },
		func() state.Command { return state.Command{Acknowledge: &state.Acknowledge{Ref: ref}} },
	}).Draw(t, "command")()
}
