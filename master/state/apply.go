package state

import (
	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Apply returns the state after the batch, and one result for each command.
// The same commands in the same order lead to the same state on every master
// and however they are cut into batches.
func (s *State) Apply(batch []Command) (*State, []Result) {
	tx := begin(s)
	results := make([]Result, len(batch))
	for i := range batch {
		results[i] = tx.apply(inCalendar(batch[i]))
		tx.counters.Applied++
		tx.forget()
	}
	return tx.commit(), results
}

// tx is a State under change: one transaction for each tree, for one batch.
// Never iterate a tree of it while changing that tree: collect first.
type tx struct {
	cluster  string
	counters counters

	agents     *trie.Txn[Agent]
	named      *trie.Txn[Agent]
	gone       past[offers.AgentID]
	roles      *iradix.Txn[*offers.RoleSettings]
	stores     *iradix.Txn[*store]
	stored     int
	frameworks *iradix.Txn[*Framework]
	removed    past[offers.FrameworkID]
	busy       *iradix.Txn[int]
	tasks      *trie.Txn[Task]
	living     *trie.Txn[Task]
	unacked    *trie.Txn[Task]
	history    past[offers.TaskRef]

	entered *Task // the last one of this batch, see tx.task
}

func begin(s *State) *tx {
	return &tx{
		cluster: s.cluster, counters: s.counters,
		agents: s.agents.Txn(), named: s.named.Txn(), gone: recall(s.gone),
		roles: s.roles.Txn(), stores: s.stores.Txn(), stored: s.stored,
		frameworks: s.frameworks.Txn(), removed: recall(s.removed), busy: s.busy.Txn(),
		tasks: s.tasks.Txn(), living: s.living.Txn(), unacked: s.unacked.Txn(), history: recall(s.history),
	}
}

func (tx *tx) commit() *State {
	return &State{
		cluster: tx.cluster, counters: tx.counters,
		agents: tx.agents.Commit(), named: tx.named.Commit(), gone: tx.gone.txn.Commit(),
		roles: tx.roles.Commit(), stores: tx.stores.Commit(), stored: tx.stored,
		frameworks: tx.frameworks.Commit(), removed: tx.removed.txn.Commit(), busy: tx.busy.Commit(),
		tasks: tx.tasks.Commit(), living: tx.living.Commit(), unacked: tx.unacked.Commit(), history: tx.history.txn.Commit(),
	}
}

func (tx *tx) apply(c Command) Result {
	if n := c.given(); n != 1 {
		return refuse(offers.Internal, "a command names %d changes; exactly one", n)
	}
	switch {
	case c.Init != nil:
		return tx.init(c.Init)
	case c.RegisterAgent != nil:
		return tx.registerAgent(c.RegisterAgent)
	case c.SetAgentState != nil:
		return tx.setAgentState(c.SetAgentState)
	case c.RegisterFramework != nil:
		return tx.registerFramework(c.RegisterFramework)
	case c.DisconnectFramework != nil:
		return tx.disconnectFramework(c.DisconnectFramework)
	case c.RemoveFramework != nil:
		return tx.removeFramework(c.RemoveFramework)
	case c.SetRole != nil:
		return tx.setRole(c.SetRole)
	case c.Launch != nil:
		return tx.launch(&c.Launch.Task)
	case c.EndTask != nil:
		return tx.endTask(c.EndTask)
	case c.Acknowledge != nil:
		return tx.acknowledge(c.Acknowledge)
	case c.KillTask != nil:
		return tx.killTask(c.KillTask)
	case c.Put != nil:
		return tx.put(c.Put)
	default:
		return tx.delete(c.Delete)
	}
}

func (tx *tx) init(c *Init) Result {
	if tx.cluster == "" {
		if !validCluster(c.ClusterID) {
			return refuse(offers.BadMessage, "cluster id %.70q: 4 to 64 printable characters that begin with four hexadecimal digits", c.ClusterID)
		}
		tx.cluster = c.ClusterID
	}
	return Result{Value: tx.cluster}
}

func (tx *tx) setRole(c *SetRole) Result {
	if err := c.Role.Validate(); err != nil {
		return refuse(offers.BadMessage, "%s", err)
	}
	if c.Settings == nil {
		tx.roles.Delete([]byte(c.Role))
		return Result{}
	}
	if err := c.Settings.Validate(); err != nil {
		return refuse(offers.BadResources, "role %s: %s", c.Role, err)
	}
	tx.roles.Insert([]byte(c.Role), c.Settings)
	return Result{}
}

func refuse(code offers.Code, format string, args ...any) Result {
	return Result{Err: offers.Errorf(code, format, args...)}
}

// nextEnd numbers the things that ended.
func (tx *tx) nextEnd() uint64 {
	tx.counters.Ended++
	return tx.counters.Ended
}
