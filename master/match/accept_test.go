package match

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestAcceptOfAll: a task that asks for all that was offered holds what it would
// hold if it were planned inside the offer.
func TestAcceptOfAll(t *testing.T) {
	for i, ask := range []string{
		`{"cpus":1,"mem":"1GiB"}`, `{"cpus":1,"ports":[8000,8003]}`, `{"devices":{"gpu":{"count":2}}}`, `{"cpus":1,"devices":{"gpu":{"memory":30}}}`,
		`{"devices":{"gpu":{"memory":30,"share":0.25,"count":2}}}`, `{"devices":{"gpu":{"share":0.5}}}`, `{"devices":{"gpu":{"count":1},"npu":{"memory":5}}}`,
	} {
		b := newBench(t, Config{})
		b.agent("a1", `{"cpus":4,"mem":"4GiB","ports":["8000-8010"],"devices":{`+
			`"gpu":{"ids":["g0","g1","g2"],"capacity":[100,100,100]},"npu":{"ids":["n0"],"capacity":[9]}}}`)
		f := b.framework("f", "default")
		b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":%s}`, i, ask))
		list := b.offered()
		if len(list) != 1 {
			t.Fatalf("%s: %d offers", ask, len(list))
		}
		o := list[0]
		a := b.agents[o.Agent]
		want, short := offers.Inside(a.room.Total(), o.Held).Plan(o.Unit, a.policies(""))
		out := b.launch(o, map[string]string{"t": ask})
		if short != "" || len(out.Launches) != 1 || !reflect.DeepEqual(out.Launches[0].Task.Holding, want) {
			t.Errorf("%s: launched %+v, want the holding %+v", ask, out.Launches, want)
		}
		if err := b.check(); err != nil {
			t.Errorf("%s: %v", ask, err)
		}
	}
}

// TestAcceptOfAllWithAnIDInUse: what was offered is given back, and hidden for as
// long as the framework says.
func TestAcceptOfAllWithAnIDInUse(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":4}}`)
	o := b.offered()[0]
	out := b.Accept(f, []offers.OfferID{o.ID}, []Draft{{Task: offers.Task{ID: "t", Resources: o.Unit}}}, time.Minute, func(offers.TaskID) bool { return true }, b.now)
	if len(out.Errors) != 1 || out.Errors[0].Code != offers.TaskIDInUse || len(out.Launches) != 0 {
		t.Fatalf("an id in use came to %+v", out)
	}
	if got := b.places(); got != "[]" {
		t.Errorf("offered %s, which is refused", got)
	}
	if err := b.check(); err != nil {
		t.Error(err)
	}
	b.now = b.now.Add(2 * time.Minute)
	if list := b.offered(); len(list) != 1 {
		t.Errorf("%d offers once the refusal is over", len(list))
	}
}
