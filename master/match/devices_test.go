package match

import (
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

const twoGPUs = `{"cpus":8,"devices":{"gpu":{"ids":["g0","g1"],"capacity":[100,100]}}}`

// use is a report of two devices in units of 10 bytes.
func use(first, second int64, unwell map[int]string) map[string]Use {
	return map[string]Use{"gpu": {Used: []int64{first, second}, Unit: 10, Unwell: unwell}}
}

// TestUnwellDeviceLeavesTheRings: what is free of it is offered to nobody from
// the report on, offers of it are taken back, and it comes back.
func TestUnwellDeviceLeavesTheRings(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", twoGPUs)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":2,"resources":{"devices":{"gpu":{"count":1}}}}`)
	list := b.offered()
	if len(list) != 1 || list[0].Units != 2 {
		t.Fatalf("offered %+v, want both devices", list)
	}
	b.DevicesReported(b.ids["a1"], use(0, 0, map[int]string{1: "XID 79"}))
	r := b.Ready(b.now)
	if len(r.Rescinds) != 1 || r.Rescinds[0].Reason != "devices_changed" || len(r.Offers) != 1 || r.Offers[0].Units != 1 || r.Offers[0].Held.Devices.Of("gpu")[0].ID != "g0" {
		t.Fatalf("rescinded %+v, offered %+v; want the well device alone", r.Rescinds, r.Offers)
	}
	b.DevicesReported(b.ids["a1"], use(0, 0, nil))
	if list := b.offered(); len(list) != 1 || list[0].Held.Devices.Of("gpu")[0].ID != "g1" {
		t.Fatalf("offered %+v, want the device that is back", list)
	}
	if n := b.View().Counters.Mismatches; n != 0 {
		t.Errorf("%d mismatches, and an unwell device is none", n)
	}
}

// TestReportWins: what an agent uses beyond its tasks is offered to nobody; a
// launch that it has not heard of when it reports is no such use, nor is that
// of a task that has ended.
func TestReportWins(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", twoGPUs)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"devices":{"gpu":{"memory":35}}}}`)
	b.launch(b.offered()[0], map[string]string{"t": `{"devices":{"gpu":{"memory":35}}}`})
	ref := offers.TaskRef{Framework: f, Task: "t"}
	free := func(want ...int64) {
		t.Helper()
		c := b.agents[b.ids["a1"]].room.Class("gpu")
		for i, n := range want {
			if c.Free(i) != n {
				t.Errorf("device %d has %d free, want %d", i, c.Free(i), n)
			}
		}
		if err := b.check(); err != nil {
			t.Error(err)
		}
	}
	free(65, 100)
	b.DevicesReported(b.ids["a1"], use(0, 20, nil)) // of before the launch
	free(65, 80)
	b.TaskHeard(ref)
	b.DevicesReported(b.ids["a1"], use(40, 20, nil)) // 35 in units of 10
	free(65, 80)
	b.DevicesReported(b.ids["a1"], use(70, 0, nil))
	free(35, 100)
	b.DevicesReported(b.ids["a1"], use(30, 0, nil)) // it has ended there
	free(65, 100)
	b.Ended(ref)
	free(70, 100) // what it held is free, and 30 are still used by nobody knows whom
	b.DevicesReported(b.ids["a1"], use(0, 0, nil))
	free(100, 100)
	if n := b.View().Counters.Mismatches; n == 0 {
		t.Error("no mismatch is counted")
	}
}

// TestReboundMovesWhatIsOnItsWay: a task was bound on the device that another
// one is counted on whose launch is on its way. That is counted on the device
// that got free, and an offer of part of it is taken back.
func TestReboundMovesWhatIsOnItsWay(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", twoGPUs)
	f := b.framework("f", "default")
	for i, memory := range []string{"30", "90"} {
		ask := `{"devices":{"gpu":{"memory":` + memory + `}}}`
		b.demand(f, `{"id":"d`+memory+`","count":1,"resources":`+ask+`}`)
		b.launch(b.offered()[0], map[string]string{fmt.Sprintf("t%d", i): ask})
	}
	b.demand(f, `{"id":"d","count":1,"resources":{"devices":{"gpu":{"memory":60}}}}`)
	if list := b.offered(); len(list) != 1 || list[0].Held.Devices.Of("gpu")[0].ID != "g0" {
		t.Fatalf("offered %+v, want the rest of the first device", list)
	}
	if !b.Rebound(offers.TaskRef{Framework: f, Task: "t0"}, offers.OneDevice("gpu", offers.Grant{ID: "g1", Index: 1, Memory: 30})) {
		t.Fatal("the agent is not believed")
	}
	r := b.Ready(b.now)
	if err := b.check(); err != nil {
		t.Fatal(err)
	}
	other := b.task(offers.TaskRef{Framework: f, Task: "t1"}).held.Devices.Of("gpu")
	if len(other) != 1 || other[0].ID != "g0" || other[0].Memory != 90 {
		t.Errorf("the task on its way is counted on %+v, want the first device", other)
	}
	if len(r.Rescinds) != 1 || len(r.Offers) != 1 || r.Offers[0].Held.Devices.Of("gpu")[0].ID != "g1" {
		t.Errorf("rescinded %+v, offered %+v; want the rest of the second device instead", r.Rescinds, r.Offers)
	}
	b.Rebound(offers.TaskRef{Framework: f, Task: "t1"}, offers.DevicesOf(map[string][]offers.Grant{"gpu": other}))
	b.Rebound(offers.TaskRef{Framework: f, Task: "t0"}, offers.OneDevice("gpu", offers.Grant{ID: "g0", Memory: 30}))
	if now := b.task(offers.TaskRef{Framework: f, Task: "t1"}).held.Devices.Of("gpu"); now[0].ID != "g0" {
		t.Errorf("a task that its agent has bound on g0 is counted on %s", now[0].ID)
	}
}

// TestRebound: a task that its agent bound otherwise is counted there, an
// offer in its way is taken back, and nonsense is passed over.
func TestRebound(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", twoGPUs)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":2,"resources":{"devices":{"gpu":{"count":1}}}}`)
	b.launch(b.offered()[0], map[string]string{"t": `{"devices":{"gpu":{"count":1}}}`})
	ref := offers.TaskRef{Framework: f, Task: "t"}
	if list := b.offered(); len(list) != 1 || list[0].Held.Devices.Of("gpu")[0].ID != "g1" {
		t.Fatalf("offered %+v, want the second device", list)
	}
	for _, g := range []offers.Grant{{ID: "g7", Index: 7, Memory: 100}, {ID: "g0", Index: 1, Memory: 100}, {ID: "g1", Index: 1, Memory: 101}} {
		if b.Rebound(ref, offers.OneDevice("gpu", g)) {
			t.Errorf("%+v is believed", g)
		}
	}
	if !b.Rebound(ref, offers.OneDevice("gpu", offers.Grant{ID: "g1", Index: 1, Memory: 100, Share: offers.FullShare})) {
		t.Fatal("the agent is not believed")
	}
	r := b.Ready(b.now)
	if err := b.check(); err != nil {
		t.Fatal(err)
	}
	if len(r.Rescinds) != 1 || len(r.Offers) != 1 || r.Offers[0].Held.Devices.Of("gpu")[0].ID != "g0" {
		t.Errorf("rescinded %+v, offered %+v; want the first device instead", r.Rescinds, r.Offers)
	}
	if n := b.View().Counters.Mismatches; n != 1 {
		t.Errorf("%d mismatches, want 1", n)
	}
}

// TestReboundTakesTheComputeOfAnOffer: a task was bound on the device of which
// an outstanding offer holds most of the compute. There is memory enough for both.
func TestReboundTakesTheComputeOfAnOffer(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", twoGPUs)
	f, g := b.framework("f", "default"), b.framework("g", "default")
	const ask = `{"devices":{"gpu":{"memory":20,"share":0.6}}}`
	b.demand(f, `{"id":"d","count":1,"resources":`+ask+`}`)
	first := b.offered()[0]
	b.demand(g, `{"id":"d","count":1,"resources":`+ask+`}`)
	b.launch(b.offered()[0], map[string]string{"t": ask})
	if !b.Rebound(offers.TaskRef{Framework: g, Task: "t"}, offers.OneDevice("gpu", offers.Grant{ID: "g0", Index: 0, Memory: 20, Share: 600})) {
		t.Fatal("the agent is not believed")
	}
	if err := b.check(); err != nil {
		t.Error(err)
	}
	r := b.Ready(b.now)
	if len(r.Rescinds) != 1 || len(r.Offers) != 1 || r.Offers[0].Held.Devices.Of("gpu")[0].ID != "g1" {
		t.Errorf("rescinded %+v, offered %+v; want the second device instead", r.Rescinds, r.Offers)
	}
	b.launch(first, map[string]string{"late": ask})
}
