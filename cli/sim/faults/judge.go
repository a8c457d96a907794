package faults

import (
	"maps"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// judge knows what was promised, and looks at everything that happens.
type judge struct {
	w         *world
	tasks     map[offers.TaskRef]*history
	order     []*history
	next      int // of order, to be looked at without a reason
	names     map[offers.FrameworkID]*notebook
	offers    map[offers.OfferID]bool              // every one that was ever issued
	reports   map[letter]report                    // what agents sent
	handles   map[letter]bool                      // what authors have handled
	shown     map[letter]bool                      // what they were shown
	away      map[offers.FrameworkID]time.Duration // when its last connection ended
	deadlines map[offers.FrameworkID]time.Time     // of those without a connection
	shops     map[offers.FrameworkID]map[string][]*cell
	fresh     []*cell // written, and no leader has heard so
}

// report is what an agent said, and of which launch.
type report struct {
	state  offers.State
	launch offers.LaunchID
}

// history is one task from its first commit on. A task that is launched again
// under the same id, which its author may do after its end, has another round.
type history struct {
	ref    offers.TaskRef
	rounds int
	ends   int
	starts map[offers.AgentID]int
	may    map[offers.AgentID]int         // rounds on that agent
	agent  offers.AgentID                 // of this round
	ran    bool                           // this round
	end    offers.UpdateID                // of this round, once it has ended
	exits  map[offers.AgentID]record.Exit // of this round's process
}

func newJudge(w *world) *judge {
	return &judge{
		w: w, tasks: map[offers.TaskRef]*history{}, names: map[offers.FrameworkID]*notebook{},
		offers: map[offers.OfferID]bool{}, reports: map[letter]report{}, handles: map[letter]bool{}, shown: map[letter]bool{},
		away: map[offers.FrameworkID]time.Duration{}, deadlines: map[offers.FrameworkID]time.Time{}, shops: map[offers.FrameworkID]map[string][]*cell{},
	}
}

// committed looks at an entry and the state after it.
func (j *judge) committed(batch []state.Command, results []state.Result) {
	var touched []offers.TaskRef
	for i := range batch {
		c, r := &batch[i], results[i]
		if r.Err != nil {
			continue
		}
		switch {
		case c.Launch != nil:
			j.launched(&c.Launch.Task, len(batch) == 1)
			touched = append(touched, c.Launch.Task.Ref())
		case c.Acknowledge != nil:
			j.acknowledged(c.Acknowledge.Ref)
			touched = append(touched, c.Acknowledge.Ref)
		case c.EndTask != nil:
			touched = append(touched, c.EndTask.Ref)
		case c.Put != nil, c.Delete != nil:
			j.wrote(c, r)
		case c.RegisterFramework != nil:
			delete(j.deadlines, r.Value.(*state.Framework).ID)
		case c.DisconnectFramework != nil:
			j.disconnected(r.Value.(*state.Framework))
		case c.RemoveFramework != nil:
			j.removed(r.Value.(*state.Framework), c.RemoveFramework.Time)
		}
		for _, t := range r.Ended {
			j.ended(t)
			touched = append(touched, t.Ref())
		}
	}
	for range min(len(j.order), 8) { // nothing was said of these
		j.next = (j.next + 1) % len(j.order)
		touched = append(touched, j.order[j.next].ref)
	}
	for _, ref := range touched {
		j.lives(j.w.raft.state, ref)
	}
}

// ended notes an end, the only one of its launch.
func (j *judge) ended(t *state.Task) {
	h := j.tasks[t.Ref()]
	if h == nil {
		j.w.broken("%s ends, which was never launched", t.Ref())
		return
	}
	if h.ends++; h.ends > h.rounds {
		j.w.broken("%s has a second end: %s", h.ref, t.End.State)
	}
	h.end = t.End.UpdateID
	if h.ran && (t.End.State == offers.Dropped || t.End.State == offers.Rejected) {
		j.w.broken("%s ends as %s, and it ran", h.ref, t.End.State)
	}
	exit, known := h.exits[t.Agent]
	switch code := t.End.ExitCode; {
	case code == nil && t.End.State != offers.Finished:
	case !known:
		j.w.broken("%s ended %s, and no process of it has", h.ref, t.End.State)
	case code == nil || *code != exit.Code || t.End.State == offers.Finished && exit.Code != 0:
		j.w.broken("%s ended %s with exit code %v, its process with %+v", h.ref, t.End.State, code, exit)
	}
}

// lives checks that an accepted task is known, and that its end stays.
func (j *judge) lives(s *state.State, ref offers.TaskRef) {
	h := j.tasks[ref]
	if h == nil {
		return
	}
	t := s.Task(ref)
	if t == nil || t.End != nil != (h.ends == h.rounds) || t.End != nil && t.End.UpdateID != h.end {
		j.w.broken("the accepted task %s vanished or has another end than %q: %+v", ref, h.end, t)
	} else if t.End == nil {
		j.room(s, t.Agent)
	}
}

// launched notes a launch, and where it was the only change also looks at its
// agent.
func (j *judge) launched(t *state.TaskRecord, alone bool) {
	if a := j.w.raft.state.Agent(t.Agent); alone && a.State != offers.AgentActive {
		j.w.broken("%s is launched on agent %s, which is %s", t.Ref(), a.ID, a.State)
	}
	h := j.tasks[t.Ref()]
	if h == nil {
		h = &history{ref: t.Ref(), starts: map[offers.AgentID]int{}, may: map[offers.AgentID]int{}, exits: map[offers.AgentID]record.Exit{}}
		j.tasks[t.Ref()] = h
		j.order = append(j.order, h)
	}
	if h.ends < h.rounds {
		j.w.broken("%s is launched while it lives", h.ref)
	}
	j.w.report.Accepted++
	h.rounds++
	h.end, h.agent, h.ran = "", t.Agent, false
	delete(h.exits, t.Agent)
	h.may[t.Agent]++
	if n := j.names[t.Framework]; n != nil {
		launch := n.tasks[t.Spec.ID]
		launch.durable = true
		if launch.recalled { // too soon: it was on its way
			launch.end, launch.recalled = "", false
		}
	}
}

// acknowledged checks that the author knows the end that it acknowledged.
func (j *judge) acknowledged(ref offers.TaskRef) {
	t, notes := j.w.raft.state.Task(ref), j.names[ref.Framework]
	if t == nil || t.End == nil || notes == nil {
		return
	}
	if !j.handles[letter{ref, t.End.UpdateID}] && notes.tasks[ref.Task].end != t.End.State {
		j.w.broken("the end %s (%s) of %s counts as acknowledged, and its framework has not handled it", t.End.State, t.End.UpdateID, ref)
	}
}

// room checks that what lives on an agent fits into it.
func (j *judge) room(s *state.State, id offers.AgentID) {
	a := s.Agent(id)
	if a == nil || a.State == offers.AgentGone {
		return
	}
	room := offers.NewRoom(a.Total)
	for t := range s.LiveTasksOn(a.ID) {
		if err := room.Take(*t.Holding); err != nil {
			j.w.broken("more is committed on agent %s than it has: %s: %v", a.ID, t.Ref(), err)
		}
	}
}

// sent looks at what a master says: nothing before it is committed.
func (j *judge) sent(s *served, msg wire.Message) {
	switch m := msg.(type) {
	case *wire.Registered:
		s.id = m.FrameworkID
		if n := j.names[s.id]; n != nil && s.m.term >= n.term {
			n.term, n.newest = s.m.term, s.end.other
		}
	case *wire.AgentRegistered:
		s.agentID = m.AgentID
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
	case *wire.Reconciled:
		for id, told := range s.answers {
			if !told {
				j.w.broken("%s has reconciled %s without a word about %s", s.m.name, s.id, id)
			}
		}
	case *wire.AcknowledgeStatus:
		for _, ref := range m.Acknowledged {
			j.released(s, ref)
		}
	}
	if s.m.books != nil {
		s.m.books.sent(s, msg)
	}
}

// told checks what a master tells of a task: one at a time until that is
// acknowledged, again no sooner than promised, and no end that is not durable;
// once an answer has told the end nothing but that.
func (j *judge) told(s *served, status offers.Status) {
	if _, asked := s.answers[status.Task]; asked {
		s.answers[status.Task] = true
	}
	if status.UpdateID != "" {
		l := letter{offers.TaskRef{Framework: s.id, Task: status.Task}, status.UpdateID}
		early, other := s.mail.sent(l, s.m.clock, s.m.leaps)
		if early > 0 {
			j.w.broken("%s resends %s of %s too early by %s", s.m.name, l.id, l.ref, early)
		}
		if other != "" {
			j.w.broken("%s sends %s of %s before %s is acknowledged", s.m.name, l.id, l.ref, other)
		}
	}
	ref := offers.TaskRef{Framework: s.id, Task: status.Task}
	t := j.w.raft.state.Task(ref)
	if launch, told := s.told[ref]; told && status.UpdateID != "" && !status.State.Terminal() && t != nil && t.End != nil && t.LaunchID == launch {
		j.w.broken("%s tells that %s is %s after it told the end %s", s.m.name, status.Task, status.State, t.End.State)
	}
	if status.UpdateID == "" && status.State.Terminal() && t != nil && t.End != nil { // what was before is not told any more
		s.told[ref] = t.LaunchID
		maps.DeleteFunc(s.mail.waits, func(l letter, _ *waiting) bool { return l.ref == ref && l.id != t.End.UpdateID })
	}
	if status.UpdateID == "" || s.m.term != j.w.raft.term {
		return
	}
	if said := j.reports[letter{ref, status.UpdateID}]; t != nil && said.launch.Other(t.LaunchID) {
		j.w.broken("%s tells %s of the launch %s of %s, the present one is %s", s.m.name, status.State, said.launch, ref, t.LaunchID)
	}
	if !status.State.Terminal() {
		return
	}
	if t == nil || t.End == nil || t.End.UpdateID != status.UpdateID || t.End.State != status.State {
		j.w.broken("%s tells that %s is %s before that is committed", s.m.name, status.Task, status.State)
	}
}

// released checks what an agent is told to resend no more.
func (j *judge) released(s *served, ref wire.StatusRef) {
	key := letter{ref.TaskRef, ref.UpdateID}
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
	case said.launch.Other(t.LaunchID): // of a task that had this id before
	case t.End != nil && (t.Acknowledged || t.End.UpdateID != ref.UpdateID):
	case t.Kill != nil && offers.Killing.MayFollow(said.state): // its framework may have seen it killing
	case n != nil && n.end != "":
	default:
		j.w.broken("%s acknowledges %s of %s (%s), and its framework has not", s.m.name, said.state, ref.TaskRef, ref.UpdateID)
	}
}
