package lead

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Config of a core. It does not change while it lives.
type Config struct {
	Master       wire.MasterInfo // this master, as peers see it
	Again        uint64          // how many cores there were in this term before; each gives its own ids
	Match        match.Config
	AgentTimeout time.Duration // silence after which an agent is unreachable
	RemovalEvery time.Duration // how often one agent may be given up at most
	RemovalBurst int           // how many at once
	Stored       int           // bytes that all frameworks may store together; 0 means 1 GiB
	Frameworks   int           // of which new ones are let in; 0 means 100,000
	Demands      int           // of all frameworks; 0 means 1,000,000
	Tasks        int           // of all frameworks that have not ended; 0 means 2,000,000

	// Root begins a trace, see [offers.Tracer]; nil: nothing is traced.
	Root func() offers.Traceparent
}

// FrameworkHeartbeat is how often frameworks are to hear from the master. Those that miss
// one ask the others who leads, and leave after three (framework/session).
const FrameworkHeartbeat = 3 * time.Second

// Peer is the connection to a framework or an agent, as the core sees it.
// Neither method waits or fails: a connection that can't take a message ends.
type Peer interface {
	Send(m wire.Message, requestID string)
	End(reason string)
}

// Step is one command of a turn and what follows once it is committed.
type Step struct {
	Command state.Command
	then    func(state.Result) // may be nil
}

// Note is one line for the log: a change of state that operators want to see.
type Note struct {
	Text string
	Args []any // key, value, ...
}

// Core is everything that exists only while this master leads, for one term.
// It is built from the replicated state. Not safe for concurrent use: the
// master's loop owns it.
type Core struct {
	config     Config
	began      time.Time
	now        time.Time // of the input that is handled
	committed  *state.State
	match      *match.Matcher
	frameworks map[offers.FrameworkID]*Framework
	entering   []*Framework // their registration is not committed yet
	agents     map[offers.AgentID]*Agent
	listing    int // bytes that agents have listed which are not registered yet
	followers  map[match.Follower]struct{}
	silent     map[offers.AgentID]time.Time // agents without session, since when
	draining   map[offers.AgentID]struct{}  // agents that drain, and some that did
	deadlines  map[offers.FrameworkID]time.Time
	delivery   *delivery
	unsure     map[offers.TaskRef]bool // tasks of which a reconcile could not tell the state for want of their agents, and nothing was told since
	removals   *rate.Limiter
	launches   uint64            // named so far
	attempts   map[string]uint64 // the newest connection of each client that registered
	turn       []Step            // commands collected in this turn
	parcels    []*parcel         // that hold something of this turn
	asking     []*Framework      // those with inquiries, in the order of their turns
	answers    int               // to inquiries, in this turn
	notes      []Note
	told       []events.Event // of this turn
	follows    bool           // what the matching does is told
	spans      []offers.Span  // of this turn
	dirty      bool           // something changed since Observe
	unknown    []string       // kinds of the settings of which it was said that no agent has them
	behind     bool           // inputs wait, see Behind
	level      time.Time      // when a turn ended and none did
}

// New begins to lead in the term of config.Master with what was committed before.
// Frameworks that were connected to the leader before get their deadline from
// now; agents are given the agent timeout to show up.
func New(config Config, s *state.State, now time.Time) *Core {
	config.Match.Again = config.Again
	config.Stored = cmp.Or(config.Stored, 1<<30)
	config.Frameworks = cmp.Or(config.Frameworks, 100_000)
	config.Demands = cmp.Or(config.Demands, 1_000_000)
	config.Tasks = cmp.Or(config.Tasks, 2_000_000)
	name := strconv.FormatUint(config.Master.Term, 10)
	if config.Again > 0 {
		name += "+" + strconv.FormatUint(config.Again, 10)
	}
	c := &Core{
		config: config, began: now, now: now, committed: s, dirty: true, level: now,
		match:      match.New(config.Match, s, config.Master.Term),
		frameworks: map[offers.FrameworkID]*Framework{},
		agents:     map[offers.AgentID]*Agent{},
		followers:  map[match.Follower]struct{}{},
		silent:     map[offers.AgentID]time.Time{},
		draining:   map[offers.AgentID]struct{}{},
		deadlines:  map[offers.FrameworkID]time.Time{},
		delivery:   newDelivery(name),
		unsure:     map[offers.TaskRef]bool{},
		attempts:   map[string]uint64{},
		removals:   rate.NewLimiter(rate.Every(config.RemovalEvery), config.RemovalBurst),
	}
	for f := range s.Frameworks() {
		switch {
		case f.Removed:
		case f.Deadline.IsZero():
			c.Commit(state.Command{DisconnectFramework: &state.DisconnectFramework{ID: f.ID, Deadline: c.wall().Add(f.FailoverTimeout)}}, nil)
		default:
			c.deadlines[f.ID] = f.Deadline
		}
	}
	for a := range s.Agents() {
		if a.State == offers.AgentGone {
			for t := range s.UnacknowledgedOn(a.ID) {
				c.deliverEnd(t)
			}
			continue
		}
		if a.State == offers.AgentUnreachable {
			c.agentUnreachable(a.ID) // the last leader may not have come to it
		} else {
			c.silent[a.ID] = now
		}
		c.noteDrain(a)
	}
	if len(c.silent) > 0 {
		c.noteUnknown()
	}
	return c
}

// At says what time it is for the inputs that follow. It is to be called
// before every input with a time that never goes back.
func (c *Core) At(now time.Time) { c.now = now }

// wall is the present time as it is recorded and sent.
func (c *Core) wall() time.Time { return c.now.UTC() }

// Close ends all connections, also those whose registration will not be
// answered any more. What comes of them later is for no other core, which
// knows nothing of their registration.
func (c *Core) Close(reason string) {
	c.endFollowers(reason)
	for _, id := range slices.Sorted(maps.Keys(c.frameworks)) {
		s := c.frameworks[id]
		s.ended = true
		s.peer.End(reason)
	}
	for _, id := range slices.Sorted(maps.Keys(c.agents)) {
		s := c.agents[id]
		s.ended = true
		s.peer.End(reason)
	}
	for _, s := range c.entering {
		s.ended = true
		s.peer.End(reason)
		s.settled()
	}
}

// Commit adds a command to the turn. Once it is committed everybody's view of
// its effect is brought up to date, and then, which may be nil, does what only
// the caller knows.
func (c *Core) Commit(command state.Command, then func(state.Result)) {
	c.turn = append(c.turn, Step{command, then})
}

// Behind says of the present turn that more inputs wait already. An
// acknowledgement may be among them, so nothing is sent again before they are
// looked at, unless that takes very long.
func (c *Core) Behind() { c.behind = true }

// longestLag is for how long updates are not sent again, and offers not taken back
// for others, because inputs wait; claimLag for how long that is no reason yet to leave
// offers where they are.
const (
	longestLag = 10 * time.Second
	claimLag   = 500 * time.Millisecond
)

// Turn is what a turn came to.
type Turn struct {
	Steps []Step // to be made durable, in order, and answered with Committed
	Notes []Note
	Told  []events.Event // what changed and is not replicated, in order and without ids
	Spans []offers.Span  // of traced tasks, what is over of their ways
	More  bool           // there is more to decide already
	Next  time.Time      // when to finish a turn even without input; zero: never

	Puzzle   *match.Puzzle // to be solved beside the loop and then handed to Solved; nil: none
	Searches uint64        // for an agent to offer; the shell has the clock to time them
}

// Solved takes over a puzzle of a turn that was solved.
func (c *Core) Solved(p *match.Puzzle) { c.match.Solved(p) }

// Finish ends a turn: agents get what was gathered for them, updates that are
// due go out again, the matcher decides, offers and rescinds are sent, and what
// is to be made durable is returned.
func (c *Core) Finish() Turn {
	c.dispatch()
	if !c.behind || c.now.Sub(c.level) > longestLag {
		for _, b := range c.delivery.due(c.now) {
			c.sendUpdate(b, c.now)
		}
	}
	if !c.behind {
		c.level = c.now
	}
	c.behind = false
	c.answerInquiries()
	if lag := c.now.Sub(c.level); lag <= claimLag || lag > longestLag {
		c.match.Claim(c.now)
	}
	r := c.match.Ready(c.now)
	c.tellOffers(&r)
	c.tellWaits(&r)
	c.sendReady(r)
	t := Turn{Steps: taken(&c.turn), Notes: c.notes, Told: taken(&c.told), Spans: c.spans, More: r.More || len(c.asking) > 0, Puzzle: r.Puzzle, Searches: r.Searches}
	c.notes, c.spans = nil, nil
	t.Next, _ = c.match.Next()
	if at, ok := c.delivery.next(); ok && (t.Next.IsZero() || at.Before(t.Next)) {
		t.Next = at
	}
	return t
}

// gathered is how many things of a turn room is kept for in the next ones.
const gathered = 16384

// taken empties a list that was gathered in a turn and returns what was in it, in
// as much memory as that takes: events stay for long, and half of a list that has
// grown may be empty.
func taken[T any](list *[]T) (out []T) {
	switch n := len(*list); {
	case n > gathered:
		out, *list = *list, nil
	case n > 0:
		out = slices.Clone(*list)
		clear(*list)
		*list = (*list)[:0]
	}
	return out
}

// Committed acts on steps that were committed, with their results, in the
// order in which Finish returned them. s is the state after them, or later.
func (c *Core) Committed(steps []Step, results []state.Result, s *state.State) {
	c.CommittedUntil(steps, results, s, func() bool { return false })
}

// CommittedUntil is Committed that stops once it is enough, which it asks after
// each step, and returns how many it acted on. The rest is to follow before
// anything that was committed later.
func (c *Core) CommittedUntil(steps []Step, results []state.Result, s *state.State, enough func() bool) (n int) {
	c.committed, c.dirty = s, true
	for n < len(steps) {
		c.applied(&steps[n].Command, results[n])
		if steps[n].then != nil {
			steps[n].then(results[n])
		}
		if n++; enough() {
			break
		}
	}
	c.dispatch()
	return n
}

func (c *Core) note(text string, args ...any) { c.notes = append(c.notes, Note{text, args}) }

// noteUnknown says which kinds of the settings no agent has, whenever these are others.
func (c *Core) noteUnknown() {
	unknown := c.match.Unknown()
	if len(unknown) > 0 && !slices.Equal(unknown, c.unknown) {
		c.note("the settings name kinds that no agent that is known has", "kinds", strings.Join(unknown, ","))
	}
	c.unknown = unknown
}

// applied brings the soft state up to date with one committed command.
func (c *Core) applied(done *state.Command, r state.Result) {
	if r.Err != nil {
		if done.Launch != nil {
			c.match.LaunchFailed(&done.Launch.Task)
		}
		return
	}
	c.traceEnds(r.Ended)
	switch {
	case done.Launch != nil:
		c.match.Launched(r.Value.(*state.Task))
	case done.RegisterAgent != nil:
		if r.Gone != nil { // the agent that had the name before
			c.agentGone(r.Gone.ID)
		}
		c.noteDrain(r.Value.(*state.Agent))
		c.match.AgentChanged(r.Value.(*state.Agent))
		c.noteUnknown()
	case done.SetAgentState != nil:
		c.agentStateSet(done.SetAgentState.ID)
	case done.RegisterFramework != nil:
		f := r.Value.(*state.Framework)
		c.match.FrameworkKnown(f)
		delete(c.deadlines, f.ID)
	case done.DisconnectFramework != nil:
		f := r.Value.(*state.Framework)
		if c.frameworks[f.ID] == nil && !f.Deadline.IsZero() {
			c.deadlines[f.ID] = f.Deadline
		}
	case done.RemoveFramework != nil:
		if r.Value.(*state.Framework).Removed {
			c.frameworkRemoved(done.RemoveFramework.ID)
		}
	case done.SetRole != nil:
		c.match.RoleChanged(done.SetRole.Role, done.SetRole.Settings)
	case done.EndTask != nil && len(r.Ended) > 0: // else its id may be another's by now
		c.taskEnded(done.EndTask.Ref)
	case done.KillTask != nil:
		c.orderKill(done.KillTask.Ref)
	}
}

// Tick does what is overdue. It is to be called every second or so.
func (c *Core) Tick() {
	now := c.now
	for _, id := range slices.Sorted(maps.Keys(c.deadlines)) {
		if !c.deadlines[id].After(now) {
			delete(c.deadlines, id)
			c.Commit(state.Command{RemoveFramework: &state.RemoveFramework{ID: id, Time: c.wall(), Overdue: true}}, nil)
		}
	}
	c.markUnreachable(now)
	c.finishDrains()
	c.match.ClaimAgain()
}

// markUnreachable gives up on agents that were silent for too long, eldest
// silence first and no faster than the removal rate, so that a fault of the
// network does not empty the cluster.
func (c *Core) markUnreachable(now time.Time) {
	var late []offers.AgentID
	for id, since := range c.silent {
		if now.Sub(since) >= c.config.AgentTimeout {
			late = append(late, id)
		}
	}
	slices.SortFunc(late, func(a, b offers.AgentID) int {
		return cmp.Or(c.silent[a].Compare(c.silent[b]), cmp.Compare(a, b))
	})
	for _, id := range late {
		if !c.removals.AllowN(now, 1) {
			return
		}
		delete(c.silent, id)
		c.note("agent is unreachable", "agent", id)
		// The next register may be on its way to a majority: that one stays.
		of := c.state().Agent(id).Registrations
		c.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: id, State: offers.AgentUnreachable, Time: c.wall(), Of: of}}, nil)
	}
}

// noteDrain has finishDrains look at an agent that drains.
func (c *Core) noteDrain(a *state.Agent) {
	if a.State == offers.AgentDraining {
		c.draining[a.ID] = struct{}{}
	}
}

// finishDrains marks draining agents drained once nothing runs on them, and ends
// what runs there untold: the leader that was to tell it has ended, or the agent
// was away when it was told to drain.
func (c *Core) finishDrains() {
	s := c.state()
	for _, id := range slices.Sorted(maps.Keys(c.draining)) {
		if a := s.Agent(id); a == nil || a.State != offers.AgentDraining {
			delete(c.draining, id)
			continue
		}
		if live := c.endTasks(id); live || c.agents[id] == nil {
			continue
		}
		c.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: id, State: offers.AgentDrained, Time: c.wall()}}, nil)
	}
}

// endTasks orders the end of what runs on an agent that drains, and reports
// whether anything does.
func (c *Core) endTasks(id offers.AgentID) (live bool) {
	for t := range c.state().LiveTasksOn(id) {
		live = true
		if t.Kill == nil {
			c.Commit(state.Command{KillTask: &state.KillTask{Ref: t.Ref(), Order: state.KillOrder{Reason: "drain", Time: c.wall()}}}, nil)
		}
	}
	return live
}

// state is what was committed, as of the last Committed.
func (c *Core) state() *state.State { return c.committed }
