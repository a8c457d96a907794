package faults

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// framework is the shell around the session, as package framework is, and the
// author who uses it.
type framework struct {
	process
	session *session.Session
	link    *end
	ear     *linear.Conn // of link
	over    bool         // it has ended: this instance says and hears nothing more
	asked   int          // reconciles without an answer
	patient int          // looks since the last answer, while it is connected
	calls   map[uint64]call
	kills   map[offers.TaskID]int          // what the author wants to end, and for how many looks while it is connected
	blind   map[offers.TaskID]int          // for how many looks what the author knows of its agent is not so
	told    map[offers.TaskID]offers.State // what this run of the instance was shown last, of what it did not launch since
	looks   int
	idle    time.Duration // until when the author does nothing

	// The author's notebook outlives the process.
	id      offers.FrameworkID
	label   string // the name that it registers with
	timeout time.Duration
	notes   *notebook
	role    offers.Role
	trusts  bool // it asks for nothing that the session has to ask for by itself
	revived bool // it is of a framework that has ended, and must not come in
}

// notebook is what an author knows of tasks. Two instances of one framework
// share it.
type notebook struct {
	tasks  map[offers.TaskID]*noted
	order  []offers.TaskID
	made   int
	term   uint64 // in which newest was registered
	newest *end   // the connection of it that was registered last
	ended  bool   // the framework was given up or torn down
	torn   bool   // its author asked for that
}

// noted is one task in the author's notebook.
type noted struct {
	id       offers.TaskID
	by       *framework // who launched it last
	rounds   int        // how often it was launched
	durable  bool       // this launch was committed
	accepted bool
	last     offers.State // the last one with an update id
	end      offers.State // the end that was shown, "" before
	endID    offers.UpdateID
	handled  bool // the end was
	recalled bool // the end was not told of this launch, but concluded from one before
}

var roles = []string{"default", "batch", "batch/night"}

func newFramework(w *world, n int) *framework {
	f := &framework{timeout: w.between(15*time.Second, 90*time.Second), notes: &notebook{tasks: map[offers.TaskID]*noted{}}}
	f.role = offers.Role(pick(w, roles))
	f.init(w, fmt.Sprintf("fw%d", n))
	f.label, f.trusts = f.name, w.chance(0.5)
	return f
}

// init sets up the process of an instance.
func (f *framework) init(w *world, name string) {
	f.process = process{w: w, name: name}
	f.skewBy(w.options.jump(w))
	f.die = func() {
		f.session, f.link, f.asked, f.calls, f.kills, f.blind, f.told = nil, nil, 0, nil, nil, nil, nil
	}
	f.start = f.begin
}

// successor is another instance of the same framework.
func (f *framework) successor(n int) *framework {
	s := &framework{id: f.id, label: f.label, trusts: f.trusts, timeout: f.timeout, notes: f.notes, role: f.role}
	s.init(f.w, fmt.Sprintf("fw%d", n))
	return s
}

func (f *framework) begin() {
	if f.over || f.notes.ended && !f.revived {
		f.up, f.over = false, true
		return
	}
	timeout := offers.Duration(f.timeout)
	f.calls, f.kills, f.blind, f.told = map[uint64]call{}, map[offers.TaskID]int{}, map[offers.TaskID]int{}, map[offers.TaskID]offers.State{}
	f.session = session.New(wire.FrameworkInfo{ID: f.id, Name: f.label, Role: f.role, FailoverTimeout: &timeout}, f.w.client())
	if f.id != "" {
		f.ask()
	}
	f.wish()
	f.live()
	f.after(f.w.between(0, 200*time.Millisecond), f.connect)
}

// kill asks for the end of a task.
func (f *framework) kill(id offers.TaskID, grace *offers.Duration) {
	f.kills[id] += 0 // it waits from now on, unless it does already
	f.session.Kill(id, grace)
}

// ask reconciles everything that the notebook knows no end of.
func (f *framework) ask() {
	var open []offers.TaskID
	for _, id := range f.notes.order {
		if f.notes.tasks[id].end == "" {
			open = append(open, id)
		}
	}
	f.reconcile()
	if len(open) > 0 {
		f.reconcile(open...)
	}
}

func (f *framework) reconcile(ids ...offers.TaskID) {
	f.asked++
	f.session.Reconcile(ids...)
}

func (f *framework) connect() {
	if f.link != nil || f.over {
		return
	}
	m, c, s := f.w.dial(&f.process)
	if m == nil {
		f.after(f.w.between(20*time.Millisecond, 2*time.Second), f.connect)
		return
	}
	f.w.tell(f.name, "connects to %s", m.name)
	m.serve(s, true)
	ear := f.w.heard.Open(f.name)
	f.link, f.ear = c, ear
	c.receive = func(frame []byte) {
		if f.link == c {
			ear.Received(epoch.Add(f.w.now), frame)
			f.session.Frame(f.time(), frame)
			f.flush()
		}
	}
	c.ended = func(reason string) { f.lost(c, reason) }
	f.session.Connected(f.time(), wire.JSON)
	f.flush()
}

func (f *framework) lost(c *end, reason string) {
	if f.link != c || f.over {
		return
	}
	f.w.tell(f.name, "lost its connection: %s", reason)
	f.link = nil
	f.session.Lost(errors.New(reason))
	f.after(f.w.between(20*time.Millisecond, 2*time.Second), f.connect)
	f.flush()
}

// flush does what the session wants.
func (f *framework) flush() {
	for f.up && !f.over {
		out := f.session.Take()
		if f.id == "" && f.session.ID() != "" {
			f.id = f.session.ID()
			f.w.judge.names[f.id] = f.notes
		}
		if f.revived && f.session.Live() {
			f.w.broken("%s comes in as framework %s, which has ended", f.name, f.id)
		}
		for _, frame := range out.Frames {
			if f.stumble(0.0003) {
				return
			}
			if f.link != nil {
				f.ear.Sent(epoch.Add(f.w.now), frame)
				f.link.send(frame, f.fateOf(frame))
			}
		}
		for _, e := range out.Events {
			if f.stumble(0.0003) {
				return
			}
			f.event(e)
		}
		for _, a := range out.Answers {
			f.answered(a)
		}
		switch {
		case out.End != nil:
			f.end(out.End)
			return
		case out.Hangup != "" && f.link != nil:
			c := f.link
			c.close(out.Hangup)
			f.lost(c, out.Hangup)
			return
		case len(out.Frames)+len(out.Events)+len(out.Answers) == 0:
			return
		}
	}
}

var acknowledge = []byte(`{"type":"acknowledge"`)

func (f *framework) fateOf(frame []byte) fate {
	if bytes.HasPrefix(frame, acknowledge) {
		return lost
	}
	return certain
}

// end is the end of this instance.
func (f *framework) end(cause error) {
	f.w.tell(f.name, "ends: %v", cause)
	f.over = true
	if !errors.Is(cause, &offers.Error{Code: offers.FailedOver}) {
		f.notes.ended = true
		f.w.judge.gone(f, cause)
	}
	f.stop()
	f.leaves()
}

// leaves lets the other instances read in the notebook what this one left open.
func (f *framework) leaves() {
	for _, o := range f.w.frameworks {
		if o.notes == f.notes && o != f && o.up && !o.over {
			o.after(0, func() {
				o.ask()
				o.flush()
			})
		}
	}
}

// live wakes the author every now and then.
func (f *framework) live() {
	f.after(f.w.between(500*time.Millisecond, 1500*time.Millisecond), func() {
		f.session.Tick(f.time())
		if !f.w.healed && f.w.now >= f.idle {
			f.idle = f.w.now + f.w.between(0, 2*f.w.options.tempo)
			f.act()
		}
		f.flush()
		f.wait()
		if f.looks++; f.looks%10 == 0 {
			f.follow()
		}
		if f.up && !f.over {
			f.live()
		}
	})
}

// wait counts how long a framework that is connected waits for an answer, and
// for an order that it has given.
func (f *framework) wait() {
	for id := range f.kills {
		t := f.w.raft.state.Task(offers.TaskRef{Framework: f.id, Task: id})
		switch {
		case f.notes.tasks[id].end != "" || t != nil && t.Kill != nil:
			delete(f.kills, id)
		case f.session == nil || !f.session.Live():
			f.kills[id] = 0
		default:
			if f.kills[id]++; t != nil && t.End == nil && f.kills[id] > 120 {
				f.w.broken("%s is connected and wants to kill %s for long, and nobody orders it", f.name, id)
			}
		}
	}
	if f.session == nil || f.asked == 0 || !f.session.Live() {
		f.patient = 0
	} else if f.patient++; f.patient > 120 {
		f.w.broken("%s is connected and waits for the answer to reconcile for long", f.name)
	}
}

// follow counts for how long the author takes a task for running whose agent
// is unreachable, or for unreachable one whose agent is back with the leader.
func (f *framework) follow() {
	if f.session == nil || !f.session.Live() {
		clear(f.blind)
		return
	}
	s, leader := f.w.raft.state, f.w.raft.leader
	for _, id := range f.notes.order {
		t := f.notes.tasks[id]
		if t.end != "" || !t.durable {
			delete(f.blind, id)
			continue
		}
		task := s.Task(offers.TaskRef{Framework: f.id, Task: id})
		if task == nil || task.End != nil {
			continue
		}
		away := s.Agent(task.Agent).State == offers.AgentUnreachable
		back := !away && leader != nil && leader.books != nil && leader.books.serves(task.Agent)
		if t.last == offers.Unreachable && !back || t.last != offers.Unreachable && !away {
			delete(f.blind, id)
			continue
		}
		if f.blind[id]++; f.blind[id] > 6 {
			f.w.broken("%s takes %s for %q for long, and its agent is away: %v", f.name, id, t.last, away)
		}
	}
}

// consult reads in the answer to a reconcile what the session shows no second
// time: how a task ended that this instance was shown the end of, and that
// another one launched since, of which nothing came; or what this one was told
// while it was not the present one. Of a launch that another one sent before
// this one was registered, and that is on its way still, it is shown that.
func (f *framework) consult() {
	if f.link == nil || f.link != f.notes.newest {
		return
	}
	for _, id := range f.notes.order {
		if t := f.notes.tasks[id]; t.end == "" && !t.durable && f.told[id].Terminal() {
			t.end, t.recalled = f.told[id], true
		}
	}
}

// rest withdraws everything that is wished, kills what runs for long, and asks
// for the ends of tasks.
func (f *framework) rest() {
	if f.session == nil {
		return
	}
	f.session.Withdraw("d0", "d1", "d2")
	for _, id := range f.notes.order {
		if f.notes.tasks[id].end == "" && f.w.options.Calm > 1 {
			f.kill(id, nil)
		}
	}
	if !f.trusts {
		f.ask()
	}
	f.flush()
}

func (f *framework) event(e session.Event) {
	switch e := e.(type) {
	case session.Offered:
		for _, o := range e.Offers {
			f.offered(o)
		}
	case session.Accepted:
		for _, id := range e.Tasks {
			f.w.judge.accepted(f, id)
		}
	case session.Updated:
		f.updated(e)
	case session.Reconciled:
		f.asked--
		f.patient = 0
		f.consult()
	case session.Refused:
		f.w.tell(f.name, "is refused %s: %v", e.Request, e.Err)
	}
}
