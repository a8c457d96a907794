package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Session is one framework over all its connections. It is not safe for
// concurrent use.
//
// Invariants: an offer is outstanding only while live; a task is in tasks or
// in ended, never in both; an accept is in accepts only while live, and each
// of its tasks that is not yet answered points back to it.
type Session struct {
	info    wire.FrameworkInfo // with the id, once there is one
	attempt wire.Attempt       // the last connection
	term    uint64             // the highest that registered us
	master  wire.MasterInfo    // that did so last

	form      wire.Form // of the last connection
	linked    bool      // there is a connection
	live      bool      // it has registered us
	before    bool      // one has, ever
	heard     time.Time
	heartbeat time.Duration

	numbers     uint64 // of requests, demands and calls
	demands     map[offers.DemandID]*standing
	outstanding map[offers.OfferID]wire.Offer
	accepts     map[string]*accept // by request id
	tasks       map[offers.TaskID]*task
	ended       history
	reconciles  map[uint64][]offers.TaskID // the caller's, until answered
	calls       map[uint64]*call
	suppressed  bool
	tearing     bool

	out Output
}

// How long a connection may be silent before it counts as dead.
const (
	registerPatience = time.Minute // until the answer to register, which a leader to which all come back may take
	silentBeats      = 3           // heartbeats that may be missed
	silenceSlack     = 2 * time.Second
)

// New returns the session of a framework that is not connected. With an id in
// info it takes over. The client is a random text of at most 64 bytes, another
// one for each session.
func New(info wire.FrameworkInfo, client string) *Session {
	return &Session{
		info:        info,
		attempt:     wire.Attempt{Client: client},
		demands:     map[offers.DemandID]*standing{},
		outstanding: map[offers.OfferID]wire.Offer{},
		accepts:     map[string]*accept{},
		tasks:       map[offers.TaskID]*task{},
		ended:       history{limit: maxEnded, known: map[offers.TaskID]ending{}},
		reconciles:  map[uint64][]offers.TaskID{},
		calls:       map[uint64]*call{},
	}
}

// ID returns the framework's id, "" before the first registration.
func (s *Session) ID() offers.FrameworkID { return s.info.ID }

// Live reports whether a leader has registered this connection.
func (s *Session) Live() bool { return s.live }

// Term returns the highest term that has registered the framework.
func (s *Session) Term() uint64 { return s.term }

// Master returns the leader that registered the framework last, as it calls itself.
func (s *Session) Master() wire.MasterInfo { return s.master }

// Take returns what there is to do and forgets it.
func (s *Session) Take() Output {
	out := s.out
	s.out = Output{}
	return out
}

// Connected begins a connection, on which messages are written in form: it
// registers.
func (s *Session) Connected(now time.Time, form wire.Form) {
	s.form = form
	s.linked, s.live, s.heard, s.heartbeat = true, false, now, 0
	s.attempt.Number++
	attempt := s.attempt
	s.send(&wire.Register{Framework: s.info, Attempt: &attempt}, "register")
}

// Lost ends the connection. Accepts without an answer are reconciled by the
// next one, writes to the store fail with [ErrAnswerLost].
func (s *Session) Lost(cause error) {
	was := s.live
	s.linked, s.live = false, false
	clear(s.outstanding)
	for request, a := range s.accepts {
		s.lose(a)
		delete(s.accepts, request)
	}
	for _, t := range s.tasks {
		if t.undecided() {
			t.lost = true
		}
	}
	s.loseCalls()
	if was {
		s.show(Disconnected{Err: cause})
	}
}

// Heard says that a silence was the shell's own doing.
func (s *Session) Heard(now time.Time) { s.heard = now }

// Tick hangs up on a connection that has been silent for too long.
func (s *Session) Tick(now time.Time) {
	limit := registerPatience
	if s.live {
		limit = silentBeats*s.heartbeat + silenceSlack
		if s.heartbeat == 0 {
			return
		}
	}
	if s.linked && now.Sub(s.heard) > limit {
		s.out.Hangup = "the master has been silent for too long"
	}
}

// Doubtful reports whether the master has let a heartbeat go by, so that others may
// lead by now.
func (s *Session) Doubtful(now time.Time) bool {
	return s.live && s.heartbeat > 0 && now.Sub(s.heard) > s.heartbeat+silenceSlack
}

// Frame takes one frame of the master.
func (s *Session) Frame(now time.Time, frame []byte) {
	if s.live { // before that only the answer to register counts, no heartbeat
		s.heard = now
	}
	for more := true; more; more = len(frame) > 0 {
		var one []byte
		one, frame = s.form.Cut(frame)
		s.said(now, one)
	}
}

// said takes one message of a frame.
func (s *Session) said(now time.Time, message []byte) {
	m, env, err := s.form.Decode(wire.ToFramework, message)
	if err != nil {
		var bad *offers.Error
		if errors.As(err, &bad) && bad.Code != offers.UnknownType {
			s.show(Refused{Err: bad})
		}
		return
	}
	if e, ok := m.(*wire.ErrorMessage); ok {
		s.failed(e, env.RequestID)
		return
	}
	if r, ok := m.(*wire.Registered); ok && !s.live {
		s.heard = now
		s.registered(r)
		return
	}
	if s.live {
		s.message(m, env.RequestID)
	}
}

func (s *Session) message(m wire.Message, request string) {
	switch m := m.(type) {
	case *wire.OffersMessage:
		s.offered(m)
	case *wire.Rescind:
		s.rescinded(m)
	case *wire.Waiting:
		if s.demands[m.DemandID] != nil {
			s.show(Waits{Demand: m.DemandID, Stopped: m.Stopped, Why: m.Message})
		}
	case *wire.Accepted:
		s.accepted(m, request)
	case *wire.Update:
		s.updated(m.Status, request)
	case *wire.Reconciled:
		s.reconciled(request)
	case *wire.StateAnswer:
		s.answered(m, request)
	}
}

// registered fences leaders of older terms: what they say is over.
func (s *Session) registered(m *wire.Registered) {
	if m.Master.Term < s.term {
		s.out.Hangup = fmt.Sprintf("a master of term %d answered, term %d has begun", m.Master.Term, s.term)
		return
	}
	s.info.ID, s.term, s.live = m.FrameworkID, m.Master.Term, true
	s.master, s.heartbeat = m.Master, time.Duration(m.Heartbeat)
	if s.before {
		s.show(Reconnected{Master: m.Master})
	}
	s.before = true
	s.restate()
}

// restate tells a new connection everything that is still wanted.
func (s *Session) restate() {
	if s.tearing {
		s.send(&wire.Teardown{}, "teardown")
		return
	}
	if s.suppressed {
		s.send(&wire.Suppress{}, "suppress")
	}
	s.restateDemands()
	var lost []offers.TaskID
	for _, id := range slices.Sorted(maps.Keys(s.tasks)) {
		t := s.tasks[id]
		if t.lost {
			lost = append(lost, id)
		} else if t.kill != nil {
			s.sendKill(id, t)
		}
	}
	s.sendReconcile("settle", lost)
	for _, n := range slices.Sorted(maps.Keys(s.reconciles)) {
		s.askReconcile(n, s.reconciles[n])
	}
	for _, n := range slices.Sorted(maps.Keys(s.calls)) {
		s.sendCall(n)
	}
}

// failed sorts errors: some end the framework, some the connection, the
// others are about one request.
func (s *Session) failed(e *wire.ErrorMessage, request string) {
	err := &offers.Error{Code: e.Code, Message: e.Message}
	switch {
	case e.Code == offers.FailedOver, e.Code == offers.FrameworkRemoved, e.Code == offers.Unauthenticated:
		s.out.End = err
	case e.Code == offers.NotLeader, e.Code == offers.NotRegistered:
		s.out.Hangup = e.Message
	case !s.live && slices.Contains(passing, e.Code):
		s.out.Hangup = e.Message
	case !s.live:
		s.out.End = err
	default:
		s.refused(err, request, e.DemandID)
	}
}

// passing are the errors that another try may not meet.
var passing = []offers.Code{offers.Unavailable, offers.Internal, offers.RateLimited}

func (s *Session) refused(err *offers.Error, request string, demand offers.DemandID) {
	kind, detail, _ := strings.Cut(request, ":")
	r := Refused{Err: err, Request: kind}
	switch kind {
	case "accept":
		s.refusedAccept(&r, request)
	case "demand", "demands":
		n, parseErr := strconv.ParseUint(detail, 10, 64)
		if parseErr != nil {
			break
		}
		if kind == "demand" {
			s.refusedDemand(err, n)
		} else {
			s.refusedAmong(err, n, demand)
		}
		return
	case "reconcile", "settle":
		if slices.Contains(passing, err.Code) {
			s.out.Hangup = "the master could not answer: " + err.Message
		}
	case "kill":
		r.Tasks = []offers.TaskID{offers.TaskID(detail)}
		s.forgetKill(r.Tasks[0])
	case "state":
		if n, parseErr := strconv.ParseUint(detail, 10, 64); parseErr == nil {
			s.finishCall(n, Answer{Err: err})
		}
		return
	}
	s.show(r)
}

// Suppress stops new offers until Revive, over all connections.
func (s *Session) Suppress() {
	s.suppressed = true
	s.sendLive(&wire.Suppress{}, "suppress")
}

// Revive starts offers again and forgets refusals.
func (s *Session) Revive() {
	s.suppressed = false
	s.sendLive(&wire.Revive{}, "revive")
}

// Teardown ends the framework. The end comes as an Output.End with the code
// framework_removed or unknown_framework, on this connection or the next.
func (s *Session) Teardown() {
	s.tearing = true
	s.sendLive(&wire.Teardown{}, "teardown")
}

// Message sends data to a task's executor, best effort: nothing is kept for
// the next connection.
func (s *Session) Message(id offers.TaskID, data []byte) {
	s.sendLive(&wire.TaskMessage{TaskID: id, Data: data}, "message:"+string(id))
}

func (s *Session) show(e Event) { s.out.Events = append(s.out.Events, e) }

func (s *Session) number() uint64 {
	s.numbers++
	return s.numbers
}

// numbered makes request ids that say what the request was, so that an error
// can be told apart without remembering every request.
func numbered(kind string, n uint64) string { return fmt.Sprintf("%s:%d", kind, n) }

func (s *Session) sendLive(m wire.Message, request string) {
	if s.live {
		s.send(m, request)
	}
}

// send queues a message. One that can't be encoded holds a malformed
// json.RawMessage of the caller, who is told so.
func (s *Session) send(m wire.Message, request string) {
	frame, err := s.form.Encode(m, request)
	if err != nil {
		s.show(Refused{Err: offers.Errorf(offers.BadMessage, "%s", err), Request: m.Type()})
		return
	}
	s.out.Frames = append(s.out.Frames, frame)
}

func byNumber(a, b *standing) int { return cmp.Compare(a.number, b.number) }
