package master

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestMasterOffersGangsWhole: over real connections a gang too large is told so,
// comes in one message when its last agent does, and goes back whole.
func TestMasterOffersGangsWhole(t *testing.T) {
	m := runMaster(t, masterConfig(t, "m1"))
	<-m.Ready()
	join := func(name string) {
		a := dial(t, m, wire.AgentPath, wire.AgentProtocol, wire.ToAgent)
		a.send(&wire.RegisterAgent{Agent: offers.Agent{Name: name, Host: name, Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 2000}}}}, "")
		expect[*wire.AgentRegistered](a)
	}
	join("a0")
	join("a1")
	f := dial(t, m, wire.FrameworkPath, wire.FrameworkProtocol, wire.ToFramework)
	f.send(&wire.Register{Framework: wire.FrameworkInfo{Name: "batch"}}, "")
	id := expect[*wire.Registered](f).FrameworkID
	f.demand(`{"id":"gang","count":3,"gang":"30s","resources":{"cpus":2}}`)
	if w := expect[*wire.Waiting](f); w.DemandID != "gang" || !strings.Contains(w.Message, "hold 2 of the 3 units of the gang") {
		t.Errorf("told %+v", w)
	}
	var got struct {
		Gang           bool
		Units, Missing int
		Missed         struct{ Stopped []string }
	}
	fetch(t, m, "/v1/explain?framework="+string(id)+"&demand=gang", &got)
	if !got.Gang || got.Units != 3 || got.Missing != 1 || fmt.Sprint(got.Missed.Stopped) != "[cpus]" {
		t.Errorf("explained %+v", got)
	}
	join("a2")
	list := expect[*wire.OffersMessage](f).Offers
	if len(list) != 3 {
		t.Fatalf("offered are %+v", list)
	}
	none := offers.Duration(0)
	f.send(&wire.Decline{OfferIDs: []offers.OfferID{list[0].ID}, Refuse: &none}, "")
	if r := expect[*wire.Rescind](f); len(r.OfferIDs) != 2 || r.Reason != "gang_broken" {
		t.Errorf("after a part was declined: %+v", r)
	}
	if list = expect[*wire.OffersMessage](f).Offers; len(list) != 3 {
		t.Errorf("offered again are %+v", list)
	}
	f.demand(`{"id":"gang","count":3,"gang":"1s","resources":{"cpus":2}}`)
	expect[*wire.Rescind](f)
	expect[*wire.OffersMessage](f)
	if r := expect[*wire.Rescind](f); len(r.OfferIDs) != 3 || r.Reason != "expired" {
		t.Errorf("after its time: %+v", r)
	}
}
