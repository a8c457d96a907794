package state

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Task is one accepted launch. It exists from the commit of the accept until
// its end was acknowledged and the history is full. There may be a million: what
// tasks of one kind have in common they share, and what few have at a time is
// kept apart. It takes 128 bytes and its ids then, and 350 to 500 more where it
// shares nothing. A [TaskRecord] is the same in one piece.
//
// Like all records it is immutable, and so is what it points to.
type Task struct {
	*Terms
	*Rare
	ID       offers.TaskID
	Agent    offers.AgentID
	LaunchID offers.LaunchID // no other launch of the id has it
	Demand   offers.DemandID // out of an offer for which it was launched
	Command  *offers.Command // that of its Spec
	Holding  *offers.Holding // room counted for it on its agent
	Created  time.Time
	Absences uint64 // of its agent, before the launch
}

// Terms is what tasks of one kind are launched on.
type Terms struct {
	Framework offers.FrameworkID
	Role      offers.Role
	User      string
	Policy    offers.Policy
	// Pattern is their Spec without what each task has of its own: the fields of
	// Spec that are in Task and Rare are empty.
	Pattern offers.Task
}

// Rare is what few tasks have at a time. It is there where a task has none of it,
// too.
type Rare struct {
	Kill *KillOrder // set once somebody asked for its end
	// End is the terminal status, nil while the task lives. The first wins.
	End *offers.Status
	// Acknowledged says that the framework acknowledged End.
	Acknowledged bool
	// Ended orders ended tasks for the bounded history; 0 while it lives.
	Ended uint64
	// Restored says that the task lived in a snapshot that was restored. What
	// became of it since that was saved only its agent can tell, so it is not
	// launched again.
	Restored bool
	// Doubtful says that the task lived when its agent came back without a
	// checkpoint that surely knows all that ran. If the agent does not know it,
	// it may have run, so it is not launched again.
	Doubtful bool

	Ports       offers.Ports       // that its Spec names
	Traceparent offers.Traceparent // of its Spec
}

// ordinary is the Rare of tasks that have none of it.
var ordinary = new(Rare)

// Ref names the task in the cluster.
func (t *Task) Ref() offers.TaskRef { return offers.TaskRef{Framework: t.Framework, Task: t.ID} }

// Spec returns the task as its framework described it.
func (t *Task) Spec() offers.Task {
	s := t.Pattern
	s.ID, s.Command, s.Resources.Ports, s.Traceparent = t.ID, t.Command, t.Ports, t.Traceparent
	return s
}

// amended returns t with another Rare, which change makes of a copy.
func (t *Task) amended(change func(*Rare)) *Task {
	out, rare := *t, *t.Rare
	change(&rare)
	out.Rare = &rare
	return &out
}

// TaskRecord is a [Task] as launches and snapshots have it.
type TaskRecord struct {
	Framework    offers.FrameworkID
	Agent        offers.AgentID
	LaunchID     offers.LaunchID `cbor:"LaunchID,omitempty"`
	Demand       offers.DemandID `cbor:"Demand,omitempty"`
	Role         offers.Role
	User         string
	Policy       offers.Policy
	Spec         offers.Task
	Holding      offers.Holding
	Created      time.Time
	Absences     uint64 `cbor:"Absences,omitempty"`
	Kill         *KillOrder
	End          *offers.Status
	Acknowledged bool
	Ended        uint64
	Restored     bool `cbor:"Restored,omitempty"`
	Doubtful     bool `cbor:"Doubtful,omitempty"`
}

// Ref names the task in the cluster.
func (r *TaskRecord) Ref() offers.TaskRef {
	return offers.TaskRef{Framework: r.Framework, Task: r.Spec.ID}
}

// record returns the task in one piece.
func (t *Task) record() TaskRecord {
	return TaskRecord{
		Framework: t.Framework, Agent: t.Agent, LaunchID: t.LaunchID, Demand: t.Demand, Role: t.Role, User: t.User, Policy: t.Policy,
		Spec: t.Spec(), Holding: *t.Holding, Created: t.Created, Absences: t.Absences, Kill: t.Kill, End: t.End,
		Acknowledged: t.Acknowledged, Ended: t.Ended, Restored: t.Restored, Doubtful: t.Doubtful,
	}
}
