package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// conversation is one framework, one leader at a time and one agent, the real
// cores of all three, over links that delay, break and repeat. It is the small
// sister of the simulation: it shrinks what fails to a few steps.
type conversation struct {
	now  time.Time
	t    *rapid.T
	term uint64

	state   *state.State
	core    *lead.Core
	pending [][]lead.Step // proposed, not committed

	session   *session.Session
	framework *talk  // nil: not connected
	attempt   uint64 // connections of the agent
	machine   *tasks.Machine
	agent     *talk
	gone      []*talk // given up by the client; the master may not know it yet
	kept      []kept  // frames that may come again

	*author
	released map[offers.TaskRef]int // how often a task's program was started
	running  map[offers.TaskRef]bool
	durable  map[offers.TaskRef]bool
	written  map[string]bool
}

// author is what the framework's author was shown.
type author struct {
	offers    []wire.Offer
	made      int
	ends      map[offers.TaskID][]offers.State // of every task that was accepted
	last      map[offers.TaskID]string         // number of the last report of its agent
	seen      map[offers.UpdateID]bool
	unhandled []session.Updated
	asked     int // reconciles
	answered  int
	calls     map[uint64]int // answers to calls of the store
	writes    int
	killed    map[offers.TaskID]bool
}

// talk is one connection. What is on its way when it ends arrives or is lost.
type talk struct {
	c         *conversation
	framework *lead.Framework // one of the two
	agent     *lead.Agent
	up, down  [][]byte
	open      bool // as the master sees it
	awaiting  bool // a register is not answered, what follows is held back
	known     bool // the agent was registered
}

type kept struct {
	frame   []byte
	at      *talk
	toAgent bool
	term    uint64
	refs    []offers.TaskRef
}

var _ lead.Peer = (*talk)(nil)

// Send implements [lead.Peer].
func (l *talk) Send(m wire.Message, request string) {
	if frame, err := wire.Encode(m, request); err != nil {
		l.c.t.Fatal(err)
	} else if l.open {
		l.down = append(l.down, frame)
	}
}

// End implements [lead.Peer].
func (l *talk) End(string) { l.open = false }

func converse(t *rapid.T) *conversation {
	c := &conversation{
		t: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		session:  session.New(wire.FrameworkInfo{Name: "f", Role: "r"}, "c"),
		released: map[offers.TaskRef]int{}, running: map[offers.TaskRef]bool{}, durable: map[offers.TaskRef]bool{}, written: map[string]bool{},
		author: &author{
			ends: map[offers.TaskID][]offers.State{}, last: map[offers.TaskID]string{}, seen: map[offers.UpdateID]bool{}, calls: map[uint64]int{}, killed: map[offers.TaskID]bool{},
		},
	}
	c.machine = tasks.New(tasks.Config{Total: offers.Inventory{Amounts: offers.Amounts{4000}}}, tasks.Meta{})
	c.state, _ = state.New().Apply([]state.Command{{Init: &state.Init{ClusterID: "c0de"}}})
	c.leader()
	return c
}

// leader is a new one. Of what the old one proposed nothing more is committed.
func (c *conversation) leader() {
	c.term++
	if c.core != nil {
		c.core.Close("another leads")
	}
	c.pending = nil
	for _, l := range append(c.gone, c.framework, c.agent) {
		if l != nil {
			l.open = false
		}
	}
	c.gone = nil
	c.core = lead.New(lead.Config{
		Master: wire.MasterInfo{Term: c.term}, Match: match.Config{OfferTimeout: 20 * time.Second},
		AgentTimeout: 60 * time.Second, RemovalEvery: time.Second, RemovalBurst: 1,
	}, c.state, c.now)
	c.finish()
}

// finish ends a turn of the core.
func (c *conversation) finish() {
	if turn := c.core.Finish(); len(turn.Steps) > 0 {
		c.pending = append(c.pending, turn.Steps)
	}
}

// commit makes what was proposed first durable; the leader hears of it unless
// it is over by then.
func (c *conversation) commit(told bool) {
	steps := c.pending[0]
	c.pending = c.pending[1:]
	var commands []state.Command
	for _, s := range steps {
		commands = append(commands, s.Command)
	}
	var results []state.Result
	c.state, results = c.state.Apply(commands)
	for i, r := range results {
		if l := commands[i].Launch; l != nil && r.Err == nil {
			c.durable[l.Task.Ref()] = true
		}
		if p := commands[i].Put; p != nil {
			if c.written[string(p.Value)] {
				c.t.Fatalf("the write of %s was done twice", p.Value)
			}
			c.written[string(p.Value)] = true
		}
	}
	if told {
		c.core.At(c.now)
		c.core.Committed(steps, results, c.state)
		c.finish()
	}
}

// depose ends a leader in the middle of its work: some of what it proposed is
// committed all the same, and nobody is told.
func (c *conversation) depose(t *rapid.T) {
	for range rapid.IntRange(0, len(c.pending)).Draw(t, "committed untold") {
		c.commit(false)
	}
	c.leader()
}

// connect brings client and master together, if the client knows of no
// connection.
func (c *conversation) connect() {
	if c.framework == nil {
		l := &talk{c: c, open: true}
		l.framework = lead.NewFramework(l, 0, func() { l.awaiting = false })
		c.framework = l
		c.session.Connected(c.now, wire.JSON)
		c.flush()
	}
	if c.agent == nil {
		l := &talk{c: c, open: true}
		l.agent, c.agent = lead.NewAgent(l), l
		sequence, list := c.machine.Register()
		c.attempt++
		c.fromAgent(&wire.RegisterAgent{Agent: offers.Agent{
			ID: c.machine.Meta().Agent, Name: "a", Total: offers.Inventory{Amounts: offers.Amounts{4000}},
		}, Sequence: sequence, Tasks: list, Attempt: &wire.Attempt{Client: "a", Number: c.attempt}})
	}
}

// cut ends a connection for its client. The master learns of it later, and may
// still get what was on its way.
func (c *conversation) cut(l *talk) {
	if l == nil {
		return
	}
	l.down = nil
	if l.open {
		c.gone = append(c.gone, l)
	}
	if l == c.framework {
		c.framework, c.author.offers = nil, nil
		c.session.Lost(errors.New("cut"))
		c.flush()
	} else {
		c.agent = nil
		c.machine.Disconnected()
		c.host()
	}
}

// notice tells the master of the end of a connection that the client gave up.
func (c *conversation) notice(l *talk) {
	c.gone = slices.DeleteFunc(c.gone, func(o *talk) bool { return o == l })
	if !l.open {
		return
	}
	l.open = false
	c.core.At(c.now)
	if l.framework != nil {
		c.core.FrameworkEnded(l.framework)
	} else {
		c.core.AgentEnded(l.agent, c.now)
	}
	c.finish()
}

// rise brings the next frame up to the master; false when none can come.
func (c *conversation) rise(l *talk) bool {
	if l == nil || !l.open || l.awaiting || len(l.up) == 0 {
		return false
	}
	frame := l.up[0]
	l.up = l.up[1:]
	c.read(l, frame)
	return true
}

func (c *conversation) read(l *talk, frame []byte) {
	vocabulary := wire.FromAgent
	if l.framework != nil {
		vocabulary = wire.FromFramework
	}
	m, env, err := wire.Decode(vocabulary, frame)
	if err != nil {
		c.t.Fatalf("%s: %v", frame, err)
	}
	c.core.At(c.now)
	if l.framework != nil {
		_, l.awaiting = m.(*wire.Register)
		c.core.Handle(l.framework, l.framework.Prepare(m, env.RequestID))
	} else {
		c.core.HandleAgent(l.agent, m, env.RequestID)
	}
	switch m.(type) {
	case *wire.Acknowledge, *wire.Statuses:
		c.kept = append(c.kept, kept{frame: frame, at: l})
	}
	c.finish()
}

// fall brings the next frame down to the client, which sees behind the last
// that the master hung up.
func (c *conversation) fall(l *talk) bool {
	switch {
	case l == nil || l != c.framework && l != c.agent:
		return false
	case len(l.down) > 0:
		frame := l.down[0]
		l.down = l.down[1:]
		if l == c.framework {
			c.session.Frame(c.now, frame)
			c.flush()
		} else {
			c.obey(frame)
		}
	case !l.open:
		c.cut(l)
	default:
		return false
	}
	return true
}

func (c *conversation) obey(frame []byte) {
	m, _, err := wire.Decode(wire.ToAgent, frame)
	if err != nil {
		c.t.Fatalf("%s: %v", frame, err)
	}
	switch m := m.(type) {
	case *wire.AgentRegistered:
		if err := c.machine.Registered(m, c.now); err != nil {
			c.t.Fatal(err)
		}
		c.agent.known = true
	case *wire.Launch:
		_ = c.machine.Launch(m, c.now) // of an old term it is ignored
		again := kept{frame: frame, toAgent: true, term: m.Term}
		for _, t := range m.Tasks {
			again.refs = append(again.refs, offers.TaskRef{Framework: t.Framework, Task: t.Task.ID})
		}
		c.kept = append(c.kept, again)
	case *wire.KillTask:
		_ = c.machine.Kill(m, c.now)
		c.kept = append(c.kept, kept{frame, nil, true, m.Term, []offers.TaskRef{m.TaskRef}})
	case *wire.AcknowledgeStatus:
		c.machine.Acknowledge(m.Acknowledged, c.now)
	case *wire.ErrorMessage:
		c.t.Fatalf("the agent is refused: %s", m.Message)
	}
	c.host()
}

// again repeats a frame that may come more than once.
func (c *conversation) again(t *rapid.T) {
	if len(c.kept) == 0 {
		return
	}
	k := c.kept[rapid.IntRange(0, len(c.kept)-1).Draw(t, "again")]
	switch {
	case k.toAgent:
		// The leader launches again what an agent did not list; nobody launches
		// what it has forgotten.
		forgotten := slices.ContainsFunc(k.refs, func(ref offers.TaskRef) bool {
			_, known := c.machine.Progress(ref)
			return !known
		})
		if !forgotten || k.term < c.machine.Meta().Term {
			c.obey(k.frame)
		}
	case k.at.open && !k.at.awaiting:
		c.read(k.at, k.frame)
	}
}

// host does what the machine wants; programs run until they are told to end
// or the draw ends them.
func (c *conversation) host() {
	for r := c.machine.Ready(); !r.Empty(); r = c.machine.Ready() {
		for _, l := range r.Start {
			c.machine.Prepared(l.Ref(), record.Identity{PID: 7}, c.now)
		}
		for _, ref := range r.Abandon {
			c.machine.Ended(ref, tasks.How{Exit: record.Exit{Never: true}}, c.now)
		}
		for _, ref := range r.Release {
			if c.released[ref]++; c.released[ref] > 1 {
				c.t.Fatalf("%s was started twice", ref)
			}
			c.running[ref] = true
			c.machine.Started(ref, c.now)
		}
		for _, s := range r.Signals {
			if c.running[s.Ref] {
				delete(c.running, s.Ref)
				c.machine.Ended(s.Ref, tasks.How{Exit: record.Exit{Signal: "SIGTERM"}}, c.now)
			}
		}
		if len(r.Send) > 0 {
			c.fromAgent(&wire.Statuses{Statuses: r.Send})
		}
	}
}

func (c *conversation) fromAgent(m wire.Message) {
	frame, err := wire.Encode(m, "")
	if err != nil {
		c.t.Fatal(err)
	}
	if c.agent != nil {
		c.agent.up = append(c.agent.up, frame)
	}
}

// flush does what the session wants.
func (c *conversation) flush() {
	for {
		out := c.session.Take()
		for _, frame := range out.Frames {
			if c.framework != nil {
				c.framework.up = append(c.framework.up, frame)
			}
		}
		for _, e := range out.Events {
			c.shown(e)
		}
		for _, a := range out.Answers {
			if c.calls[a.Call]++; c.calls[a.Call] > 1 {
				c.t.Fatalf("call %d is answered twice", a.Call)
			}
		}
		if out.End != nil {
			c.t.Fatalf("the framework has ended: %v", out.End)
		}
		if out.Hangup != "" && c.framework != nil {
			c.cut(c.framework)
		}
		if len(out.Frames)+len(out.Events)+len(out.Answers) == 0 {
			return
		}
	}
}

func (c *conversation) shown(e session.Event) {
	switch e := e.(type) {
	case session.Offered:
		c.author.offers = append(c.author.offers, e.Offers...)
	case session.Rescinded:
		c.author.offers = slices.DeleteFunc(c.author.offers, func(o wire.Offer) bool { return slices.Contains(e.Offers, o.ID) })
	case session.Accepted:
		for _, id := range e.Tasks {
			if !c.durable[offers.TaskRef{Framework: c.session.ID(), Task: id}] {
				c.t.Fatalf("%s is accepted and not durable", id)
			}
		}
	case session.Updated:
		s := e.Status
		c.unhandled = append(c.unhandled, e)
		if len(c.ends[s.Task]) > 0 {
			c.t.Fatalf("%s is %s after %s", s.Task, s.State, c.ends[s.Task])
		}
		// An agent numbers its reports; a later one may not come first, though
		// an earlier one may come again.
		if _, number, is := strings.Cut(string(s.UpdateID), "."); is && !c.seen[s.UpdateID] {
			if number < c.last[s.Task] {
				c.t.Fatalf("report %s of %s comes behind %s", number, s.Task, c.last[s.Task])
			}
			c.seen[s.UpdateID], c.last[s.Task] = true, number
		}
		if s.State.Terminal() {
			c.ends[s.Task] = append(c.ends[s.Task], s.State)
		}
	case session.Reconciled:
		c.answered++
	}
}

// accept launches one to three tasks in an offer.
func (c *conversation) accept(t *rapid.T) {
	if len(c.author.offers) == 0 {
		return
	}
	o := c.author.offers[rapid.IntRange(0, len(c.author.offers)-1).Draw(t, "offer")]
	var list []offers.Task
	for range rapid.IntRange(1, 3).Draw(t, "tasks") {
		c.made++
		k := offers.Task{ID: offers.TaskID(fmt.Sprint("t", c.made)), Command: &offers.Command{Shell: "x"}}
		k.Resources.Amounts = offers.Amounts{int64(rapid.IntRange(0, 3).Draw(t, "cpus")) * 500}
		list = append(list, k)
	}
	if c.session.Accept([]offers.OfferID{o.ID}, list, nil) == nil {
		for _, k := range list {
			c.ends[k.ID] = nil
		}
	}
	c.author.offers = slices.DeleteFunc(c.author.offers, func(p wire.Offer) bool { return p.ID == o.ID })
}

func (c *conversation) someTask(t *rapid.T) (offers.TaskID, bool) {
	if len(c.ends) == 0 {
		return "", false
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(c.ends))).Draw(t, "task"), true
}

func (c *conversation) handle(n int) {
	for range min(n, len(c.unhandled)) {
		u := c.unhandled[0]
		c.unhandled = c.unhandled[1:]
		c.session.Handled(u)
		c.flush()
	}
}

// pass lets time go by.
func (c *conversation) pass(d time.Duration) {
	c.now = c.now.Add(d)
	c.core.At(c.now)
	c.core.Tick()
	c.finish()
	if c.framework != nil {
		c.framework.Send(&wire.Heartbeat{}, "")
	}
	c.session.Tick(c.now)
	c.flush()
	c.machine.Tick(c.now)
	c.host()
}

// wish are the author's acts.
func (c *conversation) wish() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"accept": c.accept,
		"demand": func(t *rapid.T) {
			d := offers.Demand{ID: offers.DemandID(rapid.SampledFrom([]string{"d1", "d2"}).Draw(t, "demand"))}
			d.Resources.Amounts = offers.Amounts{500}
			if n := rapid.IntRange(0, 4).Draw(t, "count"); n > 0 {
				d.Count = &n
			}
			if err := c.session.Demand(d); err != nil {
				t.Fatal(err)
			}
		},
		"decline": func(*rapid.T) {
			if len(c.author.offers) > 0 {
				c.session.Decline([]offers.OfferID{c.author.offers[0].ID}, new(offers.Duration))
				c.author.offers = c.author.offers[1:]
			}
		},
		"kill": func(t *rapid.T) {
			if id, ok := c.someTask(t); ok {
				c.session.Kill(id, nil)
				c.killed[id] = true
			}
		},
		"reconcile": func(t *rapid.T) {
			c.asked++
			if id, ok := c.someTask(t); ok && rapid.Bool().Draw(t, "one") {
				c.session.Reconcile(id)
				return
			}
			c.session.Reconcile()
		},
		"put": func(t *rapid.T) {
			op := rapid.SampledFrom([]string{"put", "get"}).Draw(t, "op")
			m := &wire.StateRequest{Op: op, Key: "k"}
			if op == "put" {
				c.writes++
				m.Value = json.RawMessage(strconv.Itoa(c.writes))
			}
			n, err := c.session.Call(m)
			if err != nil {
				t.Fatal(err)
			}
			c.calls[n] = 0
		},
		"handle": func(t *rapid.T) { c.handle(rapid.IntRange(1, 5).Draw(t, "many")) },
	}
}

// chance are what nobody wishes.
func (c *conversation) chance() map[string]func(*rapid.T) {
	which := func(t *rapid.T) *talk {
		if rapid.Bool().Draw(t, "agent's") {
			return c.agent
		}
		return c.framework
	}
	return map[string]func(*rapid.T){
		"connect": func(*rapid.T) { c.connect() },
		"calm":    func(*rapid.T) { c.calm() },
		"cut":     func(t *rapid.T) { c.cut(which(t)) },
		"rise": func(t *rapid.T) {
			for l := which(t); rapid.IntRange(0, 9).Draw(t, "more") < 9 && c.rise(l); {
			}
		},
		"fall": func(t *rapid.T) {
			for l := which(t); rapid.IntRange(0, 9).Draw(t, "more") < 9 && c.fall(l); {
			}
		},
		"late": func(t *rapid.T) {
			if len(c.gone) > 0 {
				c.rise(c.gone[rapid.IntRange(0, len(c.gone)-1).Draw(t, "of")])
			}
		},
		"notice": func(t *rapid.T) {
			if len(c.gone) > 0 {
				c.notice(c.gone[rapid.IntRange(0, len(c.gone)-1).Draw(t, "of")])
			}
		},
		"commit": func(t *rapid.T) {
			for len(c.pending) > 0 && rapid.IntRange(0, 9).Draw(t, "more") < 9 {
				c.commit(true)
			}
		},
		"again":  c.again,
		"depose": c.depose,
		"end of a program": func(t *rapid.T) {
			refs := slices.SortedFunc(maps.Keys(c.running), func(a, b offers.TaskRef) int {
				return slices.Compare([]string{a.String()}, []string{b.String()})
			})
			if len(refs) > 0 {
				c.exit(rapid.SampledFrom(refs).Draw(t, "program"), rapid.IntRange(0, 1).Draw(t, "code"))
			}
		},
		"time": func(t *rapid.T) {
			for range rapid.IntRange(1, 30).Draw(t, "seconds") {
				c.pass(time.Second)
			}
		},
	}
}

func (c *conversation) exit(ref offers.TaskRef, code int) {
	delete(c.running, ref)
	c.machine.Ended(ref, tasks.How{Exit: record.Exit{Code: code}}, c.now)
	c.host()
}

// calm connects both and brings everything through that is under way.
func (c *conversation) calm() {
	c.connect()
	for moved := true; moved; {
		moved = c.rise(c.framework) || c.rise(c.agent) || c.fall(c.framework) || c.fall(c.agent)
		for len(c.pending) > 0 {
			c.commit(true)
			moved = true
		}
	}
}

// still brings everything to its end over links that work.
func (c *conversation) still() {
	c.session.Withdraw("d1", "d2")
	c.session.Reconcile()
	c.asked++
	c.flush()
	for range 90 {
		for _, l := range slices.Clone(c.gone) {
			c.notice(l)
		}
		c.calm()
		c.handle(len(c.unhandled))
		for _, ref := range slices.Collect(maps.Keys(c.running)) {
			if !c.killed[ref.Task] { // the others end because they are told to
				c.exit(ref, 0)
			}
		}
		c.pass(time.Second)
	}
}

// verdict holds the end against the promises.
func (c *conversation) verdict(t *rapid.T) {
	for _, id := range slices.Sorted(maps.Keys(c.ends)) {
		ref := offers.TaskRef{Framework: c.session.ID(), Task: id}
		if len(c.ends[id]) != 1 {
			t.Fatalf("%s was accepted (durable: %v) and its ends are %v; the masters have %+v", id, c.durable[ref], c.ends[id], c.state.Task(ref))
		}
		end := c.ends[id][0]
		switch k := c.state.Task(ref); {
		case !c.durable[ref] && (c.released[ref] > 0 || end != offers.Dropped && end != offers.Rejected):
			t.Fatalf("%s was never durable, was started %d times and ended as %s", id, c.released[ref], end)
		case c.durable[ref] && (k == nil || k.End == nil || k.End.State != end || !k.Acknowledged):
			t.Fatalf("%s is %s for the framework, the masters have %+v", id, end, k)
		case (end == offers.Dropped || end == offers.Rejected) && c.released[ref] > 0:
			t.Fatalf("%s ran and is %s", id, end)
		}
	}
	for call, n := range c.calls {
		if n != 1 {
			t.Fatalf("call %d has %d answers", call, n)
		}
	}
	if c.answered != c.asked {
		t.Fatalf("%d of %d reconciles were answered", c.answered, c.asked)
	}
	for ref := range c.durable {
		if _, mine := c.ends[ref.Task]; !mine {
			t.Fatalf("%s is durable and nobody accepted it", ref)
		}
	}
	if left := c.machine.Living(); len(left) > 0 || len(c.running) > 0 {
		t.Fatalf("%v live on", left)
	}
}

// TestConversation: whatever the links do, every launch that was accepted ends
// in exactly one state that the framework sees, every question is answered,
// and what is said to be dropped never ran.
func TestConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := converse(t)
		actions := c.chance()
		for name, act := range c.wish() {
			actions[name] = func(t *rapid.T) {
				act(t)
				c.flush()
			}
		}
		// Most links work most of the time.
		for n := range 3 {
			for _, often := range []string{"calm", "rise", "fall", "commit", "accept", "demand", "handle"} {
				actions[fmt.Sprint("a ", often, n)] = actions[often]
			}
		}
		for range 4 {
			t.Repeat(actions)
		}
		c.still()
		c.verdict(t)
	})
}
