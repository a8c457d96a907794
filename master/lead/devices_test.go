package lead_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// gpuHost brings an agent with two devices of 100 bytes, with what it uses of
// them and knows of tasks.
func (l *scene) gpuHost(id offers.AgentID, usage *wire.Usage, tasks ...wire.AgentTask) *host {
	l.Helper()
	h := &host{listener: &listener{TB: l.TB}, l: l}
	h.Agent = lead.NewAgent(h.listener)
	h.self = offers.Agent{ID: id, Name: "g1", Host: "h", Total: offers.Inventory{Classes: []offers.DeviceClass{
		{Name: "gpu", Devices: []offers.Device{{ID: "g0", Capacity: 100}, {ID: "g1", Capacity: 100}}},
	}}}
	h.say(&wire.RegisterAgent{Agent: h.self, Usage: usage, Tasks: tasks})
	h.self.ID = only[*wire.AgentRegistered](h.listener).AgentID
	return h
}

// used is a report of the use of both devices.
func used(words string, handled uint64, unwell map[int]string) *wire.Usage {
	return &wire.Usage{Sequence: 2, Handled: handled, Classes: map[string]wire.PackedClass{"gpu": {Bits: 8, Unit: 1, Used: []string{words}, Unwell: unwell}}}
}

// gpus demands so many whole devices, one by one, and returns the ids offered.
func (a *author) gpus(count string) (o wire.Offer, ids string) {
	a.Helper()
	heard[wire.Message](a.listener)
	a.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"g","count":` + count + `,"resources":{"devices":{"gpu":{"count":1}}}}`)}})
	list := heard[*wire.OffersMessage](a.listener)
	if len(list) == 0 {
		return o, ""
	}
	held := a.l.Observe().Match.Offers
	for _, offer := range held {
		for _, g := range offer.Held.Devices.Of("gpu") {
			ids += g.ID + " "
		}
	}
	return list[0].Offers[0], strings.TrimSpace(ids)
}

// TestUnwellDeviceIsNotOffered: from its registration on, and from a report on.
func TestUnwellDeviceIsNotOffered(t *testing.T) {
	l := newScene(t)
	h, a := l.gpuHost("", used("0x0000", 0, map[int]string{0: "XID 79"})), l.author("")
	if _, ids := a.gpus("2"); ids != "g1" {
		t.Fatalf("offered %q, want the well device", ids)
	}
	h.say(used("0x0000", 0, map[int]string{0: "XID 79", 1: "XID 48"}))
	if r := only[*wire.Rescind](a.listener); r.Reason != "devices_changed" {
		t.Errorf("rescinded for %s", r.Reason)
	}
	for why, shown := range map[string]string{"it is\nhot": "its agent does not say why", "": "its agent does not say why", "XID 48": "XID 48"} {
		h.say(used("0x0000", 0, map[int]string{0: why, 7: "there is no such device", -1: "x"}))
		if got := l.Observe().Match.Agents[0].Unwell["gpu"]; len(got) != 1 || got[0] != shown {
			t.Errorf("%q is shown as %v", why, got)
		}
	}
	h.say(used("0x0000", 0, nil))
	back := 0
	for _, o := range l.Observe().Match.Offers {
		back += len(o.Held.Devices.Of("gpu"))
	}
	if back != 2 {
		t.Errorf("%d are offered, want both that are back", back)
	}
	// What can't be read changes nothing, and is told.
	heard[wire.Message](h.listener)
	h.say(used("nonsense", 0, map[int]string{0: "XID 79"}))
	if e := only[*wire.ErrorMessage](h.listener); e.Code != offers.BadMessage || !strings.Contains(e.Message, "gpu") {
		t.Errorf("told %+v", e)
	}
}

// TestAgentBindsOtherwise: the devices that a status or a registration names
// count, also under the next leader.
func TestAgentBindsOtherwise(t *testing.T) {
	l := newScene(t)
	h, a := l.gpuHost("", used("0x0000", 0, nil)), l.author("")
	o, _ := a.gpus("1")
	a.say(&wire.Accept{OfferIDs: []offers.OfferID{o.ID}, Tasks: []json.RawMessage{[]byte(`{"id":"t","resources":{"devices":{"gpu":{"count":1}}},"command":{"shell":"x"}}`)}})
	launch := only[*wire.Launch](h.listener)
	if got := launch.Tasks[0].Holding.Devices.Of("gpu"); len(got) != 1 || got[0].ID != "g0" {
		t.Fatalf("counted on %+v", got)
	}
	bound := map[string][]offers.Grant{"gpu": {{ID: "g1", Index: 1, Memory: 100, Share: offers.FullShare}}}
	s := status(a.ref("t"), offers.Running, "u1")
	s.Statuses[0].Devices = bound
	h.say(used("0x6400", 1, nil)) // the second device is used
	h.say(s)
	heard[wire.Message](a.listener)
	if _, ids := a.gpus("1"); ids != "g0" {
		t.Errorf("offered %q, want the device that is free", ids)
	}
	if n := l.Observe().Match.Counters.Mismatches; n == 0 {
		t.Error("no mismatch is counted")
	}
	l.succeed()
	l.gpuHost(h.self.ID, used("0x6400", 0, nil), wire.AgentTask{TaskRef: a.ref("t"), State: offers.Running, Holding: offers.Holding{Devices: offers.DevicesOf(bound)}})
	a = l.author(a.id)
	if _, ids := a.gpus("2"); ids != "g0" {
		t.Errorf("the next leader offers %q, want the device that is free", ids)
	}
}

// TestDevicesOfAnotherLaunch: an agent lists an earlier launch of a task's id,
// on another device. The present one keeps its own.
func TestDevicesOfAnotherLaunch(t *testing.T) {
	l := newScene(t)
	h, a := l.gpuHost("", used("0x0000", 0, nil)), l.author("")
	o, _ := a.gpus("1")
	a.say(&wire.Accept{OfferIDs: []offers.OfferID{o.ID}, Tasks: []json.RawMessage{[]byte(`{"id":"t","resources":{"devices":{"gpu":{"count":1}}},"command":{"shell":"x"}}`)}})
	l.succeed()
	bound := map[string][]offers.Grant{"gpu": {{ID: "g1", Index: 1, Memory: 100, Share: offers.FullShare}}}
	l.gpuHost(h.self.ID, used("0x0000", 0, nil), wire.AgentTask{
		TaskRef: a.ref("t"), LaunchID: "another", State: offers.Running, Holding: offers.Holding{Devices: offers.DevicesOf(bound)},
	})
	a = l.author(a.id)
	if _, ids := a.gpus("2"); ids != "g1" {
		t.Errorf("offered is %q, want the device that the present launch has not", ids)
	}
}

// TestLargerThanAnyDevice: such a demand is refused with the largest there is;
// one for a class that nobody has waits, and says for what.
func TestLargerThanAnyDevice(t *testing.T) {
	l := newScene(t)
	l.gpuHost("", nil)
	a := l.author("")
	heard[wire.Message](a.listener)
	a.say(&wire.DemandMessage{Demands: []json.RawMessage{
		[]byte(`{"id":"big","count":1,"resources":{"devices":{"gpu":{"memory":101}}}}`),
		[]byte(`{"id":"strange","count":1,"resources":{"devices":{"npu":{"memory":101}}}}`),
		[]byte(`{"id":"just","count":1,"resources":{"devices":{"gpu":{"memory":100}}}}`),
	}})
	var refused []string
	for _, m := range a.got {
		if e, ok := m.(*wire.ErrorMessage); ok {
			refused = append(refused, e.Message)
			if e.DemandID != "big" {
				t.Errorf("refused is %q", e.DemandID)
			}
		}
	}
	if len(refused) != 1 || refused[0] != `demand "big": devices.gpu.memory: 101B of one device are asked, and the largest gpu there is has 100B` {
		t.Errorf("refused %q", refused)
	}
	if got := l.Observe().Match; got.Pending["npu.slice"] != 1 || len(got.Pending) != 1 || len(got.Offers) != 1 {
		t.Errorf("%v wait, %d offers are out", got.Pending, len(got.Offers))
	}
}

// TestHopelessDemandIsTold: what no agent that is known could ever take is told
// in the turn in which it was stated, and stands.
func TestHopelessDemandIsTold(t *testing.T) {
	l := newScene(t)
	l.host("a", "")
	a := l.author("")
	heard[wire.Message](a.listener)
	a.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","count":1,"resources":{"cpus":1,"devices":{"npu":{"count":1}}}}`)}})
	m := only[*wire.Waiting](a.listener)
	if m.DemandID != "d" || len(m.Stopped) != 1 || m.Stopped[0] != "npu" || m.Message != "no agent that is known has npu" {
		t.Errorf("told %+v", m)
	}
	if w := l.Waiting(match.WaitingOf{}); len(w) != 1 || w[0].Framework != a.id {
		t.Errorf("waiting are %+v", w)
	}
}

// TestTooManyDemandsOfOneMessage are refused as a whole.
func TestTooManyDemandsOfOneMessage(t *testing.T) {
	l := newScene(t)
	a := l.author("")
	a.say(&wire.DemandMessage{Demands: slices.Repeat([]json.RawMessage{[]byte(`0`)}, wire.MaxDemands+1)})
	if e := only[*wire.ErrorMessage](a.listener); e.Code != offers.TooLarge {
		t.Errorf("they are answered with %v", e)
	}
}
