package state

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// masters are a model and two replicas that get the same commands: one at a
// time, and in batches that went through their encoding, with restarts from a
// snapshot in between.
type masters struct {
	now     time.Time
	model   *model
	one     *State
	batches *State
	waiting []Command // not yet with batches
	results []Result  // of one, for those
	pins    []pin
}

// pin is a view that somebody holds on to.
type pin struct {
	state *State
	model *model
	saved []byte
}

// do applies one command to the model and the first replica.
func (m *masters) do(t *rapid.T, c Command) {
	m.now = m.now.Add(time.Second)
	next, results := m.one.Apply([]Command{c})
	got := results[0]
	var code offers.Code
	if got.Err != nil {
		code = got.Err.Code
	}
	if want := m.model.apply(c); code != want {
		t.Fatalf("%+v: got %q, want %q", describe(c), code, want)
	}
	var over []string
	for _, e := range got.Ended {
		over = append(over, e.Ref().String()+" "+string(e.End.State))
	}
	if !slices.Equal(over, m.model.over) || (got.Gone != nil) != (m.model.lost != "") || got.Gone != nil && got.Gone.ID != m.model.lost {
		t.Fatalf("%+v ended %v and lost %v, the model says %v and %q", describe(c), over, got.Gone, m.model.over, m.model.lost)
	}
	m.one, m.waiting, m.results = next, append(m.waiting, c), append(m.results, got)
}

// describe shows the change that a command names.
func describe(c Command) any {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsNil() {
			return f.Interface()
		}
	}
	return c
}

// flush brings the second replica up to the first.
func (m *masters) flush(t *rapid.T) {
	for len(m.waiting) > 0 {
		n := rapid.IntRange(1, len(m.waiting)).Draw(t, "in one entry")
		entry, err := Encode(m.waiting[:n])
		if err != nil {
			t.Fatal(err)
		}
		batch, err := Decode(entry)
		if err != nil {
			t.Fatal(err)
		}
		var results []Result
		if m.batches, results = m.batches.Apply(batch); !reflect.DeepEqual(results, m.results[:n]) {
			t.Fatalf("in a batch the results are\n%+v, one by one\n%+v", results, m.results[:n])
		}
		m.waiting, m.results = m.waiting[n:], m.results[n:]
	}
	if !bytes.Equal(save(t, m.one), save(t, m.batches)) {
		t.Fatal("cut into batches, encoded and restarted it comes to another state")
	}
}

// restart replaces the second replica by what it reads from its snapshot.
func (m *masters) restart(t *rapid.T) {
	saved := save(t, m.batches)
	again, err := Read(bytes.NewReader(saved))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(save(t, again), saved) {
		t.Fatal("what was read is written another way")
	}
	m.batches = again
}

func save(t rapid.TB, s *State) []byte {
	var out bytes.Buffer
	if _, err := s.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (m *masters) pin(t *rapid.T) {
	m.pins = append(m.pins, pin{m.one, m.model.clone(), save(t, m.one)})
}

// restore puts a pinned state in the place of the present one, on both.
func (m *masters) restore(t *rapid.T) {
	if len(m.pins) == 0 || rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
		return
	}
	m.flush(t)
	p := rapid.SampledFrom(m.pins).Draw(t, "pinned")
	term := uint64(rapid.IntRange(1, 9).Draw(t, "term"))
	next := p.state.Replacing(m.one, term, m.now)
	read, err := Read(bytes.NewReader(p.saved))
	if err != nil {
		t.Fatal(err)
	}
	if next.Terms()+term <= m.one.Terms()+term || next.Applied() < m.one.Applied() {
		t.Fatalf("a restore went from term %d, %d commands to term %d, %d", m.one.Terms()+term, m.one.Applied(), next.Terms()+term, next.Applied())
	}
	m.one, m.batches = next, read.Replacing(m.batches, term, m.now)
	m.model = p.model.replacing(m.model, m.now)
}

func (m *masters) check(t *rapid.T) {
	if err := m.one.check(); err != nil {
		t.Fatal(err)
	}
	if got, want := view(m.one), m.model.view(); !reflect.DeepEqual(got, want) {
		t.Fatalf("\n got %+v\nwant %+v", got, want)
	}
}

// The ids are few, so that commands meet, and most of them are good, so that
// much succeeds.

func (m *masters) agent(t *rapid.T) offers.AgentID {
	var good []offers.AgentID
	for id, a := range m.model.agents {
		if a.State == offers.AgentActive {
			good = append(good, id)
		}
	}
	return drawn(t, "agent", good, "a00001-c0de", "a00003-c0de", "a00009-c0de")
}

func (m *masters) framework(t *rapid.T) offers.FrameworkID {
	var good []offers.FrameworkID
	for id, f := range m.model.frameworks {
		if !f.Removed {
			good = append(good, id)
		}
	}
	return drawn(t, "framework", good, "f00001-c0de", "f00003-c0de", "f00009-c0de")
}

// task is one that may be launched.
func (m *masters) task(t *rapid.T) offers.TaskRef {
	return ref(m.framework(t), drawn(t, "task", []offers.TaskID{"t1", "t2", "t3"}, "", ".."))
}

// known is a task that there is.
func (m *masters) known(t *rapid.T) offers.TaskRef {
	return drawn(t, "known task", slices.Collect(maps.Keys(m.model.tasks)), ref("f00001-c0de", "t9"), ref("f00009-c0de", "t1"))
}

// drawn is a good one, in five of six draws.
func drawn[T any](t *rapid.T, label string, good []T, others ...T) T {
	slices.SortFunc(good, func(a, b T) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if len(good) > 0 && rapid.IntRange(0, 5).Draw(t, "good") < 5 {
		others = good
	}
	return rapid.SampledFrom(others).Draw(t, label)
}

func someVersion(t *rapid.T) *uint64 {
	if rapid.Bool().Draw(t, "any version") {
		return nil
	}
	return new(rapid.Uint64Range(0, 3).Draw(t, "version"))
}

var someKey = rapid.SampledFrom([]string{"k1", "k2", "k3", "", string(make([]byte, MaxKeyLength+1))})

// commands draws one of each kind, those that must fail too.
func (m *masters) commands() map[string]func(t *rapid.T) Command {
	return map[string]func(t *rapid.T) Command{
		"init": func(*rapid.T) Command { return Command{Init: &Init{"beef5eed-0000"}} },
		"register agent": func(t *rapid.T) Command {
			a := offers.Agent{Name: drawn(t, "name", []string{"n1", "n2"}, "n3", ""), Host: "h"}
			if rapid.Bool().Draw(t, "known") {
				a.ID = drawn(t, "agent", slices.Collect(maps.Keys(m.model.agents)), "a00009-c0de")
				if is := m.model.agents[a.ID]; is.ID != "" && rapid.Bool().Draw(t, "as it was") {
					a.Name = is.Name
				}
			}
			a.Started = start.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "run")) * time.Second)
			tokens := []string{"k1", "k2", "k3"}
			return Command{RegisterAgent: &RegisterAgent{
				Agent: a, Time: m.now, Have: drawn(t, "have", tokens, ""), Next: drawn(t, "next", tokens, ""),
				Doubt: rapid.Bool().Draw(t, "doubt"),
			}}
		},
		"set agent": func(t *rapid.T) Command {
			states := []offers.AgentState{offers.AgentActive, offers.AgentUnreachable, offers.AgentDraining, offers.AgentDrained}
			id := drawn(t, "agent", slices.DeleteFunc(slices.Collect(maps.Keys(m.model.agents)), func(id offers.AgentID) bool {
				return m.model.agents[id].State == offers.AgentGone
			}), "a00001-c0de", "a00009-c0de")
			return Command{SetAgentState: &SetAgentState{ID: id, State: drawn(t, "state", states, offers.AgentGone, "asleep"), Time: m.now, Of: rapid.Uint64Range(0, 2).Draw(t, "registration")}}
		},
		"register framework": func(t *rapid.T) Command {
			r := &RegisterFramework{
				Name: "f", Role: rapid.SampledFrom([]offers.Role{"eng", "ops"}).Draw(t, "role"),
				Labels: map[string]string{"k": "v"}, FailoverTimeout: time.Minute, Time: m.now,
			}
			if rapid.Bool().Draw(t, "known") {
				r.ID = m.framework(t)
			}
			return Command{RegisterFramework: r}
		},
		"disconnect framework": func(t *rapid.T) Command {
			c := &DisconnectFramework{ID: m.framework(t), Of: rapid.Uint64Range(0, 2).Draw(t, "registration")}
			if n := rapid.IntRange(0, 20).Draw(t, "deadline"); n > 0 {
				c.Deadline = m.now.Add(time.Duration(n) * time.Second)
			}
			return Command{DisconnectFramework: c}
		},
		"remove framework": func(t *rapid.T) Command {
			return Command{RemoveFramework: &RemoveFramework{ID: m.framework(t), Time: m.now, Overdue: rapid.Bool().Draw(t, "overdue")}}
		},
		"role": func(t *rapid.T) Command {
			c := &SetRole{Role: rapid.SampledFrom([]offers.Role{"eng", "eng/ml", "", "a//b"}).Draw(t, "role")}
			if rapid.Bool().Draw(t, "forget") {
				c.Settings = &offers.RoleSettings{Weight: rapid.SampledFrom([]float64{1, 2.5, 0}).Draw(t, "weight")}
			}
			return Command{SetRole: c}
		},
		"launch": func(t *rapid.T) Command {
			r := m.task(t)
			// What a launch must not bring along.
			k := TaskRecord{Framework: r.Framework, Agent: m.agent(t), Spec: offers.Task{ID: r.Task}, Created: m.now, Acknowledged: true, Ended: 7, LaunchID: rapid.SampledFrom([]offers.LaunchID{"", "1-1", "1-2"}).Draw(t, "launch"), Restored: true, Doubtful: true}
			k.Spec.KillGrace = offers.Duration(rapid.IntRange(0, 2).Draw(t, "own grace")) * 4e9
			return Command{Launch: &Launch{k}}
		},
		"end": func(t *rapid.T) Command {
			states := []offers.State{offers.Finished, offers.Failed, offers.Gone}
			st := offers.Status{State: drawn(t, "state", states, offers.Running, offers.Unreachable, ""), Time: m.now}
			st.UpdateID = rapid.SampledFrom([]offers.UpdateID{"u1", "u2", ""}).Draw(t, "update")
			if rapid.IntRange(0, 3).Draw(t, "from") == 3 {
				st.Agent = m.agent(t)
			}
			return Command{EndTask: &EndTask{m.known(t), st}}
		},
		"acknowledge": func(t *rapid.T) Command {
			id := rapid.SampledFrom([]offers.UpdateID{"", "u1", "u2", "m-1"}).Draw(t, "update")
			return Command{Acknowledge: &Acknowledge{m.known(t), id}}
		},
		"kill": func(t *rapid.T) Command {
			order := KillOrder{Reason: rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "reason"), Time: m.now}
			if g := offers.Duration(rapid.IntRange(-1, 12).Draw(t, "grace")) * 1e9; g < 11e9 {
				order.Grace = &g
			}
			return Command{KillTask: &KillTask{m.known(t), order}}
		},
		"put": func(t *rapid.T) Command {
			value := []byte(rapid.SampledFrom([]string{"v", "w"}).Draw(t, "value"))
			return Command{Put: &Put{m.framework(t), someKey.Draw(t, "key"), value, someVersion(t)}}
		},
		"delete": func(t *rapid.T) Command {
			return Command{Delete: &Delete{m.framework(t), someKey.Draw(t, "key"), someVersion(t)}}
		},
	}
}

// TestAgainstModel: every command does what the model says, the same however
// the log is cut, encoded and restarted; and no view changes once it is held.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &masters{now: start, model: newModel(), one: New(), batches: New()}
		m.do(t, Command{Init: &Init{cluster}})
		for _, name := range []string{"n1", "n2"} {
			m.do(t, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: name}, Time: m.now}})
			m.do(t, Command{RegisterFramework: &RegisterFramework{Name: name, Role: "eng", FailoverTimeout: time.Minute, Time: m.now}})
		}
		actions := map[string]func(*rapid.T){
			"": m.check, "flush": m.flush, "pin": m.pin, "restart": m.restart, "snapshot restore": m.restore,
		}
		for name, draw := range m.commands() {
			actions[name] = func(t *rapid.T) { m.do(t, draw(t)) }
		}
		// Most of what there is to do is about tasks and agents.
		for n := range 2 {
			for _, often := range []string{"launch", "end", "kill", "acknowledge", "set agent", "register agent"} {
				actions[fmt.Sprint("a ", often, n)] = actions[often]
			}
		}
		for range 3 {
			t.Repeat(actions)
		}
		m.flush(t)
		for _, p := range m.pins {
			if !bytes.Equal(save(t, p.state), p.saved) || !reflect.DeepEqual(view(p.state), p.model.view()) {
				t.Fatal("a view changed while it was held")
			}
		}
	})
}

// TestEveryCommandIsDrawn, those that are added later too.
func TestEveryCommandIsDrawn(t *testing.T) {
	drawn := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		for _, draw := range (&masters{model: newModel()}).commands() {
			drawn[fmt.Sprintf("%T", describe(draw(t)))] = true
		}
	})
	kinds := reflect.TypeFor[Command]()
	for i := range kinds.NumField() {
		if kind := kinds.Field(i).Type.String(); !drawn[kind] {
			t.Errorf("no %s is ever drawn", kind)
		}
	}
}
