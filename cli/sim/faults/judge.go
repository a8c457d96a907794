package faults

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// judge knows what was promised, and looks at everything that happens.
type judge struct {
	w       *world
	tasks   map[offers.TaskRef]*history
	order   []*history
	names   map[offers.FrameworkID]*notebook
	reports map[reportKey]offers.State // what agents reported
	handles map[reportKey]bool         // what authors have handled
	shown   map[reportKey]bool         // what they were shown
}

type reportKey struct {
	ref offers.TaskRef
	id  offers.UpdateID
}

// history is one task from its first commit on. A task that is launched again
// under the same id, which its author may do after its end, has another round.
type history struct {
	ref    offers.TaskRef
	rounds int
	agent  offers.AgentID
	ends   int
	starts map[offers.AgentID]int
	may    map[offers.AgentID]int // rounds on that agent
}

func newJudge(w *world) *judge {
	return &judge{
		w: w, tasks: map[offers.TaskRef]*history{}, names: map[offers.FrameworkID]*notebook{},
		reports: map[reportKey]offers.State{}, handles: map[reportKey]bool{}, shown: map[reportKey]bool{},
	}
}

// committed looks at an entry and the state after it.
func (j *judge) committed(batch []state.Command, results []state.Result) {
	launched := false
	for i := range batch {
		c, r := &batch[i], results[i]
		if r.Err != nil {
			continue
		}
		switch {
		case c.Launch != nil:
			launched = true
			j.launched(&c.Launch.Task)
		case c.Acknowledge != nil:
			j.acknowledged(c.Acknowledge.Ref)
		}
		for _, t := range r.Ended {
			h := j.tasks[t.Ref()]
			if h == nil {
				j.w.broken("%s ends, which was never launched", t.Ref())
				return
			}
			if h.ends++; h.ends > h.rounds {
				j.w.broken("%s has a second end: %s", h.ref, t.End.State)
			}
		}
	}
	s := j.w.raft.state
	for _, h := range j.order {
		t := s.Task(h.ref)
		if t == nil || t.End == nil != (h.ends < h.rounds) {
			j.w.broken("the accepted task %s vanished or lost its end: %+v", h.ref, t)
			return
		}
	}
	if launched {
		j.rooms(s)
	}
}

func (j *judge) launched(t *state.Task) {
	h := j.tasks[t.Ref()]
	if h == nil {
		h = &history{ref: t.Ref(), starts: map[offers.AgentID]int{}, may: map[offers.AgentID]int{}}
		j.tasks[t.Ref()] = h
		j.order = append(j.order, h)
	}
	if h.ends < h.rounds {
		j.w.broken("%s is launched while it lives", h.ref)
	}
	j.w.report.Accepted++
	h.rounds++
	h.agent = t.Agent
	h.may[t.Agent]++
	if n := j.names[t.Framework]; n != nil {
		n.tasks[t.Spec.ID].durable = true
	}
}

// acknowledged checks that the author knows the end that it acknowledged.
func (j *judge) acknowledged(ref offers.TaskRef) {
	t, notes := j.w.raft.state.Task(ref), j.names[ref.Framework]
	if t == nil || t.End == nil || notes == nil {
		return
	}
	if !j.handles[reportKey{ref, t.End.UpdateID}] && notes.tasks[ref.Task].end != t.End.State {
		j.w.broken("the end %s (%s) of %s counts as acknowledged, and its framework has not handled it", t.End.State, t.End.UpdateID, ref)
	}
}

// rooms checks that what lives on each agent fits into it.
func (j *judge) rooms(s *state.State) {
	for a := range s.Agents() {
		if a.State == offers.AgentGone {
			continue
		}
		room := offers.NewRoom(a.Total)
		for t := range s.LiveTasksOn(a.ID) {
			if err := room.Take(t.Holding); err != nil {
				j.w.broken("more is committed on agent %s than it has: %s: %v", a.ID, t.Ref(), err)
			}
		}
	}
}

// books checks what a leader counts: tasks and offers fit into each agent.
func (j *judge) books(m *master) {
	if !m.core.Changed() {
		return
	}
	o := m.core.Observe()
	for _, v := range o.Match.Agents {
		a := o.State.Agent(v.ID)
		if a == nil {
			continue
		}
		room := offers.NewRoom(a.Total)
		for _, h := range []offers.Holding{v.Used, v.Offered} {
			if err := room.Take(h); err != nil {
				j.w.broken("%s counts more on agent %s than it has: %v (used %+v, offered %+v)", m.name, v.ID, err, v.Used, v.Offered)
			}
		}
		if free := room.Free(); free != v.Free.Amounts {
			j.w.broken("%s counts %v free on agent %s, its tasks and offers leave %v", m.name, v.Free.Amounts, v.ID, free)
		}
	}
}

// sent looks at what a master says: nothing before it is committed.
func (j *judge) sent(s *served, msg wire.Message) {
	switch m := msg.(type) {
	case *wire.Registered:
		s.id = m.FrameworkID
	case *wire.Accepted:
		for _, id := range m.TaskIDs {
			if j.tasks[offers.TaskRef{Framework: s.id, Task: id}] == nil {
				j.w.broken("%s says accepted of %s before it is committed", s.m.name, id)
			}
		}
	case *wire.Launch:
		for _, t := range m.Tasks {
			if ref := (offers.TaskRef{Framework: t.Framework, Task: t.Task.ID}); j.tasks[ref] == nil {
				j.w.broken("%s launches %s before it is committed", s.m.name, ref)
			}
		}
	case *wire.KillTask:
		if t := j.w.raft.state.Task(m.TaskRef); t != nil && t.End == nil && t.Kill == nil {
			j.w.broken("%s kills %s before that is committed", s.m.name, m.TaskRef)
		}
	case *wire.Update:
		j.told(s, m.Status)
	case *wire.AcknowledgeStatus:
		for _, ref := range m.Acknowledged {
			j.released(s, ref)
		}
	}
}

// told checks an end that a master tells.
func (j *judge) told(s *served, status offers.Status) {
	if !status.State.Terminal() || status.UpdateID == "" || s.m.term != j.w.raft.term {
		return
	}
	t := j.w.raft.state.Task(offers.TaskRef{Framework: s.id, Task: status.Task})
	if t == nil || t.End == nil || t.End.UpdateID != status.UpdateID || t.End.State != status.State {
		j.w.broken("%s tells that %s is %s before that is committed", s.m.name, status.Task, status.State)
	}
}

// released checks what an agent is told to resend no more.
func (j *judge) released(s *served, ref wire.StatusRef) {
	key := reportKey{ref.TaskRef, ref.UpdateID}
	t := j.w.raft.state.Task(ref.TaskRef)
	notes := j.names[ref.Framework]
	if j.handles[key] || t == nil || notes == nil || s.m.term != j.w.raft.term {
		return
	}
	if f := j.w.raft.state.Framework(ref.Framework); f == nil || f.Removed {
		return // nobody is left who would
	}
	said := j.reports[key]
	f := j.w.raft.state.Framework(ref.Framework)
	switch n := notes.tasks[ref.Task]; {
	case f == nil || f.Removed: // nobody is left who could
	case t.End != nil && (t.Acknowledged || t.End.UpdateID != ref.UpdateID):
	case n != nil && n.end != "":
	default:
		j.w.broken("%s acknowledges %s of %s (%s), and its framework has not", s.m.name, said, ref.TaskRef, ref.UpdateID)
	}
}

func (j *judge) reported(list []wire.TaskStatus) {
	for _, s := range list {
		j.reports[reportKey{offers.TaskRef{Framework: s.Framework, Task: s.Task}, s.UpdateID}] = s.State
	}
}

// started checks that a task runs once, and that it fits.
func (j *judge) started(a *agent, l tasks.Launch) {
	ref, id := l.Ref(), a.machine.Meta().Agent
	h := j.tasks[ref]
	if h == nil {
		j.w.broken("%s runs %s, which was never committed", a.name, ref)
		return
	}
	if h.starts[id]++; h.starts[id] > h.may[id] {
		j.w.broken("%s runs %s once more: %d starts on %s, %d launches", a.name, ref, h.starts[id], id, h.may[id])
	}
	if n := j.names[ref.Framework]; n != nil && n.tasks[ref.Task].end == offers.Dropped {
		j.w.broken("%s runs %s, and its framework was told that it was dropped", a.name, ref)
	}
	room := offers.NewRoom(a.self.Total)
	for _, other := range a.running() {
		if err := room.Take(a.procs[other].launch.Holding); err != nil {
			j.w.broken("%s runs more than it has: %s: %v", a.name, other, err)
		}
	}
}

func (j *judge) accepted(f *framework, id offers.TaskID) {
	if t := f.notes.tasks[id]; t != nil {
		t.accepted = true
	}
}

// seen checks the order of what an author is shown of a task. Answers to
// reconcile have no update id and are no part of that order, but for an end.
func (j *judge) seen(f *framework, s offers.Status) {
	t := f.notes.tasks[s.Task]
	if t == nil {
		j.w.broken("%s sees %s, which it never launched", f.name, s.Task)
		return
	}
	// At least once: what was shown before may come again, to another
	// instance or from another leader.
	key := reportKey{offers.TaskRef{Framework: f.id, Task: s.Task}, s.UpdateID}
	again := j.shown[key]
	j.shown[key] = s.UpdateID != ""
	switch {
	case again:
	case s.State.Terminal() && t.end != "" && t.end != s.State:
		j.w.broken("%s sees a second end of %s: %s after %s", f.name, s.Task, s.State, t.end)
	case !s.State.Terminal() && t.endID != "" && s.UpdateID != "":
		j.w.broken("%s sees %s %s after its end %s", f.name, s.Task, s.State, t.end)
	case s.UpdateID != "" && t.last != "" && s.State != t.last && !s.State.MayFollow(t.last):
		j.w.broken("%s sees %s %s after %s", f.name, s.Task, s.State, t.last)
	}
	if s.UpdateID != "" && !again {
		t.last = s.State
	}
	if s.State.Terminal() {
		if s.State == offers.Dropped && t.accepted && s.Reason == offers.ReasonUnknownTask && s.UpdateID == "" {
			j.w.broken("%s is told that the accepted task %s is unknown", f.name, s.Task)
		}
		t.end, t.endID = s.State, cmp.Or(t.endID, s.UpdateID)
	}
}

// handled notes that the author has read an update.
func (j *judge) handled(f *framework, s offers.Status) {
	j.handles[reportKey{offers.TaskRef{Framework: f.id, Task: s.Task}, s.UpdateID}] = true
	if t := f.notes.tasks[s.Task]; t != nil && t.end == s.State && s.UpdateID != "" {
		t.handled = true
	}
}

// gone checks that a framework was not given up before its time.
func (j *judge) gone(f *framework, cause error) {
	if !errors.Is(cause, &offers.Error{Code: offers.FrameworkRemoved}) {
		j.w.broken("%s ends for a reason that is none: %v", f.name, cause)
	}
}

// last checks what has to be true once everything is healed and quiet.
func (j *judge) last() error {
	s := j.w.raft.state
	var errs []string
	complain := func(format string, args ...any) {
		if len(errs) < 8 {
			errs = append(errs, fmt.Sprintf(format, args...))
		}
	}
	for _, h := range j.order {
		j.settled(h, s.Task(h.ref), complain)
	}
	for _, a := range j.w.agents {
		if running := a.running(); len(running) > 0 {
			complain("%s still runs %v", a.name, running)
		}
		if a.machine == nil || a.link == nil || !a.link.registered {
			complain("%s has no master", a.name)
			continue
		}
		if _, list := a.machine.Register(); len(list) > 0 {
			complain("%s still knows %d tasks, such as %s %s", a.name, len(list), list[0].TaskRef, list[0].State)
		}
	}
	j.quiet(complain)
	if len(errs) > 0 {
		return fmt.Errorf("after the healing: %s", strings.Join(errs, "; "))
	}
	return nil
}

// settled checks one task at the end.
func (j *judge) settled(h *history, t *state.Task, complain func(string, ...any)) {
	f := j.w.raft.state.Framework(h.ref.Framework)
	switch {
	case t == nil || t.End == nil:
		complain("%s has not ended", h.ref)
	case !t.Acknowledged:
		complain("the end %s of %s is not acknowledged", t.End.State, h.ref)
	case f == nil || f.Removed:
	default:
		if n := j.names[h.ref.Framework].tasks[h.ref.Task]; n.durable && n.end != t.End.State {
			complain("%s ended %s, its framework has seen %q", h.ref, t.End.State, n.end)
		}
	}
	if h.ends != h.rounds {
		complain("%s has %d ends for %d launches", h.ref, h.ends, h.rounds)
	}
}

// quiet checks the leader's books at the end: all room is back.
func (j *judge) quiet(complain func(string, ...any)) {
	l := j.w.raft.leader
	if l == nil || l.core == nil {
		complain("nobody leads")
		return
	}
	o := l.core.Observe()
	for _, v := range o.Match.Agents {
		a := o.State.Agent(v.ID)
		if a != nil && v.Free.Amounts != a.Total.Amounts {
			complain("agent %s has %v of %v free, offered %v", v.ID, v.Free.Amounts, a.Total.Amounts, v.Offered.Amounts)
		}
	}
	for _, f := range j.w.frameworks {
		if f.up && !f.over && !o.Connected[f.id] {
			complain("%s (%s) is not connected", f.name, f.id)
		}
	}
}
