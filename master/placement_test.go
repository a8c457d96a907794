package master

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// dial connects a scripted peer to a master over a websocket.
func (r *runningMaster) dial(t *testing.T, path, protocol string, from wire.Vocabulary) *peer {
	t.Helper()
	link, err := wire.Dial(t.Context(), "ws://"+r.Address()+path, protocol, nil, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { link.Close("done") })
	return &peer{t, link, from}
}

// onAgent registers an agent with that inventory, and a framework.
func (r *runningMaster) onAgent(t *testing.T, total string, attributes map[string]string) *peer {
	t.Helper()
	var has offers.Inventory
	if err := has.UnmarshalJSON([]byte(total)); err != nil {
		t.Fatal(err)
	}
	a := r.dial(t, wire.AgentPath, wire.AgentProtocol, wire.ToAgent)
	a.send(&wire.RegisterAgent{Agent: offers.Agent{Name: "a1", Host: "h", Total: has, Attributes: attributes}}, "")
	expect[*wire.AgentRegistered](a)
	f := r.dial(t, wire.FrameworkPath, wire.FrameworkProtocol, wire.ToFramework)
	f.send(&wire.Register{Framework: wire.FrameworkInfo{Name: "f", Role: "default"}}, "")
	expect[*wire.Registered](f)
	return f
}

// wait states demands in one message and returns what is offered first of all.
func (p *peer) wait(demands ...string) (served []offers.DemandID) {
	p.Helper()
	m := &wire.DemandMessage{}
	for _, d := range demands {
		m.Demands = append(m.Demands, json.RawMessage(d))
	}
	p.send(m, "")
	for _, o := range expect[*wire.OffersMessage](p).Offers {
		served = append(served, o.DemandID)
	}
	return served
}

// TestBalanceOverAWebsocket is the golden case of ALGORITHMS section 4 from the
// demands of a framework to its offers.
func TestBalanceOverAWebsocket(t *testing.T) {
	c := masterConfig(t, "m1")
	c.Placement = offers.Balance
	m := runMaster(t, c)
	<-m.Ready()
	f := m.onAgent(t, `{"cpus":100,"mem":1000,"devices":{"gpu":{"ids":["0","1","2","3","4","5","6","7","8","9"],"capacity":[8,8,8,8,8,8,8,8,8,8]}}}`, nil)
	var waiting []string
	for _, j := range []struct {
		name            string
		cpus, mem, gpus int
	}{{"job5", 20, 500, 4}, {"job2", 30, 400, 2}, {"job1", 40, 200, 2}, {"job4", 40, 300, 4}, {"job3", 30, 300, 1}, {"job6", 30, 200, 1}} {
		waiting = append(waiting, fmt.Sprintf(`{"id":"%s","count":1,"resources":{"cpus":%d,"mem":%d,"devices":{"gpu":{"count":%d}}}}`, j.name, j.cpus, j.mem, j.gpus))
	}
	if got, want := f.wait(waiting...), []offers.DemandID{"job5", "job1", "job4"}; !slices.Equal(got, want) {
		t.Errorf("offered are %v, want %v", got, want)
	}
}

// TestMatchOverAWebsocket is the golden case of the strategy `match`, where what
// comes in two messages is one batch.
func TestMatchOverAWebsocket(t *testing.T) {
	c := masterConfig(t, "m1")
	c.Placement, c.MatchWindow = offers.Match, 500*time.Millisecond
	m := runMaster(t, c)
	<-m.Ready()
	f := m.onAgent(t, `{"cpus":8}`, map[string]string{"cpu_mhz": "2500"})
	var waiting []string
	for _, deadline := range []int{300, 30, 120} {
		waiting = append(waiting, fmt.Sprintf(`{"id":"%d","count":1,"runtime":60,"deadline":"%ds","price":1,"resources":{"cpus":4}}`, deadline, deadline))
	}
	f.demand(waiting[0])
	f.demand(waiting[1])
	if got, want := f.wait(waiting[2]), []offers.DemandID{"120", "300"}; !slices.Equal(got, want) {
		t.Errorf("offered are %v, want %v", got, want)
	}
}
