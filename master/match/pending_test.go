package match

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestStoppedNamesEveryKind: a waiting demand is counted for each kind that is
// short, and for none any more once it is met or withdrawn.
func TestStoppedNamesEveryKind(t *testing.T) {
	for _, c := range []struct{ name, demand, want string }{
		{"two kinds that nobody has enough of", `"resources":{"cpus":9,"mem":900}`, "map[cpus:1 mem:1]"},
		{"one of two", `"resources":{"cpus":9,"mem":10}`, "map[cpus:1]"},
		{"each by another agent", `"resources":{"cpus":8,"mem":800}`, "map[cpus:1 mem:1]"},
		{"slices of a device", `"resources":{"cpus":1,"devices":{"gpu":{"memory":200}}}`, "map[gpu.slice:1]"},
		{"whole devices", `"resources":{"devices":{"gpu":{"count":2}}}`, "map[gpu:1]"},
		{"a device and another's cpus", `"resources":{"cpus":8,"devices":{"gpu":{"count":1}}}`, "map[cpus:1 gpu:1]"},
		{"classes that nobody has", `"resources":{"cpus":1,"devices":{"npu":{"count":1},"tpu":{"memory":1}}}`, "map[npu:1 tpu.slice:1]"},
		{"a constraint", `"resources":{"cpus":1},"constraints":["rack==r9"]`, "map[constraint:1]"},
		{"ports", `"resources":{"cpus":1,"ports":[31000]}`, "map[ports:1]"},
	} {
		b := newBench(t, Config{})
		b.agent("cpus", `{"cpus":8,"mem":80}`)
		b.agent("mem", `{"cpus":4,"mem":800}`)
		b.agent("gpu", `{"cpus":4,"mem":80,"devices":{"gpu":{"ids":["g0"],"capacity":[100]}}}`)
		f := b.framework("f", "default")
		b.demand(f, `{"id":"d","count":1,`+c.demand+`}`)
		if got := b.places(); got != "[]" {
			t.Fatalf("%s: it is offered %s", c.name, got)
		}
		if got := fmt.Sprint(b.View().Pending); got != c.want {
			t.Errorf("%s: pending %s, want %s", c.name, got, c.want)
		}
		if w := b.Waiting(WaitingOf{}); len(w) != 1 || w[0].Demand.ID != "d" || w[0].Left != 1 {
			t.Errorf("%s: waiting are %+v", c.name, w)
		}
		b.demand(f, `{"id":"d","count":0}`)
		b.offered()
		if len(b.View().Pending)+len(b.Waiting(WaitingOf{})) > 0 {
			t.Errorf("%s: once withdrawn %v and %v wait", c.name, b.View().Pending, b.Waiting(WaitingOf{}))
		}
	}
}

// TestHopelessIsSaidAtOnce: what no known agent could ever take is told in the
// turn in which it is stated, once, and stands for an agent that comes.
func TestHopelessIsSaidAtOnce(t *testing.T) {
	for _, c := range []struct{ demand, why string }{
		{`"resources":{"cpus":9}`, "no agent that is known has 9 cpus (the largest has 8)"},
		{`"resources":{"cpus":9,"mem":"3GiB"}`, "no agent that is known has 9 cpus (the largest has 8) or 3GiB mem (the largest has 800B)"},
		{`"resources":{"devices":{"npu":{"count":1}}}`, "no agent that is known has npu"},
		{`"resources":{"cpus":9.5,"devices":{"npu":{"count":1}}}`, "no agent that is known has npu or 9.5 cpus (the largest has 8)"},
		{`"resources":{"cpus":8,"mem":800}`, "no agent that is known has so much of cpus and mem together"},
		{`"resources":{"cpus":8},"constraints":["rack==r2"]`, "no agent that is known and has enough meets rack==r2"},
		{`"resources":{"cpus":8},"constraints":["zone!=a","at most 1 per rack","rack==r2"]`, "no agent that is known and has enough meets zone!=a and rack==r2"},
		{`"resources":{"cpus":3},"constraints":["distinct zone"]`, "no agent that is known and has enough meets distinct zone"},
		{`"resources":{"cpus":3},"constraints":["rack==r2","distinct rack","at most 2 per zone"]`, "no agent that is known and has enough meets rack==r2 and at most 2 per zone"},
		{`"resources":{"cpus":7}`, ""},
		{`"resources":{"cpus":3},"constraints":["rack==r2"]`, ""},
	} {
		b := newBench(t, Config{})
		f := b.framework("f", "default")
		b.agentWith("cpus", `{"cpus":8,"mem":80}`, map[string]string{"rack": "r1"})
		b.agentWith("mem", `{"cpus":4,"mem":800}`, map[string]string{"rack": "r2"})
		b.demand(f, `{"id":"d","count":2,`+c.demand+`}`)
		r := b.Ready(b.now)
		var why string
		if len(r.Hopeless) > 0 {
			why = r.Hopeless[0].Why
		}
		if why != c.why || len(r.Hopeless) > 1 || why != "" && (r.Hopeless[0].Demand != "d" || r.Hopeless[0].Framework != f || len(r.Hopeless[0].Stopped) == 0) {
			t.Errorf("%s: told %+v, want %q", c.demand, r.Hopeless, c.why)
		}
		if why == "" {
			continue
		}
		b.agentWith("small", `{"cpus":1}`, nil)
		if again := b.Ready(b.now); len(again.Hopeless) > 0 {
			t.Errorf("%s: told again %+v", c.demand, again.Hopeless)
		}
		b.agentWith("large", `{"cpus":10,"mem":"4GiB","devices":{"npu":{"ids":["n0"],"capacity":[1]}}}`, map[string]string{"rack": "r2", "zone": "b"})
		found := false
		for _, o := range b.offered() {
			found = found || o.Demand == "d" && b.names[o.Agent] == "large"
		}
		if !found {
			t.Errorf("%s: it is not offered the agent that came", c.demand)
		}
	}
}

// TestNothingIsHopelessBeforeAgentsCome: a framework that is there first is not
// told what the first agent will show wrong.
func TestNothingIsHopelessBeforeAgentsCome(t *testing.T) {
	b := newBench(t, Config{})
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":9}}`)
	if r := b.Ready(b.now); len(r.Hopeless) > 0 {
		t.Errorf("told %+v", r.Hopeless)
	}
	e, known := b.ExplainStated(f, "d", 1)
	if !known || e.Missed.Never != "" || e.Missed.Agents != 0 || fmt.Sprint(e.Missed.Stopped) != "[cpus]" {
		t.Errorf("explained %+v", e.Missed)
	}
	b.agent("a", `{"cpus":8}`)
	b.demand(f, `{"id":"e","count":1,"resources":{"cpus":9}}`)
	if r := b.Ready(b.now); len(r.Hopeless) != 1 || r.Hopeless[0].Demand != offers.DemandID("e") {
		t.Errorf("once an agent is there told %+v", r.Hopeless)
	}
}

// TestWaitingInPages: whatever the size of the pages, they are all that waits in one
// piece, and so it is of one framework or role alone.
func TestWaitingInPages(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":1}`)
	for n, role := range []offers.Role{"eng", "ops", "eng"} {
		f := b.framework(fmt.Sprint("f", n), role)
		for d := range 4 {
			b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":{"cpus":%d}}`, d, 2+d%2))
		}
	}
	b.offered()
	for _, of := range []WaitingOf{{}, {Role: "eng"}, {Framework: b.Waiting(WaitingOf{})[5].Framework}} {
		whole := b.Waiting(of)
		for most := 1; most <= len(whole)+1; most++ {
			var all []Waiting
			for page := of; ; {
				page.Most = most
				got := b.Waiting(page)
				if all = append(all, got...); len(got) < most {
					break
				}
				page.AfterFramework, page.AfterDemand = got[most-1].Framework, got[most-1].Demand.ID
			}
			if !reflect.DeepEqual(all, whole) {
				t.Errorf("%+v in pages of %d: %+v, want %+v", of, most, all, whole)
			}
		}
	}
	if all, eng := len(b.Waiting(WaitingOf{})), len(b.Waiting(WaitingOf{Role: "eng"})); all != 12 || eng != 8 {
		t.Errorf("%d wait, %d of them of one role", all, eng)
	}
}
