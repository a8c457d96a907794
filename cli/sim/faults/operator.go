package faults

import (
	"slices"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// What operators and authors do to a cluster that is not well.

// transfer elects another leader though nothing is wrong with this one.
func (w *world) transfer() bool {
	c := w.raft
	m := pick(w, w.masters)
	if c.leader == nil || !c.canLead(m) {
		return false
	}
	c.depose()
	c.elect(m)
	return true
}

// operate moves an agent as an operator does.
func (w *world) operate(to offers.AgentState) bool {
	var ids []offers.AgentID
	for a := range w.raft.state.Agents() {
		if a.State != offers.AgentGone {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		return false
	}
	return w.command(state.Command{SetAgentState: &state.SetAgentState{ID: pick(w, ids), State: to, Time: epoch.Add(w.now)}})
}

// command asks the leader for something, as an operator does.
func (w *world) command(c state.Command) bool {
	l := w.raft.leader
	if l == nil || l.core == nil || l.paused {
		return false
	}
	l.operate(c)
	return true
}

func (w *world) killTask() bool {
	var living []offers.TaskRef
	for _, h := range w.judge.order {
		if h.ends < h.rounds {
			living = append(living, h.ref)
		}
	}
	if len(living) == 0 {
		return false
	}
	return w.command(state.Command{KillTask: &state.KillTask{Ref: pick(w, living), Order: state.KillOrder{Reason: "operator", Time: epoch.Add(w.now)}}})
}

// setRole weighs or bounds a role, or forgets what was said of it.
func (w *world) setRole() bool {
	c := state.SetRole{Role: offers.Role(pick(w, roles))}
	if w.chance(0.7) {
		c.Settings = &offers.RoleSettings{Weight: float64(1 + w.rng.IntN(3))}
		if w.chance(0.5) {
			c.Settings.Quota.Limit = offers.QuotaAmounts{"cpus": int64(500 * (1 + w.rng.IntN(10)))}
		}
	}
	return w.command(state.Command{SetRole: &c})
}

// removeMaster takes a master out of the cluster, the leader too; with two
// left none can be missed.
func (w *world) removeMaster() bool {
	c := w.raft
	m := pick(w, c.voters)
	if !c.leads() || len(c.voters) < 3 {
		return false
	}
	w.tell("fault", "%s is a master no more", m.name)
	c.voters = slices.DeleteFunc(slices.Clone(c.voters), func(o *master) bool { return o == m })
	if c.leader == m {
		c.depose()
	}
	return true
}

func (w *world) addMaster() bool {
	c := w.raft
	var out []*master
	for _, m := range w.masters {
		if !slices.Contains(c.voters, m) {
			out = append(out, m)
		}
	}
	if !c.leads() || len(out) == 0 {
		return false
	}
	m := pick(w, out)
	w.tell("fault", "%s is a master again", m.name)
	c.voters = append(slices.Clone(c.voters), m)
	return true
}

// leave ends a framework's process and never starts it again; another one
// comes in its place.
func (w *world) leave() bool {
	f := pick(w, w.frameworks)
	if f.over || f.notes.ended {
		return false
	}
	f.notes.ended, f.over = true, true
	if f.up {
		f.stop()
	}
	f.leaves()
	w.enter(newFramework(w, len(w.frameworks)+1))
	return true
}

func (w *world) tearDown() bool {
	f := pick(w, w.frameworks)
	if !f.up || f.paused || f.over {
		return false
	}
	f.notes.torn = true
	f.session.Teardown()
	f.flush()
	w.enter(newFramework(w, len(w.frameworks)+1))
	return true
}

// takeOver starts a second instance of a framework while the first may live.
func (w *world) takeOver() bool {
	f := pick(w, w.frameworks)
	if f.id == "" || f.over || f.notes.ended {
		return false
	}
	w.enter(f.successor(len(w.frameworks) + 1))
	return true
}

// forget starts a framework anew without the id that it had. What it was
// stays behind until its deadline.
func (w *world) forget() bool {
	f := pick(w, w.frameworks)
	if f.over || f.notes.ended || f.id == "" {
		return false
	}
	heir := newFramework(w, len(w.frameworks)+1)
	heir.label = f.label
	f.notes.ended, f.over = true, true
	if f.up {
		f.stop()
	}
	f.leaves()
	w.enter(heir)
	return true
}

// revive starts an instance of a framework that was removed. It must be told
// so.
func (w *world) revive() bool {
	var ended []*framework
	for _, f := range w.frameworks {
		if s := w.raft.state.Framework(f.id); s != nil && s.Removed {
			ended = append(ended, f)
		}
	}
	if len(ended) == 0 {
		return false
	}
	f := pick(w, ended).successor(len(w.frameworks) + 1)
	f.revived = true
	w.enter(f)
	return true
}

func (w *world) enter(f *framework) {
	w.frameworks = append(w.frameworks, f)
	f.boot()
}
