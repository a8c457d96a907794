package state

import (
	"errors"
	"fmt"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

// check verifies every invariant of the state: the indices hold exactly what
// the records say, numbers stay below their counters, histories are bounded.
// It reads everything once.
func (s *State) check() error {
	if s.cluster != "" && !validCluster(s.cluster) {
		return fmt.Errorf("cluster id %.70q is not valid", s.cluster)
	}
	c := &checker{State: s, ended: map[uint64]string{}, busy: map[offers.FrameworkID]int{}}
	c.checkAgents()
	c.checkTasks()
	c.checkFrameworks()
	c.checkStores()
	for name, settings := range s.Roles() {
		c.require(name.Validate() == nil && settings.Validate() == nil, "role %q is not valid", name)
	}
	return errors.Join(c.errs...)
}

// checker collects what is wrong, up to a dozen sentences.
type checker struct {
	*State
	errs  []error
	ended map[uint64]string // who has which number
	busy  map[offers.FrameworkID]int
}

func (c *checker) require(ok bool, format string, args ...any) {
	if !ok && len(c.errs) < 12 {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// end checks a number of an end and that it is in its history, if it should be.
func (c *checker) end(n uint64, who string) {
	other, twice := c.ended[n]
	c.require(!twice, "%s and %s have the same end %d", who, other, n)
	c.require(n > 0 && n <= c.counters.Ended, "%s: end %d is not between 1 and %d", who, n, c.counters.Ended)
	c.ended[n] = who
}

func (c *checker) checkAgents() {
	named, gone := 0, 0
	for a := range c.agents.All() {
		key := string(a.ID)
		n := number(agentLetter, key, c.cluster)
		c.require(n > 0 && n <= c.counters.Agents, "agent %q has a number that is not its own", key)
		c.require(a.Name != "", "agent %s has no name", key)
		switch a.State {
		case offers.AgentGone:
			gone++
			c.end(a.Ended, key)
			id, _ := c.gone.Get(sequenceKey(a.Ended))
			c.require(id == a.ID, "gone agent %s is not in the history", key)
		case offers.AgentActive, offers.AgentDraining, offers.AgentDrained, offers.AgentUnreachable:
			named++
			c.require(c.named.Get(trie.Path{a.Name}) == a, "agent %s is not found by its name", key)
			c.require(a.Ended == 0, "agent %s has an end", key)
		default:
			c.require(false, "agent %s: state %q is unknown", key, a.State)
		}
		c.checkResume(a)
	}
	c.require(named == c.named.Len(), "%d agents have names, %d are indexed", named, c.named.Len())
	c.require(gone == c.gone.Len() && gone <= MaxGoneAgents, "%d agents are gone, %d are in the history", gone, c.gone.Len())
}

func (c *checker) checkResume(a *Agent) {
	drained := a.State == offers.AgentDrained
	switch a.Resume {
	case "":
		c.require(a.State != offers.AgentUnreachable, "agent %s has no state to return to", a.ID)
	case offers.AgentActive, offers.AgentDraining, offers.AgentDrained:
		c.require(a.State == offers.AgentUnreachable, "agent %s is not away", a.ID)
		drained = drained || a.Resume == offers.AgentDrained
	default:
		c.require(false, "agent %s: can't return to %q", a.ID, a.Resume)
	}
	if drained || a.State == offers.AgentGone {
		for t := range c.LiveTasksOn(a.ID) {
			c.require(false, "task %s lives on agent %s, which is drained or gone", t.Ref(), a.ID)
		}
	}
}

func (c *checker) checkTasks() {
	living, unacked, history := 0, 0, 0
	for t := range c.tasks.All() {
		ref := t.Ref()
		where := byAgent(t)
		c.require(c.tasks.Get(byFramework(t)) == t && ref.Task.Validate() == nil, "task %q is not found by its id, or that is none", ref)
		c.require(number(agentLetter, string(t.Agent), c.cluster) > 0, "task %s has the foreign agent %q", ref, t.Agent)
		if t.End == nil {
			living++
			c.busy[t.Framework]++
			indexed := c.living.Get(where)
			c.require(indexed == t && t.Ended == 0 && !t.Acknowledged, "living task %s is not indexed or has an end", ref)
			c.require(c.Agent(t.Agent) != nil, "task %s lives on agent %s, which is forgotten", ref, t.Agent)
			c.require(c.Framework(t.Framework) != nil, "task %s lives, its framework is forgotten", ref)
			continue
		}
		c.end(t.Ended, ref.String())
		c.require(t.End.State.Terminal() && t.End.UpdateID != "" && t.End.Task == ref.Task && t.End.Agent == t.Agent, "task %s has an end that is none", ref)
		if t.Acknowledged {
			history++
			indexed, _ := c.history.Get(sequenceKey(t.Ended))
			c.require(indexed == ref, "task %s is not in the history", ref)
			continue
		}
		unacked++
		indexed := c.unacked.Get(where)
		c.require(indexed == t, "unacknowledged task %s is not indexed", ref)
		f := c.Framework(t.Framework)
		c.require(f != nil && !f.Removed, "task %s waits for a framework that is not there", ref)
	}
	c.require(living == c.living.Len(), "%d tasks live, %d are indexed", living, c.living.Len())
	c.require(unacked == c.unacked.Len(), "%d ends are unacknowledged, %d are indexed", unacked, c.unacked.Len())
	c.require(history == c.history.Len() && history <= MaxHistory, "%d tasks are remembered, %d are indexed", history, c.history.Len())
}

// checkFrameworks needs what checkTasks counted.
func (c *checker) checkFrameworks() {
	removed := 0
	for key, f := range entries(c.frameworks) {
		n := number(frameworkLetter, key, c.cluster)
		c.require(string(f.ID) == key && n > 0 && n <= c.counters.Frameworks, "framework %q has a key or a number that is not its own", key)
		c.require(c.LiveCount(f.ID) == c.busy[f.ID], "framework %s has %d living tasks, %d are counted", key, c.busy[f.ID], c.LiveCount(f.ID))
		if !f.Removed || c.busy[f.ID] > 0 {
			c.require(f.Ended == 0, "framework %s has an end", key)
			continue
		}
		removed++
		c.end(f.Ended, key)
		id, _ := c.removed.Get(sequenceKey(f.Ended))
		c.require(id == f.ID && f.Deadline.IsZero(), "removed framework %s is not in the history or has a deadline", key)
	}
	c.require(len(c.busy) == c.State.busy.Len(), "%d frameworks are busy, %d are counted", len(c.busy), c.State.busy.Len())
	c.require(removed == c.removed.Len() && removed <= MaxRemovedFrameworks, "%d frameworks are removed, %d are in the history", removed, c.removed.Len())
}

func (c *checker) checkStores() {
	all := 0
	for key, st := range entries(c.stores) {
		f := c.Framework(offers.FrameworkID(key))
		c.require(f != nil && !f.Removed, "framework %q has a store and is not there", key)
		c.require(st.keys.Len() <= MaxKeys && (st.keys.Len() > 0 || st.floor > 0), "the store of framework %q has %d keys, and %d was deleted", key, st.keys.Len(), st.floor)
		bytes := 0
		for name, e := range entries(st.keys) {
			bytes += weight(name, e)
			c.require(e.Version > 0 && name != "" && len(name) <= MaxKeyLength, "key %.60q of framework %s is not valid", name, key)
		}
		c.require(bytes == st.bytes, "the store of framework %q has %d bytes, %d are counted", key, bytes, st.bytes)
		all += bytes
	}
	c.require(all == c.stored, "the stores have %d bytes together, %d are counted", all, c.stored)
}

// entries yields a tree with its keys as texts.
func entries[T any](tree *iradix.Tree[T]) func(func(string, T) bool) {
	return func(yield func(string, T) bool) {
		for it := tree.Root().Iterator(); ; {
			key, v, ok := it.Next()
			if !ok || !yield(string(key), v) {
				return
			}
		}
	}
}
