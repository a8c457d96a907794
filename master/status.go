package master

import (
	"net/http"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

func (a *api) status(_ *http.Request, p *picture) (any, error) { return a.statusOf(p), nil }

func (a *api) statusOf(p *picture) shown.Status {
	c := p.count()
	out := shown.Status{
		ClusterID: p.State.ClusterID(), Version: a.version, Term: p.Term, Masters: a.showMasters(),
		Agents: c.agents, Frameworks: c.connected + c.disconnected, Tasks: c.tasks,
		Offers: len(p.Match.Offers), Waiting: p.Match.Waiting, Pending: p.Match.Pending,
		Total: c.total.show(), Used: c.used.show(), Offered: c.offered.show(),
	}
	if leader, ok := a.replica.Leader(); ok {
		out.Leader = &shown.Leader{Name: leader.Name, Address: leader.HTTP}
	}
	if out.Pending == nil {
		out.Pending = map[string]int{}
	}
	return out
}

func (a *api) masters(*http.Request, *picture) (any, error) {
	return shown.Masters{Masters: a.showMasters()}, nil
}

func (a *api) showMasters() []shown.Master {
	leader, _ := a.replica.Leader()
	out := []shown.Master{}
	for _, m := range a.replica.Members() {
		role := "follower"
		switch {
		case m.ID == leader.ID:
			role = "leader"
		case a.replica.Silent(m.ID):
			role = "unreachable"
		case m.Joining:
			role = "joining"
		}
		out = append(out, shown.Master{Name: m.Name, Address: m.HTTP, Raft: m.Raft, Role: role})
	}
	return out
}

// census is what status and metrics count.
type census struct {
	agents                  map[offers.AgentState]int
	tasks                   map[offers.State]int
	connected, disconnected int // frameworks
	total, used, offered    sum // of agents that are not unreachable or gone
}

var taskStates = []offers.State{
	offers.Staging, offers.Starting, offers.Running, offers.Killing, offers.Unreachable,
	offers.Finished, offers.Failed, offers.Killed, offers.Rejected, offers.Dropped, offers.Gone,
}

// count takes O(agents + tasks); states without anything in them count 0.
func (p *picture) count() census {
	c := census{agents: map[offers.AgentState]int{}, tasks: map[offers.State]int{}}
	for _, s := range agentStates {
		c.agents[s] = 0
	}
	for _, s := range taskStates {
		c.tasks[s] = 0
	}
	for a := range p.State.Agents() {
		c.agents[a.State]++
		if a.State == offers.AgentGone || a.State == offers.AgentUnreachable {
			continue
		}
		v := p.room(a)
		c.total.add(showTotal(a.Total), a.Total.Amounts)
		c.used.add(showHolding(v.Used), v.Used.Amounts)
		c.offered.add(showHolding(v.Offered), v.Offered.Amounts)
	}
	for t := range p.State.Tasks() {
		c.tasks[p.taskStatus(t).State]++
	}
	for f := range p.State.Frameworks() {
		switch p.frameworkState(f) {
		case "connected":
			c.connected++
		case "disconnected":
			c.disconnected++
		}
	}
	return c
}

// condition is how many devices of a class can be used, and can't.
type condition struct{ well, unwell int }

// countDevices counts the devices of the reachable agents by class.
func (p *picture) countDevices() map[string]condition {
	out := map[string]condition{}
	for a := range p.State.Agents() {
		if a.State == offers.AgentGone || a.State == offers.AgentUnreachable {
			continue
		}
		v := p.room(a)
		for _, class := range v.Devices {
			n, bad := out[class.Name], len(v.Unwell[class.Name])
			out[class.Name] = condition{n.well + len(class.Devices) - bad, n.unwell + bad}
		}
	}
	return out
}
