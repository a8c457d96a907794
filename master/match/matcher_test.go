package match

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// bench is a matcher with a replicated state of its own to set scenes in.
type bench struct {
	rapid.TB
	*Matcher
	state *state.State
	now   time.Time
	names map[offers.AgentID]string
	ids   map[string]offers.AgentID
	// shrunk are the agents that came back with less than they once had.
	shrunk map[offers.AgentID]bool
}

func newBench(t rapid.TB, config Config) *bench {
	t.Helper()
	if config.OfferTimeout == 0 {
		config.OfferTimeout = 2 * time.Minute
	}
	b := &bench{TB: t, state: state.New(), now: epoch, names: map[offers.AgentID]string{}, ids: map[string]offers.AgentID{}, shrunk: map[offers.AgentID]bool{}}
	b.apply(state.Command{Init: &state.Init{ClusterID: "abcdef0123456789abcdef0123456789"}})
	b.Matcher = New(config, b.state, 1)
	return b
}

func (b *bench) apply(c state.Command) state.Result {
	b.Helper()
	s, results := b.state.Apply([]state.Command{c})
	if results[0].Err != nil {
		b.Fatalf("%+v: %v", c, results[0].Err)
	}
	b.state = s
	return results[0]
}

// agent enters an online agent; resources as JSON.
func (b *bench) agent(name, total string) {
	b.Helper()
	b.agentWith(name, total, nil)
}

func (b *bench) agentWith(name, total string, attributes map[string]string) {
	b.Helper()
	var inventory offers.Inventory
	if err := inventory.UnmarshalJSON([]byte(total)); err != nil {
		b.Fatal(err)
	}
	r := b.apply(state.Command{RegisterAgent: &state.RegisterAgent{Agent: offers.Agent{Name: name, Total: inventory, Attributes: attributes}, Time: b.now}})
	a := r.Value.(*state.Agent)
	b.names[a.ID], b.ids[name] = name, a.ID
	b.AgentChanged(a)
	b.AgentOnline(a.ID, true)
}

// resize has a known agent come back with another inventory.
func (b *bench) resize(name, total string) {
	b.Helper()
	var inventory offers.Inventory
	if err := inventory.UnmarshalJSON([]byte(total)); err != nil {
		b.Fatal(err)
	}
	r := b.apply(state.Command{RegisterAgent: &state.RegisterAgent{Agent: offers.Agent{ID: b.ids[name], Name: name, Total: inventory}, Time: b.now}})
	b.shrunk[b.ids[name]] = true
	b.AgentChanged(r.Value.(*state.Agent))
}

// framework enters an online framework.
func (b *bench) framework(name string, role offers.Role) offers.FrameworkID {
	b.Helper()
	r := b.apply(state.Command{RegisterFramework: &state.RegisterFramework{Name: name, Role: role, Time: b.now}})
	f := r.Value.(*state.Framework)
	b.FrameworkKnown(f)
	b.FrameworkOnline(f.ID, true)
	return f.ID
}

func (b *bench) demand(f offers.FrameworkID, text string) {
	b.Helper()
	var d offers.Demand
	if err := d.UnmarshalJSON([]byte(text)); err != nil {
		b.Fatal(err)
	}
	b.Demand(f, d)
}

// offered finishes a turn and returns what was offered.
func (b *bench) offered() []*offers.Offer {
	b.Helper()
	r := b.Ready(b.now)
	if err := b.check(); err != nil {
		b.Fatal(err)
	}
	return r.Offers
}

// places names where the offers of the next turn are.
func (b *bench) places() string {
	b.Helper()
	var out []string
	for _, o := range b.offered() {
		out = append(out, b.names[o.Agent])
	}
	return fmt.Sprint(out)
}

// launch accepts an offer with tasks of these resources.
func (b *bench) launch(o *offers.Offer, tasks map[string]string) Acceptance {
	b.Helper()
	var drafts []Draft
	for _, id := range slices.Sorted(func(yield func(string) bool) {
		for id := range tasks {
			if !yield(id) {
				return
			}
		}
	}) {
		var r offers.Resources
		if err := r.UnmarshalJSON([]byte(tasks[id])); err != nil {
			b.Fatal(err)
		}
		drafts = append(drafts, Draft{Task: offers.Task{ID: offers.TaskID(id), Resources: r, Command: &offers.Command{Shell: "true"}}})
	}
	a := b.Accept(o.Framework, []offers.OfferID{o.ID}, drafts, 0, func(id offers.TaskID) bool {
		return b.Holds(offers.TaskRef{Framework: o.Framework, Task: id})
	}, b.now)
	if err := b.check(); err != nil {
		b.Fatal(err)
	}
	return a
}

func goldenRings(reach int) Config {
	return Config{Rings: map[string]rings.Layout{"cpus": {Bounds: []int64{0, 4000, 8000, 12000}, Reach: reach}}}
}

// TestGoldenPlacement is the golden case of ALGORITHMS section 1, through
// demands and offers.
func TestGoldenPlacement(t *testing.T) {
	free := []int{3, 5, 7, 10, 13, 40}
	scene := func(reach int, without ...string) (*bench, offers.FrameworkID) {
		b := newBench(t, goldenRings(reach))
		for i, cpus := range free {
			if name := fmt.Sprintf("a%d", i+1); !slices.Contains(without, name) {
				b.agent(name, fmt.Sprintf(`{"cpus":%d}`, cpus))
			}
		}
		return b, b.framework("f", "default")
	}
	want := func(b *bench, want string) {
		t.Helper()
		if got := b.places(); got != want {
			t.Fatalf("offered %s, want %s", got, want)
		}
	}
	b, f := scene(3)
	b.demand(f, `{"id":"six","count":1,"resources":{"cpus":6}}`)
	want(b, "[a3]")
	b.demand(f, `{"id":"five","count":1,"resources":{"cpus":5}}`)
	want(b, "[a2]")
	b.demand(f, `{"id":"four","count":1,"resources":{"cpus":4}}`)
	want(b, "[a4]")

	b, f = scene(3)
	b.demand(f, `{"id":"eleven","count":1,"resources":{"cpus":11}}`)
	want(b, "[a5]")

	b, f = scene(2, "a2", "a3")
	b.demand(f, `{"id":"six","count":1,"resources":{"cpus":6}}`)
	want(b, "[a5]")
}

func TestUnitsOnOneAgentComeAsOneOffer(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4,"mem":"4GiB"}`)
	b.agent("a2", `{"cpus":4,"mem":"4GiB"}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":6,"resources":{"cpus":1,"mem":"1GiB"}}`)
	list := b.offered()
	if len(list) != 2 || list[0].Units != 4 || list[1].Units != 2 {
		t.Fatalf("offered %d offers, want 4 units on one agent and 2 on the other", len(list))
	}
	if got := list[0].Held.Amounts[offers.CPUs]; got != 4000 {
		t.Fatalf("the first offer holds %d thousandths of a cpu, want 4000", got)
	}
	a := b.launch(list[0], map[string]string{"t1": `{"cpus":1}`, "t2": `{"cpus":1,"mem":"1GiB"}`})
	if len(a.Launches) != 2 {
		t.Fatalf("launched %d tasks, want 2: %+v", len(a.Launches), a)
	}
	// 4 are left of the demand, 2 of them are offered already.
	list = b.offered()
	if len(list) != 1 || list[0].Units != 2 {
		t.Fatalf("offered %+v, want one offer of 2 units", list)
	}
}

func TestWholeAgentOffers(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4,"mem":"4GiB"}`)
	b.agent("a2", `{"cpus":8,"mem":"8GiB"}`)
	b.agent("a3", `{"cpus":1,"mem":"8GiB"}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","resources":{"cpus":2}}`)
	list := b.offered()
	if len(list) != 2 {
		t.Fatalf("%d offers, want both agents with 2 cpus", len(list))
	}
	for _, o := range list {
		if !o.Whole() || o.Held.Amounts[offers.Mem] == 0 {
			t.Fatalf("offer %+v is not all that is free", o)
		}
	}
	a := b.launch(list[0], map[string]string{"t1": `{"cpus":1}`})
	if len(a.Launches) != 1 {
		t.Fatal("the task was not launched")
	}
	if again := b.offered(); len(again) != 1 || again[0].Held.Amounts[offers.CPUs] != 3000 {
		t.Fatalf("offered %+v, want the 3 cpus that are left", again)
	}
}

func TestTaskLargerThanItsOfferIsRejectedAlone(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":2,"resources":{"cpus":1}}`)
	a := b.launch(b.offered()[0], map[string]string{"big": `{"cpus":3}`, "small": `{"cpus":1}`})
	if len(a.Updates) != 1 || a.Updates[0].State != offers.Rejected || a.Updates[0].Task != "big" || len(a.Launches) != 1 {
		t.Fatalf("got %+v, want big rejected and small launched", a)
	}
	if list := b.offered(); len(list) != 1 || list[0].Units != 1 {
		t.Fatalf("the unit that was not used is not offered again")
	}
}

func TestOffersAreOneShot(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4}`)
	f, g := b.framework("f", "default"), b.framework("g", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1}}`)
	o := b.offered()[0]
	foreign := b.Accept(g, []offers.OfferID{o.ID}, []Draft{{Task: offers.Task{ID: "x"}}}, 0, func(offers.TaskID) bool { return false }, b.now)
	if len(foreign.Errors) != 1 || foreign.Errors[0].Code != offers.OfferGone || len(foreign.Updates) != 1 || foreign.Updates[0].State != offers.Dropped {
		t.Fatalf("a foreign accept got %+v", foreign)
	}
	if a := b.launch(o, map[string]string{"t": `{"cpus":1}`}); len(a.Launches) != 1 {
		t.Fatalf("the owner could not accept after the foreign try: %+v", a)
	}
	if a := b.launch(o, map[string]string{"u": `{"cpus":1}`}); len(a.Launches) != 0 || len(a.Errors) != 1 {
		t.Fatalf("an offer was accepted twice: %+v", a)
	}
}

func TestRefusalHidesOnlyWhatWasRefused(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":2}}`)
	b.Decline(f, []offers.OfferID{b.offered()[0].ID}, 5*time.Second, b.now)
	if got := b.places(); got != "[]" {
		t.Fatalf("offered %s right after it was refused", got)
	}
	b.demand(f, `{"id":"more","count":1,"resources":{"cpus":3}}`)
	if got := b.places(); got != "[a1]" {
		t.Fatalf("offered %s for more than was refused, want [a1]", got)
	}
	b.demand(f, `{"id":"more","count":0,"resources":{}}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("offered %s while it is refused", got)
	}
	b.now = b.now.Add(5 * time.Second)
	if got := b.places(); got != "[a1]" {
		t.Fatalf("offered %s after the refusal ended, want [a1]", got)
	}
	b.Decline(f, []offers.OfferID{b.book.All()[0].ID}, time.Hour, b.now)
	b.Revive(f)
	if got := b.places(); got != "[a1]" {
		t.Fatalf("offered %s after revive, want [a1]", got)
	}
}

func TestSuppressAndExpiry(t *testing.T) {
	b := newBench(t, Config{OfferTimeout: time.Minute})
	b.agent("a1", `{"cpus":4}`)
	f := b.framework("f", "default")
	b.Suppress(f)
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1}}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("a suppressed framework was offered %s", got)
	}
	b.Revive(f)
	first := b.offered()
	b.Suppress(f)
	b.now = b.now.Add(time.Minute)
	r := b.Ready(b.now)
	if len(r.Rescinds) != 1 || r.Rescinds[0].Reason != "expired" || r.Rescinds[0].Offers[0] != first[0].ID {
		t.Fatalf("rescinds are %+v, want the expired offer", r.Rescinds)
	}
}

// TestWhatBecomesOfOffersIsCounted: each way that an offer can go once.
func TestWhatBecomesOfOffersIsCounted(t *testing.T) {
	b := newBench(t, Config{OfferTimeout: time.Minute})
	b.agent("a1", `{"cpus":4}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":4,"resources":{"cpus":4}}`)
	b.Decline(f, []offers.OfferID{b.offered()[0].ID}, 0, b.now)
	b.offered()
	b.now = b.now.Add(time.Minute) // it expires, and is offered anew
	b.offered()
	b.AgentOnline(b.ids["a1"], false)
	b.AgentOnline(b.ids["a1"], true)
	b.launch(b.offered()[0], map[string]string{"t": `{"cpus":4}`})
	got := b.View().Counters
	if want := (Counters{Issued: 4, Accepted: 1, Declined: 1, Rescinded: 1, Expired: 1, Decisions: got.Decisions}); got != want {
		t.Errorf("counted are %+v, want %+v", got, want)
	}
}

// TestPendingNamesWhatStopsAlone: two agents have enough of every kind between
// them, and only without the memory would one have enough of the rest.
func TestPendingNamesWhatStopsAlone(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4,"mem":1,"disk":4}`)
	b.agent("a2", `{"cpus":1,"mem":4,"disk":1}`)
	b.demand(b.framework("f", "default"), `{"id":"d","count":1,"resources":{"cpus":4,"mem":4,"disk":4}}`)
	b.offered()
	if got := b.View().Pending; len(got) != 1 || got["mem"] != 1 {
		t.Errorf("pending for %v, want one for mem alone", got)
	}
}

// TestEquallyDominantKinds: where a demand asks for the same part of two kinds, and
// as much is free of both, the first in the fixed order leads.
func TestEquallyDominantKinds(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4,"mem":4,"disk":4}`)
	b.demand(b.framework("f", "default"), `{"id":"d","count":1,"resources":{"mem":2,"disk":2}}`)
	if list := b.offered(); len(list) != 1 || list[0].Ring.Resource != "mem" {
		t.Errorf("offered %+v, want a ring of mem", list)
	}
}

// TestNoAcceptAfterTheExpiry: an offer is over at its time, also where the
// accept is read before the turn that would have said so, as in a master that
// was paused.
func TestNoAcceptAfterTheExpiry(t *testing.T) {
	b := newBench(t, Config{OfferTimeout: time.Minute})
	b.agent("a1", `{"cpus":4}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":2,"resources":{"cpus":1}}`)
	o := b.offered()[0]
	b.now = b.now.Add(time.Minute)
	a := b.launch(o, map[string]string{"t": `{"cpus":1}`})
	if len(a.Launches) != 0 || len(a.Errors) != 1 || a.Errors[0].Code != offers.OfferGone || len(a.Updates) != 1 || a.Updates[0].State != offers.Dropped {
		t.Fatalf("an expired offer was accepted: %+v", a)
	}
	if r := b.Ready(b.now); len(r.Rescinds) != 1 || r.Rescinds[0].Reason != "expired" || len(r.Offers) != 1 {
		t.Fatalf("the turn after it came to %+v, want the rescind and the room in another offer", r)
	}
}

func TestAgentAwayRescinds(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1}}`)
	b.offered()
	b.AgentOnline(b.ids["a1"], false)
	if r := b.Ready(b.now); len(r.Rescinds) != 1 || len(r.Offers) != 0 {
		t.Fatalf("got %+v, want the offer rescinded and none issued", r)
	}
	b.AgentOnline(b.ids["a1"], true)
	if got := b.places(); got != "[a1]" {
		t.Fatalf("offered %s once the agent is back, want [a1]", got)
	}
}

func TestQuotaLimitIsNeverPassed(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":100,"mem":"100GiB"}`)
	b.RoleChanged("eng", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": 3000}}})
	f, g := b.framework("f", "eng/ml"), b.framework("g", "eng")
	b.demand(f, `{"id":"d","count":10,"resources":{"cpus":1}}`)
	b.demand(g, `{"id":"d","resources":{"cpus":1}}`)
	var held int64
	for _, o := range b.offered() {
		held += o.Held.Amounts[offers.CPUs]
	}
	if held != 3000 {
		t.Fatalf("eng was offered %d thousandths of a cpu, want its limit of 3000", held)
	}
	b.RoleChanged("eng", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": 1000}}})
	b.offered()
	if got := b.fair.role("eng").alloc.n[0]; got > 1000 {
		t.Fatalf("after the limit fell to 1 cpu eng still has %d thousandths", got)
	}
	b.RoleChanged("eng", nil)
	b.offered()
	if got := b.fair.role("eng").alloc.n[0]; got < 10000 {
		t.Fatalf("without a limit eng has %d thousandths", got)
	}
}

// TestWholeAgentAtItsLimit is offered nothing, not even a look at an agent,
// while its role has all that it may; and again when that changes.
func TestWholeAgentAtItsLimit(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4,"mem":"4GiB"}`)
	b.agent("a2", `{"cpus":4,"mem":"4GiB"}`)
	limit := func(cpus int64) {
		b.RoleChanged("eng", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": cpus, "mem": cpus << 20}}})
	}
	limit(4000)
	f := b.framework("f", "eng")
	b.demand(f, `{"id":"d"}`)
	first := b.offered()
	if b.search.met != 0 {
		t.Error("agents were looked at for a role that may have nothing of them")
	}
	var held offers.Amounts
	for _, o := range first {
		held = held.Plus(o.Held.Amounts)
	}
	if held[offers.CPUs] != 4000 || held[offers.Mem] != 4000<<20 {
		t.Fatalf("eng was offered %v, want its limit", held)
	}
	if b.View().Pending["quota"] != 1 {
		t.Fatalf("pending is %v, want a demand that a quota stopped", b.View().Pending)
	}
	limit(5000)
	if o := b.offered(); len(o) == 0 {
		t.Fatal("a raised limit was not offered")
	}
	b.Decline(f, []offers.OfferID{first[0].ID}, 0, b.now)
	if o := b.offered(); len(o) == 0 {
		t.Fatal("what was declined was not offered again")
	}
}

func TestGuaranteeIsHeldBackFromOthers(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":10}`)
	b.RoleChanged("prod", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Guarantee: offers.QuotaAmounts{"cpus": 4000}}})
	f := b.framework("f", "batch")
	b.demand(f, `{"id":"d","count":10,"resources":{"cpus":1}}`)
	if o := b.offered(); len(o) != 1 || o[0].Units != 6 {
		t.Fatalf("batch was offered %+v, want the 6 cpus that are not held back", o)
	}
	p := b.framework("p", "prod")
	b.demand(p, `{"id":"d","count":5,"resources":{"cpus":1}}`)
	if o := b.offered(); len(o) != 1 || o[0].Units != 4 || o[0].Framework != p {
		t.Fatalf("prod was offered %+v, want its 4 cpus", o)
	}
}

func TestDevicesInOffersAndTasks(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("cpu", `{"cpus":64}`)
	b.agent("gpu", `{"cpus":8,"devices":{"gpu":{"ids":["g0","g1"],"capacity":[24,24]}}}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"slice","count":3,"resources":{"cpus":1,"devices":{"gpu":{"memory":10}}}}`)
	list := b.offered()
	if len(list) != 1 || list[0].Units != 3 || b.names[list[0].Agent] != "gpu" {
		t.Fatalf("offered %+v, want 3 slices on gpu", list)
	}
	if got := list[0].Held.DeviceBytes("gpu"); got != 30 {
		t.Fatalf("the offer holds %d bytes, want 30", got)
	}
	b.demand(f, `{"id":"whole","count":1,"resources":{"devices":{"gpu":{"count":1}}}}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("a whole device was offered on %s while both are sliced", got)
	}
	a := b.launch(list[0], map[string]string{"t": `{"cpus":1,"devices":{"gpu":{"memory":10}}}`, "w": `{"devices":{"gpu":{"count":1}}}`})
	if len(a.Launches) != 1 || a.Launches[0].Task.Spec.ID != "t" || len(a.Launches[0].Task.Holding.Devices.Of("gpu")) != 1 {
		t.Fatalf("got %+v, want t launched on one device and w rejected", a)
	}
}

func TestReleaseOfRoomServesWhoWaits(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":2}`)
	f, g := b.framework("f", "default"), b.framework("g", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":2}}`)
	a := b.launch(b.offered()[0], map[string]string{"t": `{"cpus":2}`})
	b.demand(g, `{"id":"d","count":1,"resources":{"cpus":1}}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("offered %s of a full agent", got)
	}
	if v := b.View(); v.Pending["cpus"] != 1 {
		t.Fatalf("pending is %v, want one for cpus", v.Pending)
	}
	b.Ended(a.Launches[0].Task.Ref())
	if got := b.places(); got != "[a1]" {
		t.Fatalf("offered %s once the task ended, want [a1]", got)
	}
}

// TestRoomThatComesOnlineWakesWhomTheGuaranteeStopped: the agent was counted
// before, so that only its coming online says that there is room again.
func TestRoomThatComesOnlineWakesWhomTheGuaranteeStopped(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4}`)
	b.agent("a2", `{"cpus":4}`)
	b.AgentOnline(b.ids["a2"], false)
	b.RoleChanged("prod", &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Guarantee: offers.QuotaAmounts{"cpus": 4000}}})
	f := b.framework("f", "batch")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1}}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("offered %s of what is held back for prod", got)
	}
	b.AgentOnline(b.ids["a2"], true)
	if got := b.places(); got == "[]" {
		t.Fatal("nothing is offered although 4 cpus more came online")
	}
}

// TestAgentThatCameBackSmaller still has room in the kinds it is not short of:
// the rings find it there, and what they find must be had.
func TestAgentThatCameBackSmaller(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":4,"mem":8}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1,"mem":8}}`)
	b.launch(b.offered()[0], map[string]string{"t": `{"cpus":1,"mem":8}`})
	b.resize("a1", `{"cpus":4,"mem":4}`)
	b.demand(f, `{"id":"e","count":1,"resources":{"cpus":1}}`)
	if got := b.places(); got != "[a1]" {
		t.Fatalf("offered %s of an agent with 3 cpus free", got)
	}
	b.demand(f, `{"id":"m","count":1,"resources":{"cpus":1,"mem":1}}`)
	if got := b.places(); got != "[]" {
		t.Fatalf("offered %s of an agent without memory", got)
	}
}
