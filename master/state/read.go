package state

import (
	"iter"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

// ClusterID names the cluster; "" before Init.
func (s *State) ClusterID() string { return s.cluster }

// Applied counts the commands that led here, also those that failed.
func (s *State) Applied() uint64 { return s.counters.Applied }

// Agent returns the agent of that id, nil when it is unknown or forgotten.
func (s *State) Agent(id offers.AgentID) *Agent { return s.agents.Get(agentPath(id)) }

// AgentNamed returns the agent of that name that is not gone, or nil.
func (s *State) AgentNamed(name string) *Agent { return s.named.Get(trie.Path{name}) }

// Agents yields every agent, the gone ones too, the eldest first.
func (s *State) Agents() iter.Seq[*Agent] { return s.agents.All() }

// Framework returns the framework of that id, also when it is removed; nil
// when it is unknown or forgotten.
func (s *State) Framework(id offers.FrameworkID) *Framework {
	f, _ := s.frameworks.Get([]byte(id))
	return f
}

// Frameworks yields every framework, the removed ones too, the eldest first.
func (s *State) Frameworks() iter.Seq[*Framework] { return values(s.frameworks.Root(), nil) }

// Role returns what operators said of a role.
func (s *State) Role(name offers.Role) (offers.RoleSettings, bool) {
	settings, ok := s.roles.Get([]byte(name))
	if !ok {
		return offers.RoleSettings{}, false
	}
	return *settings, true
}

// Roles yields the roles that operators set, by name.
func (s *State) Roles() iter.Seq2[offers.Role, offers.RoleSettings] {
	return func(yield func(offers.Role, offers.RoleSettings) bool) {
		for it := s.roles.Root().Iterator(); ; {
			name, settings, ok := it.Next()
			if !ok || !yield(offers.Role(name), *settings) {
				return
			}
		}
	}
}

// Task returns a task that lives or is still remembered, or nil.
func (s *State) Task(ref offers.TaskRef) *Task {
	return s.tasks.Get(pathOf(ref))
}

// Tasks yields every task, by framework and id.
func (s *State) Tasks() iter.Seq[*Task] { return s.tasks.All() }

// TasksFrom yields all tasks from the first on that does not come before ref.
func (s *State) TasksFrom(ref offers.TaskRef) iter.Seq[*Task] { return s.tasks.From(pathOf(ref)) }

// TasksOf yields the tasks of one framework, living and ended, by id.
func (s *State) TasksOf(id offers.FrameworkID) iter.Seq[*Task] {
	return s.tasks.Below(trie.Path{string(id)})
}

// LiveTasksOn yields the tasks that live on an agent.
func (s *State) LiveTasksOn(id offers.AgentID) iter.Seq[*Task] {
	return s.living.Below(trie.Path{string(id)})
}

// UnacknowledgedOn yields the tasks that ended on an agent and whose end the
// framework has not acknowledged yet.
func (s *State) UnacknowledgedOn(id offers.AgentID) iter.Seq[*Task] {
	return s.unacked.Below(trie.Path{string(id)})
}

// Unacknowledged yields every such task of the cluster, by agent.
func (s *State) Unacknowledged() iter.Seq[*Task] { return s.unacked.All() }

// LiveCount returns how many tasks of a framework live, without counting them.
func (s *State) LiveCount(id offers.FrameworkID) int {
	n, _ := s.busy.Get([]byte(id))
	return n
}

// Counts are sizes that cost nothing to know.
type Counts struct {
	Agents         int // gone ones too
	Frameworks     int // removed ones too
	Live           int // tasks
	Ended          int // tasks still remembered, acknowledged or not
	Unacknowledged int // of those
}

// Counts returns the sizes of the state.
func (s *State) Counts() Counts {
	return Counts{
		Agents: s.agents.Len(), Frameworks: s.frameworks.Len(),
		Live: s.living.Len(), Ended: s.tasks.Len() - s.living.Len(), Unacknowledged: s.unacked.Len(),
	}
}

// values yields the values below a prefix in the order of their keys.
func values[T any](root *iradix.Node[T], prefix []byte) iter.Seq[T] {
	return func(yield func(T) bool) {
		it := root.Iterator()
		it.SeekPrefix(prefix)
		for {
			_, v, ok := it.Next()
			if !ok || !yield(v) {
				return
			}
		}
	}
}
