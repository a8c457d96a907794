package state

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// model is the state as one would write it with maps and loops: no index, no
// sharing. It knows nothing of the bounds of histories, which have tests of
// their own.
type model struct {
	agents     map[offers.AgentID]Agent
	frameworks map[offers.FrameworkID]Framework
	tasks      map[offers.TaskRef]Task
	values     map[string]Entry // by framework/key
	floors     map[offers.FrameworkID]uint64
	ended      uint64
}

func newModel() *model {
	return &model{map[offers.AgentID]Agent{}, map[offers.FrameworkID]Framework{}, map[offers.TaskRef]Task{}, map[string]Entry{}, map[offers.FrameworkID]uint64{}, 0}
}

// apply returns the code of the failure, "" for none.
func (m *model) apply(c Command) offers.Code {
	switch {
	case c.RegisterAgent != nil:
		return m.registerAgent(c.RegisterAgent.Agent, c.RegisterAgent.Time)
	case c.SetAgentState != nil:
		return m.setAgentState(c.SetAgentState)
	case c.RegisterFramework != nil:
		r := c.RegisterFramework
		id, role, since := r.ID, r.Role, r.Time
		if id == "" {
			id = offers.FrameworkID(fmt.Sprintf("f%05d-c0de", len(m.frameworks)+1))
		} else if code := m.there(id); code != "" {
			return code
		} else {
			role, since = m.frameworks[id].Role, m.frameworks[id].Registered
		}
		m.frameworks[id] = Framework{ID: id, Name: r.Name, Role: role, Registered: since}
	case c.DisconnectFramework != nil:
		f := m.frameworks[c.DisconnectFramework.ID]
		if code := m.there(c.DisconnectFramework.ID); code != "" {
			return code
		}
		if f.Deadline.IsZero() || c.DisconnectFramework.Deadline.Before(f.Deadline) {
			f.Deadline = c.DisconnectFramework.Deadline
			m.frameworks[f.ID] = f
		}
	case c.RemoveFramework != nil:
		return m.remove(c.RemoveFramework)
	case c.Launch != nil:
		return m.launch(c.Launch.Task)
	case c.EndTask != nil:
		t, ok := m.tasks[c.EndTask.Ref]
		if st := c.EndTask.Status; ok && t.End == nil {
			if st.Agent != "" && st.Agent != t.Agent {
				return offers.UnknownTask
			}
			m.end(t, st)
		}
	case c.Acknowledge != nil:
		if t, ok := m.tasks[c.Acknowledge.Ref]; ok && t.End != nil {
			t.Acknowledged = true
			m.tasks[t.Ref()] = t
		}
	case c.KillTask != nil:
		m.kill(c.KillTask)
	case c.Put != nil:
		return m.write(c.Put.Framework, c.Put.Key, c.Put.Version, &c.Put.Value)
	case c.Delete != nil:
		return m.write(c.Delete.Framework, c.Delete.Key, c.Delete.Version, nil)
	}
	return ""
}

func (m *model) there(id offers.FrameworkID) offers.Code {
	f, ok := m.frameworks[id]
	switch {
	case !ok:
		return offers.UnknownFramework
	case f.Removed:
		return offers.FrameworkRemoved
	}
	return ""
}

func (m *model) registerAgent(in offers.Agent, at time.Time) offers.Code {
	var other *Agent
	for _, a := range m.agents {
		if a.Name == in.Name && a.State != offers.AgentGone {
			other = &a
		}
	}
	if in.ID == "" {
		if other != nil {
			m.lose(*other, at)
		}
		in.ID = offers.AgentID(fmt.Sprintf("a%05d-c0de", len(m.agents)+1))
		m.agents[in.ID] = Agent{Agent: in, State: offers.AgentActive, Registered: at, Since: at}
		return ""
	}
	a, ok := m.agents[in.ID]
	if !ok || a.State == offers.AgentGone {
		return offers.UnknownAgent
	}
	if other != nil && other.ID != in.ID {
		return offers.Forbidden
	}
	if a.Agent = in; a.State == offers.AgentUnreachable {
		a.State, a.Resume, a.Since = a.Resume, "", at
	}
	m.agents[in.ID] = a
	return ""
}

func (m *model) lose(a Agent, at time.Time) {
	var living []Task
	for _, t := range m.tasks {
		if t.Agent == a.ID && t.End == nil {
			living = append(living, t)
		}
	}
	slices.SortFunc(living, func(a, b Task) int { return cmp.Compare(a.Ref().String(), b.Ref().String()) })
	for _, t := range living {
		m.end(t, offers.Status{State: offers.Gone, Reason: offers.ReasonAgentLost, Message: "agent " + a.Name + " is gone", Time: at})
	}
	m.ended++
	a.State, a.Resume, a.Since, a.Ended = offers.AgentGone, "", at, m.ended
	m.agents[a.ID] = a
}

func (m *model) setAgentState(c *SetAgentState) offers.Code {
	a, ok := m.agents[c.ID]
	if !ok || a.State == offers.AgentGone && c.State != offers.AgentGone {
		return offers.UnknownAgent
	}
	was, drain := a.State, a.State
	if was == offers.AgentUnreachable {
		drain = a.Resume
	}
	busy := false
	for _, t := range m.tasks {
		busy = busy || t.Agent == a.ID && t.End == nil
	}
	switch {
	case c.State == was:
		return ""
	case c.State == offers.AgentGone:
		m.lose(a, c.Time)
		return ""
	case c.State == offers.AgentActive:
		if a.State == offers.AgentUnreachable {
			a.Resume = offers.AgentActive
		} else {
			a.State = offers.AgentActive
		}
	case c.State == offers.AgentUnreachable:
		a.State, a.Resume = offers.AgentUnreachable, was
	case c.State == offers.AgentDrained && (drain == offers.AgentActive || busy):
		return offers.BadMessage
	case c.State == offers.AgentDraining && drain == offers.AgentDrained:
	case was == offers.AgentUnreachable:
		a.Resume = c.State
	default:
		a.State = c.State
	}
	if a.State != was {
		a.Since = c.Time
	}
	m.agents[a.ID] = a
	return ""
}

func (m *model) launch(t Task) offers.Code {
	if code := m.there(t.Framework); code != "" {
		return code
	}
	if old, ok := m.tasks[t.Ref()]; ok && !old.Acknowledged {
		return offers.TaskIDInUse
	}
	if m.agents[t.Agent].State != offers.AgentActive {
		return offers.OfferGone
	}
	m.tasks[t.Ref()] = t
	return ""
}

func (m *model) end(t Task, st offers.Status) {
	m.ended++
	st.Task, st.Agent = t.Spec.ID, t.Agent
	if st.UpdateID == "" {
		st.UpdateID = offers.UpdateID(fmt.Sprint("m-", m.ended))
	}
	f := m.frameworks[t.Framework]
	t.End, t.Ended, t.Acknowledged = &st, m.ended, f.Removed
	m.tasks[t.Ref()] = t
	m.settle(f)
}

// settle numbers a removed framework once no task of it lives.
func (m *model) settle(f Framework) {
	for _, t := range m.tasks {
		if t.Framework == f.ID && t.End == nil {
			return
		}
	}
	if f.Removed {
		m.ended++
		f.Ended = m.ended
		m.frameworks[f.ID] = f
	}
}

func (m *model) remove(c *RemoveFramework) offers.Code {
	f, ok := m.frameworks[c.ID]
	if !ok {
		return offers.UnknownFramework
	}
	if f.Removed || c.Overdue && (f.Deadline.IsZero() || f.Deadline.After(c.Time)) {
		return ""
	}
	f.Removed, f.Deadline = true, time.Time{}
	m.frameworks[f.ID] = f
	maps.DeleteFunc(m.values, func(key string, _ Entry) bool { return key[:len(f.ID)] == string(f.ID) })
	for ref, t := range m.tasks {
		if ref.Framework != f.ID {
			continue
		}
		if t.Acknowledged = t.End != nil; t.End == nil && t.Kill == nil {
			t.Kill = &KillOrder{Reason: offers.ReasonFrameworkGone, Time: c.Time}
		}
		m.tasks[ref] = t
	}
	m.settle(f)
	return ""
}

func (m *model) kill(c *KillTask) {
	t, ok := m.tasks[c.Ref]
	if !ok || t.End != nil {
		return
	}
	left := func(o *KillOrder) offers.Duration {
		if o.Grace == nil {
			return offers.DefaultKillGrace // these tasks have none of their own
		}
		return *o.Grace
	}
	order := c.Order
	if t.Kill != nil {
		if left(&order) >= left(t.Kill) {
			return
		}
		order.Reason, order.Time = t.Kill.Reason, t.Kill.Time
	}
	t.Kill = &order
	m.tasks[c.Ref] = t
}

func (m *model) write(f offers.FrameworkID, key string, version *uint64, value *[]byte) offers.Code {
	if code := m.there(f); code != "" {
		return code
	}
	at := string(f) + "/" + key
	old := m.values[at].Version
	switch {
	case version != nil && *version != old:
		return offers.VersionConflict
	case value == nil:
		delete(m.values, at)
		m.floors[f] = max(m.floors[f], old)
	default:
		m.values[at] = Entry{*value, max(old, m.floors[f]) + 1}
	}
	return ""
}

// contents is everything that readers can see, in a form that compares.
type contents struct {
	Agents     map[offers.AgentID]Agent
	Named      map[string]offers.AgentID
	Frameworks map[offers.FrameworkID]Framework
	LiveOf     map[offers.FrameworkID]int
	Tasks      map[offers.TaskRef]Task
	Of         map[offers.FrameworkID][]string
	Live, Wait map[offers.AgentID][]string
	Values     map[string]Entry
	Counts     Counts
}

func view(s *State) contents {
	v := contents{
		Agents: map[offers.AgentID]Agent{}, Named: map[string]offers.AgentID{}, Frameworks: map[offers.FrameworkID]Framework{},
		LiveOf: map[offers.FrameworkID]int{}, Tasks: map[offers.TaskRef]Task{}, Of: map[offers.FrameworkID][]string{},
		Live: map[offers.AgentID][]string{}, Wait: map[offers.AgentID][]string{}, Values: map[string]Entry{}, Counts: s.Counts(),
	}
	for a := range s.Agents() {
		v.Agents[a.ID] = *a
		v.Live[a.ID], v.Wait[a.ID] = names(s.LiveTasksOn(a.ID)), names(s.UnacknowledgedOn(a.ID))
		if now := s.AgentNamed(a.Name); now != nil {
			v.Named[a.Name] = now.ID
		}
	}
	for f := range s.Frameworks() {
		v.Frameworks[f.ID], v.LiveOf[f.ID], v.Of[f.ID] = *f, s.LiveCount(f.ID), names(s.TasksOf(f.ID))
		for key := range s.Keys(f.ID, "") {
			v.Values[string(f.ID)+"/"+key] = s.Entry(f.ID, key)
		}
	}
	for t := range s.Tasks() {
		v.Tasks[t.Ref()] = *t
	}
	return v
}

func (m *model) view() contents {
	v := contents{
		Agents: m.agents, Named: map[string]offers.AgentID{}, Frameworks: m.frameworks, LiveOf: map[offers.FrameworkID]int{},
		Tasks: m.tasks, Of: map[offers.FrameworkID][]string{}, Live: map[offers.AgentID][]string{}, Wait: map[offers.AgentID][]string{},
		Values: m.values, Counts: Counts{Agents: len(m.agents), Frameworks: len(m.frameworks)},
	}
	for id, a := range m.agents {
		v.Live[id], v.Wait[id] = nil, nil
		if a.State != offers.AgentGone {
			v.Named[a.Name] = id
		}
	}
	for id := range m.frameworks {
		v.LiveOf[id], v.Of[id] = 0, nil
	}
	for _, ref := range slices.SortedFunc(maps.Keys(m.tasks), func(a, b offers.TaskRef) int { return cmp.Compare(a.String(), b.String()) }) {
		t := m.tasks[ref]
		v.Of[ref.Framework] = append(v.Of[ref.Framework], ref.String())
		switch {
		case t.End == nil:
			v.Counts.Live++
			v.LiveOf[ref.Framework]++
			v.Live[t.Agent] = append(v.Live[t.Agent], ref.String())
		case !t.Acknowledged:
			v.Counts.Unacknowledged++
			v.Wait[t.Agent] = append(v.Wait[t.Agent], ref.String())
			fallthrough
		default:
			v.Counts.Ended++
		}
	}
	return v
}

// randomCommand draws from few ids, so that commands meet.
func randomCommand(r *rand.Rand, at time.Time) Command {
	agent := func() offers.AgentID { return offers.AgentID(fmt.Sprintf("a%05d-c0de", 1+r.IntN(12))) }
	framework := func() offers.FrameworkID { return offers.FrameworkID(fmt.Sprintf("f%05d-c0de", 1+r.IntN(9))) }
	task := func() offers.TaskRef { return ref(framework(), offers.TaskID(fmt.Sprintf("t%d", r.IntN(9)))) }
	version := func() *uint64 {
		if n := r.Uint64N(4); n < 3 {
			return &n
		}
		return nil
	}
	switch n := r.IntN(100); {
	case n < 3:
		return Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: fmt.Sprint("n", r.IntN(5))}, Time: at}}
	case n < 8:
		return Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{ID: agent(), Name: fmt.Sprint("n", r.IntN(5))}, Time: at}}
	case n < 18:
		states := []offers.AgentState{offers.AgentActive, offers.AgentActive, offers.AgentDraining, offers.AgentDrained, offers.AgentUnreachable, offers.AgentGone}
		return Command{SetAgentState: &SetAgentState{agent(), states[r.IntN(len(states))], at}}
	case n < 20:
		return Command{RegisterFramework: &RegisterFramework{Name: "f", Role: "eng", Time: at}}
	case n < 23:
		return Command{RegisterFramework: &RegisterFramework{ID: framework(), Name: "g", Role: "ops", Time: at}}
	case n < 26:
		return Command{DisconnectFramework: &DisconnectFramework{framework(), at.Add(time.Duration(r.IntN(99)) * time.Second)}}
	case n < 27:
		return Command{RemoveFramework: &RemoveFramework{ID: framework(), Time: at, Overdue: r.IntN(3) == 0}}
	case n < 55:
		t := task()
		return launch(t.Framework, t.Task, agent())
	case n < 70:
		st := offers.Status{State: offers.Finished, Time: at}
		if r.IntN(4) == 0 {
			st.Agent = agent()
		}
		return Command{EndTask: &EndTask{task(), st}}
	case n < 80:
		return Command{Acknowledge: &Acknowledge{Ref: task()}}
	case n < 88:
		order := KillOrder{Reason: fmt.Sprint("r", n), Time: at}
		if g := offers.Duration(r.IntN(10)) * 1e9; r.IntN(3) > 0 {
			order.Grace = &g
		}
		return Command{KillTask: &KillTask{task(), order}}
	case n < 96:
		return Command{Put: &Put{framework(), fmt.Sprint("k", r.IntN(4)), []byte{byte(n)}, version()}}
	default:
		return Command{Delete: &Delete{framework(), fmt.Sprint("k", r.IntN(4)), version()}}
	}
}

// randomCommands are the same for the same seed.
func randomCommands(seed uint64, n int) []Command {
	r := rand.New(rand.NewPCG(seed, 7))
	batch := []Command{{Init: &Init{cluster}}}
	for i := range n {
		batch = append(batch, randomCommand(r, start.Add(time.Duration(i)*time.Second)))
	}
	return batch
}

func TestAgainstModel(t *testing.T) {
	for seed := range uint64(8) {
		s, m := New(), newModel()
		worked := map[bool]int{}
		for i, c := range randomCommands(seed, 800) {
			next, results := s.Apply([]Command{c})
			var code offers.Code
			if results[0].Err != nil {
				code = results[0].Err.Code
			}
			if want := m.apply(c); code != want {
				t.Fatalf("seed %d, step %d: got %q, want %q", seed, i, code, want)
			}
			worked[code == ""]++
			if err := next.check(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
			if got, want := view(next), m.view(); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d:\n got %+v\nwant %+v", seed, i, got, want)
			}
			s = next
		}
		if worked[true] < 200 || worked[false] < 200 {
			t.Errorf("seed %d: %d commands worked, %d failed: the draw is poor", seed, worked[true], worked[false])
		}
	}
}

func TestDeterminism(t *testing.T) {
	for seed := range uint64(8) {
		all := randomCommands(seed, 3000)
		whole, wholeResults := New().Apply(all)
		r := rand.New(rand.NewPCG(seed, 8))
		cut, cutResults := New(), []Result{}
		for rest := all; len(rest) > 0; {
			n := min(1+r.IntN(40), len(rest))
			entry, err := Encode(rest[:n])
			if err != nil {
				t.Fatal(err)
			}
			batch, err := Decode(entry)
			if err != nil {
				t.Fatal(err)
			}
			var results []Result
			cut, results = cut.Apply(batch)
			cutResults = append(cutResults, results...)
			if r.IntN(5) == 0 { // a master that restarts
				if cut, err = Read(bytes.NewReader(snapshot(t, cut))); err != nil {
					t.Fatal(err)
				}
			}
			rest = rest[n:]
		}
		if !bytes.Equal(snapshot(t, whole), snapshot(t, cut)) {
			t.Fatalf("seed %d: cut into batches, encoded and restarted it comes to another state", seed)
		}
		if !reflect.DeepEqual(wholeResults, cutResults) {
			t.Fatalf("seed %d: other results", seed)
		}
		if err := whole.check(); err != nil {
			t.Fatal(err)
		}
	}
}
