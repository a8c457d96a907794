package master

import (
	"testing"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestClosedAgentIsShown in lists, by itself, and on the floor that the page draws.
func TestClosedAgentIsShown(t *testing.T) {
	s, results := state.New().Apply([]state.Command{
		{Init: &state.Init{ClusterID: "c0de"}},
		{RegisterAgent: &state.RegisterAgent{Agent: offers.Agent{Name: "a"}, Time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}},
	})
	a := results[1].Value.(*state.Agent)
	const why = "its disk is full"
	p := &picture{State: s, Match: &match.View{Agents: []match.AgentView{{ID: a.ID, Closed: why}}}}
	if got := p.showAgent(a).(shown.Agent).Closed; got != why {
		t.Errorf("the agent is shown as closed for %q", got)
	}
	out, err := (&api{feed: newFeed()}).floor(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	if agents := out.(shown.Floor).Agents; len(agents) != 1 || agents[0].Closed != why {
		t.Errorf("the floor has %+v", agents)
	}
}
