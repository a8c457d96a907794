package session

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// task is one that may still change.
type task struct {
	state     offers.State
	sent      *accept         // without an answer yet
	from      *standing       // the demand it counts against when it is accepted
	lost      bool            // its accept's answer was lost: it is being reconciled
	durable   bool            // accepted, or updated by its agent
	kill      *wire.Kill      // wanted until it has ended
	shown     offers.UpdateID // the last one shown
	end       offers.UpdateID // of the end that was shown, where it had one
	life      string          // see offers.UpdateID.Life
	past      ending          // of the task that had this id before, where it is known
	unhandled int             // events of it that the author has not finished with
	owed      offers.UpdateID // to acknowledge when they are
}

// undecided reports whether the task was on its way to a majority when it was
// heard of last, and may not have arrived.
func (t *task) undecided() bool { return t.state == offers.Staging && !t.durable }

// State returns the last known state of a task.
func (s *Session) State(id offers.TaskID) (offers.State, bool) {
	if t := s.tasks[id]; t != nil {
		return t.state, true
	}
	end, ok := s.ended.known[id]
	return end.state, ok
}

// updated shows each update once. What was shown is acknowledged again when
// it comes again, but only after the author has seen it.
func (s *Session) updated(st offers.Status, request string) {
	t := s.life(st)
	if t == nil {
		s.acknowledge(st.Task, st.UpdateID)
		return
	}
	if t.state.Terminal() || st.UpdateID != "" && st.UpdateID == t.shown {
		s.shownBefore(t, st)
		return
	}
	if t.sent != nil && (unknown(st) || !t.sent.asked && ofBefore(st, request)) {
		return // the question overtook the accept; its own answer is to come
	}
	if t.past.tells(st) {
		s.shownBefore(t, st)
		return
	}
	if t.lost {
		t.lost = false
		s.settled(t.from, st.State)
		t.from = nil
	}
	t.state = st.State
	if st.UpdateID != "" {
		t.shown, t.durable = st.UpdateID, true
		t.life = cmp.Or(st.UpdateID.Life(), t.life)
	}
	if st.State.Terminal() {
		t.end = st.UpdateID
	}
	t.unhandled++
	s.show(Updated{Status: st})
	if t.kill != nil && t.sent == nil && !st.State.Terminal() && st.State != offers.Killing {
		s.sendKill(st.Task, t)
	}
}

// life returns the task that st tells of: another one than is known where that
// has ended before, even if its author has not finished with the end, and nil
// where st tells no more than is known of a task that has ended.
func (s *Session) life(st offers.Status) *task {
	t, id := s.tasks[st.Task], st.Task
	end, ended := s.ended.known[id]
	if t != nil && t.state.Terminal() {
		end, ended = t.ending(), true
	}
	switch {
	case ended && end.precedes(st):
		later := &task{past: end}
		if t != nil {
			later.unhandled = t.unhandled
		}
		s.ended.forget(id)
		t = later
	case ended && t == nil:
		s.ended.known[id] = end.named(st)
		return nil
	case ended:
		end = end.named(st)
		t.end, t.life = end.update, end.life
	case t == nil:
		t = &task{}
	}
	s.tasks[id] = t
	return t
}

// shownBefore acknowledges what was shown, once the author has finished with it.
func (s *Session) shownBefore(t *task, st offers.Status) {
	if t.unhandled > 0 {
		t.owed = st.UpdateID
	} else {
		s.acknowledge(st.Task, st.UpdateID)
	}
}

// unknown reports whether st says that the task was never made durable.
func unknown(st offers.Status) bool {
	return st.State == offers.Dropped && st.Reason == offers.ReasonUnknownTask && st.UpdateID == ""
}

// ofBefore reports whether st, which comes while an accept of its task has no
// answer, tells how the task ended that had the id before: it answers a
// reconcile.
func ofBefore(st offers.Status, request string) bool {
	return st.State.Terminal() && st.UpdateID == "" && (request == "settle" || strings.HasPrefix(request, "reconcile:"))
}

// Handled says that the author has finished with an update: it is
// acknowledged now. Each Updated is handled once.
func (s *Session) Handled(u Updated) {
	id := u.Status.Task
	s.acknowledge(id, u.Status.UpdateID)
	t := s.tasks[id]
	if t == nil || t.unhandled == 0 {
		return
	}
	t.unhandled--
	if t.unhandled > 0 {
		return
	}
	if t.owed != u.Status.UpdateID {
		s.acknowledge(id, t.owed)
	}
	t.owed = ""
	if t.state.Terminal() {
		delete(s.tasks, id)
		s.ended.add(id, t.ending())
	}
}

func (s *Session) acknowledge(id offers.TaskID, update offers.UpdateID) {
	if update != "" {
		s.sendLive(&wire.Acknowledge{TaskID: id, UpdateID: update}, "")
	}
}

// Kill ends a task, nil meaning the grace of its own. The wish is kept until
// the task has ended, whatever becomes of this connection. A task whose accept
// has no answer yet is killed once it has.
func (s *Session) Kill(id offers.TaskID, grace *offers.Duration) {
	if _, ok := s.ended.known[id]; ok {
		return
	}
	t := s.tasks[id]
	if t == nil {
		t = &task{}
		s.tasks[id] = t
	}
	if t.state.Terminal() {
		return
	}
	t.kill = &wire.Kill{TaskID: id, Grace: grace}
	if t.sent == nil && !t.lost {
		s.sendKill(id, t)
	}
}

func (s *Session) sendKill(id offers.TaskID, t *task) { s.sendLive(t.kill, "kill:"+string(id)) }

// forgetKill drops a refused kill, and the task if nothing else is known of it.
func (s *Session) forgetKill(id offers.TaskID) {
	t := s.tasks[id]
	if t == nil {
		return
	}
	t.kill = nil
	if t.state == "" && t.sent == nil && !t.lost {
		delete(s.tasks, id)
	}
}

// Reconcile asks for the states of tasks, of all when none are named. It ends
// with one Reconciled and is asked again after a lost connection.
func (s *Session) Reconcile(ids ...offers.TaskID) {
	n := s.number()
	s.reconciles[n] = ids
	s.askReconcile(n, ids)
}

func (s *Session) askReconcile(n uint64, ids []offers.TaskID) {
	if len(ids) == 0 {
		s.sendLive(&wire.Reconcile{}, numbered("reconcile", n))
		return
	}
	for len(ids) > reconcileIDs {
		s.sendReconcile("settle", ids[:reconcileIDs])
		ids = ids[reconcileIDs:]
	}
	s.sendLive(&wire.Reconcile{TaskIDs: ids}, numbered("reconcile", n))
}

// reconcileIDs bounds one reconcile well below wire.MaxMessage.
const reconcileIDs = 10_000

func (s *Session) sendReconcile(request string, ids []offers.TaskID) {
	for len(ids) > 0 {
		n := min(len(ids), reconcileIDs)
		s.sendLive(&wire.Reconcile{TaskIDs: ids[:n]}, request)
		ids = ids[n:]
	}
}

// reconciled ends the caller's reconcile of that number. The session's own are
// not shown: with them it is known what lost accepts have left of demands.
func (s *Session) reconciled(request string) {
	if request == "settle" {
		s.reopenDemands()
		return
	}
	number, ok := strings.CutPrefix(request, "reconcile:")
	n, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return
	}
	if _, asked := s.reconciles[n]; asked {
		delete(s.reconciles, n)
		s.show(Reconciled{})
	}
}

// maxEnded bounds what is remembered of tasks that have ended, only to
// acknowledge a resent update without showing it again. An update of an older
// one is shown again: at least once is the promise.
const maxEnded = 1 << 16

// history remembers the last limit ended tasks.
type history struct {
	limit int
	known map[offers.TaskID]ending
	order []offers.TaskID // eldest first; may name forgotten ones
	added uint64          // in all; the last of order has this number
}

// ending is how a task ended.
type ending struct {
	state  offers.State
	update offers.UpdateID // "" where it was shown without one
	life   string          // see offers.UpdateID.Life
	number uint64          // in the history
}

func (t *task) ending() ending { return ending{state: t.state, update: t.end, life: t.life} }

// precedes reports whether st is of a later life under the same id, which
// another instance of the framework launched while this one was away: an end
// keeps its state and its update id for ever, the answer to reconcile is never
// older than what was shown, and a state before the end that comes late is of
// the life that ended.
func (e ending) precedes(st offers.Status) bool {
	life := st.UpdateID.Life()
	other := e.life != "" && life != "" && life != e.life
	switch {
	case !st.State.Terminal():
		return st.UpdateID == "" || other
	case e.update == "":
		return st.UpdateID != "" && (other || st.State != e.state)
	default:
		return st.UpdateID != "" && st.UpdateID != e.update
	}
}

// named is e with the update id that it comes with, where it was shown without.
func (e ending) named(st offers.Status) ending {
	if st.State.Terminal() {
		e.update, e.life = cmp.Or(e.update, st.UpdateID), cmp.Or(e.life, st.UpdateID.Life())
	}
	return e
}

// tells reports whether st is an update of the life that ended so.
func (e ending) tells(st offers.Status) bool {
	return st.UpdateID != "" && (st.UpdateID == e.update || e.life != "" && st.UpdateID.Life() == e.life)
}

func (h *history) add(id offers.TaskID, end ending) {
	h.added++
	end.number = h.added
	h.known[id] = end
	h.order = append(h.order, id)
	for len(h.order) > h.limit {
		eldest := h.order[0]
		if h.known[eldest].number+uint64(h.limit) <= h.added { // else it has ended again since
			delete(h.known, eldest)
		}
		h.order = h.order[1:]
	}
}

func (h *history) forget(id offers.TaskID) { delete(h.known, id) }
