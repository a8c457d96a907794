package match

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestEndOfALostFrameworksTaskWakesWhomTheGuaranteeStopped: what a removed
// framework's tasks held counts for nobody, and is room again when they end.
func TestEndOfALostFrameworksTaskWakesWhomTheGuaranteeStopped(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":8}`)
	gone, f := b.framework("gone", "old"), b.framework("f", "batch")
	b.demand(gone, `{"id":"d","count":1,"resources":{"cpus":4}}`)
	a := b.launch(b.offered()[0], map[string]string{"t": `{"cpus":4}`})
	b.FrameworkRemoved(gone)
	b.RoleChanged("prod", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Guarantee: offers.QuotaAmounts{"cpus": 4000}}})
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1}}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("offered %s of what is held back for prod", got)
	}
	b.Ended(a.Launches[0].Task.Ref())
	if got := b.places(); got != "[a1]" {
		t.Errorf("offered %s once the task had ended, want [a1]", got)
	}
}

// TestWellDeviceWakesWhomTheGuaranteeStopped: what is no longer withheld is room.
func TestWellDeviceWakesWhomTheGuaranteeStopped(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", twoGPUs)
	b.DevicesReported(b.ids["a1"], use(0, 0, map[int]string{1: "XID 79"}))
	f := b.framework("f", "batch")
	b.RoleChanged("prod", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Guarantee: offers.QuotaAmounts{"gpu": 100}}})
	b.demand(f, `{"id":"d","count":1,"resources":{"devices":{"gpu":{"memory":10}}}}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("offered %s of what is held back for prod", got)
	}
	b.DevicesReported(b.ids["a1"], use(0, 0, nil))
	if got := b.places(); got != "[a1]" {
		t.Errorf("offered %s once the device was well, want [a1]", got)
	}
}

// TestRoomThatNoRingShowsWakes: what was given back is room although the agent
// has no more of any kind that it is ringed by.
func TestRoomThatNoRingShowsWakes(t *testing.T) {
	const has = `{"cpus":2,"ports":[80],"devices":{"gpu":{"ids":["g0","g1","g2"],"capacity":[100,100,100]}}}`
	for _, c := range []struct {
		name  string
		held  []string // by one task each, in this order
		wants string
		ends  int // of the tasks
	}{
		{"the port of a task", []string{`{"ports":[80]}`}, `{"cpus":1,"ports":[80]}`, 0},
		{"the compute of a task", []string{
			`{"devices":{"gpu":{"memory":10,"share":0.9}}}`, `{"devices":{"gpu":{"memory":10,"share":0.1}}}`,
			`{"devices":{"gpu":{"memory":5,"share":1}}}`, `{"devices":{"gpu":{"memory":5,"share":1}}}`,
		}, `{"devices":{"gpu":{"memory":10,"share":0.5}}}`, 0},
		{"the memory of a device that is not the emptiest", []string{
			`{"devices":{"gpu":{"memory":90}}}`, `{"devices":{"gpu":{"memory":60}}}`, `{"devices":{"gpu":{"memory":10}}}`,
			`{"devices":{"gpu":{"memory":10}}}`,
		}, `{"devices":{"gpu":{"count":2,"memory":80}}}`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Config{})
			b.agent("a1", has)
			f, g := b.framework("f", "default"), b.framework("g", "default")
			for i, ask := range c.held {
				b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":%s}`, i, ask))
				o := b.offered()
				if len(o) != 1 {
					t.Fatalf("%s is offered %v", ask, o)
				}
				b.launch(o[0], map[string]string{fmt.Sprint("t", i): ask})
			}
			b.demand(g, `{"id":"d","count":1,"resources":`+c.wants+`}`)
			if got := b.places(); got != "[]" {
				t.Fatalf("offered %s where there is no room", got)
			}
			b.Ended(offers.TaskRef{Framework: f, Task: offers.TaskID(fmt.Sprint("t", c.ends))})
			if got := b.places(); got != "[a1]" {
				t.Errorf("offered %s, want [a1]", got)
			}
		})
	}
}

// TestQuotaThatLeavesMoreThanWasRefused of an agent is another offer of it, for which who
// wants all of the agent need not wait until the refusal ends; one that moved otherwise
// has nobody look.
func TestQuotaThatLeavesMoreThanWasRefused(t *testing.T) {
	limit := func(kind string, n int64) *offers.RoleSettings {
		return &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{kind: n}}}
	}
	guarantee := func(cpus int64) *offers.RoleSettings {
		return &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Guarantee: offers.QuotaAmounts{"cpus": cpus}}}
	}
	for _, c := range []struct {
		name     string
		role     offers.Role // with settings
		settings *offers.RoleSettings
		then     func(b *bench, other offers.TaskRef) // what happens after the refusal
		want     string                               // what is offered before and after it
	}{
		{"a limit is raised", "eng", limit("cpus", 5000), func(b *bench, _ offers.TaskRef) { b.RoleChanged("eng", limit("cpus", 7000)) }, "[4 cpus, 200 gpu] [6 cpus, 200 gpu]"},
		{"a limit ends", "eng", limit("cpus", 5000), func(b *bench, _ offers.TaskRef) { b.RoleChanged("eng", nil) }, "[4 cpus, 200 gpu] [8 cpus, 200 gpu]"},
		{"a limit of devices is raised", "eng", limit("gpu", 150), func(b *bench, _ offers.TaskRef) { b.RoleChanged("eng", limit("gpu", 200)) }, "[8 cpus, 100 gpu] [8 cpus, 200 gpu]"},
		{"a task under the limit ends", "eng", limit("cpus", 5000), func(b *bench, other offers.TaskRef) { b.Ended(other) }, "[4 cpus, 200 gpu] [5 cpus, 200 gpu]"},
		{"less is held back", "ops", guarantee(3000), func(b *bench, _ offers.TaskRef) { b.RoleChanged("ops", guarantee(1000)) }, "[5 cpus, 200 gpu] [7 cpus, 200 gpu]"},
		{"a limit is lowered", "eng", limit("cpus", 5000), func(b *bench, _ offers.TaskRef) { b.RoleChanged("eng", limit("cpus", 4000)) }, "[4 cpus, 200 gpu] []"},
		{"another role's moves", "eng", limit("cpus", 5000), func(b *bench, _ offers.TaskRef) { b.RoleChanged("ops", limit("cpus", 2000)) }, "[4 cpus, 200 gpu] []"},
		{"no quota left less", "ops", limit("cpus", 5000), func(b *bench, _ offers.TaskRef) { b.RoleChanged("ops", nil) }, "[8 cpus, 200 gpu] []"},
	} {
		for _, placement := range offers.Placements() {
			t.Run(fmt.Sprint(c.name, " ", placement), func(t *testing.T) {
				b := newBench(t, Config{Placement: placement})
				b.agent("a2", `{"cpus":1}`)
				g := b.framework("g", "eng")
				b.demand(g, `{"id":"d","count":1,"resources":{"cpus":1}}`)
				b.launch(b.Ready(b.now.Add(time.Second)).Offers[0], map[string]string{"t": `{"cpus":1}`})
				b.agent("a1", twoGPUs)
				b.RoleChanged(c.role, c.settings)
				f := b.framework("f", "eng")
				b.demand(f, `{"id":"d","resources":{"cpus":2}}`)
				said := func(list []*offers.Offer) string {
					if len(list) == 0 {
						return "[]"
					}
					return fmt.Sprintf("[%d cpus, %d gpu]", list[0].Held.Amounts[offers.CPUs]/1000, list[0].Held.DeviceBytes("gpu"))
				}
				first := b.offered()
				for _, o := range first {
					b.Decline(f, []offers.OfferID{o.ID}, time.Hour, b.now)
				}
				if again := b.offered(); len(again) > 0 {
					t.Fatalf("what was refused is offered again: %s", said(again))
				}
				c.then(b, offers.TaskRef{Framework: g, Task: "t"})
				r := b.Ready(b.now)
				if err := b.check(); err != nil {
					t.Error(err)
				}
				if got := said(first) + " " + said(r.Offers); got != c.want || r.Searches > 0 != (len(r.Offers) > 0) {
					t.Errorf("offered %s, want %s, after %d searches", got, c.want, r.Searches)
				}
			})
		}
	}
}
