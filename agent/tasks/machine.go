package tasks

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Config is what a machine is made of.
type Config struct {
	Total    offers.Inventory
	Policies map[string]offers.Policy // by class; "" for all
	Host     string                   // goes into statuses
	Refusals Refusals
	Traced   bool // Ready tells the spans of tasks that are part of a sampled trace
}

// Refusals say why tasks of a kind are rejected; "" is of a kind that runs.
type Refusals struct {
	NoProcesses  string
	NoContainers string
}

func (r Refusals) of(t *offers.Task) string {
	if t.Container != nil {
		return r.NoContainers
	}
	return r.NoProcesses
}

// Meta is what the agent remembers about its place in the cluster.
type Meta struct {
	Agent offers.AgentID // "" until it has registered
	Term  uint64         // the highest it has heard of
	// Doubt says why more may have run than is known, "" where it can't. It
	// ends with a registration, by which the masters know of it too.
	Doubt string
	// Have and Next are the tokens by which the masters tell an older copy of
	// this, see [wire.RegisterAgent]: the last that they confirmed, and the one
	// that waits for it, "" where none does.
	Have, Next string
}

// Machine is the agent's mind. Not safe for concurrent use.
//
// Invariants: what is held never passes the inventory (but for tasks that ran
// already when the inventory became smaller); a task has at most one terminal
// report, and it is the last.
type Machine struct {
	config Config
	meta   Meta
	room   *offers.Room
	tasks  map[offers.TaskRef]*task

	registered bool   // a master listens
	confirmed  bool   // a master has taken this run of the agent
	closing    bool   // nothing new is started
	doubt      string // of this run, see Meta
	sequence   uint64
	handled    uint64                       // launches with devices, on this connection
	unwell     map[string]map[string]string // why, by class and id of the device
	closed     string                       // why nobody is to be offered more of the agent, see Withdraw
	ready      Ready
	dirty      map[offers.TaskRef]bool // Progress to be written down
}

// Ready is what is to be done. The first group is written down durably before
// anything of the second happens.
type Ready struct {
	Meta     *Meta
	Launched []*Launch
	Changed  []offers.TaskRef // see Machine.Progress
	Removed  []offers.TaskRef // nothing is kept of them; their sandboxes may go in time

	Register bool // introduce the agent, see Machine.Register

	Start   []*Launch        // fetch its artifacts (then Staged), prepare its process and answer with Prepared or Ended
	Cancel  []offers.TaskRef // what is being prepared, if anything is, is not needed any more; it is answered all the same
	Release []offers.TaskRef // open the gate of its process
	Abandon []offers.TaskRef // close it: the task never starts
	Signals []Signal
	Checks  []*Launch // check their health and answer with Checked or Unchecked
	Send    []wire.TaskStatus
	Usage   bool // what devices are used has changed
	Spans   []offers.Span
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return r.Meta == nil && !r.Durable() && !r.Register && len(r.Start)+len(r.Cancel)+len(r.Release)+len(r.Abandon)+len(r.Signals)+len(r.Checks)+len(r.Send) == 0 && !r.Usage
}

// Durable reports whether anything is to be written down.
func (r *Ready) Durable() bool {
	return r.Meta != nil || len(r.Launched)+len(r.Changed)+len(r.Removed) > 0
}

// Signal asks a task to end, or (Force) ends it.
type Signal struct {
	Ref   offers.TaskRef
	Force bool
}

// New returns a machine that knows no task.
func New(c Config, m Meta) *Machine {
	return &Machine{
		config: c, meta: m, doubt: m.Doubt, room: offers.NewRoom(c.Total),
		tasks: map[offers.TaskRef]*task{}, dirty: map[offers.TaskRef]bool{}, sequence: 1,
	}
}

// Ready returns what is to be done since it was last asked.
func (m *Machine) Ready() Ready {
	r := m.ready
	m.ready = Ready{}
	r.Changed = slices.AppendSeq(make([]offers.TaskRef, 0, len(m.dirty)), maps.Keys(m.dirty))
	slices.SortFunc(r.Changed, compareRefs)
	clear(m.dirty)
	return r
}

// Refuse rejects from now on what comes of other kinds of tasks than before.
func (m *Machine) Refuse(r Refusals) { m.config.Refusals = r }

// Starting returns the tasks that the next Ready will start, unless artifacts of
// them are fetched first: the caller may answer with Reserved.
func (m *Machine) Starting() []*Launch {
	return slices.DeleteFunc(slices.Clone(m.ready.Start), func(l *Launch) bool { return len(l.Task.Artifacts) > 0 })
}

// Meta returns the agent's place in the cluster.
func (m *Machine) Meta() Meta { return m.meta }

// Progress returns what is to be written down of a task.
func (m *Machine) Progress(ref offers.TaskRef) (Progress, bool) {
	t, ok := m.tasks[ref]
	if !ok {
		return Progress{}, false
	}
	return t.Progress, true
}

// Running returns the launch of a task that runs and was not told to end.
func (m *Machine) Running(ref offers.TaskRef) (Launch, bool) {
	t, ok := m.tasks[ref]
	if !ok || t.State != offers.Running {
		return Launch{}, false
	}
	return t.Launch, true
}

// States returns how many tasks are in each state; of ended ones those whose
// end is not acknowledged.
func (m *Machine) States() map[offers.State]int {
	out := map[offers.State]int{}
	for _, t := range m.tasks {
		out[t.State]++
	}
	return out
}

// Living returns the tasks that have not ended, in the order of their names.
func (m *Machine) Living() []offers.TaskRef {
	var refs []offers.TaskRef
	for ref, t := range m.tasks {
		if !t.ended() {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, compareRefs)
	return refs
}

// Orphans returns how many living tasks the masters have forgotten.
func (m *Machine) Orphans() int {
	n := 0
	for _, t := range m.tasks {
		if t.Orphan {
			n++
		}
	}
	return n
}

// Restore brings back what was written down. Living tasks without a process
// are started once a master has taken this run, unless there is a doubt that
// nothing of them has run: they end as gone then. For the others the caller
// answers with Adopted or Ended.
func (m *Machine) Restore(known []Known, now time.Time) {
	slices.SortFunc(known, func(a, b Known) int { return compareRefs(a.Launch.Ref(), b.Launch.Ref()) })
	for _, k := range known {
		t := &task{Launch: k.Launch, Progress: k.Progress, restored: true, run: strconv.FormatInt(now.UnixNano(), 36) + "."}
		m.tasks[t.Ref()] = t
		if t.ended() {
			continue
		}
		// It runs, so it is counted, even where the inventory became smaller.
		m.room.Claim(t.Holding)
		t.held, t.claimed = true, true
		if t.Process == nil {
			m.begin(t, now)
		}
	}
}

// Lost enters a task whose record was damaged, so that it is never started
// again: it ends as failed.
func (m *Machine) Lost(ref offers.TaskRef, why string, now time.Time) {
	if _, known := m.tasks[ref]; known {
		return
	}
	t := m.enter(wire.LaunchTask{Framework: ref.Framework, Task: offers.Task{ID: ref.Task}}, now)
	m.finish(t, Report{State: offers.Failed, Reason: offers.ReasonShimLost, Message: why, Time: now}, now)
}

// enter makes a task known. What is to be removed of an earlier one of its name
// is written over, and must not take the new one along.
func (m *Machine) enter(l wire.LaunchTask, now time.Time) *task {
	t := &task{Launch: Launch{LaunchTask: l, Accepted: now}, Progress: Progress{State: offers.Starting}}
	if len(l.Task.Artifacts) > 0 {
		t.State = offers.Staging
	}
	m.tasks[t.Ref()] = t
	m.ready.Removed = slices.DeleteFunc(m.ready.Removed, func(ref offers.TaskRef) bool { return ref == t.Ref() })
	m.ready.Launched = append(m.ready.Launched, &t.Launch)
	m.dirty[t.Ref()] = true
	return t
}

// begin starts a task of which nothing has run, unless it was told to end. One
// that was brought back waits for the word of a master, which may know of a
// later checkpoint than the one that it came from.
func (m *Machine) begin(t *task, now time.Time) {
	t.waiting = false
	switch {
	case t.Orphan:
		m.remove(t)
	case t.Kill != nil:
		m.finish(t, Report{State: offers.Killed, Reason: t.Kill.Reason, Time: now}, now)
	case t.restored && m.doubt != "":
		m.finish(t, Report{State: offers.Gone, Reason: offers.ReasonAgentRestarted, Message: m.doubt + ": nobody can tell whether it has run", Time: now}, now)
	case t.restored && !m.confirmed:
		t.waiting = true
	default:
		m.ready.Start = append(m.ready.Start, &t.Launch)
	}
}

// finish ends a task for good.
func (m *Machine) finish(t *task, r Report, now time.Time) {
	if t.ended() {
		return
	}
	m.release(t)
	t.Process, t.deadline, t.check = nil, time.Time{}, time.Time{}
	if r.Time.Before(t.Started) { // its shim saw the end before the agent saw the start
		r.Time = t.Started
	}
	m.traceEnd(t, &r)
	m.report(t, r, now)
	if t.Orphan {
		m.remove(t)
	}
}

// release gives the task's room back.
func (m *Machine) release(t *task) {
	if !t.held {
		return
	}
	t.held = false
	m.room.Give(t.Holding)
	m.used(t.Holding)
}

func (m *Machine) remove(t *task) {
	ref := t.Ref()
	if !t.ended() {
		m.release(t)
	}
	delete(m.tasks, ref)
	delete(m.dirty, ref)
	m.ready.Removed = append(m.ready.Removed, ref)
	m.ready.Start = slices.DeleteFunc(m.ready.Start, func(l *Launch) bool { return l.Ref() == ref })
}

// fence refuses what comes from a leader of the past.
func (m *Machine) fence(term uint64) error {
	if term < m.meta.Term {
		return fmt.Errorf("it comes from term %d, and term %d has begun", term, m.meta.Term)
	}
	if term > m.meta.Term {
		m.meta.Term = term
		m.remember()
	}
	return nil
}

func (m *Machine) remember() {
	meta := m.meta
	m.ready.Meta = &meta
}

// check verifies the invariants; the tests call it.
func (m *Machine) check() error {
	room := offers.NewRoom(m.config.Total)
	for ref, t := range m.tasks {
		if t.held {
			take := room.Take
			if t.claimed {
				take = func(h offers.Holding) error { room.Claim(h); return nil }
			}
			if err := take(t.Holding); err != nil {
				return fmt.Errorf("%s: %w", ref, err)
			}
		}
		if t.held && t.ended() {
			return fmt.Errorf("%s has ended and holds room", ref)
		}
		for i, r := range t.Reports {
			if r.State.Terminal() != (i == len(t.Reports)-1 && t.ended()) {
				return fmt.Errorf("%s: report %d of %d is %s while the task is %s", ref, i, len(t.Reports), r.State, t.State)
			}
		}
	}
	if room.Used() != m.room.Used() {
		return fmt.Errorf("the room counts %v, the tasks hold %v", m.room.Used(), room.Used())
	}
	for i, c := range room.Classes() {
		if now := m.room.Classes()[i]; !slices.Equal(c.Used, now.Used) || !slices.Equal(c.Shares, now.Shares) {
			return fmt.Errorf("the room counts %v and %v of %s, the tasks hold %v and %v", now.Used, now.Shares, c.Name, c.Used, c.Shares)
		}
	}
	return nil
}
