package state

import (
	"encoding/binary"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Bounds of what is kept. They are part of what the masters compute alike, so
// they change only together with the version of the commands.
const (
	MaxHistory           = 10_000 // ended and acknowledged tasks
	MaxGoneAgents        = 1_000
	MaxRemovedFrameworks = 1_000    // without living tasks
	MaxKeys              = 10_000   // in the store of one framework
	MaxKeyLength         = 1_024    // bytes
	MaxStoreBytes        = 64 << 20 // of the keys and values of one framework
)

// State is everything the masters agree on, at one moment. It is immutable:
// Apply returns another one that shares what did not change, so whoever holds
// a State may read it for ever and from any goroutine. The records that it
// hands out are shared too and must not be changed.
//
// Invariants: see check.
type State struct {
	cluster  string
	counters counters

	agents     *trie.Tree[Agent]            // by id
	named      *trie.Tree[Agent]            // agents that are not gone, by name
	gone       *iradix.Tree[offers.AgentID] // gone agents, by Ended
	roles      *iradix.Tree[*offers.RoleSettings]
	stores     *iradix.Tree[*store]             // by framework that ever wrote
	stored     int                              // bytes of all of them
	frameworks *iradix.Tree[*Framework]         // every framework by id
	removed    *iradix.Tree[offers.FrameworkID] // removed and without living tasks, by Ended
	busy       *iradix.Tree[int]                // number of living tasks by framework, never 0

	tasks   *trie.Tree[Task]             // every task by framework and id
	living  *trie.Tree[Task]             // by agent, framework and id
	unacked *trie.Tree[Task]             // ended and not acknowledged, as living
	history *iradix.Tree[offers.TaskRef] // ended and acknowledged, by Ended
}

// counters only ever grow.
type counters struct {
	Agents     uint64 // ids given
	Frameworks uint64 // ids given
	Ended      uint64 // tasks, agents and frameworks that ended; orders them
	Applied    uint64 // commands, also those that failed
	Terms      uint64 `cbor:"Terms,omitempty"` // see State.Terms; left out, it is what versions before it read
}

// New returns the state of a cluster in which nothing happened yet. It gives
// out no id before Init named the cluster.
func New() *State {
	return &State{
		agents: trie.New(agentByID), named: trie.New(agentByName), gone: iradix.New[offers.AgentID](),
		roles: iradix.New[*offers.RoleSettings](), stores: iradix.New[*store](),
		frameworks: iradix.New[*Framework](), removed: iradix.New[offers.FrameworkID](), busy: iradix.New[int](),
		tasks: trie.New(byFramework), living: trie.New(byAgent), unacked: trie.New(byAgent),
		history: iradix.New[offers.TaskRef](),
	}
}

func agentByID(a *Agent) trie.Path { return agentPath(a.ID) }

func agentByName(a *Agent) trie.Path { return trie.Path{a.Name} }

func agentPath(id offers.AgentID) trie.Path { return trie.Path{string(id)} }

// Tasks are kept under two keys.

func byFramework(t *Task) trie.Path { return pathOf(t.Ref()) }

func byAgent(t *Task) trie.Path { return pathOn(t.Agent, t.Ref()) }

func pathOf(ref offers.TaskRef) trie.Path { return trie.Path{string(ref.Framework), string(ref.Task)} }

func pathOn(agent offers.AgentID, ref offers.TaskRef) trie.Path {
	return trie.Path{string(agent), string(ref.Framework), string(ref.Task)}
}

// sequenceKey sorts as its number.
func sequenceKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
