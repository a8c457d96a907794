package match

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// racks is a bench with two agents in each of two racks, and one in none.
func racks(t *testing.T) *bench {
	b := newBench(t, Config{})
	for _, a := range []struct{ name, rack string }{{"a", "r1"}, {"b", "r1"}, {"c", "r2"}, {"d", "r2"}} {
		b.agentWith(a.name, `{"cpus":8}`, map[string]string{"rack": a.rack})
	}
	b.agentWith("e", `{"cpus":8}`, nil)
	return b
}

// TestLimitsSpreadUnits: units that are offered, and tasks, count together; what
// ends makes room again, wherever that is; the rest waits and says why.
func TestLimitsSpreadUnits(t *testing.T) {
	b := racks(t)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":6,"resources":{"cpus":1},"constraints":["distinct agent","at most 1 per rack"]}`)
	first := b.offered()
	if len(first) != 2 || b.names[first[0].Agent] != "a" || b.names[first[1].Agent] != "c" {
		t.Fatalf("offered %+v, want one on a and one on c", first)
	}
	if got := fmt.Sprint(b.View().Pending); got != "map[constraint:1 limit:1]" {
		t.Errorf("pending %s", got)
	}
	e, _ := b.ExplainStated(f, "d", 10)
	if got := said(e.Missed); got != "[2 limit at most 1 per rack 2 limit distinct agent 1 constraint at most 1 per rack]" {
		t.Errorf("reasons %s", got)
	}
	b.launch(first[0], map[string]string{"t1": `{"cpus":1}`})
	if got := b.places(); got != "[]" {
		t.Errorf("while t1 runs in r1 it is offered %s", got)
	}
	b.demand(f, `{"id":"other","count":1,"resources":{"cpus":1},"constraints":["distinct agent"]}`)
	if got := b.places(); got != "[a]" {
		t.Errorf("another demand is offered %s, want a", got)
	}
	b.Ended(offers.TaskRef{Framework: f, Task: "t1"})
	if got := b.places(); got != "[a]" {
		t.Errorf("after t1 ended it is offered %s, want a", got)
	}
}

// TestLimitWakesElsewhere: the end of a task in a full rack lets the demand onto
// another agent of it.
func TestLimitWakesElsewhere(t *testing.T) {
	b := newBench(t, Config{})
	b.agentWith("a", `{"cpus":1}`, map[string]string{"rack": "r1"})
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1},"constraints":["distinct rack"]}`)
	b.launch(b.offered()[0], map[string]string{"t1": `{"cpus":0.1}`})
	b.demand(f, `{"id":"rest","count":1,"resources":{"cpus":0.9}}`)
	b.launch(b.offered()[0], map[string]string{"t2": `{"cpus":0.9}`})
	b.agentWith("b", `{"cpus":1}`, map[string]string{"rack": "r1"})
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1},"constraints":["distinct rack"]}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("beside t1 in the rack it is offered %s", got)
	}
	b.Ended(offers.TaskRef{Framework: f, Task: "t1"})
	if got := b.places(); got != "[b]" {
		t.Errorf("after t1 ended on a it is offered %s, want b", got)
	}
}

// TestNextLeaderKeepsLimits: the tasks of a demand are counted by what is
// replicated, once the framework states it again.
func TestNextLeaderKeepsLimits(t *testing.T) {
	b := racks(t)
	f := b.framework("f", "default")
	const wish = `{"id":"d","count":2,"resources":{"cpus":1},"constraints":["distinct rack"]}`
	b.demand(f, wish)
	for i, o := range b.offered() {
		for _, l := range b.launch(o, map[string]string{fmt.Sprint("t", i): `{"cpus":1}`}).Launches {
			if l.Task.Demand != "d" {
				t.Fatalf("%s is launched for %q", l.Task.Ref(), l.Task.Demand)
			}
			b.apply(state.Command{Launch: &l})
		}
	}
	b.Matcher = New(Config{OfferTimeout: time.Minute}, b.state, 2)
	for id := range b.names {
		b.AgentOnline(id, true)
	}
	b.FrameworkOnline(f, true)
	b.demand(f, wish)
	if got := b.places(); got != "[]" {
		t.Fatalf("the next leader offers %s beside the tasks that run", got)
	}
	b.Ended(offers.TaskRef{Framework: f, Task: "t1"})
	if out := b.offered(); len(out) != 1 || b.state.Agent(out[0].Agent).Attributes["rack"] != "r2" {
		t.Errorf("after t1 ended in r2 it is offered %+v", out)
	}
}

// TestLimitsFollowAttributes: an agent that comes back in another rack is
// counted there.
func TestLimitsFollowAttributes(t *testing.T) {
	b := racks(t)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":3,"resources":{"cpus":1},"constraints":["at most 1 per rack"]}`)
	b.launch(b.offered()[0], map[string]string{"t1": `{"cpus":1}`})
	b.offered()
	a := *b.agents[b.ids["a"]].info
	a.Attributes = map[string]string{"rack": "r3"}
	b.AgentChanged(&a)
	if got := b.places(); got != "[b]" {
		t.Errorf("once a is in r3, r1 is offered %s, want b", got)
	}
}

// TestLimitsNeedUnits: a demand for whole agents has none to count.
func TestLimitsNeedUnits(t *testing.T) {
	var d offers.Demand
	if err := d.UnmarshalJSON([]byte(`{"id":"d","resources":{"cpus":1},"constraints":["distinct agent"]}`)); err == nil {
		t.Error("a limit on whole agents is taken")
	}
}
